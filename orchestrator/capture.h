/* One stream of a command's output, kept in a file within a limit: the head and the tail stay, what lies between is
 * left out and counted. The writer is never blocked. */
#ifndef STINT_ORCHESTRATOR_CAPTURE_H
#define STINT_ORCHESTRATOR_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct capture {
	int fd;                /* the file, O_RDWR; owned */
	uint64_t limit;        /* bytes kept, without the line that says what is missing */
	uint64_t total;        /* bytes that were written by the command */
	unsigned int denials;  /* lines that speak of a refused access */
};

/* Takes fd. limit: at least 2. */
void capture_begin(struct capture *c, int fd, uint64_t limit);
/* 0 or a negative errno (the disk is full): the command goes on, the caller reports. */
int capture_add(struct capture *c, const char *bytes, size_t n) MUST_CHECK;
/* Puts head, a line "[… N bytes left out …]" and tail in order. */
int capture_end(struct capture *c) MUST_CHECK;
bool capture_cut(const struct capture *c);
/* Reads the whole kept text (call after capture_end): malloc'ed, NUL after it. */
int capture_read(const struct capture *c, char **ret, size_t *ret_n) MUST_CHECK;
void capture_done(struct capture *c);

#endif
