/* One forbidden call by name, for the attack tests: prints "NAME: strerror" on stderr and exits 1 when the kernel
 * refuses, prints "NAME: allowed" and exits 0 when it does not. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
	fprintf(stderr, "try: unknown attempt %s\n", n);
	return 2;
}
