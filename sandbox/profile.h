/* A system call profile: rows that allow and rows that refuse, and what happens to everything else. Built from the named
 * sets (sets.h), the built-in profiles (profiles.h) or a file (orchestrator/profile_file.h), compiled to BPF with libseccomp.
 * Not part of the guard: it only loads what this makes.
 *
 * A row that refuses always wins over one that allows; what no row allows gets the profile's default. */
#ifndef STINT_SANDBOX_PROFILE_H
#define STINT_SANDBOX_PROFILE_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PROFILE_NAME_MAX 48
#define PROFILE_CALL_MAX 40
#define PROFILE_FROM_MAX 96
#define PROFILE_CONDS 6          /* a system call has six arguments */
#define PROFILE_ROWS_MAX 4096u
#define PROFILE_NUMBERS 1024     /* above every system call's number */
#define PROFILE_INSNS_MAX 4096   /* what the kernel takes in one program */

/* What programs can be made for. */
enum profile_arch { PROFILE_X86_64, PROFILE_ARM64 };
#if defined(__x86_64__)
#define PROFILE_NATIVE PROFILE_X86_64
#else /* a third kind of machine is refused when something is compiled */
#define PROFILE_NATIVE PROFILE_ARM64
#endif

enum profile_action { PROFILE_ALLOW, PROFILE_ERRNO, PROFILE_KILL, PROFILE_NOTIFY };

/* (argument & mask) == value. Not wide: the low 32 bits, all that the kernel looks at of an int argument, so that bits set above
 * make no difference. */
struct profile_cond {
	uint8_t arg;
	bool wide;
	bool here; /* mask or value came from a constant that has another value on other architectures */
	uint64_t mask;
	uint64_t value;
};

struct profile_row {
	char call[PROFILE_CALL_MAX];
	enum profile_action action;
	uint16_t error;                  /* of PROFILE_ERRNO */
	unsigned int n_cond;             /* all must hold; 0: whatever the arguments */
	struct profile_cond cond[PROFILE_CONDS];
	char from[PROFILE_FROM_MAX];     /* "agent @io", "my.yaml:7" */
};

struct profile {
	char name[PROFILE_NAME_MAX];
	enum profile_action otherwise;   /* never PROFILE_ALLOW */
	uint16_t otherwise_error;
	struct profile_row *row;
	size_t n;
};

struct profile_program {
	struct sock_filter *insn;
	unsigned short n;
};

/* A zeroed profile with this name that refuses everything with ENOSYS. */
void profile_begin(struct profile *ret, const char *name);
void profile_done(struct profile *p);

/* Adds a row. -ENOMEM or -E2BIG. */
int profile_add(struct profile *p, const struct profile_row *row, struct err *e) MUST_CHECK;
/* Adds every row of a set, `from` (and the set's name) as the origin. -ENOENT when there is no such set. */
int profile_add_set(struct profile *p, const char *set, const char *from, struct err *e) MUST_CHECK;
/* Adds the baseline: all sets, sockets, and what is always refused. only: enum sys_only bits that hold. */
int profile_add_agent(struct profile *p, unsigned int only, const char *from, struct err *e) MUST_CHECK;

/* The sets' names, each once, NULL-terminated; ret has room for PROFILE_SETS_MAX + 1. Returns their number. */
#define PROFILE_SETS_MAX 48u
size_t profile_set_names(const char **ret);
/* What the baseline always refuses, alone. */
int profile_add_refused(struct profile *p, unsigned int only, const char *from, struct err *e) MUST_CHECK;

/* The first row with this call in p (or from index `at` on), or NULL. */
const struct profile_row *profile_find(const struct profile *p, const char *call, size_t at);

/* A number for what the rows and the default say; names and origins make no difference. */
uint64_t profile_hash(const struct profile *p);

/* "x86-64" or "arm64" (also the kernel's words for them); false for anything else. */
bool profile_arch_find(const char *word, enum profile_arch *ret);
const char *profile_arch_name(enum profile_arch arch);

/* The call's number here, -1 when this architecture lacks it, -2 when nobody knows it. */
int profile_call_number(const char *call);
int profile_call_number_on(enum profile_arch arch, const char *call);
/* Name of a number here, "" when it has none. ret: PROFILE_CALL_MAX bytes. */
void profile_call_name(int nr, char ret[PROFILE_CALL_MAX]);
/* The known call nearest to a misspelt one, in ret; false when none is near. */
bool profile_nearest_call(const char *call, char ret[PROFILE_CALL_MAX]);

/* Compiles for the native architecture; a foreign entry (int 0x80, x32) ends the process. Calls that this architecture
 * lacks are left out. Release with profile_program_done(). */
int profile_compile(const struct profile *p, struct profile_program *ret, struct err *e) MUST_CHECK;
int profile_compile_for(const struct profile *p, enum profile_arch arch, struct profile_program *ret, struct err *e) MUST_CHECK;
/* Part of it: a program of this architecture, but with the numbers of another, becomes one for that. */
int profile_retarget(struct profile_program *p, enum profile_arch arch, struct err *e) MUST_CHECK;
void profile_program_done(struct profile_program *p);

#endif
