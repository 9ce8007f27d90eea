/* How a compiled profile reaches the guard: a sealed memfd with this header and the instructions. Written by the coordinator,
 * which compiles; read by the guard, which only loads. */
#ifndef STINT_SANDBOX_FILTER_FILE_H
#define STINT_SANDBOX_FILTER_FILE_H

#include <stdint.h>

#define FILTER_FILE_MAGIC 0x32705453u /* "STp2" */
#define FILTER_FILE_NAME 48

struct filter_file {
	uint32_t magic;
	uint32_t n;                 /* instructions; 1 … 4096 */
	uint32_t sockets;           /* 1: lets inet sockets be made */
	uint32_t listened;          /* 1: a supervisor listens: see filter_install_listened() */
	uint64_t key[2];            /* with `listened` */
	uint64_t content;           /* as in struct filter */
	char name[FILTER_FILE_NAME]; /* for messages, with NUL */
};

/* The most that one can be long: 4096 instructions of 8 bytes. */
#define FILTER_FILE_MAX (sizeof(struct filter_file) + 4096 * 8)

#endif
