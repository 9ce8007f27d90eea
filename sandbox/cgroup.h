/* The turn's cgroup: limits on memory and processes as a whole, where cgroup v2 has these controllers. */
#ifndef STINT_SANDBOX_CGROUP_H
#define STINT_SANDBOX_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "protocol/policy.h"

struct cgroup {
	int fd;          /* directory of stint-UID, owned, or -1: not usable here */
	bool memory;     /* memory.max is in force */
	bool processes;  /* pids.max is in force */
};

/* What this machine offers: the controllers that cgroup v2's root can hand to a child. */
void cgroup_offers(bool *ret_memory, bool *ret_processes);

/* Makes stint-UID with these limits. Not usable is no error: then rlimits hold and spawn_notes() says so. */
void cgroup_open(struct cgroup *ret, uid_t uid, const struct policy_limits *limits);

/* SIGKILL to everything in it. */
void cgroup_kill(int cgroup_fd);

/* Kills, removes the directory and closes it. Waits at most 2 s for the last process. */
void cgroup_remove(int *cgroup_fd, uid_t uid);

#endif
