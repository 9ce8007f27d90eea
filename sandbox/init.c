/* Init: see init.h. Ended by SIGKILL only: as pid 1 of its namespace it gets no other signal that it does not handle,
 * and it handles none. */
#include "sandbox/init.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "sandbox/agent_side.h"
#include "sandbox/view.h"

struct running {
	pid_t agent;
	int error_fd;             /* read end of the guard's error pipe, -1 after its end */
	int signal_fd;
	size_t n;                 /* bytes in status.msg */
	struct spawn_status status;
};

_Noreturn static void report(int status_fd, const struct spawn_status *s)
{
	(void)!fd_write_all(status_fd, s, sizeof(*s));
	_exit(0);
}

_Noreturn static void report_unconfined(int status_fd, const struct err *e)
{
	struct spawn_status s = {.wstatus = RUN_UNCONFINED << 8, .flags = EXITED_UNCONFINED};

	(void)snprintf(s.msg, sizeof(s.msg), "%s", e->msg);
	report(status_fd, &s);
}

static int loopback_up(struct err *e)
{
	AUTO_FD fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = {.ifr_name = "lo"};

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &lo) != 0)
		return err_errno(e, errno, "cannot bring loopback up in the command's own network");
	lo.ifr_flags = (short)(lo.ifr_flags | IFF_UP | IFF_RUNNING);
	if (ioctl(fd, SIOCSIFFLAGS, &lo) != 0)
		return err_errno(e, errno, "cannot bring loopback up in the command's own network");
	return 0;
}

/* The kernel sends SIGKILL when the warden dies, and forgets it whenever this process changes its identity. Races are
 * covered by the life pipe, which is read before anything is waited for. */
static int die_with_warden(struct err *e)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 ? 0 : err_errno(e, errno, "cannot tie init to the warden");
}

static int block_signals(int *ret_signal_fd, struct err *e)
{
	sigset_t all, child;
	int fd;

	(void)sigfillset(&all);
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	(void)signal(SIGCHLD, SIG_DFL); /* ignored, the kernel would reap in our place */
	if (sigprocmask(SIG_SETMASK, &all, NULL) != 0)
		return err_errno(e, errno, "cannot block signals in init");
	fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_errno(e, errno, "cannot watch the command in init");
	*ret_signal_fd = fd;
	return 0;
}

/* After the fork: init keeps its uid and four descriptors, so the command's pipes end with the command. */
static int shrink(const struct init_args *a, const struct running *r, struct err *e)
{
	const int keep[] = {a->life_fd, a->status_fd, r->error_fd, r->signal_fd};
	int rc = fd_close_from_except(0, keep, sizeof(keep) / sizeof(keep[0]));

	if (rc != 0)
		return err_errno(e, -rc, "cannot close descriptors in init");
	rc = identity_drop_caps(e);
	if (rc == 0)
		rc = die_with_warden(e);
	/* A command that runs as root may otherwise trace init. */
	if (rc == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		rc = err_errno(e, errno, "cannot protect init");
	return rc;
}

static int start(const struct init_args *a, struct running *r, struct err *e)
{
	AUTO_FD from = -1;
	AUTO_FD to = -1;
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC) != 0)
		return err_errno(e, errno, "cannot make a pipe");
	from = pipes[0];
	to = pipes[1];
	if (fcntl(from, F_SETFL, O_NONBLOCK) != 0)
		return err_errno(e, errno, "cannot make a pipe");
	r->agent = fork();
	if (r->agent < 0)
		return err_errno(e, errno, "cannot start the command");
	if (r->agent == 0)
		agent_side(a->spec, a->command, &a->limits, a->has_prompt, to);
	r->error_fd = fd_take(&from);
	return 0;
}

/* Takes what the guard says so far; the end of the pipe is the command's start. */
static void read_error(struct running *r)
{
	char chunk[FRAME_MSG_MAX];

	while (r->error_fd >= 0) {
		ssize_t n = read(r->error_fd, chunk, sizeof(chunk));
		size_t room = sizeof(r->status.msg) - 1 - r->n;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			fd_close(&r->error_fd);
			return;
		}
		memcpy(r->status.msg + r->n, chunk, (size_t)n < room ? (size_t)n : room);
		r->n += (size_t)n < room ? (size_t)n : room;
	}
}

/* Reaps orphans; true when the command itself has ended. */
static bool reap(struct running *r)
{
	struct signalfd_siginfo info;
	bool ended = false;

	while (read(r->signal_fd, &info, sizeof(info)) > 0)
		continue;
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid <= 0)
			return ended;
		if (pid == r->agent) {
			r->status.wstatus = status;
			ended = true;
		}
	}
}

static void finish(struct running *r)
{
	read_error(r);
	if (r->n > 0 && WIFEXITED(r->status.wstatus) && WEXITSTATUS(r->status.wstatus) == RUN_UNCONFINED)
		r->status.flags |= EXITED_UNCONFINED;
}

static void watch(const struct init_args *a, struct running *r)
{
	for (;;) {
		struct pollfd p[] = {
			{.fd = a->life_fd, .events = POLLIN},
			{.fd = r->signal_fd, .events = POLLIN},
			{.fd = r->error_fd, .events = POLLIN},
		};

		if (poll(p, sizeof(p) / sizeof(p[0]), -1) < 0 && errno != EINTR)
			_exit(1);
		if (p[0].revents != 0)
			_exit(0);
		if (p[2].revents != 0)
			read_error(r);
		if (p[1].revents != 0 && reap(r))
			return;
	}
}

void init_main(const struct init_args *a)
{
	struct running r = {.error_fd = -1, .signal_fd = -1};
	struct err e = {0};
	int rc = die_with_warden(&e);

	if (rc == 0)
		rc = block_signals(&r.signal_fd, &e);
	if (rc == 0 && a->own_network)
		rc = loopback_up(&e);
	if (rc == 0)
		rc = view_enter(a->spec, a->dirs, &e);
	if (rc == 0)
		rc = start(a, &r, &e);
	if (rc == 0)
		rc = shrink(a, &r, &e);
	if (rc != 0)
		report_unconfined(a->status_fd, &e);
	watch(a, &r);
	finish(&r);
	report(a->status_fd, &r.status);
}
