/* Runs a command on an older or poorer kernel than the real one: a seccomp filter refuses what that kernel lacks, and the
 * Landlock calls are answered as that kernel would, so that a right above its ABI is really refused.
 *
 *   fake [abi=N|abi=ERRNO] [ns=NAME[,NAME]…:ERRNO] [CALL=ERRNO]… [log=FILE] -- COMMAND [ARGUMENT]…
 *
 * abi=N: Landlock of ABI N. Above the real one the rights that the real kernel lacks are taken and not enforced.
 * abi=ENOSYS: not built in; abi=EOPNOTSUPP: switched off at boot; abi=EPERM: refused by a container's filter.
 * ns: clone, clone3 and unshare fail when they ask for one of these namespaces (user mnt pid net ipc).
 * log: a line for each Landlock call: what was asked for, what was answered; of paths only those with the right of ABI 9.
 * Exit status: the command's own; 125 when the fake could not be had. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
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
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CODE 256
#define LANDLOCK_CREATE 444
#define LANDLOCK_RULE 445
#define LANDLOCK_RESTRICT 446
#define NO_FAKE_ABI (-1)
#define FS_RESOLVE_UNIX 0x10000u /* ABI 9 */

struct word {
	const char *name;
	long value;
};

static const struct word errnos[] = {
	{"EPERM", EPERM}, {"ENOSYS", ENOSYS}, {"EINVAL", EINVAL}, {"EOPNOTSUPP", EOPNOTSUPP}, {"EACCES", EACCES}, {NULL, 0},
};

static const struct word namespaces[] = {
	{"user", CLONE_NEWUSER}, {"mnt", CLONE_NEWNS}, {"pid", CLONE_NEWPID}, {"net", CLONE_NEWNET}, {"ipc", CLONE_NEWIPC},
	{NULL, 0},
};

/* What a kernel of Landlock's age may lack, and what containers refuse. */
#define CALL(name) {#name, SYS_##name}
static const struct word calls[] = {
	CALL(clone3), CALL(close_range), CALL(execveat), CALL(faccessat2), CALL(fsconfig), CALL(fsmount), CALL(fsopen),
	CALL(fsetxattr), CALL(lsetxattr), {"setxattrat", 463}, {"getxattrat", 464}, {"listxattrat", 465}, CALL(memfd_create), CALL(mount),
	CALL(mount_setattr), CALL(move_mount),
	CALL(open_tree), CALL(openat2), CALL(pidfd_open), CALL(pidfd_send_signal), CALL(pivot_root), CALL(seccomp),
	CALL(setns), CALL(setxattr), CALL(statx), CALL(umount2), CALL(unshare), {"landlock_create_ruleset", LANDLOCK_CREATE},
	{"landlock_add_rule", LANDLOCK_RULE}, {"landlock_restrict_self", LANDLOCK_RESTRICT}, CALL(io_uring_setup), CALL(bpf),
	CALL(keyctl), CALL(add_key), CALL(request_key), CALL(perf_event_open), CALL(userfaultfd), CALL(syslog), CALL(swapon),
	CALL(name_to_handle_at), CALL(open_by_handle_at), CALL(quotactl), CALL(reboot), CALL(init_module), CALL(prctl),
	CALL(capset), CALL(setgroups), CALL(setresgid), CALL(setresuid), CALL(chroot), CALL(sethostname), {NULL, 0},
};

/* What each ABI knows: rights, and the size of the structure that its create call takes. Source: the kernel's
 * security/landlock/{limits.h,syscalls.c} of the release that brought the ABI. */
static const struct abi {
	int abi;
	uint32_t size;
	uint64_t fs, net, scoped;
} abis[] = {
	{1, 8, 0x1fff, 0, 0},   {2, 8, 0x3fff, 0, 0},   {3, 8, 0x7fff, 0, 0},    {4, 16, 0x7fff, 3, 0},    {5, 16, 0xffff, 3, 0},
	{6, 24, 0xffff, 3, 3},  {7, 24, 0xffff, 3, 3},  {8, 24, 0xffff, 3, 3},   {9, 24, 0x1ffff, 3, 3},   {10, 24, 0x1ffff, 0xf, 3},
};
#define N_ABIS (sizeof(abis) / sizeof(abis[0]))

struct ruleset { uint64_t fs, net, scoped; };
struct path_rule { uint64_t access; int32_t fd; } __attribute__((packed));
struct port_rule { uint64_t access, port; };

struct fake {
	int abi;            /* NO_FAKE_ABI: Landlock as it is */
	uint64_t ns;        /* namespaces that there are not */
	int ns_errno;
	FILE *log;
	struct sock_filter code[MAX_CODE];
	unsigned short n;
	struct abi known;   /* the faked ABI's row */
	struct abi real;    /* the real one's */
};

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("fake: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(125);
}

static long lookup(const struct word *table, const char *name, size_t n)
{
	for (; table->name != NULL; table++)
		if (strlen(table->name) == n && strncmp(table->name, name, n) == 0)
			return table->value;
	die("%.*s: not known", (int)n, name);
}

static struct abi row_of(int abi)
{
	struct abi row = {0};

	for (size_t i = 0; i < N_ABIS && abis[i].abi <= abi; i++)
		row = abis[i];
	return row;
}

static void add(struct fake *f, struct sock_filter insn)
{
	if (f->n == MAX_CODE)
		die("too many words");
	f->code[f->n++] = insn;
}

static void add_action(struct fake *f, long call, uint32_t action)
{
	add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1));
	add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* A call whose first argument holds flags: refused when one of them is set. */
static void add_flags(struct fake *f, long call, uint32_t flags, uint32_t action)
{
	add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 4));
	add(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])));
	add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1));
	add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
	add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static void set_abi(struct fake *f, const char *value)
{
	char *end;
	long abi = strtol(value, &end, 10);

	if (*value == 'E') {
		for (long call = LANDLOCK_CREATE; call <= LANDLOCK_RESTRICT; call++)
			add_action(f, call, SECCOMP_RET_ERRNO | (uint32_t)lookup(errnos, value, strlen(value)));
		return;
	}
	if (*end != '\0' || abi < 1)
		die("abi=%s: a number or an errno", value);
	f->abi = (int)abi;
	f->known = row_of(f->abi);
	for (long call = LANDLOCK_CREATE; call <= LANDLOCK_RESTRICT; call++)
		add_action(f, call, SECCOMP_RET_USER_NOTIF);
}

static void set_ns(struct fake *f, const char *value)
{
	const char *colon = strchr(value, ':');
	uint32_t action;

	if (colon == NULL)
		die("ns=%s: no errno", value);
	while (value < colon) {
		size_t n = strcspn(value, ",:");

		f->ns |= (uint64_t)lookup(namespaces, value, n);
		value += n + 1;
	}
	f->ns_errno = (int)lookup(errnos, colon + 1, strlen(colon + 1));
	action = SECCOMP_RET_ERRNO | (uint32_t)f->ns_errno;
	add_flags(f, SYS_clone, (uint32_t)f->ns, action);
	add_flags(f, SYS_unshare, (uint32_t)f->ns, action);
	add_action(f, SYS_clone3, SECCOMP_RET_USER_NOTIF);
}

static void parse(struct fake *f, const char *word)
{
	const char *eq = strchr(word, '=');

	if (eq == NULL)
		die("%s: NAME=VALUE is needed", word);
	if (strncmp(word, "abi=", 4) == 0)
		set_abi(f, eq + 1);
	else if (strncmp(word, "ns=", 3) == 0)
		set_ns(f, eq + 1);
	else if (strncmp(word, "log=", 4) == 0 && (f->log = fopen(eq + 1, "ae")) == NULL)
		die("%s: %s", eq + 1, strerror(errno));
	else if (strncmp(word, "log=", 4) != 0)
		add_action(f, lookup(calls, word, (size_t)(eq - word)),
		           SECCOMP_RET_ERRNO | (uint32_t)lookup(errnos, eq + 1, strlen(eq + 1)));
}

/* ---------------------------------------------------------------- answers */

static void note(struct fake *f, const char *fmt, ...)
{
	va_list ap;

	if (f->log == NULL)
		return;
	va_start(ap, fmt);
	vfprintf(f->log, fmt, ap);
	va_end(ap);
	fflush(f->log);
}

static int peek(pid_t pid, uint64_t at, void *to, size_t n)
{
	struct iovec local = {.iov_base = to, .iov_len = n};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)at, .iov_len = n};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)n ? 0 : -EFAULT;
}

/* The other process's descriptor, here. */
static int borrow(pid_t pid, int fd)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int got = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);

	if (pidfd >= 0)
		close(pidfd);
	return got;
}

#define GO_ON 1 /* the real kernel may answer */
#define SENT 2  /* answered already */

/* copy_struct_from_user(), then the checks of landlock_create_ruleset(). */
static int check_ruleset(const struct fake *f, const struct seccomp_notif *q, struct ruleset *ret)
{
	uint64_t size = q->data.args[1];
	unsigned char rest[4096] = {0};

	if (size < 8)
		return -EINVAL;
	if (size > sizeof(rest))
		return -E2BIG;
	if (peek((pid_t)q->pid, q->data.args[0], rest, size) != 0)
		return -EFAULT;
	for (uint64_t i = f->known.size; i < size; i++)
		if (rest[i] != 0)
			return -E2BIG;
	memcpy(ret, rest, sizeof(*ret));
	if ((ret->fs & ~f->known.fs) != 0 || (ret->net & ~f->known.net) != 0 || (ret->scoped & ~f->known.scoped) != 0)
		return -EINVAL;
	return ret->fs == 0 && ret->net == 0 && ret->scoped == 0 ? -ENOMSG : 0;
}

static int on_create(struct fake *f, const struct seccomp_notif *q, int listener)
{
	struct seccomp_notif_addfd give = {.id = q->id, .flags = SECCOMP_ADDFD_FLAG_SEND, .newfd_flags = O_CLOEXEC};
	struct ruleset r = {0};
	int fd;
	int rc;

	if (q->data.args[2] != 0) {
		if (q->data.args[0] != 0 || q->data.args[1] != 0)
			return -EINVAL;
		if (q->data.args[2] != 1) /* errata, since ABI 7 */
			return q->data.args[2] == 2 && f->abi >= 7 ? 1 << 16 : -EINVAL;
		return f->abi << 16;
	}
	rc = check_ruleset(f, q, &r);
	note(f, "create fs=%#llx net=%#llx scoped=%#llx: %s\n", (unsigned long long)r.fs, (unsigned long long)r.net,
	     (unsigned long long)r.scoped, rc == 0 ? "ok" : strerrorname_np(-rc));
	if (rc != 0 || ((r.fs & ~f->real.fs) | (r.net & ~f->real.net) | (r.scoped & ~f->real.scoped)) == 0)
		return rc != 0 ? rc : GO_ON;
	r = (struct ruleset){r.fs & f->real.fs, r.net & f->real.net, r.scoped & f->real.scoped};
	fd = (int)syscall(LANDLOCK_CREATE, &r, (size_t)f->real.size, 0);
	if (fd < 0)
		return -errno;
	give.srcfd = (uint32_t)fd;
	rc = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &give) < 0 ? -errno : SENT;
	close(fd);
	return rc;
}

/* Rights that the real kernel lacks are left out; a rule of nothing else is taken and forgotten. */
static int on_rule(struct fake *f, const struct seccomp_notif *q)
{
	struct path_rule path = {0};
	struct port_rule port = {0};
	bool net = q->data.args[1] == 2;
	uint64_t access;
	int ruleset;
	int rc;

	if (net && f->known.net == 0)
		return -EINVAL;
	rc = net ? peek((pid_t)q->pid, q->data.args[2], &port, sizeof(port)) : peek((pid_t)q->pid, q->data.args[2], &path, sizeof(path));
	if (rc != 0)
		return rc;
	access = net ? port.access : path.access;
	if ((access & ~(net ? f->known.net : f->known.fs)) != 0)
		return -EINVAL;
	if (!net && (access & FS_RESOLVE_UNIX) != 0)
		note(f, "path access=%#llx\n", (unsigned long long)access);
	if (net)
		note(f, "port %llu access=%#llx\n", (unsigned long long)port.port, (unsigned long long)access);
	if ((access & ~(net ? f->real.net : f->real.fs)) == 0)
		return GO_ON;
	port.access &= f->real.net;
	path.access &= f->real.fs;
	if ((net ? port.access : path.access) == 0)
		return 0;
	ruleset = borrow((pid_t)q->pid, (int)q->data.args[0]);
	path.fd = net ? -1 : borrow((pid_t)q->pid, path.fd);
	rc = syscall(LANDLOCK_RULE, ruleset, q->data.args[1], net ? (void *)&port : (void *)&path, 0) == 0 ? 0 : -errno;
	close(ruleset);
	if (path.fd >= 0)
		close(path.fd);
	return rc;
}

static int on_restrict(struct fake *f, const struct seccomp_notif *q)
{
	uint64_t flags = q->data.args[1] & 0xffffffffu;

	if ((flags & ~(f->abi >= 8 ? 0xfu : f->abi >= 7 ? 7u : 0u)) != 0)
		return -EINVAL;
	note(f, "restrict\n");
	return GO_ON;
}

static int on_clone3(const struct fake *f, const struct seccomp_notif *q)
{
	uint64_t flags = 0;

	if (peek((pid_t)q->pid, q->data.args[0], &flags, sizeof(flags)) != 0)
		return -EFAULT;
	return (flags & f->ns) != 0 ? -f->ns_errno : GO_ON;
}

static void answer(struct fake *f, int listener)
{
	struct seccomp_notif q = {0};
	struct seccomp_notif_resp a = {0};
	int rc;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &q) != 0)
		return;
	a.id = q.id;
	rc = q.data.nr == LANDLOCK_CREATE    ? on_create(f, &q, listener)
	     : q.data.nr == LANDLOCK_RULE    ? on_rule(f, &q)
	     : q.data.nr == LANDLOCK_RESTRICT ? on_restrict(f, &q)
	                                      : on_clone3(f, &q);
	if (rc == SENT)
		return;
	if (rc == GO_ON)
		a.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (rc < 0)
		a.error = rc;
	else
		a.val = rc >> 16; /* versions are shifted out of the way of the two words above */
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &a);
}

/* ---------------------------------------------------------------- the two processes */

static void send_fd(int sock, int fd)
{
	char byte = 0;
	struct iovec v = {&byte, 1};
	union { struct cmsghdr h; char room[CMSG_SPACE(sizeof(int))]; } u = {0};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof(u)};

	u.h = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&u.h), &fd, sizeof(fd));
	if (sendmsg(sock, &m, 0) != 1)
		die("sendmsg: %s", strerror(errno));
}

static int receive_fd(int sock)
{
	char byte;
	struct iovec v = {&byte, 1};
	union { struct cmsghdr h; char room[CMSG_SPACE(sizeof(int))]; } u = {0};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof(u)};
	int fd;

	if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) != 1 || m.msg_controllen == 0)
		exit(125); /* the child said why */
	memcpy(&fd, CMSG_DATA(&u.h), sizeof(fd));
	return fd;
}

static void __attribute__((noreturn)) child(struct fake *f, int sock, char **command)
{
	struct sock_fprog program = {.len = f->n, .filter = f->code};
	int listener;

	if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		die("no_new_privs: %s", strerror(errno));
	listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (listener < 0)
		die("no filter: %s", strerror(errno));
	send_fd(sock, listener);
	close(listener);
	close(sock);
	execvp(command[0], command);
	die("%s: %s", command[0], strerror(errno));
}

int main(int argc, char **argv)
{
	struct fake f = {.abi = NO_FAKE_ABI, .real = row_of((int)syscall(LANDLOCK_CREATE, NULL, 0, 1))};
	int pair[2];
	int listener;
	int status;
	int i;
	pid_t pid;

	add(&f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		parse(&f, argv[i]);
	add(&f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	if (i + 1 >= argc)
		die("usage: fake [abi=N] [ns=NAME:ERRNO] [CALL=ERRNO]... [log=FILE] -- COMMAND...");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		die("socketpair: %s", strerror(errno));
	pid = fork();
	if (pid == 0)
		child(&f, pair[1], argv + i + 1);
	close(pair[1]);
	listener = receive_fd(pair[0]);
	for (int over = 0; !over;) {
		struct pollfd p[2] = {{.fd = listener, .events = POLLIN}, {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN}};

		if (poll(p, 2, -1) > 0 && (p[0].revents & POLLIN) != 0)
			answer(&f, listener);
		else
			over = (p[1].revents & POLLIN) != 0;
		close(p[1].fd);
	}
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
