/* The baseline filter as data: which system calls a confined command may make, which are refused with which errno,
 * and why.
 *
 * Profiles are made of these rows (profile_sets.c, profiles.c). A row that refuses wins over one that allows. What no row
 * names is ENOSYS, so that libc falls back as it does on an older kernel. */
#ifndef STINT_SANDBOX_SETS_H
#define STINT_SANDBOX_SETS_H

#include <stdint.h>

/* For which filters a row holds; 0 means for every one. */
enum sys_only {
	ONLY_OWNER = 1 << 0, /* the command runs as the project's owner */
	ONLY_NET = 1 << 1,   /* the command may use the network */
};

/* names: system calls separated by one space. A name that neither libseccomp nor sys_numbers knows stops the build;
 * one that this architecture lacks is left out. A row without names ends a table. */
struct sys_allow {
	const char *set;   /* the name that profiles call these rows by: "@io" */
	const char *names;
	const char *why;
};

#define SYS_CONDS 3

/* (arg & mask) == value. 32 bits: of an int argument the kernel looks at the low half only, and a compare of 64 is
 * passed by setting a bit above. */
struct sys_cond {
	uint8_t arg;
	uint32_t mask;  /* 0 ends the conditions */
	uint32_t value;
};

/* The same with conditions: for sets only, the baseline filter allows these calls whole. */
struct sys_allow_if {
	const char *set;
	const char *names;
	struct sys_cond cond[SYS_CONDS]; /* all must hold */
	const char *why;
};

struct sys_refuse {
	const char *names;
	int error;
	unsigned int only;
	const char *why;
};

struct sys_refuse_if {
	const char *names;
	int error;
	unsigned int only;
	struct sys_cond cond[SYS_CONDS]; /* all must hold */
	const char *why;
};

/* A kind of socket(2) that is allowed. What names no row is refused: an unknown family with EAFNOSUPPORT. */
struct sys_family {
	const char *set;
	int family; /* -1 ends the table */
	int type;   /* -1: every type */
	int proto;  /* -1: every protocol */
	unsigned int only;
	const char *why;
};

/* A value of personality(2) that is allowed. */
struct sys_personality {
	uint32_t value;
	const char *why; /* NULL ends the table */
};

/* System calls that an older libseccomp does not know; numbers are the same on x86-64 and aarch64. */
struct sys_number {
	const char *name;
	int number;
};

extern const struct sys_allow sys_allowed[];
extern const struct sys_allow_if sys_allowed_if[];
extern const struct sys_refuse sys_refused[];
extern const struct sys_refuse_if sys_refused_if[];
extern const struct sys_family sys_families[];
extern const struct sys_personality sys_personalities[];
extern const struct sys_number sys_numbers[];

#endif
