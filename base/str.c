/* Strings: see str.h. */
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void str_free(void *pp)
{
	void **p = pp;

	free(*p);
	*p = NULL;
}

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

int buf_add(struct buf *b, const void *p, size_t n)
{
	if (n > b->cap - b->len) {
		size_t cap = b->cap < 64 ? 64 : b->cap;
		char *data;

		while (cap - b->len < n) {
			if (cap > (size_t)-1 / 2)
				return -ENOMEM;
			cap *= 2;
		}
		data = realloc(b->data, cap);
		if (data == NULL)
			return -ENOMEM;
		b->data = data;
		b->cap = cap;
	}
	if (n > 0)
		memcpy(b->data + b->len, p, n);
	b->len += n;
	return 0;
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	AUTO_FREE char *s = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0) {
		s = NULL;
		return -ENOMEM;
	}
	return buf_add(b, s, (size_t)n);
}

const char *buf_str(struct buf *b)
{
	if (buf_add(b, "", 1) != 0)
		return NULL;
	b->len--;
	return b->data;
}

size_t str_utf8_len(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t want;
	unsigned int c;
	static const unsigned int least[] = {0, 0, 0x80, 0x800, 0x10000};

	if (n == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	want = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || want > n)
		return 0;
	c = p[0] & (0x7fu >> want);
	for (size_t i = 1; i < want; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = (c << 6) | (p[i] & 0x3fu);
	}
	if (c < least[want] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return want;
}

size_t str_cut(const char *s, size_t n)
{
	size_t back = 1;

	while (back < 4 && back < n && (s[n - back] & 0xc0) == 0x80)
		back++;
	if (back <= n && str_utf8_len(s + n - back, back) == 0 && ((unsigned char)s[n - back] & 0xc0) == 0xc0)
		return n - back;
	return n;
}

int buf_add_escaped(struct buf *b, const void *p, size_t n, bool keep_newlines)
{
	const char *s = p;

	for (size_t i = 0; i < n;) {
		unsigned char c = (unsigned char)s[i];
		size_t len = str_utf8_len(s + i, n - i);
		bool control = c < 0x20 || c == 0x7f || c == '\\' || (len == 2 && c == 0xc2 && (unsigned char)s[i + 1] < 0xa0);
		int rc;

		if (keep_newlines && (c == '\n' || c == '\t' || c == '\\'))
			control = false;
		if (len == 0 || control) {
			rc = buf_addf(b, "\\x%02x", c);
			len = 1;
		} else {
			rc = buf_add(b, s + i, len);
		}
		if (rc != 0)
			return rc;
		i += len;
	}
	return 0;
}

bool str_eq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

#define NEAR_MAX 64

/* Levenshtein distance with one row, upper and lower case alike; both words at most NEAR_MAX long. */
static size_t distance(const char *a, const char *b)
{
	size_t la = strlen(a);
	size_t lb = strlen(b);
	size_t row[NEAR_MAX + 1];

	if (la > NEAR_MAX || lb > NEAR_MAX)
		return NEAR_MAX;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t replace = diagonal + (tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]) ? 0 : 1);
			size_t best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

			diagonal = row[j];
			row[j] = replace < best ? replace : best;
		}
	}
	return row[lb];
}

const char *str_nearest(const char *s, const char *const *words)
{
	size_t limit = strlen(s) / 3 < 2 ? 2 : strlen(s) / 3;
	const char *best = NULL;

	for (; *words != NULL; words++) {
		size_t d = distance(s, *words);

		if (d <= limit) {
			limit = d == 0 ? 0 : d - 1;
			best = *words;
			if (d == 0)
				break;
		}
	}
	return best;
}
