/* Runs a command and lets one system call of stint's programs in it fail, or kills the caller there.
 *
 *   inject [-w WHO.CLASS:N[+]] [-e ERRNO | -k | -K | -a] [-c FILE] [-r FILE] [-t SECONDS] -- CMD…
 *
 * A seccomp filter with a listener stops every call of the classes below, in the command and all that it starts; this program
 * lets it go on, answers it with an error (the call is not made), or sends SIGKILL before it is made. Raw system calls are seen
 * too, and nothing in the programs knows. Only calls of stint's own programs count: agents and suites are let through.
 * WHO: front, warden, helper (the warden's children before they exec), guard, coordinator, child (the coordinator's). N counts
 * from 1 for each WHO.CLASS; `+`: every call of the class and its like (see struct class) from there on, whoever makes it.
 * -k kills the caller, -K also the warden and the coordinator, -a the caller once the call is made: at its next one. -c: writes "WHO.CLASS COUNT" lines. -r: what was hit.
 * Exit status: the command's; 99 and a line in the report when it, or what it started, has not ended after SECONDS. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HUNG 99
#define LINGER_MS 10000

enum { OPEN, XATTR, CHOWN, CHMOD, RENAME, LINK, MKDIR, WRITE, PIPE, SYNC, FORK, EXEC, MOUNT, FD, LOCK, IDENT, CONFINE, READ, MEM,
       N_CLASSES, UNCOUNTED = N_CLASSES };

/* A sticky fault of one class goes for all of its group: a full or read-only disk refuses more than one kind of call. */
static const struct class { const char *name; int group; } classes[N_CLASSES] = {
	[OPEN] = {"open", 1}, [XATTR] = {"xattr", 1}, [CHOWN] = {"chown", 1}, [CHMOD] = {"chmod", 1}, [RENAME] = {"rename", 1},
	[LINK] = {"link", 1}, [MKDIR] = {"mkdir", 1}, [WRITE] = {"write", 1}, [PIPE] = {"pipe", 2}, [SYNC] = {"sync", 1},
	[FORK] = {"fork", 3}, [EXEC] = {"exec", 4}, [MOUNT] = {"mount", 5}, [FD] = {"fd", 6}, [LOCK] = {"lock", 7},
	[IDENT] = {"ident", 8}, [CONFINE] = {"confine", 9}, [READ] = {"read", 10}, [MEM] = {"mem", 11},
};

#define NONE (-1)
/* fd, path: which arguments they are; flags: of an open. */
static const struct call { int nr, class, fd, path, flags; const char *name; } calls[] = {
#define C(name, class, fd, path, flags) {SYS_##name, class, fd, path, flags, #name}
#ifdef SYS_open
	C(open, OPEN, NONE, 0, 1), C(creat, OPEN, NONE, 0, NONE), C(rename, RENAME, NONE, 0, NONE), C(link, LINK, NONE, 0, NONE),
	C(symlink, LINK, NONE, 1, NONE), C(unlink, LINK, NONE, 0, NONE), C(rmdir, LINK, NONE, 0, NONE), C(mkdir, MKDIR, NONE, 0, NONE),
	C(chown, CHOWN, NONE, 0, NONE), C(lchown, CHOWN, NONE, 0, NONE), C(chmod, CHMOD, NONE, 0, NONE), C(fork, FORK, NONE, NONE, NONE),
	C(vfork, FORK, NONE, NONE, NONE), C(pipe, FD, NONE, NONE, NONE), C(mknod, MKDIR, NONE, 0, NONE), C(dup2, FD, 0, NONE, NONE),
	C(renameat, RENAME, 0, 1, NONE),
#endif
	C(openat, OPEN, 0, 1, 2), C(openat2, OPEN, 0, 1, NONE),
	C(setxattr, XATTR, NONE, 0, NONE), C(lsetxattr, XATTR, NONE, 0, NONE), C(fsetxattr, XATTR, 0, NONE, NONE),
	C(removexattr, XATTR, NONE, 0, NONE), C(lremovexattr, XATTR, NONE, 0, NONE), C(fremovexattr, XATTR, 0, NONE, NONE),
	{463, XATTR, 0, 1, NONE, "setxattrat"}, {466, XATTR, 0, 1, NONE, "removexattrat"}, /* newer than Debian 12's headers */
	C(fchown, CHOWN, 0, NONE, NONE), C(fchownat, CHOWN, 0, 1, NONE), C(fchmod, CHMOD, 0, NONE, NONE), C(fchmodat, CHMOD, 0, 1, NONE),
	C(renameat2, RENAME, 0, 1, NONE), C(linkat, LINK, 0, 1, NONE), C(symlinkat, LINK, 1, 2, NONE), C(unlinkat, LINK, 0, 1, NONE),
	C(mkdirat, MKDIR, 0, 1, NONE), C(mknodat, MKDIR, 0, 1, NONE),
	C(write, WRITE, 0, NONE, NONE), C(pwrite64, WRITE, 0, NONE, NONE), C(writev, WRITE, 0, NONE, NONE), C(ftruncate, WRITE, 0, NONE, NONE),
	C(truncate, WRITE, NONE, 0, NONE), C(sendfile, WRITE, 0, NONE, NONE), C(copy_file_range, WRITE, 2, NONE, NONE),
	C(fallocate, WRITE, 0, NONE, NONE),
	C(fsync, SYNC, 0, NONE, NONE), C(fdatasync, SYNC, 0, NONE, NONE), C(clone, FORK, NONE, NONE, NONE), C(clone3, FORK, NONE, NONE, NONE),
	C(execve, EXEC, NONE, 0, NONE), C(execveat, EXEC, 0, 1, NONE),
	C(mount, MOUNT, NONE, 1, NONE), C(umount2, MOUNT, NONE, 0, NONE), C(pivot_root, MOUNT, NONE, 0, NONE), C(move_mount, MOUNT, 0, 1, NONE),
	C(open_tree, MOUNT, 0, 1, NONE), C(fsopen, MOUNT, NONE, 0, NONE), C(fsconfig, MOUNT, NONE, 2, NONE), C(fsmount, MOUNT, NONE, NONE, NONE),
	C(mount_setattr, MOUNT, 0, 1, NONE), C(unshare, MOUNT, NONE, NONE, NONE), C(setns, MOUNT, 0, NONE, NONE), C(chroot, MOUNT, NONE, 0, NONE),
	C(pipe2, FD, NONE, NONE, NONE), C(socketpair, FD, NONE, NONE, NONE), C(socket, FD, NONE, NONE, NONE), C(memfd_create, FD, NONE, 0, NONE),
	C(dup, FD, 0, NONE, NONE), C(dup3, FD, 0, NONE, NONE), C(signalfd4, FD, NONE, NONE, NONE), C(pidfd_open, FD, NONE, NONE, NONE),
	C(flock, LOCK, 0, NONE, NONE),
	C(setgroups, IDENT, NONE, NONE, NONE), C(setresuid, IDENT, NONE, NONE, NONE), C(setresgid, IDENT, NONE, NONE, NONE),
	C(capset, IDENT, NONE, NONE, NONE), C(setsid, IDENT, NONE, NONE, NONE), C(prlimit64, IDENT, NONE, NONE, NONE),
	C(prctl, IDENT, NONE, NONE, NONE),
	C(landlock_create_ruleset, CONFINE, NONE, NONE, NONE), C(landlock_add_rule, CONFINE, NONE, NONE, NONE),
	C(landlock_restrict_self, CONFINE, NONE, NONE, NONE), C(seccomp, CONFINE, NONE, NONE, NONE),
	C(read, READ, 0, NONE, NONE), C(pread64, READ, 0, NONE, NONE), C(getdents64, READ, 0, NONE, NONE),
	C(mmap, MEM, NONE, NONE, NONE), C(brk, MEM, NONE, NONE, NONE), C(mremap, MEM, NONE, NONE, NONE),
	/* Where a caller is met again that is to be killed after a call (not send and recv: command() makes them). */
	C(sendmsg, UNCOUNTED, NONE, NONE, NONE), C(recvmsg, UNCOUNTED, NONE, NONE, NONE), C(ppoll, UNCOUNTED, NONE, NONE, NONE),
	C(wait4, UNCOUNTED, NONE, NONE, NONE), C(waitid, UNCOUNTED, NONE, NONE, NONE), C(close, UNCOUNTED, NONE, NONE, NONE), C(exit_group, UNCOUNTED, NONE, NONE, NONE),
#ifdef SYS_poll
	C(poll, UNCOUNTED, NONE, NONE, NONE),
#endif
#undef C
};
#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

enum { FRONT, WARDEN, HELPER, GUARD, COORDINATOR, CHILD, N_WHO, STRANGER = N_WHO };
static const char *const whos[N_WHO] = {"front", "warden", "helper", "guard", "coordinator", "child"};

static const struct { const char *name; int nr; } errnos[] = {
#define E(x) {#x, x}
	E(ENOSPC), E(EDQUOT), E(EROFS), E(EIO), E(EMFILE), E(ENFILE), E(ENOMEM), E(EINTR), E(EAGAIN), E(EACCES), E(EPERM), E(EPIPE),
	E(EBADF), E(ENOLCK), E(EBUSY), E(ETXTBSY), E(EEXIST), E(EOPNOTSUPP), E(EXDEV), E(ENOSYS),
#undef E
};

static struct {
	int who, class; /* of the fault; -1: none */
	unsigned int n;
	bool sticky, kill, kill_all, after;
	int error;
	const char *count_file, *report_file;
	int seconds;
	pid_t main, coordinator;
	pid_t marked; /* -a: has made its N-th call */
	bool done;
	FILE *report;
	unsigned int seen[N_WHO][N_CLASSES];
} g = {.who = -1, .class = -1, .seconds = 120};

static void die(const char *what)
{
	fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
	exit(125);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- options */

static void take_where(char *s)
{
	char *dot = strchr(s, '.');
	char *colon = strchr(s, ':');

	if (dot == NULL || colon == NULL || colon < dot) {
		errno = EINVAL;
		die(s);
	}
	*dot = *colon = '\0';
	for (int i = 0; i < N_WHO; i++)
		if (strcmp(whos[i], s) == 0)
			g.who = i;
	for (int i = 0; i < N_CLASSES; i++)
		if (strcmp(classes[i].name, dot + 1) == 0)
			g.class = i;
	g.n = (unsigned int)strtoul(colon + 1, NULL, 10);
	g.sticky = colon[1] != '\0' && colon[strlen(colon + 1)] == '+';
	if (g.who < 0 || g.class < 0 || g.n == 0) {
		errno = EINVAL;
		die(s);
	}
}

static void take_errno(const char *s)
{
	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		if (strcmp(errnos[i].name, s) == 0)
			g.error = errnos[i].nr;
	if (g.error == 0) {
		errno = EINVAL;
		die(s);
	}
}

static void take_options(int argc, char **argv)
{
	for (int c; (c = getopt(argc, argv, "+w:e:kKac:r:t:")) != -1;)
		switch (c) {
		case 'w': take_where(optarg); break;
		case 'e': take_errno(optarg); break;
		case 'k': g.kill = true; break;
		case 'K': g.kill = g.kill_all = true; break;
		case 'a': g.kill = g.after = true; break;
		case 'c': g.count_file = optarg; break;
		case 'r': g.report_file = optarg; break;
		case 't': g.seconds = atoi(optarg); break;
		default: exit(125);
		}
	if (optind >= argc || (g.who >= 0 && !g.kill && g.error == 0)) {
		errno = EINVAL;
		die("usage");
	}
}

/* ---- the filter */

/* Stops what is counted, or only what can be the fault: each stop costs two switches. */
static bool is_watched(const struct call *c)
{
	if (g.class < 0)
		return c->class != UNCOUNTED;
	if (g.after)
		return true;
	if (c->class == UNCOUNTED)
		return false;
	if (g.class == PIPE || g.class == WRITE)
		return c->class == WRITE || (g.sticky && classes[c->class].group == classes[g.class].group);
	return c->class == g.class || (g.sticky && classes[c->class].group == classes[g.class].group);
}

static int install(void)
{
	struct sock_filter f[2 * N_CALLS + 2];
	struct sock_fprog prog = {.filter = f};
	unsigned short n = 0;

	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < N_CALLS; i++) {
		if (!is_watched(&calls[i]))
			continue;
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)calls[i].nr, 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = n;
	/* Root needs no no_new_privs for a filter; a signal must not make a call count twice. */
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	                    SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &prog);
}

/* A descriptor's number is told through the socket; the other side fetches it by pidfd_getfd: no message to build. */
static void command(int sock, char **argv)
{
	char ack;
	int fd;

	fd = install();
	if (fd < 0)
		die("cannot install the filter");
	if (send(sock, &fd, sizeof(fd), 0) != sizeof(fd) || recv(sock, &ack, 1, 0) != 1)
		_exit(125);
	(void)execvp(argv[0], argv);
	die(argv[0]);
}

static int fetch_listener(int sock)
{
	int pidfd = (int)syscall(SYS_pidfd_open, g.main, 0);
	int fd = -1;

	if (recv(sock, &fd, sizeof(fd), 0) != sizeof(fd))
		die("the command did not start");
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (fd < 0)
		die("cannot fetch the listener");
	(void)close(pidfd);
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	(void)send(sock, "", 1, 0);
	return fd;
}

/* ---- who calls, and what */

static pid_t parent_of(pid_t pid)
{
	char path[64];
	char text[512];
	char *p;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	p = fgets(text, sizeof(text), f) == NULL ? NULL : strrchr(text, ')');
	(void)fclose(f);
	return p == NULL || strlen(p) < 4 ? 0 : (pid_t)strtol(p + 4, NULL, 10);
}

static int who_is(pid_t pid)
{
	char path[64];
	char exe[4096];
	const char *name;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n <= 0)
		return STRANGER;
	exe[n] = '\0';
	name = strrchr(exe, '/') + 1;
	if (strcmp(name, "stint") == 0)
		return FRONT;
	if (strcmp(name, "stint-warden") == 0)
		return pid == g.main ? WARDEN : HELPER;
	if (strcmp(name, "stint-guard") == 0)
		return GUARD;
	if (strcmp(name, "stint-coordinator") != 0)
		return STRANGER;
	if (g.coordinator == 0 && (pid == g.main || parent_of(pid) == g.main))
		g.coordinator = pid;
	return pid == g.coordinator ? COORDINATOR : CHILD;
}

static void path_of_fd(pid_t pid, int fd, char *ret, size_t size)
{
	char link[64];
	ssize_t n;

	if (fd == AT_FDCWD)
		(void)snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
	else
		(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, fd);
	n = readlink(link, ret, size - 1);
	ret[n < 0 ? 0 : n] = '\0';
}

static void text_at(pid_t pid, uint64_t at, char *ret, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : pread(fd, ret, size - 1, (off_t)at);
	ret[n < 0 ? 0 : n] = '\0';
	if (fd >= 0)
		(void)close(fd);
}

/* The dynamic loader's calls are not stint's: how a program without its libraries fails is not ours to say. */
static bool is_loader(const struct seccomp_notif *req)
{
	char line[4352];
	bool found = false;
	FILE *f;

	(void)snprintf(line, sizeof(line), "/proc/%u/maps", req->pid);
	f = fopen(line, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		unsigned long from;
		unsigned long to;

		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && req->data.instruction_pointer >= from && req->data.instruction_pointer < to) {
			found = strstr(line, "/ld-linux") != NULL || strstr(line, "/ld-2") != NULL;
			break;
		}
	}
	if (f != NULL)
		(void)fclose(f);
	return found;
}

/* A write to something that is no file can not find the disk full. Looking through all processes, and asking for each
 * capability, take as many calls as the machine has: they would make N mean something else each time. */
static int class_of(const struct call *c, const struct seccomp_notif *req)
{
	char path[4096] = "";

	if (c->class == UNCOUNTED)
		return UNCOUNTED;
	if (c->nr == SYS_prctl && req->data.args[0] != PR_SET_NO_NEW_PRIVS && req->data.args[0] != PR_SET_PDEATHSIG)
		return UNCOUNTED;
	if ((c->class == OPEN || c->class == READ || c->class == MEM) && is_loader(req))
		return UNCOUNTED;
	if (c->class != WRITE && c->class != READ && c->nr != SYS_openat)
		return c->class;
	if (c->fd != NONE)
		path_of_fd((pid_t)req->pid, (int)req->data.args[c->fd], path, sizeof(path));
	if (c->class == WRITE)
		return c->fd == NONE || (path[0] == '/' && strncmp(path, "/dev/", 5) != 0) ? WRITE : PIPE;
	if (strcmp(path, "/proc") == 0 || (c->class == READ && strncmp(path, "/proc/", 6) == 0))
		return UNCOUNTED;
	return c->class;
}

/* A read-only disk lets files be read, a full one also what needs no room. */
static bool changes(const struct call *c, const struct seccomp_notif *req)
{
	char how[16] = "";
	uint64_t flags = c->flags == NONE ? O_CREAT : req->data.args[c->flags];

	if (g.error == ENOSPC || g.error == EDQUOT) {
		if (c->class == RENAME || c->class == CHOWN || c->class == CHMOD || c->class == SYNC)
			return false;
		if (c->nr == SYS_unlinkat)
			return false;
	}
	if (c->class != OPEN)
		return true;
	if (c->nr == SYS_openat2) {
		text_at((pid_t)req->pid, req->data.args[2], how, sizeof(how));
		memcpy(&flags, how, sizeof(flags));
	}
	return (flags & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR)) != 0;
}

/* ---- the fault */

static void tell(const struct call *c, const struct seccomp_notif *req, int who)
{
	char at[4096] = "";
	char path[4096] = "";

	if (g.report == NULL)
		return;
	if (c->fd != NONE)
		path_of_fd((pid_t)req->pid, (int)req->data.args[c->fd], at, sizeof(at));
	if (c->path != NONE)
		text_at((pid_t)req->pid, req->data.args[c->path], path, sizeof(path));
	fprintf(g.report, "hit %s %s %s %s\n", whos[who], c->name, at, path);
	(void)fflush(g.report);
}

static bool is_due(const struct call *c, const struct seccomp_notif *req, int who, int class)
{
	if (g.class < 0)
		return false;
	if (g.done)
		return g.sticky && classes[class].group == classes[g.class].group && changes(c, req);
	return who == g.who && class == g.class && g.seen[who][class] == g.n;
}

static const struct call *call_of(int nr)
{
	for (size_t i = 0; i < N_CALLS; i++)
		if (calls[i].nr == nr)
			return &calls[i];
	return NULL;
}

/* Whether the call is not to be made: ret_error is its answer then. */
static bool strike(const struct call *c, const struct seccomp_notif *req, int who, int class, int *ret_error)
{
	bool due;

	if (g.marked == (pid_t)req->pid) {
		(void)kill(g.marked, SIGKILL);
		*ret_error = EINTR;
		return true;
	}
	if (class == UNCOUNTED)
		return false;
	g.seen[who][class]++;
	due = is_due(c, req, who, class);
	if (due && !g.done)
		tell(c, req, who);
	g.done = g.done || due;
	if (due && g.after) {
		g.marked = (pid_t)req->pid;
		return false;
	}
	if (due && g.kill_all && g.coordinator != 0)
		(void)kill(g.coordinator, SIGKILL);
	if (due && g.kill_all)
		(void)kill(g.main, SIGKILL);
	if (due && g.kill)
		(void)kill((pid_t)req->pid, SIGKILL);
	*ret_error = g.kill ? EINTR : g.error;
	return due;
}

static void answer(int listener, const struct seccomp_notif *req)
{
	struct seccomp_notif_resp resp = {.id = req->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	const struct call *c = call_of(req->data.nr);
	int who = c == NULL ? STRANGER : who_is((pid_t)req->pid);
	int error = 0;

	if (who != STRANGER && strike(c, req, who, class_of(c, req), &error)) {
		resp.flags = 0;
		/* brk has no errno: it answers where the break is, and libc takes what is below its wish for a failure. */
		resp.error = c->nr == SYS_brk ? 0 : -error;
	}
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp); /* who was killed meanwhile needs none */
}

/* Until nobody is left under the filter. Returns the command's wait status, or HUNG << 8. */
static int serve(int listener)
{
	uint64_t end = now_ms() + (uint64_t)g.seconds * 1000;
	bool ended = false;
	int status = 0;

	for (;;) {
		struct pollfd p = {.fd = listener, .events = POLLIN};
		struct seccomp_notif req = {0};

		(void)poll(&p, 1, 20);
		if (!ended && waitpid(g.main, &status, WNOHANG) == g.main) {
			ended = true;
			end = now_ms() + LINGER_MS;
		}
		if (p.revents & POLLIN) {
			if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req) == 0)
				answer(listener, &req);
		} else if (p.revents & POLLHUP) {
			break;
		}
		if (now_ms() < end)
			continue;
		if (g.report != NULL)
			fprintf(g.report, ended ? "left: processes of it are there %d ms after its end\n" : "hung: no end after %d s\n",
			        ended ? LINGER_MS : g.seconds);
		if (g.coordinator != 0)
			(void)kill(g.coordinator, SIGKILL);
		(void)kill(g.main, SIGKILL);
		if (!ended)
			(void)waitpid(g.main, &status, 0);
		return HUNG << 8;
	}
	if (!ended)
		(void)waitpid(g.main, &status, 0);
	return status;
}

static void write_counts(void)
{
	FILE *f = fopen(g.count_file, "we");

	if (f == NULL)
		die(g.count_file);
	for (int w = 0; w < N_WHO; w++)
		for (int c = 0; c < N_CLASSES; c++)
			if (g.seen[w][c] > 0)
				fprintf(f, "%s.%s %u\n", whos[w], classes[c].name, g.seen[w][c]);
	if (fclose(f) != 0)
		die(g.count_file);
}

int main(int argc, char **argv)
{
	int pair[2];
	int listener;
	int status;

	take_options(argc, argv);
	if (g.report_file != NULL && (g.report = fopen(g.report_file, "we")) == NULL)
		die(g.report_file);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		die("socketpair");
	g.main = fork();
	if (g.main < 0)
		die("fork");
	if (g.main == 0)
		command(pair[1], argv + optind);
	(void)close(pair[1]);
	listener = fetch_listener(pair[0]);
	status = serve(listener);
	if (g.count_file != NULL)
		write_counts();
	if (g.report != NULL && fclose(g.report) != 0)
		die(g.report_file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
