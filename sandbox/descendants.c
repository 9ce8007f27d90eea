/* Ending a tree of processes that nothing but parenthood holds together: see descendants.h. */
#include "sandbox/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

#define GIVE_UP_MS 10000
#define PAUSE_NS 2000000L
#define STOP_ROUNDS 20 /* each finds what was forked during the one before; then it is killed as it is */

struct process {
	pid_t pid;
	pid_t parent;
	unsigned int threads;
	bool below;  /* a descendant */
	bool zombie;
};

struct processes { /* sorted by pid */
	struct process *v;
	size_t n;
	size_t cap;
};

static void processes_done(struct processes *p)
{
	free(p->v);
	*p = (struct processes){0};
}

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

/* ---- finding */

/* The name, the second field, may hold anything: the last bracket ends it. */
static bool read_stat(pid_t pid, struct process *ret)
{
	char path[64];
	char text[1024];
	AUTO_FD fd = -1;
	const char *p;
	char state;
	long parent;
	long threads;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false; /* gone meanwhile */
	text[n] = '\0';
	p = strrchr(text, ')');
	if (p == NULL || sscanf(p + 1, " %c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &state, &parent,
	                        &threads) != 3)
		return false;
	*ret = (struct process){.pid = pid, .parent = (pid_t)parent, .threads = (unsigned int)threads,
	                        .zombie = (state == 'Z' || state == 'X') && threads <= 1};
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *x = a;
	const struct process *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct process *find(const struct processes *p, pid_t pid)
{
	struct process key = {.pid = pid};

	return p->n == 0 ? NULL : bsearch(&key, p->v, p->n, sizeof(*p->v), by_pid);
}

static bool is_below(const struct processes *p, pid_t pid)
{
	const struct process *found = find(p, pid);

	return found != NULL && found->below;
}

static int add(struct processes *p, const struct process *one)
{
	if (p->n == p->cap) {
		size_t cap = p->cap == 0 ? 256 : p->cap * 2;
		struct process *more = realloc(p->v, cap * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		p->v = more;
		p->cap = cap;
	}
	p->v[p->n++] = *one;
	return 0;
}

/* spare: children of root that are left alone with all that is below them. */
static bool is_spared(const struct descendants_spare *spare, pid_t pid)
{
	for (size_t i = 0; spare != NULL && i < spare->n; i++)
		if (spare->pid[i] == pid)
			return true;
	return false;
}

static void mark(struct processes *p, pid_t root, const struct descendants_spare *spare)
{
	bool more = true;

	/* Children mostly have higher numbers than their parents: mostly one pass finds all. */
	while (more) {
		more = false;
		for (size_t i = 0; i < p->n; i++) {
			struct process *one = &p->v[i];

			if (one->below || (one->parent != root && !is_below(p, one->parent)) || is_spared(spare, one->pid))
				continue;
			one->below = true;
			more = true;
		}
	}
}

/* Every process of the machine, those below root marked. */
static int scan(struct processes *ret, pid_t root, const struct descendants_spare *spare)
{
	DIR *dir = opendir("/proc");
	int rc = 0;

	ret->n = 0;
	if (dir == NULL)
		return -errno;
	for (struct dirent *d = readdir(dir); rc == 0 && d != NULL; d = readdir(dir)) {
		struct process one;

		if (isdigit((unsigned char)d->d_name[0]) && read_stat((pid_t)strtol(d->d_name, NULL, 10), &one))
			rc = add(ret, &one);
	}
	(void)closedir(dir);
	if (rc != 0)
		return rc;
	if (ret->n > 0)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_pid);
	mark(ret, root, spare);
	return 0;
}

unsigned int descendants_count(pid_t root)
{
	struct processes p = {0};
	unsigned int n = 0;

	if (scan(&p, root, NULL) != 0)
		p.n = 0;
	for (size_t i = 0; i < p.n; i++)
		n += p.v[i].below && !p.v[i].zombie ? p.v[i].threads : 0;
	processes_done(&p);
	return n;
}

/* ---- ending */

/* A number may have gone to a stranger since it was read: the descriptor holds one process, and its parent is asked again. */
static void send_signal(const struct processes *p, const struct process *one, pid_t root, int sig)
{
	AUTO_FD fd = (int)syscall(SYS_pidfd_open, one->pid, 0);
	struct process again;

	if (fd < 0 || !read_stat(one->pid, &again) || (again.parent != root && !is_below(p, again.parent)))
		return;
	(void)syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
}

static void send_all(const struct processes *p, pid_t root, int sig)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].below && !p->v[i].zombie)
			send_signal(p, &p->v[i], root, sig);
}

static unsigned int running(const struct processes *p)
{
	unsigned int n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->v[i].below && !p->v[i].zombie ? 1 : 0;
	return n;
}

/* True when every descendant was one before, and so has its signal. */
static bool nothing_new(const struct processes *now, const struct processes *before)
{
	for (size_t i = 0; i < now->n; i++)
		if (now->v[i].below && !is_below(before, now->v[i].pid))
			return false;
	return true;
}

/* A process with a signal pending cannot fork: when a search finds none that lacks one, the tree is complete. */
static int stop_all(struct processes *last, pid_t root, const struct descendants_spare *spare)
{
	struct processes before = {0};
	int rc = 0;

	for (int round = 0; rc == 0 && round < STOP_ROUNDS; round++) {
		struct processes swap = before;

		before = *last;
		*last = swap;
		rc = scan(last, root, spare);
		if (rc == 0 && round > 0 && nothing_new(last, &before))
			break;
		if (rc == 0)
			send_all(last, root, SIGSTOP);
	}
	processes_done(&before);
	return rc;
}

/* True when there is no child left. */
static bool reap(pid_t watch, int *ret_wstatus)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			return pid < 0;
		if (pid == watch)
			*ret_wstatus = status;
	}
}

/* As reap(), among children that are not all to be waited for: those that were found. */
static bool reap_found(struct processes *p, pid_t root, const struct descendants_spare *spare)
{
	bool none = true;

	if (scan(p, root, spare) != 0)
		return false;
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].below && (p->v[i].parent != root || waitpid(p->v[i].pid, NULL, WNOHANG | __WALL) != p->v[i].pid))
			none = false;
	return none;
}

static void cgroup_end(int cgroup_fd)
{
	AUTO_FD fd = cgroup_fd < 0 ? -1 : openat(cgroup_fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, "1", 1); /* since Linux 5.14; below, the search does it */
}

static bool all_gone(struct processes *p, const struct descendants_spare *spare, pid_t watch, int *ret_wstatus)
{
	return spare == NULL ? reap(watch, ret_wstatus) : reap_found(p, getpid(), spare);
}

static int end_all(int cgroup_fd, const struct descendants_spare *spare, pid_t watch, int *ret_wstatus, unsigned int *ret_ended,
                   struct err *e)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t end = now_ms() + GIVE_UP_MS;
	pid_t root = getpid();
	struct processes p = {0};
	unsigned int first = 0;
	bool gone = all_gone(&p, spare, watch, ret_wstatus); /* mostly nothing is left, and nothing has to be searched */
	int rc = 0;

	while (!gone && rc == 0 && now_ms() < end) {
		rc = stop_all(&p, root, spare);
		if (rc == 0 && first == 0)
			first = running(&p);
		cgroup_end(cgroup_fd);
		if (rc == 0)
			send_all(&p, root, SIGKILL);
		(void)nanosleep(&pause, NULL);
		gone = all_gone(&p, spare, watch, ret_wstatus);
	}
	*ret_ended = first;
	if (!gone)
		rc = rc != 0 ? err_errno(e, -rc, "cannot find the command's processes")
		             : err_set(e, EBUSY, "%u of the command's processes do not end by SIGKILL: wait for them or reboot",
		                       running(&p));
	processes_done(&p);
	return gone ? 0 : rc;
}

int descendants_end(int cgroup_fd, pid_t watch, int *ret_wstatus, unsigned int *ret_ended, struct err *e)
{
	return end_all(cgroup_fd, NULL, watch, ret_wstatus, ret_ended, e);
}

int descendants_end_but(int cgroup_fd, const struct descendants_spare *spare, unsigned int *ret_ended, struct err *e)
{
	int wstatus = 0;

	return end_all(cgroup_fd, spare, 0, &wstatus, ret_ended, e);
}
