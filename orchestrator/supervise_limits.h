/* Limits of a supervised command as a whole: by a cgroup v2 where this user can have one with the controller, otherwise by rlimits.
 * Source: the kernel's admin-guide/cgroup-v2, "Delegation"; setrlimit(2). */
#ifndef STINT_ORCHESTRATOR_SUPERVISE_LIMITS_H
#define STINT_ORCHESTRATOR_SUPERVISE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "sandbox/cgroup.h"

enum limit_by {
	LIMIT_NOT,     /* not asked for */
	LIMIT_CGROUP,  /* all processes together */
	LIMIT_RLIMIT,  /* memory: each process; processes: with the user's others, which are added to it */
};

struct supervise_limits {
	uint64_t memory;     /* bytes, 0: not asked for */
	uint64_t processes;
	enum limit_by memory_by;
	enum limit_by processes_by;
	uint64_t others;     /* processes of this user when it was made; with LIMIT_RLIMIT */
	struct cgroup cg;    /* also without limits, to end everything at once; cg.fd -1: none */
	char name[CGROUP_NAME_MAX];
};

/* Chooses and makes. A limit that nothing can hold is an error. serial tells those apart that this process has at the same time.
 * Release with supervise_limits_close(). */
int supervise_limits_open(struct supervise_limits *ret, uint64_t memory, uint64_t processes, unsigned int serial,
                          struct err *e) MUST_CHECK;
void supervise_limits_close(struct supervise_limits *l);

/* Puts the calling process under them, for good. */
int supervise_limits_enter(const struct supervise_limits *l, struct err *e) MUST_CHECK;

/* "memory 512 MiB together (cgroup v2); …", "" without limits. */
int supervise_limits_say(const struct supervise_limits *l, struct buf *ret) MUST_CHECK;

/* What the cgroup counted; false without one. Before supervise_limits_close(). */
struct supervise_counts {
	uint64_t memory_peak; /* bytes, 0: unknown */
	uint64_t oom_kills;
	uint64_t forks_refused;
};
bool supervise_limits_counts(const struct supervise_limits *l, struct supervise_counts *ret);

#endif
