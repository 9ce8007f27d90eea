/* The keeper: see keeper.h. The command cannot reach it with signals where Landlock has scopes; where it can and does, the tree
 * comes back to the supervisor, which ends it in the keeper's place. */
#include "sandbox/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "sandbox/descendants.h"
#include "sandbox/cgroup.h"

struct keeping {
	const struct keeper_args *a;
	int life_fd;
	int status_fd;
	int signal_fd;
	pid_t command;
	uint64_t start_ms;
	struct keeper_message m;
};

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

/* The command's own process. */
_Noreturn static void become(const struct keeper_args *a, const sigset_t *mask, pid_t keeper)
{
	/* Without the keeper there is no one to end it; the pipe covers a keeper that died before this. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != keeper)
		_exit(RUN_UNCONFINED);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	a->become(a->cookie);
	_exit(RUN_UNCONFINED);
}

static int watch_children(int *ret)
{
	sigset_t child;
	int fd;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	(void)signal(SIGCHLD, SIG_DFL);
	fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

/* Only what it needs: the command's pipes must end with the command, and a tracer of the same user gets nothing. */
static int shrink(const struct keeping *k)
{
	const int keep[] = {k->life_fd, k->status_fd, k->signal_fd, k->a->cgroup_fd};

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return -errno;
	return fd_close_from_except(0, keep, sizeof(keep) / sizeof(keep[0]));
}

/* True when the command itself has ended. */
static bool reap(struct keeping *k)
{
	struct signalfd_siginfo info;
	bool ended = false;

	while (read(k->signal_fd, &info, sizeof(info)) > 0)
		continue;
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid <= 0)
			return ended;
		if (pid != k->command)
			continue;
		k->m.wstatus = status;
		ended = true;
	}
}

static int remaining(const struct keeping *k)
{
	uint64_t past = now_ms() - k->start_ms;

	if (k->a->timeout_ms == 0)
		return -1;
	if (past >= k->a->timeout_ms)
		return 0;
	return k->a->timeout_ms - past > 1000000u ? 1000000 : (int)(k->a->timeout_ms - past);
}

/* Why it is over. */
static enum keeper_what watch(struct keeping *k)
{
	for (;;) {
		struct pollfd p[] = {{.fd = k->life_fd, .events = POLLIN}, {.fd = k->signal_fd, .events = POLLIN}};
		int wait_ms = remaining(k);
		int n = wait_ms == 0 ? 0 : poll(p, sizeof(p) / sizeof(p[0]), wait_ms);

		if (n < 0 && errno != EINTR)
			return KEEPER_TOLD;
		if (n > 0 && p[1].revents != 0 && reap(k))
			return KEEPER_ENDED;
		if (n > 0 && p[0].revents != 0)
			return KEEPER_TOLD;
		if (remaining(k) == 0)
			return KEEPER_DEADLINE;
	}
}

/* The supervisor has read what the cgroup counted when it closes the pipe. */
static void await_end(const struct keeping *k)
{
	char told;
	ssize_t n;

	do
		n = read(k->life_fd, &told, 1);
	while (n > 0 || (n < 0 && errno == EINTR));
}

void keeper_run(const struct keeper_args *a, int life_fd, int status_fd, const sigset_t *mask)
{
	struct keeping keeping = {.a = a, .life_fd = life_fd, .status_fd = status_fd, .signal_fd = -1};
	struct keeping *k = &keeping;
	struct err e = {0};
	pid_t self = getpid();
	int cgroup_fd = k->a->cgroup_fd;

	k->start_ms = now_ms();
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || watch_children(&k->signal_fd) != 0)
		_exit(1);
	k->command = fork();
	if (k->command == 0)
		become(k->a, mask, self);
	if (k->command < 0 || shrink(k) != 0)
		_exit(1); /* the supervisor finds the command */
	k->m = (struct keeper_message){.what = KEEPER_STARTED, .pid = (int32_t)k->command};
	(void)!fd_write_all(k->status_fd, &k->m, sizeof(k->m));
	k->m.what = watch(k);
	if (descendants_end(k->a->cgroup_fd, k->command, &k->m.wstatus, &k->m.ended, &e) != 0)
		(void)snprintf(k->m.msg, sizeof(k->m.msg), "%.250s", e.msg);
	else if (a->gone != NULL)
		a->gone(k->command);
	k->m.wall_ms = now_ms() - k->start_ms;
	(void)getrusage(RUSAGE_CHILDREN, &k->m.usage);
	(void)!fd_write_all(k->status_fd, &k->m, sizeof(k->m));
	await_end(k);
	cgroup_remove(&cgroup_fd, k->a->cgroup_name);
	_exit(0);
}

int keeper_start(struct keeper *ret, const struct keeper_args *a, struct err *e)
{
	sigset_t all;
	sigset_t mask;
	int life[2];
	int status[2];
	pid_t pid;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || pipe2(life, O_CLOEXEC) != 0)
		return err_errno(e, errno, "cannot supervise");
	if (pipe2(status, O_CLOEXEC) != 0) {
		int code = errno;

		(void)close(life[0]);
		(void)close(life[1]);
		return err_errno(e, code, "cannot supervise");
	}
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &mask);
	pid = fork();
	if (pid == 0) {
		(void)close(life[1]);
		(void)close(status[0]);
		keeper_run(a, life[0], status[1], &mask);
	}
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	(void)close(life[0]);
	(void)close(status[1]);
	*ret = (struct keeper){.pid = pid, .life_fd = life[1], .status_fd = status[0]};
	return pid > 0 ? 0 : err_errno(e, errno, "cannot start the keeper");
}

int keeper_read(const struct keeper *k, struct keeper_message *ret)
{
	char *to = (char *)ret;
	size_t n = 0;

	while (n < sizeof(*ret)) {
		ssize_t got = read(k->status_fd, to + n, sizeof(*ret) - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		n += (size_t)got;
	}
	return 1;
}

void keeper_tell(const struct keeper *k)
{
	(void)!fd_write_all(k->life_fd, "k", 1);
}

void keeper_done(struct keeper *k)
{
	fd_close(&k->life_fd);
	fd_close(&k->status_fd);
	while (k->pid > 0 && waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	k->pid = 0;
}
