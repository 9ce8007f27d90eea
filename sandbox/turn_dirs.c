/* Project, HOME and scratch as mounts: see turn_dirs.h. */
#include "sandbox/turn_dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "sandbox/mnt.h"
#include "sandbox/tree.h"

struct maker {
	uid_t uid;
	gid_t gid;
	mode_t mode;
};

/* As its owner: between a mkdir and a chown a kill or a full disk would leave a folder of root's, which no later turn may use. */
static int make_as_owner(int at, const char *name, const struct maker *m)
{
	int rc;

	(void)setfsgid(m->gid);
	(void)setfsuid(m->uid);
	rc = mkdirat(at, name, 0700) == 0 ? 0 : -errno;
	(void)setfsuid(geteuid());
	(void)setfsgid(getegid());
	return rc;
}

/* One folder of the way: made with exactly this owner and mode when missing. */
static int enter_or_make(int at, const char *name, const struct maker *m)
{
	AUTO_FD fd = -1;
	int rc = make_as_owner(at, name, m);
	bool made = rc == 0;

	if (rc != 0 && rc != -EEXIST)
		return rc;
	fd = fd_open_beneath(at, name, O_RDONLY | O_DIRECTORY, 0, false);
	if (fd < 0)
		return fd;
	if (made && (fchown(fd, m->uid, m->gid) != 0 || fchmod(fd, m->mode) != 0))
		return -errno;
	return fd_take(&fd);
}

/* mkdir -p beneath root_fd, following no link; what is new belongs to m. A folder descriptor or a negative errno. */
static int make_path(int root_fd, const char *path, const struct maker *m)
{
	AUTO_FREE char *copy = strdup(path);
	AUTO_FD at = fd_open_beneath(root_fd, ".", O_RDONLY | O_DIRECTORY, 0, false);
	char *save = NULL;

	if (copy == NULL)
		return -ENOMEM;
	if (at < 0)
		return at;
	for (char *part = strtok_r(copy, "/", &save); part != NULL; part = strtok_r(NULL, "/", &save)) {
		int next = enter_or_make(at, part, m);

		if (next < 0)
			return next;
		fd_close(&at);
		at = next;
	}
	return fd_take(&at);
}

/* Gives the folder and what its present owner has in it to the command's uid. The folder itself goes last: its owner
 * says whether the hand-over was finished, so one that was cut short is done again. */
static int hand_over(int fd, const struct spawn_spec *s, struct err *e)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st) != 0)
		return err_errno(e, errno, "cannot look at it");
	if (st.st_uid == s->uid)
		return 0;
	if (st.st_uid != s->owner && st.st_uid != s->agent)
		return err_set(e, EPERM, "it belongs to uid %u, neither the project's owner nor its agent user: remove it, or "
		               "chown it to the owner", st.st_uid);
	rc = tree_chown_all(fd, st.st_uid, s->uid, s->gid, e);
	if (rc != 0)
		return rc;
	return fchown(fd, s->uid, s->gid) == 0 ? 0 : err_errno(e, errno, "cannot give it to the command's user");
}

/* A folder of the role below .stint, ready for the command, as a detached mount. */
static int role_dir(const struct spawn_spec *s, const char *path, struct err *e)
{
	const struct maker owner = {s->owner, s->owner_gid, 0700};
	AUTO_FD fd = make_path(s->root_fd, path, &owner);
	int rc;

	if (fd < 0)
		return err_errno(e, -fd, "cannot make %s", path);
	if ((s->policy->role[s->role].flags & ROLE_FRESH_HOME) != 0) {
		rc = tree_empty(fd, e);
		if (rc != 0)
			return err_wrap(e, "cannot empty %s", path);
	}
	rc = hand_over(fd, s, e);
	if (rc != 0)
		return err_wrap(e, "cannot prepare %s", path);
	if (fchmod(fd, 0700) != 0)
		return err_errno(e, errno, "cannot prepare %s", path);
	rc = mnt_clone(fd, "", false, MNT_NOSUID | MNT_NODEV);
	return rc < 0 ? err_errno(e, -rc, "cannot mount %s", path) : rc;
}

static int prepare_scratch(struct turn_dirs *d, const struct spawn_spec *s, uint32_t i, struct err *e)
{
	const struct policy *p = s->policy;
	const char *path = policy_item(p, p->scratch, i);
	const struct maker owner = {s->owner, s->owner_gid, 0777u & ~(mode_t)p->umask};
	AUTO_FD point = -1;
	char below[ROLE_NAME_MAX + 64];

	point = make_path(s->root_fd, path, &owner);
	if (point < 0)
		return err_errno(e, -point, "cannot make the scratch folder %s", path);
	(void)snprintf(below, sizeof(below), ".stint/scratch/%s/%u", p->role[s->role].name, i);
	d->scratch[i] = role_dir(s, below, e);
	return d->scratch[i] < 0 ? d->scratch[i] : 0;
}

static int prepare(struct turn_dirs *d, const struct spawn_spec *s, struct err *e)
{
	char below[ROLE_NAME_MAX + 64];

	d->project = mnt_clone(s->root_fd, "", false, MNT_NOSUID | MNT_NODEV);
	if (d->project < 0)
		return err_errno(e, -d->project, "cannot mount the project %s", s->root_path);
	if (s->probe_fd >= 0)
		return 0;
	(void)snprintf(below, sizeof(below), ".stint/home/%s", s->policy->role[s->role].name);
	d->home = role_dir(s, below, e);
	if (d->home < 0)
		return d->home;
	for (uint32_t i = 0; i < s->policy->scratch.n; i++) {
		int rc = prepare_scratch(d, s, i, e);

		if (rc != 0)
			return rc;
	}
	return 0;
}

int turn_dirs_prepare(struct turn_dirs *ret, const struct spawn_spec *s, struct err *e)
{
	int rc;

	ret->project = -1;
	ret->home = -1;
	for (size_t i = 0; i < POLICY_MAX_LIST; i++)
		ret->scratch[i] = -1;
	rc = prepare(ret, s, e);
	if (rc != 0)
		turn_dirs_done(ret);
	return rc;
}

void turn_dirs_done(struct turn_dirs *d)
{
	fd_close(&d->project);
	fd_close(&d->home);
	for (size_t i = 0; i < POLICY_MAX_LIST; i++)
		fd_close(&d->scratch[i]);
}
