/* One command under a compiled profile, for trying the profile out: under all of it, or under what it says of some calls only; and
 * where its refusals are to be seen, each call that is refused comes here first, by seccomp user notification, and is then answered
 * as the program says. A signal with a handler may end such a call with EINTR instead: judge by runs that are not watched. No call
 * is ever let through from here.
 *
 * Between this process and the command stands one of our own, which answers the calls, ends the command at its deadline and
 * everything that it left behind, and dies with us. */
#ifndef STINT_ORCHESTRATOR_CHECK_RUN_H
#define STINT_ORCHESTRATOR_CHECK_RUN_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "sandbox/profile.h"

#define CHECK_CALLS 64u /* that are told apart in one run; further ones are answered and not listed */

struct check_run {
	const struct profile_program *program; /* NULL: no filter at all */
	bool watch;                  /* the refused calls are wanted */
	bool listed;                 /* the program is asked of the calls in list only, by nr and arch; all others pass */
	const struct seccomp_data *list;
	unsigned int n_list;         /* at most CHECK_CALLS */
	const char *dir;             /* to run in */
	const char *path;            /* the program, absolute or from dir on */
	char *const *argv;
	char *const *env;
	int in_fd, out_fd, err_fd;   /* its first three descriptors, borrowed */
	unsigned int deadline_ms;
};

struct check_ran {
	int wstatus;                 /* of the command, as waitpid() has it */
	bool late;                   /* the deadline came first */
	int error;                   /* errno when the command could not be started: wstatus is then without meaning */
	int unwatched;               /* errno when the kernel does not hand calls over; check_run() fails then */
	unsigned int n;
	struct seccomp_data call[CHECK_CALLS]; /* of a watched run, what was refused: each number once, as it first came, in order */
};

/* Runs it to its end. 0, or a negative errno: when it could not be watched (a kernel without user notification); -E2BIG when the
 * list and the program are more instructions than the kernel takes. */
int check_run(const struct check_run *r, struct check_ran *ret, struct err *e) MUST_CHECK;

#endif
