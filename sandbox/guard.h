/* stint-guard's parts: what was asked (guard_options.c), the prompt put into the command (guard_prompt.c),
 * the confinement (guard_confine.c) and what is said about it (guard_summary.c). */
#ifndef STINT_SANDBOX_GUARD_H
#define STINT_SANDBOX_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "sandbox/landlock.h"

#define GUARD_MAX_PORTS 64u
#define GUARD_MAX_PATHS 4096u
#define GUARD_MAX_NAMES 32u
#define GUARD_MAX_KEPT 16u

struct guard_path {
	const char *path; /* borrowed from argv */
	enum landlock_grant grant;
	bool optional;
	bool missing;     /* set by guard_confine(): optional, and not there */
};

struct guard_ports {
	uint16_t port[GUARD_MAX_PORTS];
	unsigned int n;
};

/* What one execve cannot give: any of these asks for a supervisor. Words as they were given; it reads them. */
struct guard_supervise {
	const char *timeout;
	const char *max_memory;
	const char *max_procs;
	const char *max_output;
	const char *report;
	const char *learn;
	bool yes;
};

struct guard_options {
	struct guard_path *paths;
	size_t n_paths;
	struct guard_ports connect;
	struct guard_ports bind;
	bool net_unrestricted;
	bool no_system;
	bool no_landlock;
	bool no_scope;
	bool quiet;
	bool print_profile;
	bool help;
	const char *filter; /* a built-in profile's name, or profile_file; NULL for none */
	const char *profile_file; /* --profile FILE: to be compiled first, unless profile_fd holds it already */
	int min_abi;
	int prompt_fd;      /* -1 when not given, like the next three */
	int error_fd;
	int probe_fd;
	int result_fd;
	int profile_fd;     /* a compiled profile: see filter_file.h */
	int supervisor_fd;  /* the supervisor's socket: it has dealt with `supervise` */
	struct guard_supervise supervise;
	int kept[GUARD_MAX_KEPT]; /* --keep-fd: the command's, besides 0, 1 and 2 */
	unsigned int n_kept;
	const char *prompt_file;
	char **command;     /* NULL-terminated, points into argv; empty with probe_fd */
};

/* Fills a zeroed object from the command line, release with guard_options_done() in either case. error_fd is valid
 * even after a failure if it was given before the word that failed. -EINVAL with a sentence. */
int guard_parse(struct guard_options *o, int argc, char **argv, struct err *e) MUST_CHECK;
void guard_options_done(struct guard_options *o);

/* The command with {prompt} and {prompt_file} put in, as a fresh NULL-terminated vector; words without them are
 * borrowed. Replaced text is not looked at again. Released at exit only.
 * -E2BIG or -EINVAL (a NUL byte) when the prompt does not fit in an argument. */
int guard_expand(const struct guard_options *o, char ***ret, struct err *e) MUST_CHECK;

/* True when an option needs a supervisor that is not there yet. */
bool guard_wants_supervisor(const struct guard_options *o);
/* Has the coordinator compile profile_file, or supervise, and start this program again; returns only when that fails. */
int guard_compile(const struct guard_options *o, char **argv, struct err *e) MUST_CHECK;

/* `--keeper-fd N` stands in front of all other options. N: a socket, all descriptors above it are closed. */
bool guard_wants_keeper(int argc, char **argv);
/* Calls run() without these two words in a child in a session of its own, stays as its keeper (keeper.h), answers at N and ends
 * with it; returns only when that fails. */
int guard_keep(int argc, char **argv, int (*run)(int argc, char **argv), struct err *e) MUST_CHECK;

/* What is in force after guard_confine(). */
struct guard_state {
	int abi;          /* the running kernel's, 0 when Landlock is off by request */
	bool sockets;     /* the filter lets inet sockets be made */
	const char *profile; /* its name, NULL for none */
	struct buf absent; /* system rows that this machine lacks, ", " between */
};

/* no_new_privs, Landlock, seccomp, in this order, on the calling thread. Marks missing optional paths. */
int guard_confine(struct guard_options *o, struct guard_state *ret, struct err *e) MUST_CHECK;

/* The folders and devices that every program expects. */
struct guard_system_row {
	const char *path; /* NULL ends the table */
	enum landlock_grant grant;
	const char *why;
};
extern const struct guard_system_row guard_system[];

/* At most 12 lines for people about what was granted and what is not enforced. Bytes from outside are escaped. */
int guard_summary(struct buf *ret, const struct guard_options *o, const struct guard_state *s) MUST_CHECK;

#endif
