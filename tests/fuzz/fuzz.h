/* What the fuzz targets share: checks that stay in every build, what may reach a terminal, a folder to write in. */
#ifndef STINT_TESTS_FUZZ_H
#define STINT_TESTS_FUZZ_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* By descriptor 2, because a target may have put another stream in stderr's place. */
#define CHECK(cond)                                                                  \
	do {                                                                             \
		if (!(cond)) {                                                               \
			(void)dprintf(2, "\n%s:%d: not true: %s\n", __FILE__, __LINE__, #cond);  \
			abort();                                                                 \
		}                                                                            \
	} while (0)

/* Safe on a terminal: UTF-8 without control characters of either set, except those in also. */
static inline bool fuzz_printable(const char *s, size_t n, const char *also)
{
	for (size_t i = 0, len; i < n; i += len) {
		unsigned char c = (unsigned char)s[i];

		len = str_utf8_len(s + i, n - i);
		if (len == 0 || (len == 2 && c == 0xc2 && (unsigned char)s[i + 1] < 0xa0))
			return false;
		if ((c < 0x20 || c == 0x7f) && (c == '\0' || strchr(also, c) == NULL))
			return false;
	}
	return true;
}

/* A sentence for people: set, one line, safe on a terminal. */
static inline void fuzz_check_err(const struct err *e, int rc)
{
	CHECK(rc < 0 && e->code == -rc);
	CHECK(e->msg[0] != '\0' && fuzz_printable(e->msg, strlen(e->msg), ""));
}

/* FILE:LINE:COL: …, the line one of the file's. */
static inline void fuzz_check_place(const char *file, const struct err *e, const char *bytes, size_t n)
{
	unsigned int line = 0, col = 0;
	size_t lines = 2; /* a parser may complain behind the last one */
	size_t len = strlen(file);

	for (size_t i = 0; i < n; i++)
		lines += bytes[i] == '\n' || bytes[i] == '\r' || bytes[i] == '\xc2' || bytes[i] == '\xe2';
	CHECK(str_starts(e->msg, file) && e->msg[len] == ':');
	CHECK(sscanf(e->msg + len + 1, "%u:%u: ", &line, &col) == 2 && line >= 1 && col >= 1 && line <= lines);
}

/* The input's parts: what stands before the next line "%%", and the rest in *p, *n. False when nothing is left. */
static inline bool fuzz_part(const char **p, size_t *n, const char **ret, size_t *ret_n)
{
	static const char line[] = "\n%%\n";
	const char *at = *p == NULL ? NULL : memmem(*p, *n, line, strlen(line));

	if (*p == NULL)
		return false;
	*ret = *p;
	*ret_n = at == NULL ? *n : (size_t)(at - *p) + 1;
	*n -= at == NULL ? *n : *ret_n + strlen(line) - 1;
	*p = at == NULL ? NULL : at + strlen(line);
	return true;
}

/* A new folder below FUZZ_TMP, which tests/fuzz/run makes and removes, for the whole life of the target. */
static inline int fuzz_folder(void)
{
	const char *base = getenv("FUZZ_TMP");
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/stint-fuzz.XXXXXX", base == NULL ? "/tmp" : base);
	CHECK(mkdtemp(path) != NULL);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static inline void fuzz_put(int dir, const char *name, const void *bytes, size_t n)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && close(fd) == 0);
}

#endif
