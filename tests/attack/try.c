/* One forbidden call by name, for the attack tests: prints "NAME: strerror" on stderr and exits 1 when the kernel
 * refuses, prints "NAME: allowed" and exits 0 when it does not. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int say(const char *name, long rc)
{
	if (rc < 0) {
		fprintf(stderr, "%s: %s\n", name, strerror(errno));
		return 1;
	}
	printf("%s: allowed\n", name);
	return 0;
}

/* The same call through three doors: getppid is allowed natively everywhere. */
static long native_getppid(void) { return syscall(SYS_getppid); }

static long x32_getppid(void)
{
	long rc = syscall(0x40000000 | SYS_getppid);

	return rc;
}

static long i386_getpid(void)
{
#ifdef __x86_64__
	long rc;

	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
	if (rc < 0) {
		errno = (int)-rc;
		return -1;
	}
	return rc;
#else
	errno = ENOSYS;
	return -1;
#endif
}

static void *thread_main(void *arg) { return arg; }

static long thread(void)
{
	pthread_t t;
	int rc = pthread_create(&t, NULL, thread_main, NULL);

	if (rc != 0) {
		errno = rc;
		return -1;
	}
	return pthread_join(t, NULL);
}

static long clone3_call(void)
{
	struct clone_args a = {.exit_signal = SIGCHLD};
	long rc = syscall(SYS_clone3, &a, sizeof(a));

	if (rc == 0)
		_exit(0);
	return rc;
}

static long tiocsti(unsigned long high)
{
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	char c = 'x';

	if (fd < 0)
		return -1;
	return syscall(SYS_ioctl, fd, high | 0x5412UL, &c);
}

static long winsize(void)
{
	struct winsize w;
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY);

	return fd < 0 ? -1 : ioctl(fd, TIOCGWINSZ, &w);
}

static long ptrace_child(void)
{
	pid_t pid = fork();
	long rc;

	if (pid == 0) {
		pause();
		_exit(0);
	}
	rc = ptrace(PTRACE_ATTACH, pid, NULL, NULL);
	int saved = errno;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	errno = saved;
	return rc;
}

static long unix_connect(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(a);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(a.sun_path, path, sizeof(a.sun_path) - 1);
	if (path[0] == '@') {
		a.sun_path[0] = '\0';
		len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	}
	return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&a, len);
}

static long tcp(int port, int listening)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		return -1;
	return listening ? bind(fd, (struct sockaddr *)&a, sizeof(a)) : connect(fd, (struct sockaddr *)&a, sizeof(a));
}

static long reopen_by_handle(const char *path)
{
	union { struct file_handle h; char room[sizeof(struct file_handle) + 128]; } u = {0};
	int mount_id;

	u.h.handle_bytes = 128;
	if (name_to_handle_at(AT_FDCWD, path, &u.h, &mount_id, 0) < 0)
		return -1;
	return open_by_handle_at(AT_FDCWD, &u.h, O_RDONLY);
}

static long new_userns(void) { return unshare(CLONE_NEWUSER); }

/* The mounts of a namespace with more privilege are locked together: a user namespace does not lift one of them. */
static long userns_umount(const char *path)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return -1;
	return umount2(path, MNT_DETACH);
}

/* A child that waits, for what reaches into another process; the call's result and errno survive its end. */
static long with_child(long (*call)(pid_t child))
{
	pid_t pid = fork();
	long rc;
	int saved;

	if (pid == 0) {
		pause();
		_exit(0);
	}
	rc = pid < 0 ? -1 : call(pid);
	saved = errno;
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	errno = saved;
	return rc;
}

static int victim = 1;

static long vm_call(pid_t pid, long number)
{
	int mine = 2;
	struct iovec local = {&mine, sizeof(mine)};
	struct iovec remote = {&victim, sizeof(victim)};

	return syscall(number, pid, &local, 1UL, &remote, 1UL, 0UL);
}

static long vm_read(pid_t pid) { return vm_call(pid, SYS_process_vm_readv); }
static long vm_write(pid_t pid) { return vm_call(pid, SYS_process_vm_writev); }
static long kcmp_child(pid_t pid) { return syscall(SYS_kcmp, getpid(), pid, 1, 0UL, 0UL); }
static long seize_child(pid_t pid) { return ptrace(PTRACE_SEIZE, pid, NULL, NULL); }

static long steal_descriptor(pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	return pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, 0, 0);
}

static long signal_by_pidfd(pid_t pid, int sig)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	return pidfd < 0 ? -1 : syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}

static long enter_own(const char *ns)
{
	int fd = open(ns, O_RDONLY);

	return fd < 0 ? -1 : syscall(SYS_setns, fd, 0);
}

/* A namespace by clone(2), whose flags are an argument, unlike clone3's. */
static long clone_into(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0UL, 0UL, 0UL, 0UL);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return pid;
}

static long same_hostname(void)
{
	char name[256];

	return gethostname(name, sizeof(name)) != 0 ? -1 : sethostname(name, strlen(name));
}

static long look_at_clock(void)
{
	struct timex t = {0};

	return adjtimex(&t);
}

static long pty_ioctl(unsigned long request, const void *arg)
{
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY);

	return fd < 0 ? -1 : syscall(SYS_ioctl, fd, request, arg);
}

static long set_inode_flag(const char *path, int flag)
{
	int fd = open(path, O_RDONLY);
	int flags;

	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0)
		return -1;
	flags |= flag;
	return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

/* A program without a file: PATH is copied to memory and started from there with the words that follow. */
static long exec_from_memory(char **words)
{
	int from = open(words[0], O_RDONLY);
	int to = (int)syscall(SYS_memfd_create, "x", 0U);
	char chunk[65536];
	ssize_t n;

	if (from < 0 || to < 0)
		return -1;
	while ((n = read(from, chunk, sizeof(chunk))) > 0)
		if (write(to, chunk, (size_t)n) != n)
			return -1;
	return fexecve(to, words, (char *[]){NULL});
}

/* O_PATH needs no right on the file itself; what it gives must not become more. */
static long upgrade_path_fd(const char *path)
{
	char again[64];
	int fd = open(path, O_PATH);

	if (fd < 0)
		return -1;
	(void)snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	return open(again, O_RDONLY);
}

static long cached_pages(const char *path)
{
	struct { uint64_t off, len; } range = {0, 0};
	uint64_t seen[5];
	int fd = open(path, O_RDONLY);

	return fd < 0 ? -1 : syscall(451 /* cachestat */, fd, &range, seen, 0U);
}

static long mapped_pages(const char *path)
{
	unsigned char vec;
	int fd = open(path, O_RDONLY);
	void *m = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	return m == MAP_FAILED ? -1 : mincore(m, 4096, &vec);
}

static long map_shared_writable(const char *path)
{
	int fd = open(path, O_RDONLY);
	void *m = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return m == MAP_FAILED ? -1 : 0;
}

static long fast_open(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? -1 : sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&a, sizeof(a));
}

static long arg(char **argv, int i) { return argv[i] == NULL ? 0 : strtol(argv[i], NULL, 0); }

int main(int argc, char **argv)
{
	const char *n = argc > 1 ? argv[1] : "";

#define TRY(name, call) if (strcmp(n, name) == 0) return say(n, (call))
	TRY("native", native_getppid());
	TRY("x32", x32_getppid());
	TRY("int80", i386_getpid());
	TRY("thread", thread());
	TRY("clone3", clone3_call());
	TRY("tiocsti", tiocsti(0));
	TRY("tiocsti-high", tiocsti(0x100000000UL));
	TRY("winsize", winsize());
	TRY("ptrace", ptrace_child());
	TRY("userns", new_userns());
	TRY("mount", mount("none", argc > 2 ? argv[2] : "/tmp", "tmpfs", 0, NULL));
	TRY("umount", umount2(argc > 2 ? argv[2] : "/tmp", MNT_DETACH));
	TRY("userns-umount", userns_umount(argv[2]));
	TRY("chroot", chroot("/"));
	TRY("iouring", syscall(SYS_io_uring_setup, 1, (char[256]){0}));
	TRY("bpf", syscall(SYS_bpf, 0, (char[128]){0}, 128));
	TRY("keyctl", syscall(SYS_keyctl, 0, -3, 0));
	TRY("userfaultfd", syscall(SYS_userfaultfd, 0));
	TRY("perf", syscall(SYS_perf_event_open, (char[128]){0}, 0, -1, -1, 0));
	TRY("handle", reopen_by_handle(argv[2]));
	TRY("mknod-null", mknod(argv[2], S_IFCHR | 0666, 0x103));
	TRY("mkfifo", mkfifo(argv[2], 0666));
	TRY("unix", unix_connect(argv[2]));
	TRY("connect", tcp((int)arg(argv, 2), 0));
	TRY("bind", tcp((int)arg(argv, 2), 1));
	TRY("socket", argc < 5 ? -1 : socket((int)arg(argv, 2), (int)arg(argv, 3), (int)arg(argv, 4)));
	TRY("setuid0", setuid(0));
	TRY("chmod-setuid", chmod(argv[2], 04755));
	TRY("chmod", chmod(argv[2], 0755));
	TRY("kill", kill((pid_t)arg(argv, 2), (int)arg(argv, 3)));
	TRY("truncate", truncate(argv[2], 0));
	TRY("open-read", open(argv[2], O_RDONLY));
	TRY("open-write", open(argv[2], O_WRONLY));
	TRY("link", link(argv[2], argv[3]));
	TRY("rename", rename(argv[2], argv[3]));
	TRY("unlink", unlink(argv[2]));
	TRY("create", open(argv[2], O_WRONLY | O_CREAT | O_EXCL, 0644));
	TRY("chown", chown(argv[2], 0, 0));
	TRY("chdir", chdir(argv[2]));
	TRY("vm-read", with_child(vm_read));
	TRY("vm-write", with_child(vm_write));
	TRY("kcmp", with_child(kcmp_child));
	TRY("seize", with_child(seize_child));
	TRY("traceme", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	TRY("pidfd-getfd", with_child(steal_descriptor));
	TRY("pidfd-signal", signal_by_pidfd((pid_t)arg(argv, 2), (int)arg(argv, 3)));
	TRY("setns", enter_own(argv[2]));
	TRY("unshare", unshare((int)arg(argv, 2)));
	TRY("clone-into", clone_into((unsigned long)arg(argv, 2)));
	TRY("hostname", same_hostname());
	TRY("clock", look_at_clock());
	TRY("fsopen", syscall(SYS_fsopen, "tmpfs", 0U));
	TRY("open-tree", syscall(SYS_open_tree, AT_FDCWD, argv[2], 1U /* OPEN_TREE_CLONE */));
	TRY("remount", mount(NULL, argv[2], NULL, MS_REMOUNT | MS_BIND, NULL));
	TRY("pivot", syscall(SYS_pivot_root, argv[2], argv[2]));
	TRY("fanotify", syscall(SYS_fanotify_init, 0U, 0U));
	TRY("add-key", syscall(SYS_add_key, "user", "stint-attack", "x", 1UL, -3));
	TRY("move-pages", syscall(SYS_move_pages, 0, 0UL, NULL, NULL, NULL, 0));
	TRY("tiocsetd", pty_ioctl(TIOCSETD, &(int){0}));
	TRY("tioclinux", pty_ioctl(0x541c, &(char){2}));
	TRY("personality", syscall(SYS_personality, 0x0400000UL /* READ_IMPLIES_EXEC */));
	TRY("setgroups", syscall(SYS_setgroups, 1, &(gid_t){0}));
	TRY("inode-nodump", set_inode_flag(argv[2], FS_NODUMP_FL));
	TRY("inode-append", set_inode_flag(argv[2], FS_APPEND_FL));
	TRY("memory-exec", exec_from_memory(argv + 2));
	TRY("path-fd", upgrade_path_fd(argv[2]));
	TRY("cachestat", cached_pages(argv[2]));
	TRY("mincore", mapped_pages(argv[2]));
	TRY("map-write", map_shared_writable(argv[2]));
	TRY("fast-open", fast_open((int)arg(argv, 2)));
	TRY("rename-exchange", syscall(SYS_renameat2, AT_FDCWD, argv[2], AT_FDCWD, argv[3], 2U));
	TRY("rename-whiteout", syscall(SYS_renameat2, AT_FDCWD, argv[2], AT_FDCWD, argv[3], 4U));
	TRY("tmpfile", open(argv[2], O_TMPFILE | O_WRONLY, 0644));
	TRY("rmdir", rmdir(argv[2]));
	TRY("mkdir", mkdir(argv[2], 0755));
	TRY("symlink", symlink(argv[2], argv[3]));
	fprintf(stderr, "try: unknown attempt %s\n", n);
	return 2;
}
