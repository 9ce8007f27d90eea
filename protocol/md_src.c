/* Markdown source as bytes and lines: checks, positions, the text of a first line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/md_private.h"

void md_src_done(struct md_src *s)
{
	free(s->line);
	*s = (struct md_src){0};
}

/* Length of the line end at p (0 when there is none). */
static size_t eol_len(const char *p, size_t n)
{
	if (n == 0 || (p[0] != '\n' && p[0] != '\r'))
		return 0;
	return p[0] == '\r' && n > 1 && p[1] == '\n' ? 2 : 1;
}

static int check_byte(const struct md_src *s, size_t at, size_t *ret_len, struct err *e)
{
	size_t len = str_utf8_len(s->p + at, s->n - at);

	if (len == 0)
		return err_set(e, EILSEQ, "%s:%zu: the byte 0x%02x is not UTF-8: save the file as UTF-8", s->name, s->n_line,
		               (unsigned int)(unsigned char)s->p[at]);
	if (s->p[at] == '\0')
		return err_set(e, EILSEQ, "%s:%zu: a NUL byte is not text: remove it", s->name, s->n_line);
	if (at - s->line[s->n_line - 1] >= MD_MAX_LINE)
		return err_set(e, E2BIG, "%s:%zu: the line is longer than %u KiB: break it", s->name, s->n_line,
		               MD_MAX_LINE >> 10);
	*ret_len = len;
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

/* Length of a list marker at p and the blank after it, 0 when there is none. */
static size_t marker_len(const char *p, size_t n)
{
	size_t digits = 0;

	while (digits < n && digits < 9 && p[digits] >= '0' && p[digits] <= '9')
		digits++;
	if (n < digits + 2 || p[digits] == '\0' || strchr(digits > 0 ? ".)" : "-*+", p[digits]) == NULL)
		return 0;
	return is_blank(p[digits + 1]) ? digits + 2 : 0;
}

static int check_nesting(const struct md_src *s, size_t at, struct err *e)
{
	size_t n = s->n - at;
	size_t used = 0;

	for (size_t len = 1; len > 0 && used <= MD_MAX_NESTING && used < n; used += len)
		len = is_blank(s->p[at + used]) || s->p[at + used] == '>' ? 1 : marker_len(s->p + at + used, n - used);
	if (used <= MD_MAX_NESTING)
		return 0;
	return err_set(e, E2BIG, "%s:%zu: the line is indented or nested by more than %u bytes: flatten it", s->name, s->n_line,
	               MD_MAX_NESTING);
}

static int check_brackets(const struct md_src *s, struct err *e)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->p[i] == '[' ? 1 : 0;
	if (n <= MD_MAX_BRACKETS)
		return 0;
	return err_set(e, E2BIG, "%s holds more than %u opening brackets: split the file", s->name, MD_MAX_BRACKETS);
}

static size_t count_lines(const char *p, size_t n)
{
	size_t lines = 1;

	for (size_t i = 0; i < n; i++)
		if (p[i] == '\n' || p[i] == '\r')
			lines++;
	return lines;
}

int md_src_init(struct md_src *ret, const char *name, const char *bytes, size_t n, struct err *e)
{
	struct md_src s = {.name = name, .p = bytes, .n = n, .n_line = 1};
	size_t lines = count_lines(bytes, n);
	int rc;

	if (lines > MD_MAX_LINES)
		return err_set(e, E2BIG, "%s has more than %u lines: split the file", name, MD_MAX_LINES);
	s.line = calloc(lines + 1, sizeof(*s.line));
	if (s.line == NULL)
		return err_errno(e, ENOMEM, "cannot read %s", name);
	/* cmark counts columns from behind a byte order mark. */
	s.line[0] = n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	rc = check_brackets(&s, e);
	for (size_t i = s.line[0], len; rc == 0 && i < n; i += len) {
		len = eol_len(bytes + i, n - i);
		if (len > 0) {
			s.line[s.n_line++] = i + len;
			continue;
		}
		if (i == s.line[s.n_line - 1])
			rc = check_nesting(&s, i, e);
		if (rc == 0)
			rc = check_byte(&s, i, &len, e);
	}
	if (rc != 0) {
		md_src_done(&s);
		return rc;
	}
	s.line[s.n_line] = n;
	*ret = s;
	return 0;
}

size_t md_src_at(const struct md_src *s, int line)
{
	if (line < 1)
		return 0;
	return (size_t)line > s->n_line ? s->n : s->line[line - 1];
}

size_t md_src_node(const struct md_src *s, cmark_node *node)
{
	int column = cmark_node_get_start_column(node);
	size_t at = md_src_at(s, cmark_node_get_start_line(node)) + (column < 1 ? 0 : (size_t)column - 1);

	return at < s->n ? at : s->n;
}

size_t md_src_rest(const struct md_src *s, size_t at)
{
	size_t n = 0;

	while (at + n < s->n && s->p[at + n] != '\n' && s->p[at + n] != '\r')
		n++;
	return n;
}

enum md_mark md_mark_at(const struct md_src *s, size_t at)
{
	const char *p = s->p + at;
	size_t n = md_src_rest(s, at);
	size_t after = 3;

	if (n < 2 || p[0] != '[')
		return MD_MARK_NONE;
	if (p[1] == ']')
		return n == 2 || is_blank(p[2]) ? MD_MARK_EMPTY : MD_MARK_NONE;
	if (n < 3 || strchr(" xX", p[1]) == NULL || p[2] != ']')
		return MD_MARK_NONE;
	while (after < n && is_blank(p[after]))
		after++;
	if (after == n)
		return MD_MARK_BARE;
	if (after == 3) /* `[x](link)` and `[x]: definition` are no attempts at a box; `[x]word` is */
		return strchr("([:\\`*_.,;!?)]", p[3]) == NULL ? MD_MARK_TIGHT : MD_MARK_NONE;
	return p[1] == ' ' ? MD_MARK_OPEN : MD_MARK_DONE;
}

bool md_line_has_box(const struct md_src *s, int line, enum md_mark *ret_mark)
{
	size_t at = md_src_at(s, line);
	size_t end = at + md_src_rest(s, at);
	size_t marker;

	while (at < end && (is_blank(s->p[at]) || s->p[at] == '>'))
		at++;
	marker = marker_len(s->p + at, end - at);
	if (marker == 0)
		return false;
	at += marker;
	while (at < end && is_blank(s->p[at]))
		at++;
	*ret_mark = md_mark_at(s, at);
	return *ret_mark == MD_MARK_OPEN || *ret_mark == MD_MARK_DONE;
}

/* Appends what an inline node adds to the first line. 1 when the line ends with it. */
static int add_inline(struct buf *b, cmark_node *node, int line)
{
	cmark_node_type type = cmark_node_get_type(node);
	const char *text = cmark_node_get_literal(node);

	if (type == CMARK_NODE_SOFTBREAK || type == CMARK_NODE_LINEBREAK)
		return 1;
	if ((type == CMARK_NODE_TEXT || type == CMARK_NODE_CODE) && text != NULL && buf_add(b, text, strlen(text)) != 0)
		return -ENOMEM;
	if (type == CMARK_NODE_CODE || type == CMARK_NODE_HTML_INLINE)
		return cmark_node_get_end_line(node) > line ? 1 : 0;
	return 0;
}

static void trim(const char **p, size_t *n)
{
	while (*n > 0 && is_blank(**p)) {
		(*p)++;
		(*n)--;
	}
	while (*n > 0 && is_blank((*p)[*n - 1]))
		(*n)--;
}

/* A definition `[x]: …` anywhere turns the box `[x]` into a link: its text is then not a literal "[x]". */
static bool box_is_link(cmark_node *block)
{
	cmark_node *first = cmark_node_first_child(block);

	return first != NULL && cmark_node_get_type(first) == CMARK_NODE_LINK;
}

static int collect(cmark_node *block, bool skip_box, struct buf *b)
{
	size_t drop = skip_box && !box_is_link(block) ? 3 : 0;
	cmark_iter *it = cmark_iter_new(block);
	cmark_event_type event;
	int rc = 0;

	if (skip_box && box_is_link(block)) {
		do
			event = cmark_iter_next(it);
		while (event != CMARK_EVENT_EXIT);
	}
	while (rc == 0 && (event = cmark_iter_next(it)) != CMARK_EVENT_DONE) {
		if (event != CMARK_EVENT_ENTER)
			continue;
		rc = add_inline(b, cmark_iter_get_node(it), cmark_node_get_start_line(block));
		if (rc == 1 && b->len <= drop) /* nothing but the box on its line: the text is on the next */
			rc = 0;
	}
	cmark_iter_free(it);
	if (rc >= 0 && drop > 0 && b->len >= drop) {
		memmove(b->data, b->data + drop, b->len - drop);
		b->len -= drop;
	}
	return rc < 0 ? rc : 0;
}

int md_plain_text(const struct md_src *s, cmark_node *block, bool skip_box, char **ret)
{
	AUTO_BUF struct buf b = {0};
	const char *p;
	size_t n;
	int rc = collect(block, skip_box, &b);

	if (rc != 0)
		return rc;
	p = b.data == NULL ? "" : b.data;
	n = b.len;
	trim(&p, &n);
	if (n == 0) { /* only HTML, say: the source is better than nothing */
		p = s->p + md_src_node(s, block) + (skip_box ? 3 : 0);
		n = md_src_rest(s, (size_t)(p - s->p));
		trim(&p, &n);
	}
	*ret = strndup(p, n);
	return *ret == NULL ? -ENOMEM : 0;
}
