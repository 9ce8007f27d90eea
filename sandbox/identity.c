/* Identity: see identity.h. */
#include "sandbox/identity.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Root is special by none of: execve as uid 0, keepcaps, ambient sets. Locked: nobody changes it back. */
#define BITS (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | \
              SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

struct caps {
	struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3];
};

static int caps_get(struct caps *c)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &h, c->set) == 0 ? 0 : -errno;
}

static int caps_set(const struct caps *c)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capset, &h, c->set) == 0 ? 0 : -errno;
}

int identity_fs_enter(uid_t uid, gid_t gid, struct err *e)
{
	struct caps c = {0};
	int rc;

	(void)setfsgid(gid);
	(void)setfsuid(uid);
	if ((uid_t)setfsuid((uid_t)-1) != uid || (gid_t)setfsgid((gid_t)-1) != gid)
		return err_set(e, EPERM, "cannot look at paths as uid %u: the kernel refused the identity", uid);
	rc = caps_get(&c);
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		c.set[i].effective = 0;
	if (rc == 0)
		rc = caps_set(&c);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot look at paths as uid %u", uid);
}

int identity_fs_leave(struct err *e)
{
	struct caps c = {0};
	int rc = caps_get(&c);

	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		c.set[i].effective = c.set[i].permitted;
	if (rc == 0)
		rc = caps_set(&c);
	(void)setfsuid(0);
	(void)setfsgid(0);
	if (rc == 0 && ((uid_t)setfsuid((uid_t)-1) != 0 || (gid_t)setfsgid((gid_t)-1) != 0))
		rc = -EPERM;
	/* Going back to uid 0 makes the kernel add the file capabilities again; all that are permitted count. */
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot become root again after looking at paths");
}

static int prove_no_caps(struct err *e)
{
	struct caps c;
	int rc = caps_get(&c);

	if (rc != 0)
		return err_errno(e, -rc, "cannot read the capability sets");
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		if ((c.set[i].effective | c.set[i].permitted | c.set[i].inheritable) != 0)
			return err_set(e, EPERM, "capabilities are left after dropping them: the command is not started");
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			return err_set(e, EPERM, "capability %lu is left in the bounding set: the command is not started", cap);
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1)
			return err_set(e, EPERM, "capability %lu is left in the ambient set: the command is not started", cap);
	}
	return 0;
}

static int drop_bounding(struct err *e)
{
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return err_errno(e, errno, "cannot clear the ambient capabilities");
	for (unsigned long cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
			return err_errno(e, errno, "cannot drop capability %lu", cap);
	if (prctl(PR_SET_SECUREBITS, BITS, 0, 0, 0) != 0)
		return err_errno(e, errno, "cannot lock the secure bits");
	return 0;
}

int identity_drop_caps(struct err *e)
{
	static const struct caps none;
	int rc = drop_bounding(e);

	if (rc != 0)
		return rc;
	rc = caps_set(&none);
	if (rc != 0)
		return err_errno(e, -rc, "cannot drop the capabilities");
	return prove_no_caps(e);
}

/* No supplementary group but this one (0: none at all). */
static bool has_groups(gid_t beside)
{
	gid_t groups[2];
	int n = getgroups(2, groups);

	return beside == 0 ? n == 0 : n == 1 && groups[0] == beside;
}

static int prove_ids(uid_t uid, gid_t gid, gid_t beside, struct err *e)
{
	uid_t r, s, f;
	gid_t gr, gs, gf;

	if (getresuid(&r, &f, &s) != 0 || getresgid(&gr, &gf, &gs) != 0 || r != uid || f != uid || s != uid ||
	    gr != gid || gf != gid || gs != gid || !has_groups(beside))
		return err_set(e, EPERM, "the identity is not uid %u gid %u and its groups alone: the command is not started", uid, gid);
	/* For a root owner the question is whether it can become somebody else. */
	if (setresuid((uid_t)-1, uid == 0 ? 1 : 0, (uid_t)-1) == 0 || errno != EPERM || setuid(uid == 0 ? 1 : 0) == 0)
		return err_set(e, EPERM, "the identity can be changed again after dropping it: the command is not started");
	if (setgid(gid == 0 ? 1 : 0) == 0 || errno != EPERM || setgroups(0, NULL) == 0)
		return err_set(e, EPERM, "groups can be changed again after dropping them: the command is not started");
	return 0;
}

int identity_drop(uid_t uid, gid_t gid, gid_t beside, struct err *e)
{
	int rc = drop_bounding(e);

	if (rc != 0)
		return rc;
	if (setgroups(beside == 0 ? 0 : 1, &beside) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
		return err_errno(e, errno, "cannot become uid %u gid %u", uid, gid);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return err_errno(e, errno, "cannot set no_new_privs");
	rc = caps_set(&(struct caps){0});
	if (rc != 0)
		return err_errno(e, -rc, "cannot drop the capabilities");
	rc = prove_no_caps(e);
	return rc == 0 ? prove_ids(uid, gid, beside, e) : rc;
}

static int limit(int what, uint64_t value, const char *name, struct err *e)
{
	struct rlimit now;
	struct rlimit want = {.rlim_cur = value, .rlim_max = value};

	if (getrlimit((__rlimit_resource_t)what, &now) != 0)
		return err_errno(e, errno, "cannot read the limit of %s", name);
	if (now.rlim_max < want.rlim_max)
		want = (struct rlimit){.rlim_cur = now.rlim_max, .rlim_max = now.rlim_max};
	if (setrlimit((__rlimit_resource_t)what, &want) != 0)
		return err_errno(e, errno, "cannot limit %s", name);
	return 0;
}

int identity_limit(const struct identity_limits *l, struct err *e)
{
	int rc = limit(RLIMIT_CORE, 0, "core files", e);

	if (rc == 0 && l->data > 0)
		rc = limit(RLIMIT_DATA, l->data, "memory", e);
	if (rc == 0 && l->file > 0)
		rc = limit(RLIMIT_FSIZE, l->file, "file size", e);
	if (rc == 0 && l->processes > 0)
		rc = limit(RLIMIT_NPROC, l->processes, "processes", e);
	if (rc == 0 && l->open_files > 0)
		rc = limit(RLIMIT_NOFILE, l->open_files, "open files", e);
	return rc;
}
