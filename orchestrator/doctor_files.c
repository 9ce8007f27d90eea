/* `stint doctor`: what the project's own file system keeps: ACLs, and the xattrs that save them. Tried on a nameless
 * file (O_TMPFILE), so that nothing appears in the project. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "orchestrator/doctor_report.h"

#define ACL_ACCESS "system.posix_acl_access"
#define SAVED "trusted.stint.doctor"
#define ANYBODY 65534u

/* user::rw-, user:65534:r--, group::---, mask::r--, other::---. Raw, because this program does not link libacl. */
static const struct {
	uint16_t tag;
	uint16_t perm;
	uint32_t id;
} acl_rows[] = {
	{ACL_USER_OBJ, ACL_READ | ACL_WRITE, (uint32_t)ACL_UNDEFINED_ID},
	{ACL_USER, ACL_READ, ANYBODY},
	{ACL_GROUP_OBJ, 0, (uint32_t)ACL_UNDEFINED_ID},
	{ACL_MASK, ACL_READ, (uint32_t)ACL_UNDEFINED_ID},
	{ACL_OTHER, 0, (uint32_t)ACL_UNDEFINED_ID},
};

#define ACL_ROWS (sizeof(acl_rows) / sizeof(acl_rows[0]))

/* A file in the folder that goes when its descriptor is closed, or a negative errno. */
static int nameless_file(int dir_fd)
{
	char name[] = ".stint-doctor-check";
	int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd >= 0 ? fd : -errno;
	/* A file system without O_TMPFILE: a name for an instant. */
	fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)unlinkat(dir_fd, name, 0);
	return fd >= 0 ? fd : -errno;
}

/* Sets the attribute, finds it, removes it, finds it gone, by way of /proc as the warden does. 0 or a positive errno. */
static int attribute_works(int fd, const char *name, const void *value, size_t n)
{
	char path[64];
	char back[256];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (setxattr(path, name, value, n, 0) != 0)
		return errno;
	if (getxattr(path, name, back, sizeof(back)) != (ssize_t)n || memcmp(back, value, n) != 0)
		return EIO;
	if (removexattr(path, name) != 0)
		return errno;
	return getxattr(path, name, back, sizeof(back)) < 0 && errno == ENODATA ? 0 : EIO;
}

static int acl_works(int fd)
{
	struct {
		struct posix_acl_xattr_header head;
		struct posix_acl_xattr_entry row[ACL_ROWS];
	} acl = {.head.a_version = htole32(POSIX_ACL_XATTR_VERSION)};

	for (size_t i = 0; i < ACL_ROWS; i++)
		acl.row[i] = (struct posix_acl_xattr_entry){
			.e_tag = htole16(acl_rows[i].tag), .e_perm = htole16(acl_rows[i].perm), .e_id = htole32(acl_rows[i].id),
		};
	return attribute_works(fd, ACL_ACCESS, &acl, sizeof(acl));
}

static void acls(struct doctor_report *r, int fd, const char *root)
{
	int rc = acl_works(fd);

	if (rc == 0)
		doctor_add(r, DOCTOR_OK, "acl", NULL, NULL, "ACLs can be set and removed in %s", root);
	else
		doctor_add(r, DOCTOR_FAIL, "acl", "ACLs are one of the two mechanisms that hold the table",
		           "mount it with the option acl, or keep the project on ext4, xfs, btrfs or tmpfs",
		           "no ACLs in %s: %s", root, strerror(rc));
}

static void saved_acls(struct doctor_report *r, int fd, const char *root)
{
	static const char why[] = "an ACL that was there before a run is saved in trusted.stint.* and put back from it";
	int rc;

	if (geteuid() != 0) {
		doctor_add(r, DOCTOR_WARN, "trusted-xattr", why, "run sudo stint doctor", "not tried: only root may");
		return;
	}
	rc = attribute_works(fd, SAVED, "x", 1);
	if (rc == 0)
		doctor_add(r, DOCTOR_OK, "trusted-xattr", NULL, NULL, "trusted.* attributes can be set and removed in %s",
		           root);
	else
		doctor_add(r, DOCTOR_FAIL, "trusted-xattr", why,
		           "keep the project on ext4, xfs, btrfs or tmpfs; in a container, run outside its user namespace",
		           "no trusted.* attributes in %s: %s", root, strerror(rc));
}

static void executable(struct doctor_report *r, int root_fd, const char *root)
{
	struct statvfs v;

	if (fstatvfs(root_fd, &v) == 0 && (v.f_flag & ST_NOEXEC) != 0)
		doctor_add(r, DOCTOR_WARN, "noexec", "no role can execute what it builds there", "mount it without noexec",
		           "%s is on a file system mounted noexec", root);
}

/* Landlock's grant on /tmp holds below it too; there the view narrows it with a read-only mount (sandbox/view.c). */
static void place(struct doctor_report *r, const char *root)
{
	static const char *const writable[] = {"/tmp", "/var/tmp", "/dev/shm"};

	for (size_t i = 0; i < sizeof(writable) / sizeof(writable[0]); i++) {
		size_t n = strlen(writable[i]);

		if (strncmp(root, writable[i], n) == 0 && (root[n] == '/' || root[n] == '\0'))
			doctor_add(r, DOCTOR_WARN, "place",
			           "there a new file in the project's root fails with EROFS: Claude Code's file tools, which "
			           "first try a temporary file, then cannot save REVIEW.md", "keep the project elsewhere",
			           "%s is below %s", root, writable[i]);
	}
}

void doctor_files(struct doctor_report *r, int root_fd, const char *root)
{
	AUTO_FD fd = nameless_file(root_fd);

	if (fd == -EROFS) {
		doctor_add(r, DOCTOR_FAIL, "acl", "a run changes the project", "mount it writable", "%s is read-only", root);
		return;
	}
	if (fd < 0) {
		doctor_add(r, DOCTOR_WARN, "acl", "ACLs are one of the two mechanisms that hold the table",
		           "call stint doctor -C with a folder that you may write", "not tried: no file can be made in %s: %s",
		           root, strerror(-fd));
		return;
	}
	acls(r, fd, root);
	saved_acls(r, fd, root);
	executable(r, root_fd, root);
	place(r, root);
}
