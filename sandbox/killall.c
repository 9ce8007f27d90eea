/* Ends every process of an account: see kill_all_of() in spawn.h. */
#include "sandbox/killall.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "sandbox/spawn.h"

#define GIVE_UP_MS 10000
#define PAUSE_MS 5

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

static void pause_ms(long ms)
{
	struct timespec t = {.tv_nsec = ms * 1000000L};

	(void)nanosleep(&t, NULL);
}

/* True when the status text belongs to uid and is not a zombie's; *ret_threads its thread count. */
static bool status_matches(const char *text, uid_t uid, uint64_t *ret_threads)
{
	const char *state = strstr(text, "\nState:\t");
	const char *ids = strstr(text, "\nUid:\t");
	const char *threads = strstr(text, "\nThreads:\t");
	unsigned int id[4];

	if (state == NULL || ids == NULL)
		return false;
	if (sscanf(ids, "\nUid:\t%u\t%u\t%u\t%u", &id[0], &id[1], &id[2], &id[3]) != 4)
		return false;
	*ret_threads = threads == NULL ? 1 : strtoull(threads + 10, NULL, 10);
	/* The main thread may be gone while others run: only a zombie without them is dead. */
	if ((state[8] == 'Z' || state[8] == 'X') && *ret_threads <= 1)
		return false;
	return id[0] == uid || id[1] == uid || id[2] == uid || id[3] == uid;
}

static bool process_matches(int proc_fd, const char *pid, uid_t uid, uint64_t *ret_threads)
{
	char path[64];
	char text[4096];
	AUTO_FD fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%.20s/status", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false; /* gone meanwhile */
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return status_matches(text, uid, ret_threads);
}

int uid_processes(uid_t uid, uint64_t *ret_threads, pid_t *ret_pid, struct err *e)
{
	DIR *dir = opendir("/proc");
	uint64_t total = 0;
	pid_t one = 0;

	if (dir == NULL)
		return err_errno(e, errno, "cannot read /proc: mount it");
	for (struct dirent *d = readdir(dir); d != NULL; d = readdir(dir)) {
		uint64_t threads = 0;

		if (!isdigit((unsigned char)d->d_name[0]) || !process_matches(dirfd(dir), d->d_name, uid, &threads))
			continue;
		total += threads;
		one = (pid_t)strtol(d->d_name, NULL, 10);
	}
	(void)closedir(dir);
	*ret_threads = total;
	*ret_pid = one;
	return 0;
}

/* kill(-1) signals everything that its sender may signal: before it, prove that the sender is this uid only and
 * has no capability, or it would end the whole machine. */
static bool is_only(uid_t uid)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct c[_LINUX_CAPABILITY_U32S_3] = {0};
	uid_t r, f, s;

	return uid != 0 && getresuid(&r, &f, &s) == 0 && r == uid && f == uid && s == uid &&
	       syscall(SYS_capget, &h, c) == 0 && (c[0].effective | c[1].effective | c[0].permitted | c[1].permitted) == 0;
}

/* One pass is atomic: a process with a pending SIGKILL cannot fork. */
_Noreturn static void killer(uid_t uid)
{
	if (setgroups(0, NULL) != 0 || setresuid(uid, uid, uid) != 0 || !is_only(uid))
		_exit(2);
	_exit(kill(-1, SIGKILL) == 0 || errno == ESRCH ? 0 : 1);
}

/* One child with the uid that kills the rest. Its victims may stop or kill it first: then the caller starts another. */
static int killer_round(uid_t uid, uint64_t end, struct err *e)
{
	pid_t pid = fork();
	pid_t got = 0;
	int status = 0;

	if (pid < 0)
		return err_errno(e, errno, "cannot end the processes of uid %u", uid);
	if (pid == 0)
		killer(uid);
	while (got == 0 && now_ms() < end) {
		got = waitpid(pid, &status, WNOHANG | WUNTRACED);
		if (got < 0 && errno == EINTR)
			got = 0;
		if (got == 0)
			pause_ms(1);
	}
	if (got == 0 || (got == pid && WIFSTOPPED(status))) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		return err_set(e, EPERM, "cannot end the processes of uid %u: the kernel refused to take its identity", uid);
	return 0;
}

int kill_all_of(uid_t uid, struct err *e)
{
	uint64_t end = now_ms() + GIVE_UP_MS;
	uint64_t threads = 0;
	pid_t left = 0;
	int rc;

	if (uid == 0 || uid == getuid() || uid == geteuid())
		return err_set(e, EINVAL, "refusing to end every process of uid %u: it is root's or stint's own", uid);
	for (;;) {
		rc = uid_processes(uid, &threads, &left, e);
		if (rc != 0 || left == 0)
			return rc;
		if (now_ms() >= end)
			break;
		rc = killer_round(uid, end, e);
		if (rc != 0)
			return rc;
		pause_ms(PAUSE_MS);
	}
	rc = err_set(e, EBUSY, "processes of uid %u are left, one is pid %d: they do not end by SIGKILL: wait or reboot", uid,
	             (int)left);
	return err_stop(e, STOP_CONFINE, rc);
}
