/* One confined command, seen from the warden: see spawn.h. */
#include "sandbox/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "sandbox/cgroup.h"
#include "sandbox/command.h"
#include "sandbox/init.h"
#include "sandbox/killall.h"
#include "sandbox/turn_dirs.h"

#define ABI_SCOPES 6 /* the Landlock ABI that can stop abstract UNIX sockets */
#define ABI_UDP 10   /* the one that can limit UDP as well as TCP */

struct pipes {
	int life_r, life_w;
	int status_r, status_w;
};

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

static void pipes_done(struct pipes *p)
{
	fd_close(&p->life_r);
	fd_close(&p->life_w);
	fd_close(&p->status_r);
	fd_close(&p->status_w);
}
#define AUTO_PIPES __attribute__((cleanup(pipes_done))) struct pipes

static int pipes_open(struct pipes *p)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	p->life_r = fds[0];
	p->life_w = fds[1];
	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	p->status_r = fds[0];
	p->status_w = fds[1];
	return 0;
}

/* Limits that the cgroup does not hold. The process limit counts all of a uid: where the command runs as the owner,
 * what the owner runs already is added. */
static int choose_limits(struct identity_limits *ret, const struct spawn_spec *s, const struct cgroup *cg,
                         struct err *e)
{
	const struct policy_limits *l = &s->policy->limits;
	uint64_t present = 0;
	pid_t pid;

	*ret = (struct identity_limits){.file = l->file, .open_files = l->open_files};
	if (!cg->memory)
		ret->data = l->memory;
	if (cg->processes || l->processes == 0)
		return 0;
	if ((s->layers & LAYER_ACL) == 0) {
		int rc = uid_processes(s->uid, &present, &pid, e);

		if (rc != 0)
			return rc;
	}
	ret->processes = l->processes + present;
	return 0;
}

/* fork() with namespaces, a pidfd, and the cgroup from the first instruction on. */
static pid_t clone_init(bool own_network, int cgroup_fd, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_PIDFD | (own_network ? CLONE_NEWNET : 0u),
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
	};

	if (cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (unsigned int)cgroup_fd;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static int check(const struct spawn_spec *s, struct err *e)
{
	if (s->role >= s->policy->n_roles || s->fds[SPAWN_STDOUT] < 0 || s->fds[SPAWN_STDERR] < 0 || s->guard_fd < 0 ||
	    s->root_fd < 0)
		return err_set(e, EINVAL, "cannot start a command: the request lacks a role or a descriptor");
	if ((s->layers & LAYER_ACL) != 0 && s->uid == 0)
		return err_set(e, EINVAL, "cannot start a command: the agent user must not be root");
	return 0;
}

static bool has_text(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0;
}

/* In the parent: everything that may be said no to before there is a process. */
static int start(struct spawn *ret, struct init_args *a, struct pipes *p, const struct cgroup *cg, struct err *e)
{
	int pidfd = -1;
	pid_t pid;
	int rc = pipes_open(p);

	if (rc != 0)
		return err_errno(e, -rc, "cannot make a pipe");
	a->life_fd = p->life_r;
	a->status_fd = p->status_w;
	pid = clone_init(a->own_network, cg->fd, &pidfd);
	if (pid < 0)
		return err_errno(e, errno, "cannot make the command's namespaces: root and a kernel that has them are needed");
	if (pid == 0)
		init_main(a);
	*ret = (struct spawn){
		.init = pid,
		.pidfd = pidfd,
		.life_fd = fd_take(&p->life_w),
		.status_fd = fd_take(&p->status_r),
		.cgroup_fd = cg->fd,
		.uid = a->spec->uid,
		.started_ms = now_ms(),
	};
	return 0;
}

int spawn_start(struct spawn *ret, const struct spawn_spec *spec, struct err *e)
{
	AUTO_PIPES p = {-1, -1, -1, -1};
	struct turn_dirs dirs;
	struct command command = {0};
	struct init_args a = {.spec = spec, .command = &command, .dirs = &dirs};
	struct cgroup cg = {.fd = -1};
	char name[CGROUP_NAME_MAX];
	int rc = check(spec, e);

	if (rc != 0)
		return rc;
	cgroup_turn_name(name, spec->uid);
	a.has_prompt = has_text(spec->fds[SPAWN_PROMPT]);
	a.own_network = spec->policy->role[spec->role].n_ports == 0;
	rc = turn_dirs_prepare(&dirs, spec, e);
	if (rc != 0)
		return err_stop(e, STOP_CONFINE, rc);
	rc = command_build(&command, spec, a.has_prompt, e);
	if (rc == 0) {
		cgroup_open(&cg, spec->uid, &spec->policy->limits);
		rc = choose_limits(&a.limits, spec, &cg, e);
	}
	if (rc == 0)
		rc = start(ret, &a, &p, &cg, e);
	if (rc != 0)
		cgroup_remove(&cg.fd, name);
	command_done(&command);
	turn_dirs_done(&dirs);
	return rc == 0 ? 0 : err_stop(e, STOP_CONFINE, rc);
}

void spawn_kill(struct spawn *s)
{
	if (s->init <= 0)
		return;
	(void)syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
	cgroup_kill(s->cgroup_fd);
}

/* What init reported, or that it was killed before it could. */
static void read_status(int fd, struct spawn_status *ret)
{
	struct spawn_status s = {0};
	size_t n = 0;

	*ret = (struct spawn_status){.wstatus = SIGKILL};
	while (n < sizeof(s)) {
		ssize_t got = read(fd, (char *)&s + n, sizeof(s) - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		n += (size_t)got;
	}
	*ret = s;
	ret->msg[sizeof(ret->msg) - 1] = '\0';
}

static uint64_t time_ms(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_usec / 1000u;
}

static void release(struct spawn *s)
{
	char name[CGROUP_NAME_MAX];

	fd_close(&s->pidfd);
	fd_close(&s->life_fd);
	fd_close(&s->status_fd);
	cgroup_turn_name(name, s->uid);
	cgroup_remove(&s->cgroup_fd, name);
	*s = (struct spawn){.pidfd = -1, .life_fd = -1, .status_fd = -1, .cgroup_fd = -1};
}

int spawn_wait(struct spawn *s, struct frame_exited *ret, struct err *e)
{
	struct spawn_status status;
	struct rusage usage = {0};
	pid_t pid;

	if (s->init <= 0)
		return err_set(e, ECHILD, "no command is running");
	read_status(s->status_fd, &status);
	/* Init is a zombie only after the kernel has ended everything in its pid namespace, and its usage has them all. */
	do
		pid = wait4(s->init, NULL, __WALL, &usage);
	while (pid < 0 && errno == EINTR);
	if (pid < 0) {
		int rc = err_errno(e, errno, "cannot wait for the command's init");

		release(s);
		return rc;
	}
	*ret = (struct frame_exited){
		.type = FRAME_EXITED,
		.wstatus = status.wstatus,
		.flags = status.flags & EXITED_UNCONFINED,
		.wall_ms = now_ms() - s->started_ms,
		.user_ms = time_ms(usage.ru_utime),
		.sys_ms = time_ms(usage.ru_stime),
		.max_rss = (uint64_t)usage.ru_maxrss * 1024u,
	};
	memcpy(ret->msg, status.msg, sizeof(ret->msg));
	release(s);
	return 0;
}

PRINTF_LIKE(3, 4) static void note(char *msg, unsigned int size, const char *fmt, ...)
{
	size_t n = strnlen(msg, size);
	va_list ap;

	if (n > 0 && n + 1 < size && msg[n - 1] != '\n')
		msg[n++] = '\n';
	if (n + 1 >= size)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(msg + n, size - n, fmt, ap);
	va_end(ap);
}

unsigned int spawn_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi > 0 ? (unsigned int)abi : 0;
}

void spawn_notes(const struct policy *p, unsigned int role, unsigned int layers, char *msg, unsigned int size)
{
	unsigned int abi = spawn_landlock_abi();
	bool memory, processes;

	/* Where Landlock is wanted and cannot limit TCP, stint-guard does not start the command at all. */
	if (p->role[role].n_ports > 0) {
		if ((layers & LAYER_LANDLOCK) == 0)
			note(msg, size, "%s: its ports are not enforced: it can reach any host and port", p->role[role].name);
		else if (abi < ABI_UDP)
			note(msg, size, "%s: TCP is limited to its ports, UDP is not (needs Landlock ABI %d, here %u)",
			     p->role[role].name, ABI_UDP, abi);
		/* With ports it has the machine's network namespace, which is where these names are. */
		if ((layers & LAYER_LANDLOCK) == 0 || abi < ABI_SCOPES)
			note(msg, size, "%s: abstract UNIX sockets of this machine are in its reach (needs Landlock ABI %d, here %u)",
			     p->role[role].name, ABI_SCOPES, (layers & LAYER_LANDLOCK) == 0 ? 0u : abi);
	}
	cgroup_offers(&memory, &processes);
	if (!memory && p->limits.memory > 0)
		note(msg, size, "memory is limited for each process, not in total: cgroup v2 hands on no memory controller here");
	if (!processes && p->limits.processes > 0 && (layers & LAYER_ACL) == 0)
		note(msg, size, "processes are counted together with the owner's own: cgroup v2 hands on no pids controller here");
}
