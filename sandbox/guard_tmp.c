/* The command's own TMPDIR. The guard becomes the command, so nobody is there to remove the folder when it ends: its name says
 * whose it was, and a later start by the same user removes it (guard_sweep.c). See guard.h. */
#include "sandbox/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define TRIES 64

bool guard_wants_tmp(const struct guard_options *o)
{
	for (size_t i = 0; i < o->n_env; i++)
		if (str_eq(o->env[i], "TMPDIR") || str_starts(o->env[i], "TMPDIR=")) /* somebody chose another */
			return false;
	return !o->no_tmp && !o->no_system && !o->no_landlock && o->probe_fd < 0;
}

enum landlock_grant guard_tmp_grant(const struct guard_options *o)
{
	return o->no_exec ? GRANT_WRITE_DATA : GRANT_WRITE;
}

static int add_parent(struct buf *b, const char *base)
{
	int rc = buf_addf(b, "%s/stint-guard-%u", base, (unsigned int)geteuid());

	return rc != 0 || buf_str(b) != NULL ? rc : -ENOMEM;
}

/* Where the caller's temporary files go. */
static const char *caller_tmp(void)
{
	const char *base = getenv("TMPDIR");

	return base != NULL && base[0] == '/' ? base : "/tmp";
}

int guard_tmp_parent(struct buf *ret)
{
	return add_parent(ret, caller_tmp());
}

static void PRINTF_LIKE(2, 3) refuse(struct guard_tmp *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(t->why, sizeof(t->why), fmt, ap);
	va_end(ap);
}

/* The user's folder of such folders: one that others can write to is not ours, whatever its name. */
static int open_parent(struct guard_tmp *t, const char *path)
{
	AUTO_FD fd = -1;
	struct stat st;

	if (mkdir(path, 0700) != 0 && errno != EEXIST) {
		refuse(t, "cannot make %s: %s", path, strerror(errno));
		return -1;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0) {
		refuse(t, "cannot open %s: %s", path, strerror(errno));
		return -1;
	}
	if (st.st_uid != geteuid() || (st.st_mode & 0077) != 0) {
		refuse(t, "%s is not this user's alone: set TMPDIR", path);
		return -1;
	}
	return fd_take(&fd);
}

/* A new folder with a name that nobody had; -1 and errno. More than one by the same process: a guard that a guard became. */
static int make_new(int parent, char *name, size_t size)
{
	char process[GUARD_PROCESS_MAX];

	guard_process_name(process);
	(void)snprintf(name, size, "%s", process);
	for (unsigned int i = 1; i <= TRIES; i++) {
		if (mkdirat(parent, name, 0700) == 0)
			return openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (errno != EEXIST)
			break;
		(void)snprintf(name, size, "%s.%u", process, i);
	}
	return -1;
}

static bool make_in(struct guard_tmp *t, const char *base)
{
	char name[GUARD_PROCESS_MAX + 16];
	AUTO_BUF struct buf path = {0};
	AUTO_FD parent = -1;
	AUTO_FD fd = -1;

	if (add_parent(&path, base) != 0) {
		refuse(t, "out of memory");
		return false;
	}
	parent = open_parent(t, path.data);
	if (parent < 0)
		return false;
	guard_sweep(parent);
	fd = make_new(parent, name, sizeof(name));
	if (fd < 0) {
		refuse(t, "cannot make a folder in %s: %s", path.data, strerror(errno));
		return false;
	}
	if (buf_addf(&path, "/%s", name) != 0 || buf_str(&path) == NULL) {
		refuse(t, "out of memory");
		return false;
	}
	t->path = path.data;
	path = (struct buf){0};
	t->fd = fd_take(&fd);
	return true;
}

void guard_tmp_make(struct guard_tmp *ret)
{
	const char *base = caller_tmp();
	mode_t mask = umask(077);

	*ret = (struct guard_tmp){.fd = -1};
	if (!make_in(ret, base) && !str_eq(base, "/tmp"))
		(void)make_in(ret, "/tmp");
	(void)umask(mask);
}

static void gone_from(const char *base, pid_t pid)
{
	AUTO_BUF struct buf path = {0};
	AUTO_FD fd = add_parent(&path, base) != 0 ? -1 : open(path.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid())
		guard_sweep_of(fd, pid);
}

void guard_tmp_gone(pid_t pid)
{
	const char *base = caller_tmp();

	gone_from(base, pid);
	if (!str_eq(base, "/tmp"))
		gone_from("/tmp", pid);
}

void guard_tmp_undo(struct guard_tmp *t)
{
	if (t->path != NULL)
		(void)rmdir(t->path);
}
