/* libstint: confining the calling process, by the guard's own code. See stint.h. */
#include "sandbox/stint_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"

/* Landlock (before ABI 8) and filters bind the calling thread only. */
static int check_threads(unsigned int flags, struct err *e)
{
	struct stat st;

	if ((flags & ~STINT_THIS_THREAD) != 0)
		return err_set(e, EINVAL, "no such flag");
	if ((flags & STINT_THIS_THREAD) != 0)
		return 0;
	/* ".", "..", and one a thread */
	if (stat("/proc/self/task", &st) != 0)
		return err_errno(e, errno, "cannot count this process's threads: /proc is needed, or STINT_THIS_THREAD");
	if (st.st_nlink != 3)
		return err_set(e, EBUSY, "this process has several threads: confine it before it starts them, or say STINT_THIS_THREAD");
	return 0;
}

/* What guard_confine() marks in the options stays in a copy: the policy may be another thread's as well. */
static int confine(const struct stint_policy *p, struct err *e)
{
	struct guard_options o = p->o;
	struct guard_state state = {.tmp.fd = -1};
	AUTO_FD profile_fd = -1;
	int rc = 0;

	if (p->profile != NULL)
		rc = stint_profile_fd(p->profile, stint_policy_net(p), &profile_fd, e);
	if (rc != 0)
		return rc;
	if (p->profile != NULL)
		o.filter = p->profile->name;
	o.profile_fd = profile_fd;
	o.paths = calloc(p->o.n_paths + 1, sizeof(*o.paths));
	if (o.paths == NULL)
		return err_errno(e, ENOMEM, "cannot confine");
	if (p->o.n_paths > 0)
		memcpy(o.paths, p->o.paths, p->o.n_paths * sizeof(*o.paths));
	guard_take_exec_away(&o);
	rc = guard_plan(&o, &state, e);
	if (rc == 0)
		rc = guard_confine(&o, &state, e);
	guard_state_done(&state);
	free(state.env); /* a command's; this process keeps its own */
	free(o.paths);
	return rc;
}

int stint_confine(const struct stint_policy *p, unsigned int flags, struct stint_error *error)
{
	struct err e = {0};
	int rc = p == NULL ? err_set(&e, EINVAL, "a policy is needed") : check_threads(flags, &e);

	if (rc == 0)
		rc = confine(p, &e);
	return stint_fail(error, &e, rc);
}
