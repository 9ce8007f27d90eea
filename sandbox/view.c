/* The view: see view.h. */
#include "sandbox/view.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "roles/path.h"
#include "sandbox/cover.h"
#include "sandbox/mnt.h"
#include "sandbox/newroot.h"

#define ABI_TRUNCATE 3 /* the Landlock ABI that judges truncate(2) */
#define OWN_BYTES (VIEW_PROMPT_MAX + VIEW_LOG_MAX + (1u << 20)) /* what the root needs beside the command's own files */

static int leave_propagation(struct err *e)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		return 0;
	if (errno == EINVAL)
		return err_set(e, EINVAL, "cannot make the mounts private: / is not a mount point (a chroot?): bind the folder onto "
		               "itself before entering it: mount --bind DIR DIR");
	return err_errno(e, errno, "cannot make the mounts private");
}

/* Copies a sealed memfd, whose offset is shared with strangers, into a read-only file of the view. */
static int copy_in(int from, const char *path, off_t max, struct err *e)
{
	AUTO_FD to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	char chunk[65536];
	off_t at = 0;

	if (to < 0)
		return err_errno(e, errno, "cannot make %s in the view", path);
	for (;;) {
		ssize_t n = pread(from, chunk, sizeof(chunk), at);
		int rc;

		if (n < 0)
			return err_errno(e, errno, "cannot read what goes to %s", path);
		if (n == 0)
			return 0;
		at += n;
		if (at > max)
			return err_set(e, EFBIG, "cannot fill %s: more than %lld bytes: shorten it", path, (long long)max);
		rc = fd_write_all(to, chunk, (size_t)n);
		if (rc != 0)
			return err_errno(e, -rc, "cannot fill %s", path);
	}
}

static int copy_texts(const struct spawn_spec *s, struct err *e)
{
	bool wants_log = (s->policy->role[s->role].flags & ROLE_SUITE_LOG) != 0;
	int rc = 0;

	if (s->fds[SPAWN_PROMPT] >= 0)
		rc = copy_in(s->fds[SPAWN_PROMPT], SANDBOX_PROMPT, VIEW_PROMPT_MAX, e);
	if (rc == 0 && wants_log && s->fds[SPAWN_SUITE_LOG] >= 0)
		rc = copy_in(s->fds[SPAWN_SUITE_LOG], SANDBOX_SUITE_LOG, VIEW_LOG_MAX, e);
	return rc;
}

/* A probe gets empty folders in place of HOME and scratch: it leaves no trace in the real ones. */
static int own_dir(struct place *p, const struct spawn_spec *s, const char *name, struct err *e)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/run/stint/own/%s", name);
	return newroot_private(p, path, 0700, s->uid, s->gid, e);
}

static int mount_home(struct place *p, const struct spawn_spec *s, const struct turn_dirs *d, struct err *e)
{
	AUTO_FD own = -1;

	if (d->home >= 0)
		return place_mount(p, d->home, SANDBOX_HOME, true, e);
	own = newroot_private(p, SANDBOX_HOME, 0700, s->uid, s->gid, e);
	return own < 0 ? own : 0;
}

static int mount_own_scratch(struct place *p, const struct spawn_spec *s, uint32_t i, int point, struct err *e)
{
	char name[16];
	AUTO_FD own = -1;
	AUTO_FD copy = -1;
	int rc;

	(void)snprintf(name, sizeof(name), "%u", i);
	own = own_dir(p, s, name, e);
	if (own < 0)
		return own;
	copy = mnt_clone(own, "", false, MNT_NOSUID | MNT_NODEV);
	rc = copy < 0 ? copy : mnt_attach(copy, point);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot mount a scratch folder");
}

static int mount_scratch(struct place *p, const struct spawn_spec *s, const struct turn_dirs *d, struct err *e)
{
	for (uint32_t i = 0; i < s->policy->scratch.n; i++) {
		const char *path = policy_item(s->policy, s->policy->scratch, i);
		AUTO_FD point = -1;
		int rc;

		point = fd_open_beneath(d->project, path, O_PATH | O_DIRECTORY, 0, false);
		if (point == -ENOENT && s->probe_fd >= 0)
			continue;
		if (point < 0)
			return err_errno(e, -point, "cannot mount the scratch folder %s", path);
		rc = d->scratch[i] < 0 ? mount_own_scratch(p, s, i, point, e) : mnt_attach(d->scratch[i], point);
		if (rc != 0)
			return d->scratch[i] < 0 ? rc : err_errno(e, -rc, "cannot mount the scratch folder %s", path);
	}
	return 0;
}

static bool below_writable(const char *root_path)
{
	static const char *const writable[] = {"/tmp", "/var/tmp", "/dev/shm", SANDBOX_HOME};

	for (size_t i = 0; i < sizeof(writable) / sizeof(writable[0]); i++)
		if (path_within(root_path, writable[i]))
			return true;
	return false;
}

/* Where Landlock cannot tell a role's zones apart, the mounts say what is writable: the project is read-only and each rw
 * zone is mounted over itself. Landlock's rights are hierarchical: the grant on /tmp holds for a project below /tmp as
 * well. Below ABI 3 it does not judge truncate(2), which matters where no ACL does: as the owner. */
static bool mounts_decide(const struct spawn_spec *s)
{
	if ((s->layers & LAYER_LANDLOCK) == 0)
		return false;
	return below_writable(s->root_path) || ((s->layers & LAYER_ACL) == 0 && spawn_landlock_abi() < ABI_TRUNCATE);
}

static int remount_zone(int project_fd, const char *path)
{
	AUTO_FD zone = fd_open_beneath(project_fd, path, O_PATH, 0, false);
	AUTO_FD copy = -1;

	if (zone < 0)
		return zone == -ENOENT ? 0 : zone;
	copy = mnt_clone(zone, "", false, MNT_NOSUID | MNT_NODEV);
	return copy < 0 ? copy : mnt_attach(copy, zone);
}

static int narrow_project(const struct spawn_spec *s, int project_fd, struct err *e)
{
	const struct policy *p = s->policy;
	int rc;

	if (!mounts_decide(s))
		return 0;
	for (uint32_t i = 0; i < p->n_entries; i++) {
		if (p->entry[i].level[s->role] != LEVEL_RW)
			continue;
		rc = remount_zone(project_fd, policy_str(p, p->entry[i].path));
		if (rc != 0)
			return err_errno(e, -rc, "cannot mount the zone %s", policy_str(p, p->entry[i].path));
	}
	rc = mnt_restrict(project_fd, MNT_RO);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot make the rest of the project read-only");
}

/* Read-only: nothing needs to write there, and a command that runs as root must not reach /proc/sys by ownership. */
static int mount_proc(struct err *e)
{
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, NULL) != 0)
		return err_errno(e, errno, "cannot mount /proc in the view");
	return 0;
}

static int seal_root(struct place *p, struct err *e)
{
	AUTO_FD root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc = place_seal(p, e);

	if (rc == 0 && (root < 0 || mnt_restrict(root, MNT_RO) != 0))
		rc = err_errno(e, errno, "cannot make the view's root read-only");
	return rc;
}

static int build(struct newroot *r, struct place *p, const struct spawn_spec *s, const struct turn_dirs *d,
                 struct err *e)
{
	int rc = newroot_populate(r, p, e);

	if (rc == 0)
		rc = copy_texts(s, e);
	if (rc == 0)
		rc = place_mount(p, d->project, s->root_path, true, e);
	if (rc == 0)
		rc = narrow_project(s, d->project, e);
	if (rc == 0)
		rc = mount_home(p, s, d, e);
	if (rc == 0)
		rc = mount_scratch(p, s, d, e);
	if (rc == 0)
		rc = cover_nodes(e);
	if (rc == 0 && s->covers)
		rc = cover_project(d->project, s->policy, s->role, e);
	if (rc == 0 && s->uid == 0)
		rc = cover_root_secrets(e);
	if (rc == 0)
		rc = mount_proc(e);
	if (rc == 0)
		rc = seal_root(p, e);
	if (rc == 0 && fchdir(d->project) != 0)
		rc = err_errno(e, errno, "cannot enter the project in the view");
	return rc;
}

static int check_root_path(const char *path, struct err *e)
{
	static const char *const reserved[] = {"/proc", "/dev", "/sys"};

	if (path[0] != '/' || path[1] == '\0')
		return err_set(e, EINVAL, "the project cannot be at \"%s\": it needs a folder of its own", path);
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (path_within(path, reserved[i]) && !str_starts(path, "/dev/shm/"))
			return err_set(e, EINVAL, "the project cannot be at %s: a turn has its own %s: move it", path, reserved[i]);
	return 0;
}

int view_enter(const struct spawn_spec *s, const struct turn_dirs *d, struct err *e)
{
	struct newroot r = {0};
	struct place p = {.uid = s->uid, .gid = s->gid};
	uint64_t memory = s->policy->limits.memory;
	int rc = check_root_path(s->root_path, e);

	(void)umask(022);
	if (rc == 0 && setgroups(0, NULL) != 0)
		rc = err_errno(e, errno, "cannot drop supplementary groups");
	if (rc == 0)
		rc = leave_propagation(e);
	if (rc == 0)
		rc = newroot_collect(&r, s, e);
	if (rc == 0)
		rc = newroot_enter(memory == 0 ? 0 : memory + OWN_BYTES, e);
	if (rc == 0)
		rc = build(&r, &p, s, d, e);
	newroot_done(&r);
	return rc;
}
