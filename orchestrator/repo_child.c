/* A child for work that may hang, which is killed at a deadline, or that takes memory only for a moment: libgit2's copy
 * of a large index is larger than all else together, and the coordinator lives on for hours. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"

struct result {
	int rc;
	bool done;
	struct err e;
};

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* 0 when the child has ended, -ETIMEDOUT when the time was up first. */
static int wait_until(int pidfd, uint64_t deadline_ms)
{
	uint64_t end = now_ms() + deadline_ms;

	for (;;) {
		struct pollfd p = {.fd = pidfd, .events = POLLIN};
		uint64_t now = now_ms();
		uint64_t left = now >= end ? 0 : end - now;
		int wait = deadline_ms == 0 ? -1 : left > 60000 ? 60000 : (int)left;
		int n = poll(&p, 1, wait);

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (deadline_ms != 0 && left == 0)
			return -ETIMEDOUT;
	}
}

/* The wait status; 0 when somebody else took it. */
static int reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return status;
}

static int watch(pid_t pid, uint64_t deadline_ms, const struct result *shared, struct err *e)
{
	AUTO_FD pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int rc = pidfd < 0 ? -errno : wait_until(pidfd, deadline_ms);
	int status;

	if (rc != 0)
		(void)kill(pid, SIGKILL);
	status = reap(pid);
	if (rc == -ETIMEDOUT)
		return rc;
	if (rc != 0)
		return err_errno(e, -rc, "cannot wait for a child");
	if (!shared->done && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
		return err_stop(e, STOP_INTERRUPTED, err_set(e, EINTR, "interrupted"));
	if (!shared->done)
		return err_set(e, EIO, "cannot work on the repository: the process for it ended early (%s %d): start again",
		               WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	if (e != NULL)
		*e = shared->e;
	return shared->rc;
}

/* Work with a deadline may be interrupted at the terminal; work without one is short and must be finished. */
static void child_signals(bool interruptible)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		(void)signal(signals[i], interruptible ? SIG_DFL : SIG_IGN);
		(void)sigaddset(&set, signals[i]);
	}
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int repo_in_child(int (*fn)(void *arg, struct err *e), void *arg, uint64_t deadline_ms, struct err *e)
{
	struct result *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t parent = getpid();
	pid_t pid;
	int rc;

	if (shared == MAP_FAILED)
		return err_errno(e, errno, "cannot start a child");
	pid = fork();
	if (pid < 0) {
		rc = err_errno(e, errno, "cannot start a child");
	} else if (pid == 0) {
		child_signals(deadline_ms != 0);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		shared->rc = fn(arg, &shared->e);
		shared->done = true;
		_exit(0);
	} else {
		rc = watch(pid, deadline_ms, shared, e);
	}
	(void)munmap(shared, sizeof(*shared));
	return rc;
}
