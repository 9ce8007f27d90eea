/* Supervised mode of `stint guard`: what one execve cannot give. The supervisor starts a keeper (keeper.h), that the guard, and
 * that becomes the command. Source: man/stint-guard.1, "Supervised mode". */
#ifndef STINT_ORCHESTRATOR_SUPERVISE_H
#define STINT_ORCHESTRATOR_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sandbox/keeper.h"
#include "orchestrator/supervise_limits.h"
#include "orchestrator/supervise_output.h"
#include "orchestrator/watch.h"
#include "sandbox/guard.h"

/* What was asked for, as numbers; 0: not asked for. */
struct supervise_wants {
	uint64_t timeout_ms;
	uint64_t memory;     /* bytes */
	uint64_t processes;
	uint64_t output;     /* bytes of each of stdout and stderr */
};
int supervise_read(const struct guard_supervise *words, struct supervise_wants *ret, struct err *e) MUST_CHECK;

/* What to run, and what to do meanwhile. All borrowed. */
struct supervise {
	char **words;        /* the guard's argv */
	const char *path;    /* of stint-guard */
	const struct guard_options *o;
	int profile_fd;      /* compiled, or -1: the guard has it built in */
	int socket_fd;       /* to the guard */
	int guard_fd;        /* the guard's end of it */
	uint64_t timeout_ms;
	const struct supervise_limits *limits;
	struct output *output; /* NULL: not limited */
	struct watch *watch;   /* NULL: the guard's filter has no listener */
	void (*tell)(void *cookie, const char *line); /* a line for people, while the command runs */
	void *cookie;
};

/* How it ended. */
struct supervise_end {
	enum keeper_what why;
	int signal;          /* that told the supervisor to end, or 0 */
	bool lost_keeper;    /* something ended the keeper first */
	struct keeper_message last;
	bool counted;        /* by the cgroup */
	struct supervise_counts counts;
};

/* Runs the command to its end; every process of it is gone when this returns 0. Signals that end a program are blocked from here
 * on. */
int supervise_run(const struct supervise *s, struct supervise_end *ret, struct err *e) MUST_CHECK;

#endif
