/* What ended commands left in their TMPDIRs is removed by a later start of the same user: see guard.h.
 *
 * The names were made by the guard, but what lies below was made by commands, and one of them may still be at it: no link is
 * followed, no path is walked, nothing is opened but folders of this user on this file system, and all by descriptors. */
#include "sandbox/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define STAMP "swept"     /* its mtime: when this was done last */
#define OLD "old."        /* in front of a name: being removed */
#define EVERY 60          /* seconds between two sweeps */
#define AGE_EMPTY 3600    /* since the last change at its top: children of the command may live on and want it */
#define AGE 86400
#define AGE_FOREIGN (7 * 86400) /* of another PID namespace, where nobody here can say who lives */
#define REMOVALS_MAX 20000 /* names in one sweep; the rest next time */

/* ---------------------------------------------------------------- who lives */

/* Field 22 of /proc/PID/stat: when the process began, in ticks since boot; 0 when it cannot be known. */
static uint64_t started(const char *pid)
{
	char path[64];
	char text[1024];
	const char *p;
	ssize_t n;
	AUTO_FD fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the name in parentheses may hold anything */
	for (int i = 2; p != NULL && i < 22; i++)
		p = strchr(p + 1, ' ');
	return p != NULL ? strtoull(p + 1, NULL, 10) : 0;
}

static uint64_t pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

void guard_process_name(char ret[GUARD_PROCESS_MAX])
{
	(void)snprintf(ret, GUARD_PROCESS_MAX, "%" PRIx64 ".%x.%" PRIx64, pid_namespace(), (unsigned int)getpid(), started("self"));
}

/* In doubt it lives. */
static bool lives(const char *pid, uint64_t start)
{
	uint64_t now = started(pid);

	if (now == 0)
		return kill((pid_t)strtol(pid, NULL, 10), 0) == 0 || errno != ESRCH;
	return start == 0 || now == start;
}

static bool read_name(const char *name, uint64_t *ret_ns, unsigned int *ret_pid, uint64_t *ret_start)
{
	return sscanf(name, "%" SCNx64 ".%x.%" SCNx64, ret_ns, ret_pid, ret_start) == 3 && *ret_pid > 0 && *ret_pid <= INT_MAX;
}

/* Is this the folder of a process that is gone? */
static bool stale(const char *name, const struct stat *st, bool empty, time_t now)
{
	unsigned int pid;
	uint64_t start;
	uint64_t ns;
	char word[16];

	if (!read_name(name, &ns, &pid, &start))
		return false;
	if (ns == 0 || ns != pid_namespace())
		return now - st->st_mtime > AGE_FOREIGN;
	(void)snprintf(word, sizeof(word), "%u", pid);
	return now - st->st_mtime > (empty ? AGE_EMPTY : AGE) && !lives(word, start);
}

/* ---------------------------------------------------------------- removing */

struct sweep {
	dev_t dev;
	unsigned int left;   /* names that may still be removed */
	unsigned int lifted; /* number of the last folder that was moved up */
};

static bool is_entry(const char *name)
{
	return !str_eq(name, ".") && !str_eq(name, "..");
}

/* A folder of this user on this file system, or NULL. Its mode is opened up: commands leave read-only trees behind. */
static DIR *open_own(const struct sweep *s, int at, const char *name)
{
	AUTO_FD path = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_FD fd = -1;
	char self[64];
	struct stat st;
	DIR *d;

	if (path < 0 || fstat(path, &st) != 0 || st.st_uid != geteuid() || st.st_dev != s->dev)
		return NULL;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", path);
	if ((st.st_mode & 0700) != 0700 && chmod(self, 0700) != 0)
		return NULL;
	fd = openat(path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (d != NULL)
		(void)fd_take(&fd);
	return d;
}

static bool remove_name(struct sweep *s, int at, const char *name)
{
	if (s->left > 0)
		s->left--;
	return unlinkat(at, name, 0) == 0 || unlinkat(at, name, AT_REMOVEDIR) == 0;
}

/* Empties at/name, moving its folders up to `at`, and removes it: so neither depth nor descriptors grow. False when nothing of it
 * could be moved or removed. */
static bool flatten(struct sweep *s, int at, const char *name)
{
	DIR *d = open_own(s, at, name);
	struct dirent *entry;
	bool done = false;
	char up[32];

	while (d != NULL && s->left > 0 && (entry = readdir(d)) != NULL) {
		DIR *sub;

		if (!is_entry(entry->d_name))
			continue;
		if (remove_name(s, dirfd(d), entry->d_name)) {
			done = true;
			continue;
		}
		sub = open_own(s, dirfd(d), entry->d_name); /* a folder that is read-only cannot be moved */
		if (sub != NULL)
			(void)closedir(sub);
		(void)snprintf(up, sizeof(up), "lifted.%u", ++s->lifted);
		if (renameat(dirfd(d), entry->d_name, at, up) == 0)
			done = true;
	}
	if (d != NULL)
		(void)closedir(d);
	return unlinkat(at, name, AT_REMOVEDIR) == 0 || done;
}

/* Removes parent/name with all that is below it, as far as the work that is left allows. */
static void remove_all(struct sweep *s, int parent, const char *name)
{
	bool again = true;

	while (again && s->left > 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0) {
		DIR *d = open_own(s, parent, name);
		struct dirent *entry;

		again = false;
		while (d != NULL && s->left > 0 && (entry = readdir(d)) != NULL)
			if (is_entry(entry->d_name) &&
			    (remove_name(s, dirfd(d), entry->d_name) || flatten(s, dirfd(d), entry->d_name)))
				again = true;
		if (d != NULL)
			(void)closedir(d);
	}
}

/* ---------------------------------------------------------------- the sweep */

static bool due(int parent, time_t now)
{
	struct stat st;
	AUTO_FD fd = -1;

	if (fstatat(parent, STAMP, &st, AT_SYMLINK_NOFOLLOW) == 0 && now - st.st_mtime >= 0 && now - st.st_mtime < EVERY)
		return false;
	fd = openat(parent, STAMP, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	return fd >= 0 && futimens(fd, NULL) == 0;
}

/* Under a name that a later sweep goes on with, should this one not come to the end. */
static void discard(struct sweep *s, int parent, const char *name)
{
	char old[NAME_MAX + 1];

	if (snprintf(old, sizeof(old), OLD "%s", name) < (int)sizeof(old) && renameat(parent, name, parent, old) == 0)
		remove_all(s, parent, old);
}

static void sweep_one(struct sweep *s, int parent, const char *name, time_t now)
{
	struct stat st;

	if (str_starts(name, OLD)) {
		remove_all(s, parent, name);
		return;
	}
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
		return;
	if (stale(name, &st, true, now) && unlinkat(parent, name, AT_REMOVEDIR) == 0)
		return;
	if (stale(name, &st, false, now))
		discard(s, parent, name);
}

/* The entries of parent, and s made ready; NULL when they cannot be read. */
static DIR *begin(struct sweep *s, int parent)
{
	AUTO_FD fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	DIR *d = fd < 0 || fstat(fd, &st) != 0 ? NULL : fdopendir(fd);

	if (d == NULL)
		return NULL;
	(void)fd_take(&fd);
	*s = (struct sweep){.dev = st.st_dev, .left = REMOVALS_MAX};
	return d;
}

void guard_sweep(int parent)
{
	time_t now = time(NULL);
	struct dirent *entry;
	struct sweep s;
	DIR *d = due(parent, now) ? begin(&s, parent) : NULL;

	if (d == NULL)
		return;
	while (s.left > 0 && (entry = readdir(d)) != NULL)
		if (is_entry(entry->d_name))
			sweep_one(&s, parent, entry->d_name, now);
	(void)closedir(d);
}

void guard_sweep_of(int parent, pid_t pid)
{
	struct dirent *entry;
	struct sweep s;
	DIR *d = begin(&s, parent);

	if (d == NULL)
		return;
	while (s.left > 0 && (entry = readdir(d)) != NULL) {
		unsigned int of;
		uint64_t start;
		uint64_t ns;

		if (read_name(entry->d_name, &ns, &of, &start) && of == (unsigned int)pid && ns != 0 && ns == pid_namespace())
			discard(&s, parent, entry->d_name);
	}
	(void)closedir(d);
}
