/* Private to md*.c: the source as lines, and a look at raw bytes for boxes. */
#ifndef STINT_PROTOCOL_MD_PRIVATE_H
#define STINT_PROTOCOL_MD_PRIVATE_H

#include <cmark.h>

#include "base/str.h"
#include "protocol/md.h"

struct md_src {
	const char *name;
	const char *p;
	size_t n;
	size_t *line;            /* byte where line i+1 starts; line[n_line] == n */
	size_t n_line;
};

/* Splits as cmark does (\n, \r\n, \r) and checks UTF-8, NUL and line lengths. */
int md_src_init(struct md_src *ret, const char *name, const char *bytes, size_t n, struct err *e) MUST_CHECK;
void md_src_done(struct md_src *s);

/* Byte where a 1-based line starts; beyond the last line: the end. */
size_t md_src_at(const struct md_src *s, int line);
/* Byte where a node's text starts. */
size_t md_src_node(const struct md_src *s, cmark_node *node);
/* Length of the line at byte `at` without its line end. */
size_t md_src_rest(const struct md_src *s, size_t at);

/* What stands at byte `at`, where an item's text begins. */
enum md_mark {
	MD_MARK_NONE,
	MD_MARK_OPEN,            /* `[ ]` and whitespace */
	MD_MARK_DONE,            /* `[x]` or `[X]` and whitespace */
	MD_MARK_BARE,            /* a box and nothing after it on the line */
	MD_MARK_TIGHT,           /* a box with text glued to it */
	MD_MARK_EMPTY,           /* `[]` */
};
enum md_mark md_mark_at(const struct md_src *s, size_t at);

/* The box that a line would have if it were an item: marker, blanks, box. False when it has none. */
bool md_line_has_box(const struct md_src *s, int line, enum md_mark *ret_mark);

/* First line of a paragraph or heading as plain text; skip_box: without its box. malloc'ed. */
int md_plain_text(const struct md_src *s, cmark_node *block, bool skip_box, char **ret) MUST_CHECK;

/* Adds warnings for boxes that this block holds but that are no boxes (md_lost.c). */
int md_lost_check(struct md *m, const struct md_src *s, cmark_node *block) MUST_CHECK;

#endif
