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

/* Reads a compiled profile (filter_file.h); the result is allocated and lives as long as the process. *ret_key: two words when a
 * supervisor is to listen, otherwise NULL. -EINVAL when it is none. */
int filter_read(int fd, const struct filter **ret, const uint64_t **ret_key, struct err *e) MUST_CHECK;

/* Installs it on the calling thread; no_new_privs must be set. 0 or a negative errno. */
int filter_install(const struct filter *f, struct err *e) MUST_CHECK;

/* The same for a filter some of whose calls are answered by a supervisor: installs it and sends the listener over socket. Sending
 * is a system call that this filter may hold back, for an answer that only the listener can give: the filter lets pass the one
 * whose fifth and sixth arguments, which sendmsg(2) does not have, are the key. Nobody knows it any more after execve. The message
 * is the path of the command's TMPDIR with its NUL; tmp may be NULL. */
int filter_install_listened(const struct filter *f, const uint64_t key[2], int socket, const char *tmp, struct err *e) MUST_CHECK;

#endif
