/* Every process below the calling one, wherever setsid and double forks have taken it: the caller must be a child subreaper, so
 * that orphans come back to it. Source: /proc/PID/stat; prctl(2), PR_SET_CHILD_SUBREAPER. */
#ifndef STINT_SANDBOX_DESCENDANTS_H
#define STINT_SANDBOX_DESCENDANTS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Ends them all and reaps them: all stopped first, so that what they fork cannot outrun the search and what is freed by one is not
 * taken by another, then killed. cgroup_fd: the folder of a cgroup v2 that holds them too, or -1. watch: one of them whose
 * wait status goes to *ret_wstatus when it is reaped here, or 0. *ret_ended: how many ran when they were stopped.
 * 0, or -EBUSY with a sentence when some do not end within ten seconds. */
int descendants_end(int cgroup_fd, pid_t watch, int *ret_wstatus, unsigned int *ret_ended, struct err *e) MUST_CHECK;

/* The same for a process that has children besides, which go on with all that is below them; the others are reaped, those not. */
struct descendants_spare {
	const pid_t *pid;
	size_t n;
};
int descendants_end_but(int cgroup_fd, const struct descendants_spare *spare, unsigned int *ret_ended, struct err *e) MUST_CHECK;

/* Their number, threads counted, zombies not; 0 when /proc cannot be read. root: below this process, itself not counted. */
unsigned int descendants_count(pid_t root);

#endif
