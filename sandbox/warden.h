/* The warden's state machine: answers the coordinator's frames until the run is over.
 * Root code. One table says which frame each state permits; anything else ends the run.
 * Source: docs/architecture.md, "Frames". */
#ifndef STINT_SANDBOX_WARDEN_H
#define STINT_SANDBOX_WARDEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "protocol/frames.h"
#include "protocol/policy.h"
#include "sandbox/spawn.h"
#include "sandbox/tree.h"

enum warden_state {
	WARDEN_START,    /* no policy yet */
	WARDEN_IDLE,     /* tree closed for the agent user's processes: none exist */
	WARDEN_READY,    /* flipped and proved for a role */
	WARDEN_RUNNING,  /* a command of the role runs */
	WARDEN_EXITED,   /* it ended; the tree is still flipped */
	WARDEN_OVER,     /* nothing more is answered */
	WARDEN_STATES
};

struct warden {
	int sock;                    /* to the coordinator; owned */
	int signal_fd;               /* SIGTERM, SIGHUP; owned */
	pid_t coordinator;           /* our child, not waited for yet; 0: none */
	uint64_t stop_ms;            /* CLOCK_MONOTONIC when the run ends by force after a signal; 0: none came */
	int root_fd;                 /* project root; owned */
	const char *root_path;       /* its absolute path */
	int state_dir_fd;            /* /var/lib/stint; owned */
	int guard_fd;                /* O_PATH of stint-guard; owned */
	int lock_fd;                 /* the agent user's machine-wide lock, once there is a policy; owned */
	struct tree_owner who;
	enum warden_state state;
	const struct policy *policy;
	struct tree *tree;
	unsigned int role;           /* of the current turn */
	struct spawn spawn;          /* running command, zeroed when none */
	bool spawned;
	uint64_t deadline_ms;        /* CLOCK_MONOTONIC when the running command must end; 0 none */
	uint32_t exited_flags;       /* why it was ended by us */
};

/* Serves until end of file, a signal, a forbidden frame or a failure; then kills, reclaims and restores, whatever
 * the way out. 0, or a negative errno when something could not be put back (e says what). */
int warden_serve(struct warden *w, struct err *e) MUST_CHECK;

/* Takes /run/stint/uid-N.lock; the descriptor holds it. -EBUSY with STOP_CONFINE when another run has it for longer than wait_ms:
 * a restore of another project holds it for a moment. */
int warden_lock_user(uid_t uid, unsigned int wait_ms, struct err *e) MUST_CHECK;

/* Proves what the role can do with these layers, from inside a domain built like the command's own. Appends one
 * struct prove_cell each to cells and counts those that differ. Needs the tree flipped for the role.
 * Source: docs/threat-model.md, "Proof before trust". */
int prove_role(struct warden *w, unsigned int role, unsigned int layers, struct buf *cells, uint32_t *n_bad,
               struct err *e) MUST_CHECK;

#endif
