/* stint-guard's parts: what was asked (guard_options.c), the prompt put into the command (guard_prompt.c), its environment
 * (guard_env.c) and TMPDIR (guard_tmp.c, guard_sweep.c), the confinement (guard_confine.c), and what is said about it, for people
 * (guard_summary.c) and for programs (guard_policy.c). */
#ifndef STINT_SANDBOX_GUARD_H
#define STINT_SANDBOX_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "sandbox/checked.h"
#include "sandbox/landlock.h"
#include "sandbox/seccomp.h"

#define GUARD_MAX_PORTS 64u
#define GUARD_MAX_PATHS 4096u
#define GUARD_MAX_NAMES 32u
#define GUARD_MAX_KEPT 16u
#define GUARD_DNS_PORT 53

struct guard_path {
	const char *path; /* borrowed from argv */
	enum landlock_grant grant;
	bool optional;
	bool keeps_exec;  /* --allow-exec: --no-exec does not concern it */
	bool missing;     /* set by guard_confine(): optional, and not there */
	char *target;     /* set by guard_confine(), owned: where symlinks led; NULL when there were none on the way */
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
	bool no_exec;     /* granted paths may not be executed; parsed into their grants already */
	bool best_effort; /* what was asked for and this kernel cannot hold is said, not refused */
	bool no_tmp;      /* no TMPDIR of its own */
	bool env_all;     /* the whole environment is passed on */
	bool print_policy;
	bool named;         /* --profile was given */
	bool checked;       /* a profile that was not checked here is refused */
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
	const char **env;   /* --env's words, borrowed from argv: NAME, which is set, or NAME=VALUE */
	size_t n_env;
	char **command;     /* NULL-terminated, points into argv; empty with probe_fd */
};

/* Fills a zeroed object from the command line, release with guard_options_done() in either case. error_fd is valid
 * even after a failure if it was given before the word that failed. -EINVAL with a sentence. */
int guard_parse(struct guard_options *o, int argc, char **argv, struct err *e) MUST_CHECK;
void guard_options_done(struct guard_options *o);
/* Wherever --no-exec stood, it concerns every path but those of --allow-exec: called once, when the options are complete. */
void guard_take_exec_away(struct guard_options *o);

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

/* The command's own TMPDIR. */
struct guard_tmp {
	char *path; /* owned, NULL when there is none */
	int fd;     /* owned, O_PATH, -1 when there is none */
	char why[256]; /* why there is none although it was wanted */
};

/* What is in force after guard_confine(). */
struct guard_state {
	int abi;          /* the running kernel's, 0 when Landlock is off by request */
	bool sockets;     /* the filter lets inet sockets be made */
	const struct filter *filter; /* NULL for none */
	const uint64_t *key; /* of the filter's listener, NULL for none: see filter_install_listened() */
	struct landlock_rights handled;
	enum checked checked; /* what is known of the profile; passed unless it was named or --checked given */
	struct buf absent; /* system rows that this machine lacks, ", " between */
	struct guard_tmp tmp;
	char **env;       /* the command's environment; the vector and what it replaces are released at exit only */
	size_t env_passed; /* of the caller's variables; the rest was dropped */
	size_t env_dropped;
};

/* What will be in force: filter, ABI, handled rights; or why this kernel cannot hold what was asked for. Changes nothing. Fills a
 * zeroed state; release with guard_state_done(). */
int guard_plan(const struct guard_options *o, struct guard_state *ret, struct err *e) MUST_CHECK;
/* no_new_privs, TMPDIR, Landlock, seccomp, in this order, on the calling thread. Marks missing optional paths. */
int guard_confine(struct guard_options *o, struct guard_state *s, struct err *e) MUST_CHECK;
void guard_state_done(struct guard_state *s);

/* Where the path that fd was opened by really leads, when symlinks on the way made that another place than its words say: an
 * allocated absolute path, otherwise NULL. Only for people: the rule binds what fd is open on. */
char *guard_target(int fd, const char *path);

/* A TMPDIR wanted, and its grant. */
bool guard_wants_tmp(const struct guard_options *o);
enum landlock_grant guard_tmp_grant(const struct guard_options *o);
/* A fresh folder of mode 0700, below $TMPDIR or /tmp, for this process; ret->why says why there is none. Removes what processes
 * that are gone left there. */
void guard_tmp_make(struct guard_tmp *ret);
/* Takes it away again: nothing was started. */
void guard_tmp_undo(struct guard_tmp *t);
/* Takes away what that process made for itself; it is gone, and so are its children. For keepers (keeper.h). */
void guard_tmp_gone(pid_t pid);
/* Where it would be made, for --print-policy. */
int guard_tmp_parent(struct buf *ret) MUST_CHECK;

/* Below parent (the caller's own folder of mode 0700, all of whose entries it made): removes the folders of processes that are
 * gone. Follows no link, leaves other file systems, does a bounded amount of work, and nothing when it was done a minute ago. */
void guard_sweep(int parent);
/* Those of one process that is gone, now. */
void guard_sweep_of(int parent, pid_t pid);
/* "NAMESPACE.PID.START", hexadecimal: names a process for good, as far as one machine's boot goes. Short, because sockets are made
 * in TMPDIR and their paths end at 107 bytes. */
#define GUARD_PROCESS_MAX 64
void guard_process_name(char ret[GUARD_PROCESS_MAX]);

/* Fills s->env from the caller's environment, o->env and the TMPDIR in s. -ENOMEM. */
int guard_environment(const struct guard_options *o, struct guard_state *s, struct err *e) MUST_CHECK;

/* Has the coordinator print what guard_plan() found as JSON; returns only when that fails. Paths are looked up, nothing is made. */
int guard_policy(const struct guard_options *o, struct guard_state *s, struct err *e) MUST_CHECK;

/* Looks up whether the profile was tried here (checked.h), where that is asked for. -EPERM when --checked demands it and it was
 * not. */
int guard_checked(const struct guard_options *o, const struct filter *f, enum checked *ret, struct err *e) MUST_CHECK;

/* The folders and devices that every program expects. */
struct guard_system_row {
	const char *path; /* NULL ends the table */
	enum landlock_grant grant;
	const char *why;
};
extern const struct guard_system_row guard_system[];

/* "limit TCP to the granted ports (ABI 4); …": what below this ABI cannot be held, "; " between. */
int guard_lacks(struct buf *ret, int abi) MUST_CHECK;

/* At most 12 lines for people about what was granted and what is not enforced. Bytes from outside are escaped. */
int guard_summary(struct buf *ret, const struct guard_options *o, const struct guard_state *s) MUST_CHECK;

#endif
