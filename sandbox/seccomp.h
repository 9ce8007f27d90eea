/* seccomp: installing the ready-made filters. What they allow is in sets.h; they are compiled at build time. */
#ifndef STINT_SANDBOX_SECCOMP_H
#define STINT_SANDBOX_SECCOMP_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct filter {
	const char *name; /* of the profile */
	bool net;         /* inet and netlink sockets exist */
	unsigned short n;
	const struct sock_filter *insn;
	uint64_t content; /* profile_hash() of the profile with its inet sockets, whichever this is */
};
extern const struct filter filter_data[]; /* generated; ends with a NULL name */

/* The filter of that name, or NULL. */
const struct filter *filter_find(const char *name, bool net);

/* Reads a compiled profile (filter_file.h); the result is allocated and lives as long as the process. -EINVAL when it is none. */
int filter_read(int fd, const struct filter **ret, struct err *e) MUST_CHECK;

/* Installs it on the calling thread; no_new_privs must be set. 0 or a negative errno. */
int filter_install(const struct filter *f, struct err *e) MUST_CHECK;

#endif
