/* seccomp: installing the ready-made filters. What they allow is in sets.h; they are compiled at build time. */
#ifndef STINT_SANDBOX_SECCOMP_H
#define STINT_SANDBOX_SECCOMP_H

#include <linux/filter.h>
#include <stdbool.h>

#include "base/err.h"

struct filter_program {
	unsigned short n;
	const struct sock_filter *insn;
};

/* Both programs of one baseline filter: the kernel takes the stricter answer (see sets.h). */
struct filter {
	const char *name; /* "agent", "owner" */
	bool net;         /* inet and netlink sockets exist */
	struct filter_program allow;
	struct filter_program deny;
};
extern const struct filter filter_data[]; /* generated; ends with a NULL name */

/* The filter of that name, or NULL. */
const struct filter *filter_find(const char *name, bool net);

/* Installs both programs on the calling thread; no_new_privs must be set. 0 or a negative errno. */
int filter_install(const struct filter *f, struct err *e) MUST_CHECK;

/* Installs one program. */
int filter_install_program(const struct filter_program *p, struct err *e) MUST_CHECK;

#endif
