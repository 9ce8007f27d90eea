/* TAP, versions 12 to 14: a stream that says too little has not passed.
 * Source: https://testanything.org/tap-version-14-specification.html */
#include "orchestrator/verdict_impl.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TESTS_MAX 1000000u       /* a larger plan or number is taken for damage */
#define FAILING_MAX 10000u       /* names kept for sorting; VERDICT_NAMES of them are shown */

struct stream {
	unsigned int plans;
	unsigned long planned;
	bool plan_skips;
	bool plan_late;          /* the plan came after tests */
	bool test_after_end;     /* a test came after a late plan */
	bool bailed;
	bool bad_number;         /* out of range, or twice */
	unsigned long seen, ok, not_ok, skipped;
	unsigned char *numbers;  /* bitmap of 1..TESTS_MAX */
	unsigned long highest;
	char **failing;
	size_t n_failing;
	struct tap_line bail;
};

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

static unsigned long take_number(const char **p, const char *end)
{
	unsigned long v = 0;

	for (; *p < end && isdigit((unsigned char)**p); (*p)++)
		v = v > TESTS_MAX ? v : v * 10 + (unsigned long)(**p - '0');
	return v;
}

/* The directive after an unescaped '#': returns where it begins, or end. */
static const char *directive(const char *p, const char *end, struct tap_line *t)
{
	for (const char *at = p; at < end; at++) {
		const char *word;

		if (*at == '\\') {
			at++;
			continue;
		}
		if (*at != '#')
			continue;
		word = skip_space(at + 1, end);
		t->skip = end - word >= 4 && strncasecmp(word, "skip", 4) == 0;
		t->todo = end - word >= 4 && strncasecmp(word, "todo", 4) == 0 &&
		          (end - word == 4 || !isalnum((unsigned char)word[4]));
		if (t->skip || t->todo)
			return at;
	}
	return end;
}

static bool starts(const char *line, size_t n, const char *word)
{
	return n >= strlen(word) && strncmp(line, word, strlen(word)) == 0;
}

static struct tap_line parse_plan(const char *p, const char *end)
{
	struct tap_line t = {.kind = TAP_PLAN};
	const char *digits = p + 3;

	p = digits;
	t.number = take_number(&p, end);
	/* "1..", "1..3 apples": no plan. A comment or directive may follow. */
	if (p == digits || (skip_space(p, end) < end && *skip_space(p, end) != '#'))
		return (struct tap_line){0};
	(void)directive(p, end, &t);
	return t;
}

static struct tap_line parse_test(const char *p, const char *end, bool ok)
{
	struct tap_line t = {.kind = TAP_TEST, .ok = ok};
	const char *name_end;

	p = skip_space(p, end);
	if (p < end && isdigit((unsigned char)*p)) {
		const char *start = p;

		t.number = take_number(&p, end);
		/* "ok 3rd time": the number is a part of the name. */
		if (p < end && *p != ' ' && *p != '\t' && *p != '#') {
			p = start;
			t.number = 0;
		}
	}
	p = skip_space(p, end);
	if (p < end && *p == '-' && (p + 1 == end || p[1] == ' ' || p[1] == '\t'))
		p = skip_space(p + 1, end);
	name_end = directive(p, end, &t);
	while (name_end > p && (name_end[-1] == ' ' || name_end[-1] == '\t'))
		name_end--;
	t.name = p;
	t.name_len = (size_t)(name_end - p);
	return t;
}

struct tap_line tap_parse(const char *line, size_t n)
{
	const char *end = line + n;

	if (starts(line, n, "1.."))
		return parse_plan(line, end);
	if (starts(line, n, "ok") && (n == 2 || line[2] == ' ' || line[2] == '\t'))
		return parse_test(line + 2, end, true);
	if (starts(line, n, "not ok") && (n == 6 || line[6] == ' ' || line[6] == '\t'))
		return parse_test(line + 6, end, false);
	if (n >= 9 && strncasecmp(line, "bail out!", 9) == 0) {
		const char *reason = skip_space(line + 9, end);

		return (struct tap_line){.kind = TAP_BAIL, .name = reason, .name_len = (size_t)(end - reason)};
	}
	return (struct tap_line){0};
}

/* Marks a test's number; one that is not given follows the one before it. */
static void mark(struct stream *s, unsigned long number)
{
	if (number == 0)
		number = s->highest + 1;
	if (number > TESTS_MAX) {
		s->bad_number = true;
		return;
	}
	if ((s->numbers[number / 8] & (1u << (number % 8))) != 0)
		s->bad_number = true;
	s->numbers[number / 8] |= (unsigned char)(1u << (number % 8));
	s->highest = number > s->highest ? number : s->highest;
}

static int note_failing(struct stream *s, const struct tap_line *t, unsigned long number)
{
	AUTO_BUF struct buf b = {0};
	char **v;

	if (s->n_failing >= FAILING_MAX)
		return 0;
	v = reallocarray(s->failing, s->n_failing + 1, sizeof(*v));
	if (v == NULL)
		return -ENOMEM;
	s->failing = v;
	if (t->name_len == 0 ? buf_addf(&b, "test %lu", number) != 0
	                     : buf_add_escaped(&b, t->name, t->name_len < VERDICT_NAME_MAX ? t->name_len : VERDICT_NAME_MAX,
	                                       false) != 0)
		return -ENOMEM;
	if (verdict_take(&v[s->n_failing], &b) != 0)
		return -ENOMEM;
	s->n_failing++;
	return 0;
}

static int on_test(struct stream *s, const struct tap_line *t)
{
	s->seen++;
	if (s->plan_late)
		s->test_after_end = true;
	mark(s, t->number);
	if (t->skip && t->ok)
		s->skipped++;
	else if (t->ok)
		s->ok++;
	else if (!t->todo) {
		s->not_ok++;
		return note_failing(s, t, t->number != 0 ? t->number : s->highest);
	}
	return 0;
}

static int read_stream(struct stream *s, const char *p, size_t n)
{
	const char *line;
	size_t len;

	while (verdict_line(&p, &n, &line, &len)) {
		struct tap_line t = tap_parse(line, len);

		if (t.kind == TAP_TEST && on_test(s, &t) != 0)
			return -ENOMEM;
		if (t.kind == TAP_PLAN) {
			s->plans++;
			s->planned = t.number;
			s->plan_skips = t.skip;
			s->plan_late = s->seen > 0;
		} else if (t.kind == TAP_BAIL && !s->bailed) {
			s->bailed = true;
			s->bail = t;
		}
	}
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_failing(struct stream *s, struct buf *b)
{
	/* Sorted: tests that run in parallel report in any order. */
	if (s->n_failing > 0)
		qsort(s->failing, s->n_failing, sizeof(*s->failing), by_text);
	for (size_t i = 0; i < s->n_failing && i < VERDICT_NAMES; i++)
		if (buf_addf(b, "%s%s", i == 0 ? "" : "\n", s->failing[i]) != 0)
			return -ENOMEM;
	if (s->not_ok > VERDICT_NAMES)
		return buf_addf(b, "\nand %lu more", s->not_ok - VERDICT_NAMES);
	return 0;
}

/* What makes the stream itself untrustworthy, or NULL. */
static const char *damage(const struct stream *s, const struct suite_run *run)
{
	if (run->truncated)
		return "the output passed its limit and is not complete";
	if (s->plans == 0)
		return s->seen == 0 ? "no TAP in the output" : "no plan";
	if (s->plans > 1)
		return "more than one plan";
	if (s->planned > TESTS_MAX || s->bad_number)
		return "test numbers out of range or twice";
	if (s->test_after_end)
		return "tests after the plan that ended the stream";
	if (s->highest > s->planned || s->seen > s->planned)
		return "more tests than planned";
	if (s->planned == 0 || s->skipped == s->planned)
		return s->plan_skips || s->planned > 0 ? "every test was skipped" : "no test is planned";
	if (s->seen < s->planned)
		return "tests are missing";
	return s->ok == 0 && s->not_ok == 0 ? "no test passed that counts" : NULL;
}

static int summarize(struct buf *b, const struct stream *s, const struct verdict *v, const struct suite_run *run)
{
	const char *why = damage(s, run);
	bool counted = s->plans == 1 && s->planned > 0;

	if (run->deadline && buf_addf(b, counted ? "deadline, " : "deadline") != 0)
		return -ENOMEM;
	if (s->bailed && !run->deadline) {
		size_t n = s->bail.name_len < VERDICT_NAME_MAX ? s->bail.name_len : VERDICT_NAME_MAX;

		if (buf_addf(b, "bailed out%s", n > 0 ? ": " : "") != 0)
			return -ENOMEM;
		return buf_add_escaped(b, s->bail.name, n, false);
	}
	if (counted && buf_addf(b, "%lu of %u passed", s->ok, v->total) != 0)
		return -ENOMEM;
	if (counted && v->skipped > 0 && buf_addf(b, ", %u skipped", v->skipped) != 0)
		return -ENOMEM;
	if (why != NULL && !run->deadline && buf_addf(b, "%s%s", counted ? ": " : "", why) != 0)
		return -ENOMEM;
	if (!run->deadline && !verdict_ended_well(run) && (why != NULL || v->failed == 0)) {
		if (buf_addf(b, ", ") != 0)
			return -ENOMEM;
		return verdict_how_it_ended(b, run);
	}
	return 0;
}

int verdict_tap(struct verdict *ret, const struct suite_run *run, struct err *e)
{
	AUTO_BUF struct buf summary = {0};
	AUTO_BUF struct buf failing = {0};
	struct stream s = {.numbers = calloc(1, TESTS_MAX / 8 + 1)};
	struct verdict v = {.count_verified = true};
	int rc = s.numbers == NULL ? -ENOMEM : read_stream(&s, run->out, run->out_len);

	if (rc == 0) {
		unsigned long missing = s.plans == 1 && s.planned <= TESTS_MAX && s.seen < s.planned ? s.planned - s.seen : 0;

		v.total = (unsigned int)(s.plans == 1 && s.planned <= TESTS_MAX ? s.planned : s.seen);
		v.failed = (unsigned int)(s.not_ok + missing);
		v.skipped = (unsigned int)s.skipped;
		v.passed = verdict_ended_well(run) && !s.bailed && s.not_ok == 0 && damage(&s, run) == NULL;
		rc = summarize(&summary, &s, &v, run);
	}
	if (rc == 0)
		rc = list_failing(&s, &failing);
	if (rc == 0)
		rc = verdict_take(&v.summary, &summary);
	if (rc == 0)
		rc = verdict_take(&v.failing, &failing);
	for (size_t i = 0; i < s.n_failing; i++)
		free(s.failing[i]);
	free(s.failing);
	free(s.numbers);
	if (rc != 0) {
		verdict_done(&v);
		return err_errno(e, -rc, "cannot judge the suite");
	}
	*ret = v;
	return 0;
}
