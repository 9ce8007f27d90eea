/* --keeper-fd: for libstint, whose caller may have threads, children and signal handlers of its own, so that it can neither fork
 * nor be the parent of a command's orphans. The guard stays as the keeper of a child, which goes on as without this option. See
 * guard.h. */
#include "sandbox/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "sandbox/keeper.h"

struct child {
	int argc;
	char **argv;
	int (*run)(int argc, char **argv);
	int keep_fd;
};

/* In a session of its own: a signal to its own process group does not reach the keeper. */
static void become(void *cookie)
{
	const struct child *c = cookie;

	(void)close(c->keep_fd);
	_exit(setsid() < 0 ? RUN_UNCONFINED : c->run(c->argc, c->argv));
}

bool guard_wants_keeper(int argc, char **argv)
{
	return argc > 2 && str_eq(argv[1], "--keeper-fd");
}

int guard_keep(int argc, char **argv, int (*run)(int argc, char **argv), struct err *e)
{
	char *end = NULL;
	long fd = strtol(argv[2], &end, 10);
	struct child c = {.argc = argc - 2, .argv = argv + 2, .run = run, .keep_fd = (int)fd};
	struct keeper_args a = {.cgroup_fd = -1, .become = become, .cookie = &c, .gone = guard_tmp_gone};
	sigset_t all;
	sigset_t mask;
	int rc;

	if (end == argv[2] || *end != '\0' || fd <= STDERR_FILENO || fd > 1 << 20 || fcntl((int)fd, F_GETFD) < 0)
		return err_set(e, EINVAL, "--keeper-fd %s: an open descriptor above 2 is needed", argv[2]);
	rc = fd_close_from_except((int)fd + 1, NULL, 0);
	if (rc != 0)
		return err_errno(e, -rc, "cannot close what the caller left open");
	(void)sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, &mask) != 0)
		return err_errno(e, errno, "cannot block signals");
	argv[2] = argv[0];
	keeper_run(&a, (int)fd, (int)fd, &mask);
}
