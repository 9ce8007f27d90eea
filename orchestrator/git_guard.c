/* The walk that looks for .git: see git_guard.h. It goes down by name and up by "..", proved by device and inode, so that
 * depth costs a list of names and no descriptor. */
#include "orchestrator/git_guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"

#define WALK_MAX_BYTES (64u << 20) /* of folder names that wait, over all levels */
#define WALK_MAX_DEPTH 65536u

struct level {
	dev_t dev;
	ino_t ino;
	struct buf names;      /* NUL-terminated names of folders in it */
	size_t next;           /* offset of the next one */
	size_t current;        /* offset of the one that the walk is in */
};

struct walk {
	struct level *levels;
	size_t depth;
	size_t cap;
	size_t bytes;
	bool found;
};

static void walk_done(struct walk *w)
{
	for (size_t i = 0; i < w->depth; i++)
		buf_done(&w->levels[i].names);
	free(w->levels);
	*w = (struct walk){0};
}

static bool is_folder(int dir_fd, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_DIR;
	return fstatat(dir_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* A folder without any permission is one that a turn's reclaim made unusable. */
static bool is_live_git(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode) || (st.st_mode & 0700) != 0;
}

/* Reads the folder fd into a new level. */
static int push(struct walk *w, int fd)
{
	struct level level = {0};
	struct stat st;
	DIR *dir;
	int rc = 0;
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (copy < 0)
		return -errno;
	dir = fdopendir(copy);
	if (dir == NULL || fstat(copy, &st) != 0) {
		rc = -errno;
		if (dir != NULL)
			closedir(dir);
		else
			close(copy);
		return rc;
	}
	level.dev = st.st_dev;
	level.ino = st.st_ino;
	for (const struct dirent *d = readdir(dir); d != NULL && rc == 0; d = readdir(dir)) {
		if (str_eq(d->d_name, ".") || str_eq(d->d_name, ".."))
			continue;
		if (strcasecmp(d->d_name, ".git") == 0)
			w->found = w->found || is_live_git(copy, d->d_name);
		else if (is_folder(copy, d))
			rc = buf_add(&level.names, d->d_name, strlen(d->d_name) + 1);
	}
	closedir(dir);
	w->bytes += level.names.len;
	if (rc == 0 && (w->bytes > WALK_MAX_BYTES || w->depth == WALK_MAX_DEPTH))
		rc = -E2BIG;
	if (rc == 0 && w->depth == w->cap) {
		size_t cap = w->cap == 0 ? 32 : w->cap * 2;
		struct level *bigger = realloc(w->levels, cap * sizeof(*bigger));

		if (bigger == NULL) {
			rc = -ENOMEM;
		} else {
			w->levels = bigger;
			w->cap = cap;
		}
	}
	if (rc != 0) {
		buf_done(&level.names);
		return rc;
	}
	w->levels[w->depth++] = level;
	return 0;
}

/* Opens the next folder of the top level: its descriptor; -ENOENT when none is left; another negative errno for one
 * that is the caller's own and cannot be read. */
static int next_folder(struct walk *w, int at)
{
	struct level *top = &w->levels[w->depth - 1];

	while (top->next < top->names.len) {
		const char *name = top->names.data + top->next;
		struct stat st;
		int fd;

		top->current = top->next;
		top->next += strlen(name) + 1;
		fd = fd_open_beneath(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, true);
		if (fd >= 0)
			return fd;
		if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -EXDEV)
			continue;
		if (fd != -EACCES || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_uid == geteuid())
			return fd;
	}
	return -ENOENT;
}

/* Back to the parent, which must be the folder that the walk came from. */
static int climb(struct walk *w, int *at)
{
	struct level *top = &w->levels[--w->depth];
	struct stat st;
	int fd;

	w->bytes -= top->names.len;
	buf_done(&top->names);
	if (w->depth == 0)
		return 0;
	fd = openat(*at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	fd_close(at);
	*at = fd;
	if (fstat(fd, &st) != 0)
		return -errno;
	top = &w->levels[w->depth - 1];
	return st.st_dev == top->dev && st.st_ino == top->ino ? 0 : -ESTALE;
}

static int path_of(const struct walk *w, const char *last, struct buf *where)
{
	for (size_t i = 0; i + 1 < w->depth; i++) {
		const char *name = w->levels[i].names.data + w->levels[i].current;
		int rc = buf_add_escaped(where, name, strlen(name), false);

		if (rc == 0)
			rc = buf_add(where, "/", 1);
		if (rc != 0)
			return rc;
	}
	return buf_add(where, last, strlen(last));
}

int git_find_below(int dir_fd, struct buf *where, struct err *e)
{
	struct walk w = {0};
	AUTO_FD at = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = at < 0 ? -errno : push(&w, at);

	while (rc == 0 && !w.found && w.depth > 0) {
		int child = next_folder(&w, at);

		if (child >= 0) {
			fd_close(&at);
			at = child;
			rc = push(&w, at);
		} else {
			rc = child == -ENOENT ? climb(&w, &at) : child;
		}
	}
	if (rc == 0 && w.found)
		rc = path_of(&w, ".git", where);
	if (rc == 0)
		rc = w.found ? 1 : 0;
	walk_done(&w);
	if (rc == -E2BIG)
		return err_set(e, E2BIG, "is nested more than %u folders deep, or has more than %u MiB of names on one way down: remove "
		               "what is too deep (rm -rf)", WALK_MAX_DEPTH, WALK_MAX_BYTES >> 20);
	if (rc < 0)
		return err_errno(e, -rc, "cannot look for .git");
	return rc;
}

int git_check_root(int root_fd, struct err *e)
{
	struct stat st;
	int rc = 0;

	if (fstatat(root_fd, ".git", &st, AT_SYMLINK_NOFOLLOW) != 0) {
		rc = errno == ENOENT ? 0 : err_errno(e, errno, "cannot look at .git");
	} else if (!S_ISDIR(st.st_mode)) {
		rc = err_set(e, EINVAL, ".git is no folder: a linked worktree or a submodule keeps its history elsewhere, where no "
		             "table holds it: use the main worktree, or git clone it into a folder of its own");
	} else if (fstatat(root_fd, ".git/objects/info/alternates", &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0) {
		rc = err_set(e, EINVAL, ".git borrows objects from another repository (objects/info/alternates), where no table holds "
		             "them: run git repack -a -d and remove that file");
	}
	return rc == 0 ? 0 : err_stop(e, STOP_USAGE, rc);
}
