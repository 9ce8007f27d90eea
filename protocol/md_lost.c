/* Boxes that a person meant and Markdown does not see: warnings, each with its line and its remedy. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "protocol/md_private.h"

#define MAX_WARNINGS 100u /* shown; what swallows boxes is always among them */

static int PRINTF_LIKE(4, 5) warn(struct md *m, int line, bool swallowed, const char *fmt, ...)
{
	struct md_warning w = {.line = (unsigned int)line, .swallowed = swallowed};
	struct md_warning *bigger;
	va_list ap;
	int n;

	if (m->n_warning >= MAX_WARNINGS && !swallowed)
		return 0;
	bigger = reallocarray(m->warning, m->n_warning + 1, sizeof(w));
	if (bigger == NULL)
		return -ENOMEM;
	m->warning = bigger;
	va_start(ap, fmt);
	n = vasprintf(&w.message, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	m->warning[m->n_warning++] = w;
	return 0;
}

static unsigned int count_boxes(const struct md_src *s, int first, int last, int *ret_line)
{
	unsigned int n = 0;
	enum md_mark mark;

	for (int line = first; line <= last; line++)
		if (md_line_has_box(s, line, &mark) && n++ == 0)
			*ret_line = line;
	return n;
}

static int warn_each(struct md *m, const struct md_src *s, int first, int last, const char *why)
{
	enum md_mark mark;
	int rc = 0;

	for (int line = first; rc == 0 && line <= last; line++)
		if (md_line_has_box(s, line, &mark))
			rc = warn(m, line, false, "%s", why);
	return rc;
}

static size_t lines_of(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		if (*text == '\n' || (*text == '\r' && text[1] != '\n'))
			n++;
	return n;
}

/* Is this line a fence of at least n times c, whatever containers stand before it? */
static bool is_fence(const struct md_src *s, int line, char c, size_t n)
{
	size_t at = md_src_at(s, line);
	size_t end = at + md_src_rest(s, at);
	size_t run = 0;

	while (at < end && strchr(" \t>", s->p[at]) != NULL)
		at++;
	for (; at < end && s->p[at] == c; at++)
		run++;
	while (at < end && strchr(" \t", s->p[at]) != NULL)
		at++;
	return run >= n && at == end;
}

/* cmark does not say whether a fence was closed. Its content's length says where the closing line must be; a fence that
 * was cut off by the end of its list has another block's first line there. */
static int check_fence(struct md *m, const struct md_src *s, cmark_node *code)
{
	int first = cmark_node_get_start_line(code);
	int closing = first + 1 + (int)lines_of(cmark_node_get_literal(code));
	size_t at = md_src_node(s, code);
	size_t run = 0;
	cmark_node *next = cmark_node_next(code);
	unsigned int boxes;
	int where = 0;

	for (cmark_node *up = code; next == NULL && (up = cmark_node_parent(up)) != NULL;)
		next = cmark_node_next(up);
	while (at + run < s->n && s->p[at + run] == s->p[at])
		run++;
	if ((size_t)closing <= s->n_line && is_fence(s, closing, s->p[at], run) &&
	    (next == NULL || cmark_node_get_start_line(next) > closing))
		return 0;
	boxes = count_boxes(s, first + 1, closing - 1, &where);
	if (boxes == 0)
		return 0;
	return warn(m, first, true, "the code fence opened here is never closed and swallows %u %s (the first at line %d): "
	            "close it with %.*s on a line of its own", boxes, boxes == 1 ? "box" : "boxes", where,
	            run > 16 ? 3 : (int)run, s->p + at);
}

/* HTML that only its own end mark ends (CommonMark 4.6, conditions 1 to 5); the rest ends at a blank line. */
static const struct { const char *start, *end; } html_kinds[] = {
	{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}, {"<!", ">"},
	{"<script", "</script>"}, {"<pre", "</pre>"}, {"<style", "</style>"}, {"<textarea", "</textarea>"},
};

static int check_html(struct md *m, const struct md_src *s, cmark_node *html)
{
	int first = cmark_node_get_start_line(html);
	const char *text = cmark_node_get_literal(html);
	int last = first + (int)lines_of(text) - 1;
	unsigned int boxes;
	int where = 0;

	while (*text == ' ')
		text++;
	for (size_t i = 0; i < sizeof(html_kinds) / sizeof(html_kinds[0]); i++) {
		if (strncasecmp(text, html_kinds[i].start, strlen(html_kinds[i].start)) != 0)
			continue;
		if (strcasestr(text, html_kinds[i].end) != NULL)
			return 0;
		boxes = count_boxes(s, first, last, &where);
		if (boxes == 0)
			return 0;
		return warn(m, first, true, "the HTML opened here is never closed and swallows %u %s (the first at line %d): "
		            "close it with %s", boxes, boxes == 1 ? "box" : "boxes", where, html_kinds[i].end);
	}
	return warn_each(m, s, first, last, "this box belongs to the HTML above it and is no task: put a blank line before it");
}

/* The first line of an item that is no boxed one. */
static int check_item(struct md *m, const struct md_src *s, cmark_node *item)
{
	cmark_node *block = cmark_node_first_child(item);
	enum md_mark mark;
	size_t at;
	int line;

	if (block == NULL || cmark_node_get_user_data(item) != NULL)
		return 0;
	line = cmark_node_get_start_line(block);
	at = md_src_node(s, block);
	while (cmark_node_get_type(block) == CMARK_NODE_HEADING && at < s->n && strchr("# \t", s->p[at]) != NULL)
		at++;
	mark = md_mark_at(s, at);
	if (cmark_node_get_type(block) == CMARK_NODE_HEADING && (mark == MD_MARK_OPEN || mark == MD_MARK_DONE))
		return warn(m, line, false, "this box is a heading and no task: remove its #, or the line of = or - below it");
	if (cmark_node_get_type(block) != CMARK_NODE_PARAGRAPH)
		return 0;
	if (mark == MD_MARK_EMPTY)
		return warn(m, line, false, "[] is no box: write [ ]");
	if (mark == MD_MARK_BARE)
		return warn(m, line, false, "a box without text is no task: say what is to be done");
	if (mark == MD_MARK_TIGHT)
		return warn(m, line, false, "a box needs a space after it: write [ ] and the text");
	return 0;
}

/* cmark tells fenced from indented code only by what it keeps: indented code begins on the block's own first line, fenced code
 * below it. A fenced block that fits both ways repeats its opening line to the end, and so holds no box. */
static bool is_fenced(const struct md_src *s, cmark_node *code)
{
	const char *text = cmark_node_get_literal(code);
	size_t at = md_src_node(s, code);

	if (at >= s->n || strchr("`~", s->p[at]) == NULL)
		return false;
	for (int line = cmark_node_get_start_line(code); *text != '\0'; line++) {
		size_t n = strcspn(text, "\r\n");
		size_t raw = md_src_at(s, line);
		size_t raw_n = md_src_rest(s, raw);

		if (n > raw_n || memcmp(s->p + raw + raw_n - n, text, n) != 0)
			return true;
		text += n;
		text += strspn(text, "\r") > 0 ? 1 : 0;
		text += *text == '\n' ? 1 : 0;
	}
	return false;
}

int md_lost_check(struct md *m, const struct md_src *s, cmark_node *block)
{
	cmark_node_type type = cmark_node_get_type(block);
	int first = cmark_node_get_start_line(block);

	if (type == CMARK_NODE_ITEM)
		return check_item(m, s, block);
	if (type == CMARK_NODE_HTML_BLOCK)
		return check_html(m, s, block);
	if (type == CMARK_NODE_PARAGRAPH)
		return warn_each(m, s, first + 1, cmark_node_get_end_line(block), "this box continues the paragraph above it and is "
		                 "no task: put a blank line before it, or indent it like its neighbours");
	if (type != CMARK_NODE_CODE_BLOCK)
		return 0;
	if (is_fenced(s, block))
		return check_fence(m, s, block);
	return warn_each(m, s, first, first + (int)lines_of(cmark_node_get_literal(block)) - 1,
	                 "this box is indented like code and is no task: indent it by less than four spaces");
}
