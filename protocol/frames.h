/* The wire between coordinator and warden: SOCK_SEQPACKET, fixed structs, descriptors beside them.
 *
 * Coordinator → warden: POLICY (once), TURN, SPAWN, END. Warden → coordinator: READY, EXITED, CHANGED.
 * A frame never carries a path or an argv. Every request has exactly one answer:
 *   POLICY → READY (policy accepted and every pending repair done)
 *   TURN   → READY (killed, reclaimed, flipped, proved)
 *   SPAWN  → EXITED (when the command and all its processes are gone)
 *   END    → CHANGED (killed, reclaimed; from RUNNING it first ends the command: EXITED, then CHANGED)
 * A READY with status != 0 carries the reason and ends the run: the warden restores and exits.
 * Source: docs/architecture.md, "Frames". */
#ifndef STINT_PROTOCOL_FRAMES_H
#define STINT_PROTOCOL_FRAMES_H

#include <stdint.h>

#include "base/err.h"

enum frame_type {
	FRAME_NONE = 0,
	FRAME_POLICY, FRAME_TURN, FRAME_SPAWN, FRAME_END,
	FRAME_READY, FRAME_EXITED, FRAME_CHANGED,
	FRAME_TYPES
};

#define FRAME_MAX_FDS 4
#define FRAME_MSG_MAX 1024

enum turn_flag {
	TURN_PROVE_LAYERS = 1 << 0, /* also prove acl alone and landlock alone, for this role */
};

enum spawn_fd { SPAWN_STDOUT = 0, SPAWN_STDERR = 1, SPAWN_PROMPT = 2, SPAWN_SUITE_LOG = 3 };

enum exited_flag {
	EXITED_DEADLINE = 1 << 0,
	EXITED_ABORTED = 1 << 1,   /* ended because END or EOF arrived */
	EXITED_UNCONFINED = 1 << 2 /* the command was never started; msg says why */
};

struct frame_policy { uint32_t type; uint32_t pad; };            /* fd 0: sealed policy memfd */
struct frame_turn { uint32_t type; uint32_t role; uint32_t flags; uint32_t pad; };
struct frame_spawn {             /* fds in the order of enum spawn_fd: the first n_fds, 2 to 4. Prompt and suite log
	                          * are sealed memfds (an empty one where there is none) */
	uint32_t type;
	uint32_t n_fds;
	uint32_t iteration;      /* STINT_ITERATION */
	uint32_t pad;
	char task[256];          /* STINT_TASK: a title, NUL-terminated, no control characters */
};
struct frame_end { uint32_t type; uint32_t pad; };
struct frame_ready {
	uint32_t type;
	int32_t status;          /* 0, or positive errno */
	int32_t stop;            /* enum stop when status != 0 */
	uint32_t n_cells;        /* cells proved */
	uint32_t n_bad;          /* cells that differ */
	uint32_t landlock_abi;
	char msg[FRAME_MSG_MAX]; /* reason, or notes for the person (one a line) */
};                               /* fd 0 (after TURN): memfd of struct prove_cell records */
struct frame_exited {
	uint32_t type;
	int32_t wstatus;         /* as wait(2) reports the command */
	uint32_t flags;          /* enum exited_flag */
	uint32_t pad;
	uint64_t wall_ms;
	uint64_t user_ms;
	uint64_t sys_ms;
	uint64_t max_rss;        /* bytes */
	char msg[FRAME_MSG_MAX];
};
enum changed_flag {
	CHANGED_CUT = 1 << 0       /* there was more than the list may hold: only the tree knows all of it */
};

struct frame_changed {
	uint32_t type;
	int32_t status;          /* 0, or positive errno: the run is over */
	uint32_t n_changes;
	uint32_t n_anomalies;
	uint32_t flags;          /* enum changed_flag */
	char msg[FRAME_MSG_MAX];
};                               /* fd 0: memfd of change records */

/* Change list: one record after another, "X" "path" NUL. X: A added, M modified, D deleted,
 * ! anomaly (path is then a sentence). Paths are relative to the root, raw bytes. */

/* One cell of a proof. Observed by the probe as allowed (1) or denied (0). */
enum prove_op { OP_LIST, OP_READ, OP_WRITE, OP_CREATE, OP_DELETE, OP_COUNT };
struct prove_cell {
	uint32_t role;
	uint32_t entry;          /* index into the policy's entries, or UINT32_MAX for .git/.stint/root (see path) */
	uint32_t layers;         /* enum layer bits of the domain that was probed */
	uint8_t op;              /* enum prove_op */
	uint8_t expected;        /* 1 allowed, 0 denied */
	uint8_t observed;
	uint8_t pad;
	int32_t err;             /* errno that the probe saw; 0 for allowed without error */
	char path[256];          /* what was probed, relative, cut */
};

union frame {
	uint32_t type;
	struct frame_policy policy;
	struct frame_turn turn;
	struct frame_spawn spawn;
	struct frame_end end;
	struct frame_ready ready;
	struct frame_exited exited;
	struct frame_changed changed;
};

/* Exact size of a frame of this type, 0 for an unknown type. */
uint32_t frame_size(uint32_t type);
const char *frame_name(uint32_t type);
const char *prove_op_name(unsigned int op);

/* Sends f with n descriptors (borrowed). 0 or negative errno (-EPIPE: the peer is gone;
 * -EAGAIN: it does not read). */
int frame_send(int sock, const union frame *f, const int *fds, unsigned int n) MUST_CHECK;

/* Receives one frame: *ret and up to FRAME_MAX_FDS descriptors, owned by the caller (-1 where none).
 * 0; 1 at end of file; -EPROTO for a wrong size, type or ancillary data (descriptors are closed then). */
int frame_recv(int sock, union frame *ret, int fds[FRAME_MAX_FDS]) MUST_CHECK;

#endif
