/* The one finding that stands in REVIEW.md when the suite failed and the reviewer wrote nothing.
 *
 * tap: names of failing tests, each with at most one "got" and one "expected" value from its diagnostics. Names and
 * values are what a tester meant to be seen; nothing else of the log is handed on. Without names (the build broke, the
 * stream is damaged) and for the format exit: the last lines, without those that look like quoted source. All of it is
 * text of the suite, so it goes into a fenced block whose fence is longer than any run of backticks in it. */
#include "orchestrator/verdict_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BODY_MAX 3072u       /* bytes of the block; the whole stays below 4 KiB */
#define LINE_SHOWN 160u
#define VALUE_SHOWN 100u
#define LAST_LINES 20u
#define TESTS_SHOWN 20u

struct body {
	struct buf text;
	unsigned int withheld;
	bool full;
};

static int add_line(struct body *b, const char *lead, const char *p, size_t n, size_t max)
{
	size_t before = b->text.len;

	if (buf_addf(&b->text, "  %s", lead) != 0 || buf_add_escaped(&b->text, p, n < max ? n : max, false) != 0 ||
	    (n > max && buf_addf(&b->text, "…") != 0) || buf_add(&b->text, "\n", 1) != 0)
		return -ENOMEM;
	if (b->text.len > BODY_MAX) {
		b->text.len = before;
		b->full = true;
	}
	return 0;
}

/* "# got: 3", "  expected: 4", "got = 'x'": the kind of value (bit) and where it begins; 0: neither. */
static unsigned int value_of(const char *line, size_t n, const char **ret, size_t *ret_len)
{
	static const struct { const char *key; unsigned int kind; } keys[] = {
		{"got", 1}, {"actual", 1}, {"found", 1}, {"received", 1}, {"expected", 2}, {"wanted", 2}, {"want", 2},
	};
	const char *end = line + n;

	while (line < end && (*line == ' ' || *line == '\t' || *line == '#'))
		line++;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t len = strlen(keys[i].key);

		if ((size_t)(end - line) <= len || strncasecmp(line, keys[i].key, len) != 0 ||
		    (line[len] != ':' && line[len] != '=' && line[len] != ' '))
			continue;
		*ret = line;
		*ret_len = (size_t)(end - line);
		return keys[i].kind;
	}
	return 0;
}

static int add_tap(struct body *b, const char *p, size_t n)
{
	const char *line;
	size_t len;
	unsigned int tests = 0;
	unsigned int seen = 3;   /* kinds of values shown for the test at hand: 3 is none wanted */

	while (!b->full && verdict_line(&p, &n, &line, &len)) {
		struct tap_line t = tap_parse(line, len);
		const char *value;
		size_t value_len;
		unsigned int kind;
		int rc = 0;

		if (t.kind == TAP_TEST) {
			seen = t.ok || t.todo ? 3 : 0;
			if (seen == 0 && ++tests > TESTS_SHOWN)
				return add_line(b, "", "…", strlen("…"), LINE_SHOWN);
			if (seen == 0)
				rc = t.name_len > 0 ? add_line(b, "", t.name, t.name_len, LINE_SHOWN)
				                    : add_line(b, "", line, len, LINE_SHOWN);
		} else if (seen != 3 && (kind = value_of(line, len, &value, &value_len)) != 0 && (seen & kind) == 0) {
			seen |= kind;
			if (verdict_quotes_source(value, value_len))
				b->withheld++;
			else
				rc = add_line(b, "  ", value, value_len, VALUE_SHOWN);
		}
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* The start of the last lines, counting only those that are not withheld. */
static int add_last_lines(struct body *b, const char *p, size_t n)
{
	const char *end = p + n;
	const char *starts[LAST_LINES] = {0};
	unsigned int kept = 0;

	while (end > p && kept < LAST_LINES) {
		const char *start = end[-1] == '\n' ? end - 1 : end;
		size_t len;

		while (start > p && start[-1] != '\n')
			start--;
		len = (size_t)(end - start);
		len -= len > 0 && start[len - 1] == '\n' ? 1 : 0;
		len -= len > 0 && start[len - 1] == '\r' ? 1 : 0;
		if (verdict_quotes_source(start, len))
			b->withheld++;
		else if (strnlen(start, len) > 0)
			starts[kept++] = start;
		end = start;
	}
	for (unsigned int i = kept; i-- > 0 && !b->full;) {
		const char *from = starts[i];
		size_t left = n - (size_t)(from - p);
		const char *line;
		size_t len;

		if (verdict_line(&from, &left, &line, &len) && add_line(b, "", line, len, LINE_SHOWN) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* Text inside a paragraph: what Markdown or HTML could read as markup is escaped. */
static int add_plain(struct buf *b, const char *s)
{
	for (; *s != '\0'; s++)
		if ((strchr("`*_[]<>#!&|~$", *s) != NULL && buf_add(b, "\\", 1) != 0) || buf_add(b, s, 1) != 0)
			return -ENOMEM;
	return 0;
}

static size_t longest_run(const struct buf *b)
{
	size_t best = 0;
	size_t run = 0;

	for (size_t i = 0; i < b->len; i++) {
		run = b->data[i] == '`' ? run + 1 : 0;
		best = run > best ? run : best;
	}
	return best;
}

static int add_block(struct buf *ret, const struct body *b, const char *title)
{
	char fence[VERDICT_NAME_MAX + 4];
	size_t n = longest_run(&b->text) + 1;

	/* add_line() cuts lines below this length. */
	n = n < 3 ? 3 : n < sizeof(fence) ? n : sizeof(fence) - 1;
	memset(fence, '`', n);
	fence[n] = '\0';
	if (buf_addf(ret, "\n  %s", title) != 0)
		return -ENOMEM;
	if (b->withheld > 0 && buf_addf(ret, " (%u withheld: they may quote test source)", b->withheld) != 0)
		return -ENOMEM;
	if (buf_addf(ret, ":\n\n  %stext\n", fence) != 0 || buf_add(ret, b->text.data, b->text.len) != 0)
		return -ENOMEM;
	return buf_addf(ret, "  %s\n", fence);
}

int verdict_finding(struct buf *ret, const struct verdict *v, const char *log, size_t out_len, size_t n, struct err *e)
{
	struct body b = {0};
	bool names = v->count_verified && v->failing != NULL && v->failing[0] != '\0';
	int rc = buf_addf(ret, "- [ ] The test suite failed: ");

	if (rc == 0)
		rc = add_plain(ret, v->summary == NULL ? "" : v->summary);
	if (rc == 0)
		rc = buf_add(ret, ".\n", 2);
	if (rc == 0)
		rc = names ? add_tap(&b, log, out_len) : add_last_lines(&b, log, n);
	if (rc == 0 && b.text.len > 0)
		rc = add_block(ret, &b, names ? "Failing tests" : "Last lines of its output");
	buf_done(&b.text);
	return rc == 0 ? 0 : err_errno(e, ENOMEM, "cannot write the finding");
}
