/* Markdown as the protocol reads it: libcmark decides the structure, the raw bytes decide what a box is.
 *
 * A box is a list item of any kind whose first paragraph begins, in the raw bytes at cmark's source position, with
 * `[ ]`, `[x]` or `[X]` and whitespace. Code, HTML and block quotes hold no boxes. Input is UTF-8 without NUL; a BOM
 * and every kind of line end are kept, because nothing is ever rendered back.
 * Source: docs/protocol.md, "What a task is". */
#ifndef STINT_PROTOCOL_MD_H
#define STINT_PROTOCOL_MD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* What one file may ask of the parser. cmark is quadratic in unmatched brackets and in nesting times lines; with these
 * bounds no 4 MiB file that was tried takes more than a few seconds. */
#define MD_MAX_LINE (64u << 10)  /* bytes of one line */
#define MD_MAX_NESTING 512u      /* bytes of indentation, list and quote markers before a line's text */
#define MD_MAX_LINES 100000u     /* each is carried through every list that is open */
#define MD_MAX_BRACKETS 100000u  /* `[` in the file */
#define MD_MAX_BOXES 20000u

struct md_box {
	unsigned int line;       /* 1-based, where the box is */
	bool done;
	unsigned int depth;      /* enclosing boxed items */
	size_t box_offset;       /* of the byte between the brackets */
	size_t start, end;       /* the whole item in bytes, nested blocks included: from its first line's start
	                          * to its last line's end, trailing blank lines not counted */
	char *title;             /* first line as plain text, UTF-8 */
};

struct md_warning {
	unsigned int line;
	bool swallowed;          /* an unclosed fence or HTML block holds boxes: the list of boxes is not to be trusted */
	char *message;
};

struct md_heading {              /* of the document itself, not inside quotes or lists */
	unsigned int level;      /* 1..6 */
	size_t start;            /* byte where its line starts */
	char *text;              /* plain text */
};

struct md {
	struct md_box *box;
	size_t n_box;
	struct md_warning *warning;
	size_t n_warning;
	struct md_heading *heading;
	size_t n_heading;
};

/* Parses n bytes. name is for messages. 0, -EILSEQ (not UTF-8, or a NUL; e names the line), -E2BIG (over one of the
 * maxima above), -ENOMEM. *ret is written only on success and goes to md_done(). */
int md_parse(struct md *ret, const char *name, const char *bytes, size_t n, struct err *e) MUST_CHECK;
void md_done(struct md *m);

#endif
