/* The agent accounts that `stint setup` recorded: reads /var/lib/stint/users and compares with the passwd database. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "sandbox/tree.h"

#define USERS_FILE "users"
#define USERS_BYTES_MAX 65536u
#define USER_NAME_MAX 32
#define PASSWD_BUF 16384u
#define GROUP_BUF 65536u

struct user {
	char name[USER_NAME_MAX];
	struct acl_agent ids;
};

/* "NAME UID GID WRITERS", exactly: written back it must be the same line. Older versions wrote no WRITERS. */
static bool parse_line(const char *line, struct user *ret)
{
	char again[USER_NAME_MAX + 48];
	int n;

	*ret = (struct user){0};
	n = sscanf(line, "%31s %u %u %u", ret->name, &ret->ids.uid, &ret->ids.gid, &ret->ids.writers);
	if (n < 3)
		return false;
	if (n == 3)
		(void)snprintf(again, sizeof(again), "%s %u %u", ret->name, ret->ids.uid, ret->ids.gid);
	else
		(void)snprintf(again, sizeof(again), "%s %u %u %u", ret->name, ret->ids.uid, ret->ids.gid, ret->ids.writers);
	return str_eq(again, line);
}

static int read_users(int state_dir_fd, char **ret, struct err *e)
{
	AUTO_FD fd = fd_open_beneath(state_dir_fd, USERS_FILE, O_RDONLY | O_NONBLOCK, 0, false);
	struct stat st;
	size_t len;
	int rc;

	if (fd < 0)
		return err_errno(e, -fd, "cannot read the record of agent accounts: run stint setup");
	if (fstat(fd, &st) != 0)
		return err_errno(e, errno, "cannot read the record of agent accounts");
	if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return err_set(e, EPERM, "the record of agent accounts is not trusted: others than root could write it: check its "
		               "lines, then chown root and chmod 0644");
	rc = fd_read_all(fd, USERS_BYTES_MAX, ret, &len);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot read the record of agent accounts");
}

/* Files are open to the account's groups: nobody else may be in one. gone_ok: it may be missing. */
static int check_group(const struct user *u, gid_t gid, bool gone_ok, struct err *e)
{
	AUTO_FREE char *buf = malloc(GROUP_BUF);
	struct group gr;
	struct group *found = NULL;
	int rc = buf == NULL ? ENOMEM : getgrgid_r(gid, &gr, buf, GROUP_BUF, &found);

	if (rc != 0)
		return err_errno(e, rc, "cannot look up group %u of account %s", gid, u->name);
	if (found == NULL)
		return gone_ok ? 0 : err_set(e, EPERM, "group %u of account %s does not exist: run sudo stint setup --user %s",
		                             gid, u->name, u->name);
	if (gr.gr_mem[0] != NULL && (!str_eq(gr.gr_mem[0], u->name) || gr.gr_mem[1] != NULL))
		return err_set(e, EPERM, "group %s of account %s has other members: remove them from it", gr.gr_name, u->name);
	return 0;
}

/* What makes an account fit for an agent beyond being recorded. gone_ok: it may be missing from passwd. */
static int check_account(const struct user *u, bool gone_ok, struct err *e)
{
	AUTO_FREE char *buf = malloc(PASSWD_BUF);
	struct passwd pw;
	struct passwd *found = NULL;
	gid_t groups[2];
	int n = 2;
	int rc = buf == NULL ? ENOMEM : getpwnam_r(u->name, &pw, buf, PASSWD_BUF, &found);

	if (u->ids.uid == 0 || u->ids.gid == 0)
		return err_set(e, EPERM, "account %s is root's: an agent cannot be confined as root: choose another", u->name);
	if (rc != 0)
		return err_errno(e, rc, "cannot look up account %s", u->name);
	if (found == NULL)
		return gone_ok ? 0 : err_set(e, EPERM, "account %s is recorded but does not exist: run sudo stint setup --user %s",
		                             u->name, u->name);
	if (pw.pw_uid != u->ids.uid || pw.pw_gid != u->ids.gid)
		return err_set(e, EPERM, "account %s is not the one that was recorded (uid %u, gid %u): run sudo stint setup --user "
		               "%s", u->name, u->ids.uid, u->ids.gid, u->name);
	if (getgrouplist(u->name, u->ids.gid, groups, &n) < 0 || n != 1)
		return err_set(e, EPERM, "account %s has supplementary groups: remove it from them", u->name);
	if (u->ids.writers == 0)
		return 0;
	rc = check_group(u, u->ids.gid, true, e);
	return rc != 0 ? rc : check_group(u, u->ids.writers, gone_ok, e);
}

int users_find(int state_dir_fd, const char *name, struct acl_agent *ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	char *save = NULL;
	int rc = read_users(state_dir_fd, &text, e);

	if (rc != 0)
		return rc;
	for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
		struct user u;

		if (!parse_line(line, &u) || !str_eq(u.name, name))
			continue;
		rc = check_account(&u, false, e);
		if (rc != 0)
			return rc;
		*ret = u.ids;
		return 0;
	}
	return err_set(e, ENOENT, "agent user %s is not recorded: run sudo stint setup --user %s", name, name);
}

int users_each(int state_dir_fd, int (*each)(const struct acl_agent *a, void *cookie, struct err *e), void *cookie,
               struct err *e)
{
	AUTO_FREE char *text = NULL;
	char *save = NULL;
	unsigned int n = 0;
	int rc = read_users(state_dir_fd, &text, e);

	if (rc == -ENOENT)
		return 0;
	if (rc != 0)
		return rc;
	for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
		struct user u;

		if (!parse_line(line, &u))
			return err_set(e, EINVAL, "the record of agent accounts has a line that is not \"NAME UID GID WRITERS\": correct it");
		if (++n > USERS_MAX)
			return err_set(e, E2BIG, "the record of agent accounts has more than %d lines: remove some", USERS_MAX);
		rc = check_account(&u, true, e);
		if (rc == 0)
			rc = each(&u.ids, cookie, e);
		if (rc != 0)
			return rc;
	}
	return 0;
}
