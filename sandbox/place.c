/* Placing in the new root: see place.h. */
#include "sandbox/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "sandbox/identity.h"
#include "sandbox/mnt.h"

#define SKELETON_BYTES (1u << 20)

/* 1 when uid may search the folder (mode and ACL, no capability), 0 when not. */
static int may_search(const struct place *p, int dir_fd, struct err *e)
{
	AUTO_FD fd = -1;
	int rc = identity_fs_enter(p->uid, p->gid, e);

	if (rc != 0)
		return rc;
	fd = openat(dir_fd, ".", O_PATH | O_CLOEXEC);
	rc = identity_fs_leave(e);
	return rc != 0 ? rc : fd >= 0;
}

/* Puts an empty, traversable folder over the one at *at and continues there. */
static int cover_with_skeleton(struct place *p, int *at, struct err *e)
{
	AUTO_FD mnt = -1;
	int rc;

	if (p->n_skeletons == PLACE_MAX_SKELETONS)
		return err_set(e, E2BIG, "too many folders on the way that the agent user cannot traverse");
	mnt = mnt_tmpfs(SKELETON_BYTES, MNT_NOSUID | MNT_NODEV | MNT_NOEXEC);
	rc = mnt < 0 ? mnt : mnt_attach(mnt, *at);
	if (rc != 0)
		return err_errno(e, -rc, "cannot build the skeleton of the project's parent folders");
	fd_close(at);
	*at = fcntl(mnt, F_DUPFD_CLOEXEC, 0);
	if (*at < 0)
		return err_errno(e, errno, "cannot build the skeleton of the project's parent folders");
	p->skeleton[p->n_skeletons++] = fd_take(&mnt);
	return 0;
}

static int make_node(int at, const char *name, bool is_dir)
{
	int fd;

	if (is_dir)
		return mkdirat(at, name, 0755) == 0 || errno == EEXIST ? 0 : -errno;
	fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	fd_close(&fd);
	return 0;
}

static int step(int *at, const char *name, bool is_dir)
{
	int flags = O_PATH | (is_dir ? O_DIRECTORY : 0);
	int next = fd_open_beneath(*at, name, flags, 0, false);

	if (next == -ENOENT) {
		/* O_PATH descriptors serve as a base for mkdirat; a read-only folder answers EROFS. */
		int rc = make_node(*at, name, is_dir);

		if (rc != 0)
			return rc;
		next = fd_open_beneath(*at, name, flags, 0, false);
	}
	if (next < 0)
		return next;
	fd_close(at);
	*at = next;
	return 0;
}

int place_node(struct place *p, const char *path, bool is_dir, struct err *e)
{
	AUTO_FREE char *copy = strdup(path);
	AUTO_FD at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *save = NULL;
	char *part;
	int rc = 0;

	if (copy == NULL || at < 0)
		return err_errno(e, copy == NULL ? ENOMEM : errno, "cannot place %s in the view", path);
	for (part = strtok_r(copy, "/", &save); part != NULL;) {
		char *next = strtok_r(NULL, "/", &save);

		rc = may_search(p, at, e);
		if (rc == 0)
			rc = cover_with_skeleton(p, &at, e);
		if (rc < 0)
			return err_wrap(e, "cannot place %s in the view", path);
		rc = step(&at, part, next != NULL || is_dir);
		if (rc != 0)
			return err_errno(e, -rc, "cannot place %s in the view (at %s)", path, part);
		part = next;
	}
	return fd_take(&at);
}

int place_mount(struct place *p, int mnt_fd, const char *path, bool is_dir, struct err *e)
{
	AUTO_FD target = place_node(p, path, is_dir, e);
	int rc;

	if (target < 0)
		return target;
	rc = mnt_attach(mnt_fd, target);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot mount %s in the view", path);
}

int place_link(struct place *p, const char *path, const char *target, struct err *e)
{
	AUTO_FREE char *parent = strdup(path);
	AUTO_FD dir = -1;
	char *slash = parent == NULL ? NULL : strrchr(parent, '/');

	if (slash == NULL)
		return err_errno(e, parent == NULL ? ENOMEM : EINVAL, "cannot place %s in the view", path);
	*slash = '\0';
	dir = place_node(p, parent, true, e);
	if (dir < 0)
		return dir;
	if (symlinkat(target, dir, slash + 1) != 0 && errno != EEXIST)
		return err_errno(e, errno, "cannot place the link %s in the view", path);
	return 0;
}

int place_seal(struct place *p, struct err *e)
{
	int rc = 0;

	for (unsigned int i = 0; i < p->n_skeletons; i++) {
		int one = mnt_restrict(p->skeleton[i], MNT_RO);

		rc = rc == 0 ? one : rc;
		fd_close(&p->skeleton[i]);
	}
	p->n_skeletons = 0;
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot make the view's skeleton read-only");
}
