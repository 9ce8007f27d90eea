/* A command's cgroup: limits on memory and processes as a whole, where cgroup v2 has these controllers. */
#ifndef STINT_SANDBOX_CGROUP_H
#define STINT_SANDBOX_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "protocol/policy.h"

#define CGROUP_NAME_MAX 32

struct cgroup {
	int fd;          /* its directory, owned, or -1: not usable here */
	bool memory;     /* memory.max is in force */
	bool processes;  /* pids.max is in force */
};

/* What this machine offers: the controllers that cgroup v2's root can hand to a child. */
void cgroup_offers(bool *ret_memory, bool *ret_processes);

/* The mounted cgroup v2 hierarchy's top folder, or -1. */
int cgroup_root(void);

/* Makes (or takes over) the folder NAME in parent and sets the limits that are not 0, as far as they can be had there. fd stays -1
 * when there can be no folder. */
void cgroup_make(struct cgroup *ret, int parent, const char *name, uint64_t memory, uint64_t processes);

/* "stint-UID": a turn's. */
void cgroup_turn_name(char ret[CGROUP_NAME_MAX], uid_t uid);
/* Makes it below the top with these limits. Not usable is no error: then rlimits hold and spawn_notes() says so. */
void cgroup_open(struct cgroup *ret, uid_t uid, const struct policy_limits *limits);

/* SIGKILL to everything in it. */
void cgroup_kill(int cgroup_fd);

/* Kills, removes the directory and closes it. Waits at most 2 s for the last process. */
void cgroup_remove(int *cgroup_fd, const char *name);

#endif
