/* A command whose refused system calls are seen: see check_run.h. */
#include "orchestrator/check_run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/notify.h"

#define STACK_BYTES 65536u
#define MORE_MS 10000                /* how long the process between may take beyond the deadline */
#define FILE_BYTES (256u << 20)      /* the most that a command may write into one file */
#define CHILDREN_BYTES 65536u
#define PER_LISTED 5u                /* instructions that a listed call takes */
#if !defined(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1ul << 5) /* Linux 5.19 */
#endif

/* ---- the command's side */

struct start {
	const struct check_run *run;
	struct sock_fprog loaded;
	int listener;
	int error;      /* of the execve */
	int unwatched;  /* of the filter */
};

static bool load(struct start *s)
{
	const unsigned long listen = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	/* What comes first interrupts a watched call only until we have seen it, where the kernel knows how. */
	const unsigned long flags[] = {listen | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, listen};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return false;
	if (!s->run->watch)
		return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &s->loaded) == 0;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]) && s->listener < 0; i++)
		s->listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags[i], &s->loaded);
	return s->listener >= 0;
}

/* Shares memory and descriptors with the process that waits for its execve: so the listener needs no way to be sent on, which the
 * filter might refuse. */
static int become(void *cookie)
{
	struct start *s = cookie;

	(void)setsid();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (access(s->run->path, X_OK) != 0) {
		s->error = errno;
		_exit(1);
	}
	if (s->loaded.filter != NULL && !load(s)) {
		s->unwatched = errno;
		_exit(1);
	}
	(void)execve(s->run->path, s->run->argv, s->run->env);
	s->error = errno;
	__builtin_trap(); /* no system call: the filter may refuse exit_group(), and nobody would answer */
}

/* Before the program: every call passes that is not in the list. */
static void add_list(const struct check_run *r, struct sock_filter *at)
{
	for (unsigned int i = 0; i < r->n_list; i++) {
		unsigned int left = (r->n_list - 1 - i) * PER_LISTED + 1; /* instructions up to the program */
		const struct sock_filter one[PER_LISTED] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->list[i].arch, 0, 3),
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)r->list[i].nr, 0, 1),
			BPF_STMT(BPF_JMP | BPF_JA, left),
		};

		memcpy(at, one, sizeof(one));
		at += PER_LISTED;
	}
	*at = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

static int to_load(const struct check_run *r, struct sock_fprog *ret)
{
	const struct profile_program *p = r->program;
	size_t before = r->listed ? r->n_list * PER_LISTED + 1 : 0;
	struct sock_filter *copy;

	if (before + p->n > BPF_MAXINSNS)
		return -E2BIG;
	copy = reallocarray(NULL, before + p->n, sizeof(*copy));
	if (copy == NULL)
		return -ENOMEM;
	if (r->listed)
		add_list(r, copy);
	memcpy(copy + before, p->insn, p->n * sizeof(*copy));
	for (size_t i = before; r->watch && i < before + p->n; i++)
		if (copy[i].code == (BPF_RET | BPF_K) && copy[i].k != SECCOMP_RET_ALLOW)
			copy[i].k = SECCOMP_RET_USER_NOTIF;
	*ret = (struct sock_fprog){.len = (unsigned short)(before + p->n), .filter = copy};
	return 0;
}

/* Returns the command's pid, or a negative errno. */
static pid_t start(const struct check_run *r, int *ret_listener, struct check_ran *res)
{
	struct start s = {.run = r, .listener = -1};
	AUTO_FREE char *stack = malloc(STACK_BYTES);
	pid_t pid;
	int rc = stack == NULL ? -ENOMEM : r->program != NULL ? to_load(r, &s.loaded) : 0;

	if (rc != 0)
		return rc;
	pid = clone(become, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &s);
	if (pid < 0)
		rc = -errno;
	free(s.loaded.filter);
	res->unwatched = s.unwatched;
	if (pid > 0 && (s.error != 0 || s.unwatched != 0)) {
		(void)waitpid(pid, NULL, 0);
		fd_close(&s.listener);
		rc = s.error != 0 ? -s.error : -s.unwatched;
	}
	*ret_listener = s.listener;
	return rc != 0 ? rc : pid;
}

/* ---- the process between */

static void note(struct check_ran *res, const struct seccomp_data *d)
{
	for (unsigned int i = 0; i < res->n; i++)
		if (res->call[i].nr == d->nr && res->call[i].arch == d->arch)
			return;
	if (res->n < CHECK_CALLS)
		res->call[res->n++] = *d;
}

static void answer(const struct check_run *r, int listener, struct check_ran *res)
{
	struct seccomp_notif_resp resp = {0};
	struct seccomp_notif req = {0};
	uint32_t says;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req) != 0)
		return; /* a signal ended the call meanwhile */
	note(res, &req.data);
	says = notify_evaluate(r->program, &req.data);
	resp.id = req.id;
	if ((says & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
		resp.error = -(int)(says & SECCOMP_RET_DATA);
	else if (says == SECCOMP_RET_USER_NOTIF) /* what the kernel says where nobody listens */
		resp.error = -ENOSYS;
	else
		(void)kill((pid_t)req.pid, SIGKILL);
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp); /* fails when a signal ended the call meanwhile */
}

static int64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void serve(const struct check_run *r, pid_t pid, int listener, struct check_ran *res)
{
	int64_t until = now_ms() + r->deadline_ms;
	AUTO_FD ended = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p[] = {{.fd = ended, .events = POLLIN}, {.fd = listener, .events = POLLIN}};

	for (;;) {
		int64_t left = until - now_ms();
		int n = left > 0 ? poll(p, 2, (int)left) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			res->late = true;
			break;
		}
		if (p[0].revents != 0)
			break;
		if ((p[1].revents & POLLIN) != 0)
			answer(r, listener, res);
		else
			p[1].fd = -1; /* nobody is left who could call */
	}
	(void)kill(-pid, SIGKILL);
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, &res->wstatus, 0) < 0 && errno == EINTR)
		;
}

/* What daemons the command left behind: they have become our children. One round ends one generation. */
static bool kill_children(void)
{
	AUTO_FD fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t n = 0;
	bool any = false;

	if (fd < 0 || fd_read_all(fd, CHILDREN_BYTES, &text, &n) != 0)
		return false;
	for (char *p = text, *end; *p != '\0'; p = end) {
		long pid = strtol(p, &end, 10);

		if (end == p || pid <= 1)
			break;
		any = kill((pid_t)pid, SIGKILL) == 0 || any;
		end += strspn(end, " \n");
	}
	return any;
}

static int prepare(const struct check_run *r)
{
	const struct rlimit no_core = {0, 0};
	const struct rlimit file = {FILE_BYTES, FILE_BYTES};
	int in = fcntl(r->in_fd, F_DUPFD_CLOEXEC, 3);
	int out = fcntl(r->out_fd, F_DUPFD_CLOEXEC, 3);
	int err = fcntl(r->err_fd, F_DUPFD_CLOEXEC, 3);
	sigset_t none;

	/* The command begins as from a terminal, whatever our caller ignores; and become() relies on SIGILL. */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGILL, SIG_DFL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	/* Not dumpable until the execve: a core dump of the command's beginning could end this process, whose memory it shares. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0 || setrlimit(RLIMIT_CORE, &no_core) != 0 ||
	    setrlimit(RLIMIT_FSIZE, &file) != 0 ||
	    in < 0 || out < 0 || err < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 || chdir(r->dir) != 0)
		return -errno;
	return 0;
}

static void between(const struct check_run *r, int report)
{
	struct check_ran res = {0};
	AUTO_FD listener = -1;
	pid_t pid;
	int rc = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 ? prepare(r) : -errno;

	if (rc == 0)
		rc = fd_close_from_except(3, &report, 1);
	pid = rc == 0 ? start(r, &listener, &res) : rc;
	if (pid > 0) {
		serve(r, pid, listener, &res);
		while (kill_children() && waitpid(-1, NULL, 0) > 0)
			;
	} else {
		res.error = -pid;
	}
	_exit(fd_write_all(report, &res, sizeof(res)) == 0 ? 0 : 1);
}

/* ---- our side */

/* All of the result, or nothing: the process between has a deadline of its own. */
static int receive(int fd, unsigned int ms, struct check_ran *ret)
{
	int64_t until = now_ms() + ms + MORE_MS;
	size_t got = 0;

	while (got < sizeof(*ret)) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int64_t left = until - now_ms();
		ssize_t n = left > 0 ? poll(&p, 1, (int)left) : 0;

		if (n > 0)
			n = read(fd, (char *)ret + got, sizeof(*ret) - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : left > 0 ? -EPIPE : -ETIMEDOUT;
		got += (size_t)n;
	}
	return 0;
}

int check_run(const struct check_run *r, struct check_ran *ret, struct err *e)
{
	int ends[2] = {-1, -1};
	pid_t parent = getpid();
	pid_t pid;
	int rc;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_errno(e, errno, "cannot watch %s", r->path);
	pid = fork();
	if (pid == 0) {
		(void)close(ends[0]);
		if (getppid() == parent)
			between(r, ends[1]);
		_exit(1);
	}
	rc = pid < 0 ? -errno : 0;
	(void)close(ends[1]);
	if (rc == 0)
		rc = receive(ends[0], r->deadline_ms, ret);
	(void)close(ends[0]);
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (rc == 0 && ret->unwatched != 0)
		return err_errno(e, ret->unwatched, r->watch ? "refused system calls cannot be seen here: it takes Linux 5.3, and no other "
		                 "supervisor around this process" : "the profile cannot be loaded");
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot watch %s", r->path);
}
