/* Makes one system call by name and prints "ok" or the name of its errno: what guard.sh compares inside and outside. */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static long number(const char *s) { return s != NULL ? strtol(s, NULL, 0) : 0; }

static long try_read(char **a)
{
	char byte;
	int fd = open(a[0], O_RDONLY);

	return fd < 0 ? fd : read(fd, &byte, 1);
}

static long try_list(char **a) { return open(a[0], O_RDONLY | O_DIRECTORY); }
static long try_write(char **a) { return open(a[0], O_WRONLY); }
static long try_truncate(char **a) { return truncate(a[0], 1); }
static long try_create(char **a)
{
	return open(a[0], O_WRONLY | O_CREAT | O_EXCL, a[1] != NULL ? (mode_t)number(a[1]) : 0600);
}
static long try_unlink(char **a) { return unlink(a[0]); }
static long try_mkdir(char **a) { return mkdir(a[0], 0700); }
static long try_rename(char **a) { return rename(a[0], a[1]); }
static long try_chmod(char **a) { return chmod(a[0], (mode_t)number(a[1])); }
static long try_chown(char **a) { return chown(a[0], (uid_t)-1, (gid_t)-1); }
static long try_utime(char **a) { return utimes(a[0], NULL); }
static long try_setxattr(char **a) { return syscall(SYS_setxattr, a[0], "user.stint", "1", 1, 0); }
static long try_mkfifo(char **a) { return mkfifo(a[0], 0600); }
static long try_mknod(char **a) { return mknod(a[0], S_IFCHR | 0600, 0x103); }
static long try_socket(char **a) { return socket((int)number(a[0]), (int)number(a[1]), (int)number(a[2])); }
static long try_kill(char **a) { return kill((pid_t)number(a[0]), 0); }
static long try_unshare(char **a) { return unshare((int)number(a[0])); }
static long try_clone3(char **a) { (void)a; return syscall(SYS_clone3, NULL, 0); }
static long try_keyctl(char **a) { (void)a; return syscall(SYS_keyctl, 0, -3, 1); }
static long try_io_uring(char **a) { (void)a; return syscall(SYS_io_uring_setup, 0, NULL); }
static long try_personality(char **a) { return syscall(SYS_personality, number(a[0])); }
static long try_number(char **a) { return syscall(number(a[0]), -1, -1, -1, -1); }

static long try_ioctl(char **a)
{
	int bits;
	int fd = open(a[0], O_RDONLY);

	return fd < 0 ? fd : ioctl(fd, RNDGETENTCNT, &bits);
}

static long try_ptrace(char **a)
{
	pid_t pid = fork();

	(void)a;
	if (pid != 0) {
		int status = 0;

		return waitpid(pid, &status, 0) < 0 ? -1 : WEXITSTATUS(status) == 0 ? 0 : (errno = WEXITSTATUS(status), -1);
	}
	_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : errno);
}

/* Starts a program without words; ok when it was started. */
static long try_exec(char **a)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		(void)execv(a[0], (char *[]){a[0], NULL});
		_exit(errno);
	}
	return waitpid(pid, &status, 0) < 0 ? -1 : WEXITSTATUS(status) == 0 ? 0 : (errno = WEXITSTATUS(status), -1);
}

/* A local socket by its path. */
static long try_unix(char **a)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", a[0]);
	return connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof(to));
}

/* Says that it is ready, and who it is. */
static _Noreturn void wait_killed(void)
{
	(void)printf("ready %d\n", (int)getpid());
	(void)fflush(stdout);
	(void)alarm(3600);
	for (;;)
		(void)pause();
}

/* Listens at a path until killed; says when it is ready and who it is. */
static long try_serve_unix(char **a)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", a[0]);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, SOMAXCONN) != 0)
		return -1;
	wait_killed();
}

/* a[0]: what the request's upper half holds. On a terminal of our own, as the controlling one. */
static long try_tiocsti(char **a)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	int slave;

	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
		return -1;
	if (fork() != 0) {
		int status = 0;

		(void)wait(&status);
		return WEXITSTATUS(status) == 0 ? 0 : (errno = WEXITSTATUS(status), -1);
	}
	(void)setsid();
	slave = open(ptsname(master), O_RDWR);
	if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) != 0)
		_exit(errno);
	_exit(syscall(SYS_ioctl, slave, (uint64_t)number(a[0]) << 32 | TIOCSTI, "x") == 0 ? 0 : errno);
}

static struct sockaddr_in local(const char *port)
{
	return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)number(port)),
	                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static long try_connect(char **a)
{
	struct sockaddr_in to = local(a[0]);

	return connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof(to));
}

static long try_bind(char **a)
{
	struct sockaddr_in to = local(a[0]);

	return bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof(to));
}

/* Connects by sending: what Landlock's hook on connect(2) does not see. */
static long try_fastopen(char **a)
{
	struct sockaddr_in to = local(a[0]);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof(to));
}

/* The abstract address of that name; returns its length. */
static socklen_t abstract(struct sockaddr_un *ret, const char *name)
{
	size_t n = strlen(name);

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(ret->sun_path + 1, name, n);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

static long try_abstract(char **a)
{
	struct sockaddr_un to;
	socklen_t n = abstract(&to, a[0]);

	return connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&to, n);
}

/* Listens on TCP PORT and on an abstract name until killed; says when it is ready and who it is. It accepts nothing: a short
 * queue would block the next that connects. */
static long try_serve(char **a)
{
	struct sockaddr_in in = local(a[0]);
	struct sockaddr_un un;
	socklen_t n = abstract(&un, a[1]);
	int tcp = socket(AF_INET, SOCK_STREAM, 0);
	int local_fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int one = 1;

	if (setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
	    bind(tcp, (struct sockaddr *)&in, sizeof(in)) != 0 || listen(tcp, SOMAXCONN) != 0 ||
	    bind(local_fd, (struct sockaddr *)&un, n) != 0 || listen(local_fd, SOMAXCONN) != 0)
		return -1;
	wait_killed();
}

#ifdef __x86_64__
static long try_x32(char **a) { (void)a; return syscall(0x40000000L | SYS_getpid); }

static long try_int80(char **a)
{
	long rc;

	(void)a;
	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(20L) : "r8", "r9", "r10", "r11", "memory");
	return rc > 0 ? 0 : (errno = (int)-rc, -1);
}
#endif

static const struct {
	const char *name;
	long (*call)(char **args);
	int args;
} calls[] = {
	{"read", try_read, 1}, {"list", try_list, 1}, {"write", try_write, 1}, {"truncate", try_truncate, 1},
	{"create", try_create, 1}, {"unlink", try_unlink, 1}, {"mkdir", try_mkdir, 1}, {"rename", try_rename, 2},
	{"chmod", try_chmod, 2}, {"chown", try_chown, 1}, {"utime", try_utime, 1}, {"setxattr", try_setxattr, 1},
	{"mkfifo", try_mkfifo, 1}, {"mknod", try_mknod, 1}, {"socket", try_socket, 3}, {"kill", try_kill, 1},
	{"unshare", try_unshare, 1}, {"clone3", try_clone3, 0}, {"keyctl", try_keyctl, 0}, {"io_uring", try_io_uring, 0},
	{"personality", try_personality, 1}, {"number", try_number, 1}, {"ptrace", try_ptrace, 0}, {"ioctl", try_ioctl, 1},
	{"tiocsti", try_tiocsti, 1}, {"connect", try_connect, 1}, {"bind", try_bind, 1}, {"fastopen", try_fastopen, 1},
	{"abstract", try_abstract, 1}, {"serve", try_serve, 2}, {"exec", try_exec, 1}, {"unix", try_unix, 1},
	{"serve-unix", try_serve_unix, 1},
#ifdef __x86_64__
	{"x32", try_x32, 0}, {"int80", try_int80, 0},
#endif
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(argv[1], calls[i].name) == 0 && argc - 2 >= calls[i].args) {
			long rc;

			errno = 0;
			rc = calls[i].call(argv + 2);
			(void)puts(rc >= 0 ? "ok" : strerrorname_np(errno));
			return 0;
		}
	(void)fprintf(stderr, "guard_try: unknown call or too few arguments\n");
	return 2;
}
