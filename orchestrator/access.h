/* Which Landlock rights a held call takes, on what: read from the process, for telling people. Not for judging:
 * the process may change its words afterwards, and Landlock judges what the kernel then sees.
 * Source: the hooks in the kernel's security/landlock/fs.c and net.c. */
#ifndef STINT_ORCHESTRATOR_ACCESS_H
#define STINT_ORCHESTRATOR_ACCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "orchestrator/held.h"

#define ACCESS_MAX 4

struct access {
	uint64_t fs;           /* LL_FS_… */
	uint64_t net;          /* LL_NET_… */
	uint16_t port;         /* with net */
	mode_t type;           /* of `at`, S_IFMT bits */
	char at[PATH_MAX];     /* with fs: what the rights are needed on: the file, or the folder whose entry comes or goes */
	char path[PATH_MAX];   /* with fs: what the call is about */
};

/* The calls that take any, one by one; NULL behind the last. */
const char *access_call(size_t i);

/* Fills ret and returns the number, 0 for a call that takes none or that fails before Landlock is asked (no such file, refused by
 * its mode). */
size_t access_of(const struct held *h, const char *call, struct access ret[ACCESS_MAX]);

/* "fs.write_file" and its like, as in the kernel's audit records; net: of LL_NET_…. bit: one. "" for none. */
const char *access_right_name(bool net, uint64_t bit);

#endif
