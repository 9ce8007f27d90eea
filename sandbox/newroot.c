/* The new root: see newroot.h. */
#include "sandbox/newroot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "roles/path.h"
#include "sandbox/identity.h"
#include "sandbox/mnt.h"

/* The system's folders, all read-only, without set-id bits and devices. */
static const struct {
	const char *path;
	bool required;
} system_folders[] = {
	{"/usr", true}, {"/etc", true},   {"/bin", false},   {"/sbin", false}, {"/lib", false},
	{"/lib32", false}, {"/lib64", false}, {"/libx32", false}, {"/opt", false},
	{"/nix", false},                   /* where NixOS keeps programs */
	{"/sys/devices/system/cpu", false}, /* Node, Go and JVMs count processors here */
};

static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"};

static const struct {
	const char *path;
	const char *target;
} links[] = {
	{"/dev/fd", "/proc/self/fd"},     {"/dev/stdin", "/proc/self/fd/0"}, {"/dev/stdout", "/proc/self/fd/1"},
	{"/dev/stderr", "/proc/self/fd/2"}, {"/dev/ptmx", "pts/ptmx"},       {"/var/run", "/run"},
};

/* What a read path may neither be, hold nor (the first four) lie below: the view has its own, or they hold sockets. */
static const char *const own_places[] = {"/run", "/dev", "/proc", "/sys", "/tmp", "/var/tmp", SANDBOX_HOME};
#define OWN_WHOLE 4

static int found_add(struct newroot *r, const char *path, const char *link, int mnt, bool is_dir)
{
	struct found *f = &r->found[r->n];

	if (r->n == NEWROOT_MAX_FOUND)
		return -E2BIG;
	f->path = strdup(path);
	f->link = link == NULL ? NULL : strdup(link);
	f->is_dir = is_dir;
	f->mnt = -1;
	r->n++;
	if (f->path == NULL || (link != NULL && f->link == NULL))
		return -ENOMEM;
	f->mnt = mnt;
	return 0;
}

static int found_clone(struct newroot *r, int dir_fd, const char *from, const char *path, unsigned int attrs)
{
	AUTO_FD mnt = mnt_clone(dir_fd, from, true, attrs);
	struct stat st;
	int rc;

	if (mnt < 0)
		return mnt;
	if (fstat(mnt, &st) != 0)
		return -errno;
	rc = found_add(r, path, NULL, mnt, S_ISDIR(st.st_mode));
	if (rc == 0)
		(void)fd_take(&mnt);
	return rc;
}

static bool is_system(const char *path)
{
	for (size_t i = 0; i < sizeof(system_folders) / sizeof(system_folders[0]); i++)
		if (path_within(path, system_folders[i].path))
			return true;
	return false;
}

/* /bin and its like are links on merged systems: they stay links when their target is in the view. */
static int collect_folder(struct newroot *r, const char *path)
{
	char target[PATH_MAX];
	char real[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n > 0 && realpath(path, real) != NULL && !str_eq(real, path) && is_system(real)) {
		target[n] = '\0';
		return found_add(r, path, target, -1, false);
	}
	return found_clone(r, AT_FDCWD, path, path, MNT_RO | MNT_NOSUID | MNT_NODEV);
}

static int collect_system(struct newroot *r, struct err *e)
{
	for (size_t i = 0; i < sizeof(system_folders) / sizeof(system_folders[0]); i++) {
		int rc = collect_folder(r, system_folders[i].path);

		if (rc != 0 && (rc != -ENOENT || system_folders[i].required))
			return err_errno(e, -rc, "cannot show %s in the view", system_folders[i].path);
	}
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		struct stat st;
		int rc;

		if (stat(devices[i], &st) != 0 || !S_ISCHR(st.st_mode))
			return err_set(e, ENODEV, "%s is not a device here: mount /dev", devices[i]);
		rc = found_clone(r, AT_FDCWD, devices[i], devices[i], MNT_RO | MNT_NOSUID | MNT_NOEXEC);
		if (rc != 0)
			return err_errno(e, -rc, "cannot show %s in the view", devices[i]);
	}
	return 0;
}

/* Why a read path cannot be given, or NULL. */
static const char *refuse_read(const char *path, const struct spawn_spec *s)
{
	if (path_overlap(path, s->root_path) || str_eq(path, "/"))
		return "it overlaps the project: name the zone in `access` instead";
	for (size_t i = 0; i < sizeof(own_places) / sizeof(own_places[0]); i++) {
		const char *own = own_places[i];

		if (path_within(own, path) || (i < OWN_WHOLE && path_within(path, own)))
			return "a turn has its own there: name a narrower path";
	}
	return NULL;
}

/* Opens with the command's own rights: root must not lead the way to what the account cannot reach. */
static int open_as(const struct spawn_spec *s, const char *path, struct err *e)
{
	AUTO_FD fd = -1;
	int seen;
	int rc = identity_fs_enter(s->uid, s->gid, e);

	if (rc != 0)
		return rc;
	fd = open(path, O_PATH | O_CLOEXEC);
	seen = errno;
	rc = identity_fs_leave(e);
	if (rc != 0)
		return rc;
	return fd >= 0 ? fd_take(&fd) : err_errno(e, seen, "cannot give `read: %s` to the command's user", path);
}

static int collect_read(struct newroot *r, const struct spawn_spec *s, const char *path, struct err *e)
{
	AUTO_FD fd = open_as(s, path, e);
	char link[64];
	char real[PATH_MAX];
	const char *why;
	ssize_t n;
	int rc;

	if (fd < 0)
		return fd;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, real, sizeof(real) - 1);
	if (n <= 0)
		return err_errno(e, errno, "cannot resolve `read: %s`", path);
	real[n] = '\0';
	why = refuse_read(real, s);
	if (why != NULL)
		return err_set(e, EINVAL, "cannot give `read: %s` (%s): %s", path, real, why);
	if (!is_system(real) && (s->layers & LAYER_ACL) == 0)
		return err_set(e, EPERM, "cannot give `read: %s` without the acl layer: the command runs as the owner then and sees "
		               "only system folders: leave the acl layer on", path);
	rc = is_system(real) ? 0 : found_clone(r, fd, "", real, MNT_RO | MNT_NOSUID | MNT_NODEV);
	if (rc == 0 && !str_eq(real, path) && !is_system(path))
		rc = found_add(r, path, real, -1, false);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot give `read: %s`", path);
}

/* systemd-resolved and others keep the file behind /etc/resolv.conf below /run, which the view hides. */
static int collect_resolv(struct newroot *r, struct err *e)
{
	char real[PATH_MAX];
	int rc;

	if (realpath("/etc/resolv.conf", real) == NULL || is_system(real))
		return 0;
	rc = found_clone(r, AT_FDCWD, real, real, MNT_RO | MNT_NOSUID | MNT_NODEV | MNT_NOEXEC);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot show %s in the view", real);
}

int newroot_collect(struct newroot *r, const struct spawn_spec *s, struct err *e)
{
	const struct policy_role *role = &s->policy->role[s->role];
	int rc;

	r->n = 0;
	rc = collect_system(r, e);
	for (uint32_t i = 0; rc == 0 && !spawn_proves_landlock_alone(s) && i < role->read.n; i++)
		rc = collect_read(r, s, policy_item(s->policy, role->read, i), e);
	if (rc == 0 && role->n_ports > 0)
		rc = collect_resolv(r, e);
	return rc;
}

int newroot_enter(uint64_t size, struct err *e)
{
	AUTO_FD mnt = mnt_tmpfs(size, MNT_NOSUID | MNT_NODEV);
	AUTO_FD usr = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (usr < 0)
		return err_errno(e, errno, "cannot enter the view: /usr");
	rc = mnt < 0 ? mnt : mnt_attach(mnt, usr); /* any folder does; everything of it that is shown is cloned already */
	if (rc != 0)
		return err_errno(e, -rc, "cannot mount the view's root");
	rc = fchdir(mnt) == 0 ? mnt_become_root() : -errno;
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot enter the view");
}

int newroot_private(struct place *p, const char *path, mode_t mode, uid_t uid, gid_t gid, struct err *e)
{
	AUTO_FD at = place_node(p, path, true, e);
	AUTO_FD mnt = -1;
	int rc;

	if (at < 0)
		return at;
	if (chown(path, uid, gid) != 0 || chmod(path, mode) != 0)
		return err_errno(e, errno, "cannot make the private %s", path);
	mnt = mnt_clone(at, "", false, MNT_NOSUID | MNT_NODEV);
	rc = mnt < 0 ? mnt : mnt_attach(mnt, at);
	return rc == 0 ? fd_take(&mnt) : err_errno(e, -rc, "cannot mount the private %s", path);
}

static int populate_dev(struct place *p, struct err *e)
{
	AUTO_FD pts = place_node(p, "/dev/pts", true, e);

	if (pts < 0)
		return pts;
	/* Every devpts mount is an instance of its own: no other terminal of the machine is in it. */
	if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620") != 0)
		return err_errno(e, errno, "cannot mount /dev/pts in the view");
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		int rc = place_link(p, links[i].path, links[i].target, e);

		if (rc != 0)
			return rc;
	}
	return 0;
}

int newroot_populate(struct newroot *r, struct place *p, struct err *e)
{
	static const char *const private[] = {"/tmp", "/var/tmp", "/dev/shm"};
	AUTO_FD run = place_node(p, SANDBOX_RUN_DIR, true, e);
	AUTO_FD proc = place_node(p, "/proc", true, e);
	int rc = run < 0 ? run : proc < 0 ? proc : 0;

	for (size_t i = 0; rc == 0 && i < sizeof(private) / sizeof(private[0]); i++) {
		AUTO_FD mnt = newroot_private(p, private[i], 01777, 0, 0, e);

		rc = mnt < 0 ? mnt : 0;
	}
	for (unsigned int i = 0; rc == 0 && i < r->n; i++) {
		const struct found *f = &r->found[i];

		rc = f->link != NULL ? place_link(p, f->path, f->link, e) : place_mount(p, f->mnt, f->path, f->is_dir, e);
	}
	return rc == 0 ? populate_dev(p, e) : rc;
}

void newroot_done(struct newroot *r)
{
	for (unsigned int i = 0; i < r->n; i++) {
		free(r->found[i].path);
		free(r->found[i].link);
		fd_close(&r->found[i].mnt);
	}
	r->n = 0;
}
