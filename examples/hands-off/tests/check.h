/* One line of TAP for each call of the specification. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>

/* A call that gives a number. */
#define GIVES(call, want, name) \
	do { \
		int got_ = (call); \
		printf("%sok - %s\n", got_ == (want) ? "" : "not ", name); \
	} while (0)

/* A call that gives a numeral in out and its length. */
#define WRITES(call, want, name) \
	do { \
		int got_; \
		memset(out, '#', sizeof(out)); \
		got_ = (call); \
		printf("%sok - %s\n", got_ == (int)strlen(want) && strcmp(out, want) == 0 ? "" : "not ", name); \
	} while (0)

/* A call that refuses: -1, and nothing is written. */
#define REFUSES(call, name) \
	do { \
		int got_; \
		memset(out, '#', sizeof(out)); \
		got_ = (call); \
		printf("%sok - %s\n", got_ == -1 && out[0] == '#' ? "" : "not ", name); \
	} while (0)

#endif
