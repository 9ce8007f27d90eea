/* The keeper: the process between the supervisor and a command, which ends the command's whole tree: when the command has ended,
 * at the deadline, when it is told to, and when the supervisor is gone, however that died. */
#ifndef STINT_SANDBOX_KEEPER_H
#define STINT_SANDBOX_KEEPER_H

#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"

struct keeper_args {
	uint64_t timeout_ms;           /* 0: no deadline */
	int cgroup_fd;                 /* holds the command, borrowed; -1: none */
	const char *cgroup_name;       /* it is removed after the end, when the supervisor has read it or is gone */
	void (*become)(void *cookie);  /* runs in the command's process: becomes it or ends; signals are as they were for the caller */
	void *cookie;
	void (*gone)(pid_t command);   /* runs in the keeper when nothing of the command is left; or NULL */
};

struct keeper {
	pid_t pid;
	int life_fd;   /* owned: closed, or written to, the keeper ends everything */
	int status_fd; /* owned: readable when there is a keeper_message or the keeper died (end of file) */
};

enum keeper_what { KEEPER_STARTED, KEEPER_ENDED, KEEPER_DEADLINE, KEEPER_TOLD };

struct keeper_message {       /* smaller than PIPE_BUF */
	uint32_t what;        /* KEEPER_STARTED first, then one of the others, last */
	int32_t pid;          /* the command's */
	int32_t wstatus;      /* as of waitpid(2) */
	uint32_t ended;       /* processes that the keeper ended; of KEEPER_ENDED: that the command had left */
	uint64_t wall_ms;
	struct rusage usage;  /* of the command and all that it started */
	char msg[256];        /* what could not be ended, "" when nothing is left */
};

/* The caller becomes a child subreaper, so that even without the keeper descendants_end() reaches everything. */
int keeper_start(struct keeper *ret, const struct keeper_args *a, struct err *e) MUST_CHECK;

/* In a process of one thread with all signals blocked: becomes the keeper of a child that it starts, and ends with it. life_fd: as
 * in struct keeper, seen from here; status_fd: gets the messages, may be the same socket. mask: the child's signals. */
_Noreturn void keeper_run(const struct keeper_args *a, int life_fd, int status_fd, const sigset_t *mask);

/* Reads one message. 1 when there was one, 0 at end of file, or a negative errno. */
int keeper_read(const struct keeper *k, struct keeper_message *ret) MUST_CHECK;
/* Ends the tree now; a KEEPER_TOLD message follows. */
void keeper_tell(const struct keeper *k);
/* Closes and reaps; the keeper has sent its last message or is dead. */
void keeper_done(struct keeper *k);

#endif
