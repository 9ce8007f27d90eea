/* The built-in profiles: const tables, compiled at build time (gen_filter.c) for the guard, and the base of profiles in files. */
#ifndef STINT_SANDBOX_PROFILES_H
#define STINT_SANDBOX_PROFILES_H

#include "sandbox/profile.h"

struct profile_builtin {
	const char *name;   /* NULL ends the table */
	const char *sets;   /* separated by one space; NULL: the baseline of sets.h as a whole */
	const char *calls;  /* further calls, one by one; "" for none */
	const char *why;    /* what it is for, one line */
	bool hidden;        /* for turns, not for people */
	unsigned int only;  /* enum sys_only bits that hold beside ONLY_NET */
};
extern const struct profile_builtin profile_builtins[];

const struct profile_builtin *profile_builtin_find(const char *name);

/* Adds the built-in's rows to p; net: with inet and netlink sockets, where it has them at all. Its name is the rows' origin. */
int profile_add_builtin(struct profile *p, const struct profile_builtin *b, bool net, struct err *e) MUST_CHECK;

#endif
