/* One confined command: namespaces, init, view, HOME, scratch, limits, identity, guard.
 * Root code of the warden. Everything it needs arrives as descriptors or as the checked policy.
 *
 *   warden ── fork ──▶ helper in new namespaces = pid 1 (init, root uid without capabilities)
 *                        └─▶ agent side: view is up, identity dropped and proved ─▶ execveat(stint-guard)
 * Source: docs/architecture.md, "One turn". */
#ifndef STINT_SANDBOX_SPAWN_H
#define STINT_SANDBOX_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "protocol/frames.h"
#include "protocol/policy.h"

#define SANDBOX_RUN_DIR "/run/stint"               /* in the view: read-only tmpfs */
#define SANDBOX_PROMPT "/run/stint/prompt"
#define SANDBOX_SUITE_LOG "/run/stint/suite.log"
#define SANDBOX_HOME "/var/lib/stint/home"         /* the agent accounts' passwd home */
#define SANDBOX_STATE_DIR "/var/lib/stint"

struct spawn_spec {
	const struct policy *policy;
	unsigned int role;
	unsigned int layers;         /* enum layer bits in force for this command */
	bool covers;                 /* cover none entries (off only when acl is proved alone) */
	int root_fd;                 /* the project root, borrowed */
	const char *root_path;       /* its absolute path: where the view binds it */
	uid_t uid;                   /* identity of the command: agent, or the owner without LAYER_ACL */
	gid_t gid;
	gid_t writers;               /* the group that lets it write in its zones, beside gid; 0: none */
	uid_t owner;                 /* the project's owner (owns .stint/home before and after) */
	uid_t agent;                 /* the run's agent user: owns .stint/home in between */
	gid_t owner_gid;
	int guard_fd;                /* O_PATH of stint-guard */
	int fds[FRAME_MAX_FDS];      /* enum spawn_fd; -1 where absent */
	int probe_fd;                /* >= 0: the guard runs the probe of these targets (sealed memfd, probe.h) and
	                              * writes results to fds[SPAWN_STDOUT] in place of the command */
	uint32_t iteration;          /* STINT_ITERATION */
	char task[256];              /* STINT_TASK, NUL-terminated */
};

/* The probe of the view alone, as the owner: it asks about the project's zones only, so the role's `read:` paths, which only
 * an agent user may be given, stay out of that view. */
static inline bool spawn_proves_landlock_alone(const struct spawn_spec *s)
{
	return s->probe_fd >= 0 && (s->layers & LAYER_ACL) == 0;
}

struct spawn {                   /* a running command; zeroed is none */
	pid_t init;                  /* the namespace's pid 1, child of the caller */
	int pidfd;
	int life_fd;                 /* closing it ends init: write end of its pipe */
	int status_fd;               /* read end: init sends struct spawn_status, then end of file */
	int cgroup_fd;               /* the turn's cgroup directory, or -1 where unusable */
	uid_t uid;                   /* names that directory */
	uint64_t started_ms;         /* CLOCK_MONOTONIC */
};

/* Starts it. Returns once init exists; failures inside arrive by spawn_wait as EXITED_UNCONFINED with msg. */
int spawn_start(struct spawn *ret, const struct spawn_spec *spec, struct err *e) MUST_CHECK;

/* SIGKILL to init: the kernel ends everything in its pid namespace. Safe to repeat. */
void spawn_kill(struct spawn *s);

/* Waits until init and with it every process of the namespace is gone, and fills the frame (wstatus, usage, flags
 * except DEADLINE/ABORTED, which the caller knows). Releases s. */
int spawn_wait(struct spawn *s, struct frame_exited *ret, struct err *e) MUST_CHECK;

/* Kills every process of uid in this pid namespace and below until none is left (bounded: 10 s, then an error with
 * a pid). uid must not be 0 and not the caller's. */
int kill_all_of(uid_t uid, struct err *e) MUST_CHECK;

/* The running kernel's Landlock ABI, 0 without. */
unsigned int spawn_landlock_abi(void);

/* Human-readable notes on what this kernel cannot enforce for the role (UDP with ports below ABI 10, no cgroup
 * memory, …), one a line, appended to msg. */
void spawn_notes(const struct policy *p, unsigned int role, unsigned int layers, char *msg, unsigned int size);

#endif
