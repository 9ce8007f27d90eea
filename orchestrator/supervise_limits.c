/* Limits of a supervised command: see supervise_limits.h. */
#include "orchestrator/supervise_limits.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

/* ---- cgroup v2 */

/* The folder above the one that this process is in: where a session's manager hands controllers on. -1: not known. */
static int own_parent(int root)
{
	AUTO_FD fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	char path[PATH_MAX];
	const char *line;
	size_t n = 0;

	if (fd < 0 || root < 0 || fd_read_all(fd, 1u << 16, &text, &n) != 0)
		return -1;
	line = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
	if (line == NULL)
		return -1;
	line = strstr(line, "0::/") + 4;
	n = strcspn(line, "\n");
	if (n == 0 || (size_t)snprintf(path, sizeof(path), "%.*s/..", (int)n, line) >= sizeof(path))
		return -1;
	return openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int join(int cgroup_fd)
{
	AUTO_FD fd = openat(cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd_write_all(fd, "0", 1);
}

/* Whether a process of ours may be moved there depends on folders above as well: one tries. */
static bool can_join(int cgroup_fd)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		_exit(join(cgroup_fd) == 0 ? 0 : 1);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return pid > 0 && status == 0;
}

static unsigned int worth(const struct cgroup *c)
{
	return c->fd < 0 ? 0u : 1u + (c->memory ? 1u : 0u) + (c->processes ? 1u : 0u);
}

/* The better of what is there and what a folder in parent gives. */
static void consider(struct supervise_limits *l, int parent, uint64_t memory, uint64_t processes)
{
	struct cgroup made;

	if (parent < 0 || worth(&l->cg) == 1u + (memory > 0 ? 1u : 0u) + (processes > 0 ? 1u : 0u))
		return;
	cgroup_make(&made, parent, l->name, memory, processes);
	if (worth(&made) <= worth(&l->cg) || !can_join(made.fd)) {
		cgroup_remove(&made.fd, l->name);
		return;
	}
	cgroup_remove(&l->cg.fd, l->name);
	l->cg = made;
}

/* ---- rlimits */

static bool is_mine(int proc, const char *pid, uint64_t *ret_threads)
{
	char path[64];
	char text[4096];
	AUTO_FD fd = -1;
	const char *uid;
	const char *threads;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%.20s/status", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	uid = strstr(text, "\nUid:\t");
	threads = strstr(text, "\nThreads:\t");
	*ret_threads = threads == NULL ? 1 : strtoull(threads + strlen("\nThreads:\t"), NULL, 10);
	return uid != NULL && strtoul(uid + strlen("\nUid:\t"), NULL, 10) == getuid();
}

/* RLIMIT_NPROC counts every thread of the real uid. */
static int count_own(uint64_t *ret, struct err *e)
{
	DIR *dir = opendir("/proc");
	uint64_t total = 0;

	if (dir == NULL)
		return err_errno(e, errno, "cannot count this user's processes");
	for (struct dirent *d = readdir(dir); d != NULL; d = readdir(dir)) {
		uint64_t threads;

		if (isdigit((unsigned char)d->d_name[0]) && is_mine(dirfd(dir), d->d_name, &threads))
			total += threads;
	}
	(void)closedir(dir);
	*ret = total + 1; /* the keeper */
	return 0;
}

static int set_limit(int what, uint64_t value, const char *name, struct err *e)
{
	struct rlimit now;

	if (getrlimit((__rlimit_resource_t)what, &now) != 0)
		return err_errno(e, errno, "cannot read the limit of %s", name);
	if (now.rlim_max > value)
		now.rlim_max = value;
	now.rlim_cur = now.rlim_max;
	return setrlimit((__rlimit_resource_t)what, &now) == 0 ? 0 : err_errno(e, errno, "cannot limit %s", name);
}

/* ---- the contract */

int supervise_limits_open(struct supervise_limits *ret, uint64_t memory, uint64_t processes, unsigned int serial, struct err *e)
{
	struct supervise_limits l = {.memory = memory, .processes = processes, .cg = {.fd = -1}};
	AUTO_FD root = cgroup_root();
	AUTO_FD parent = own_parent(root);
	int rc = 0;

	(void)snprintf(l.name, sizeof(l.name), "stint-guard-%d.%u", (int)getpid(), serial);
	consider(&l, parent, memory, processes);
	consider(&l, root, memory, processes);
	if (memory > 0)
		l.memory_by = l.cg.memory ? LIMIT_CGROUP : LIMIT_RLIMIT;
	if (processes > 0)
		l.processes_by = l.cg.processes ? LIMIT_CGROUP : LIMIT_RLIMIT;
	if (l.processes_by == LIMIT_RLIMIT)
		rc = getuid() != 0 ? count_own(&l.others, e)
		                   : err_set(e, ENOSYS, "cannot hold --max-procs for root here: cgroup v2 hands on no pids controller, and "
		                             "RLIMIT_NPROC does not bind root: run it as another user");
	if (rc != 0)
		supervise_limits_close(&l);
	else
		*ret = l;
	return rc;
}

void supervise_limits_close(struct supervise_limits *l)
{
	cgroup_remove(&l->cg.fd, l->name);
}

int supervise_limits_enter(const struct supervise_limits *l, struct err *e)
{
	int rc = l->cg.fd >= 0 ? join(l->cg.fd) : 0;

	if (rc != 0)
		return err_errno(e, -rc, "cannot enter the cgroup %s", l->name);
	/* Not the address space: runtimes reserve more of that than the machine has memory. */
	if (l->memory_by == LIMIT_RLIMIT)
		rc = set_limit(RLIMIT_DATA, l->memory, "memory", e);
	if (rc == 0 && l->processes_by == LIMIT_RLIMIT)
		rc = set_limit(RLIMIT_NPROC, l->processes + l->others, "processes", e);
	return rc;
}

static int say_size(struct buf *b, uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	size_t i = 0;

	while (i + 1 < sizeof(units) / sizeof(units[0]) && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	return buf_addf(b, "%llu %s", (unsigned long long)bytes, units[i]);
}

int supervise_limits_say(const struct supervise_limits *l, struct buf *ret)
{
	int rc = 0;

	if (l->memory > 0)
		rc = buf_addf(ret, "memory ");
	if (rc == 0 && l->memory > 0)
		rc = say_size(ret, l->memory);
	if (rc == 0 && l->memory > 0)
		rc = buf_addf(ret, "%s", l->memory_by == LIMIT_CGROUP ? " for all processes together (cgroup v2)" :
		              " for each process (RLIMIT_DATA: there is no cgroup v2 for it here)");
	if (rc != 0 || l->processes == 0)
		return rc;
	rc = buf_addf(ret, "%s%llu processes and threads", ret->len > 0 ? "; " : "", (unsigned long long)l->processes);
	if (rc == 0 && l->processes_by == LIMIT_CGROUP)
		rc = buf_addf(ret, " (cgroup v2)");
	if (rc == 0 && l->processes_by == LIMIT_RLIMIT)
		rc = buf_addf(ret, " beside the %llu that this user has (RLIMIT_NPROC: there is no cgroup v2 for it here)",
		              (unsigned long long)l->others);
	return rc;
}

/* The number behind a key (NULL: the whole file is the number), 0 when it is not there. */
static uint64_t read_number(int dir, const char *name, const char *key)
{
	AUTO_FD fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	char text[1024];
	const char *at = text;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	if (key != NULL) {
		at = strstr(text, key);
		if (at == NULL)
			return 0;
		at += strlen(key);
	}
	return strtoull(at, NULL, 10);
}

bool supervise_limits_counts(const struct supervise_limits *l, struct supervise_counts *ret)
{
	if (l->cg.fd < 0)
		return false;
	*ret = (struct supervise_counts){
		.memory_peak = read_number(l->cg.fd, "memory.peak", NULL),
		.oom_kills = read_number(l->cg.fd, "memory.events", "oom_kill "),
		.forks_refused = read_number(l->cg.fd, "pids.events", "max "),
	};
	return true;
}
