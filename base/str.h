/* Strings: a growable buffer, release by scope, safe printing of bytes from outside. */
#ifndef STINT_BASE_STR_H
#define STINT_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

void str_free(void *pp); /* for AUTO_FREE: frees *(void **)pp */
#define AUTO_FREE __attribute__((cleanup(str_free)))

/* Bytes that grow. Zeroed is valid and empty. data is not NUL-terminated unless buf_str() was called. */
struct buf {
	char *data;
	size_t len;
	size_t cap;
};
#define AUTO_BUF __attribute__((cleanup(buf_done)))

void buf_done(struct buf *b);
int buf_add(struct buf *b, const void *p, size_t n) MUST_CHECK;        /* 0 or -ENOMEM */
int buf_addf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3) MUST_CHECK;
/* The content as a C string, owned by b ("" when empty); NULL when out of memory. */
const char *buf_str(struct buf *b);

/* Appends n bytes so that they are safe on a terminal and on one line: printable ASCII and valid
 * UTF-8 other than C1 controls stay, everything else (newline, escape, invalid bytes, and
 * the backslash) becomes \xHH. keep_newlines leaves \n and \t as they are. */
int buf_add_escaped(struct buf *b, const void *p, size_t n, bool keep_newlines) MUST_CHECK;

bool str_eq(const char *a, const char *b);
bool str_starts(const char *s, const char *prefix);
/* Length of the valid UTF-8 sequence at p (1..4), or 0. Rejects overlong forms and surrogates. */
size_t str_utf8_len(const char *p, size_t n);

/* The most of s's first n bytes that does not end inside a UTF-8 sequence: where to cut text. */
size_t str_cut(const char *s, size_t n);

/* The row of words[] (NULL-terminated) nearest to s by edit distance, or NULL when none is near
 * (more than a third of its length, at least 2, away). */
const char *str_nearest(const char *s, const char *const *words);

#endif
