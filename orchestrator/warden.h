/* The coordinator's side of the frames: asks the warden, one request at a time.
 * Errors carry STOP_CONFINE, or the exit status that the warden gave. -EPIPE: the warden is gone.
 * Source: docs/architecture.md, "Frames". */
#ifndef STINT_ORCHESTRATOR_WARDEN_H
#define STINT_ORCHESTRATOR_WARDEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "protocol/frames.h"

/* Hands the compiled policy over, once. policy_fd is borrowed. */
int warden_policy(int sock, int policy_fd, struct err *e) MUST_CHECK;

/* A turn's proof. cells: struct prove_cell records; notes: what this kernel cannot enforce, one a line. */
struct warden_ready {
	struct buf cells;
	uint32_t n_cells;
	uint32_t n_bad;
	unsigned int landlock_abi;
	char notes[FRAME_MSG_MAX];
};
void warden_ready_done(struct warden_ready *r);

/* Kill, reclaim, flip, prove. A proof that differs is an error; ret->cells then still holds what was seen. */
int warden_turn(int sock, unsigned int role, uint32_t flags, struct warden_ready *ret, struct err *e) MUST_CHECK;

/* Starts the role's command. All descriptors are borrowed; prompt and suite_log may be -1. task is cleaned and cut here. */
struct warden_command {
	int stdout_fd;
	int stderr_fd;
	int prompt_fd;
	int suite_log_fd;
	const char *task;
	unsigned int iteration;
};
int warden_spawn(int sock, const struct warden_command *c, struct err *e) MUST_CHECK;

/* Reads the EXITED frame; call when sock is readable (or to wait for it). */
int warden_exited(int sock, struct frame_exited *ret, struct err *e) MUST_CHECK;

/* Ends the turn. running: a command is still running; its EXITED frame is then read into ret_exited first. */
struct warden_changes {
	struct buf records;        /* as in protocol/frames.h */
	uint32_t n_changes;
	uint32_t n_anomalies;
	bool cut;                  /* the list is incomplete: ask the tree */
};
void warden_changes_done(struct warden_changes *c);
int warden_end(int sock, bool running, struct frame_exited *ret_exited, struct warden_changes *ret, struct err *e) MUST_CHECK;

#endif
