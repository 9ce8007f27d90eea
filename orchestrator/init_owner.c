/* `sudo stint init` must not leave a project of root's in a user's folder: see init_owner.h. */
#include "orchestrator/init_owner.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"

/* SUDO_UID as a number; false when it is not set or no number. */
static bool sudo_uid(uid_t *ret)
{
	const char *s = getenv("SUDO_UID");
	char *end = NULL;
	unsigned long v;

	if (s == NULL || s[0] < '0' || s[0] > '9')
		return false;
	errno = 0;
	v = strtoul(s, &end, 10);
	if (errno != 0 || *end != '\0' || v >= (uid_t)-1)
		return false;
	*ret = (uid_t)v;
	return true;
}

static int become(uid_t uid, struct err *e)
{
	const struct passwd *pw = getpwuid(uid);

	if (pw == NULL)
		return err_set(e, ENOENT, "uid %u has no account: give the folder to a user", (unsigned int)uid);
	if (initgroups(pw->pw_name, pw->pw_gid) != 0 || setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) != 0 ||
	    setresuid(uid, uid, uid) != 0)
		return err_errno(e, errno, "cannot become %s", pw->pw_name);
	if (setenv("HOME", pw->pw_dir, 1) != 0 || unsetenv("XDG_CONFIG_HOME") != 0)
		return err_errno(e, errno, "cannot become %s", pw->pw_name);
	/* Proved, not assumed. */
	if (setuid(0) == 0 || geteuid() != uid)
		return err_set(e, EPERM, "cannot become %s: the change of user could be undone", pw->pw_name);
	return 0;
}

int init_become_owner(const char *dir, struct err *e)
{
	uid_t invoker = 0;
	bool sudo = sudo_uid(&invoker);
	struct stat st;
	bool there = stat(dir, &st) == 0;
	int rc = 0;

	if (geteuid() != 0)
		return 0;
	if (there && sudo && st.st_uid != invoker)
		rc = err_set(e, EPERM, "%s belongs to another user than the one who called sudo: chown it, or take another folder", dir);
	else if (there && st.st_uid != 0)
		rc = become(st.st_uid, e);
	else if (!there && sudo && invoker != 0)
		rc = become(invoker, e);
	return rc == 0 ? 0 : err_stop(e, STOP_USAGE, rc);
}
