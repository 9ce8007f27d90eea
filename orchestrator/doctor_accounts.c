/* `stint doctor`: what `stint setup` made: the state directory and the accounts of agents. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/config.h"
#include "orchestrator/doctor_report.h"
#include "orchestrator/setup_account.h"
#include "orchestrator/setup_users.h"

#define SETUP_AGAIN "run sudo stint setup"

/* Entries of a folder whose names end in this, those beginning with a dot not counted. Negative errno when
 * it cannot be read. */
static int entries(int at, const char *name, const char *end)
{
	AUTO_FD fd = fd_open_beneath(at, name, O_RDONLY | O_DIRECTORY, 0, false);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;
	int n = 0;

	if (dir == NULL)
		return fd < 0 ? fd : -errno;
	(void)fd_take(&fd);
	while (n < 1000000 && (d = readdir(dir)) != NULL) {
		size_t len = strlen(d->d_name);

		n += d->d_name[0] != '.' && len >= strlen(end) && str_eq(d->d_name + len - strlen(end), end);
	}
	(void)closedir(dir);
	return n;
}

/* True when it is there and only root can write it; otherwise says what is wrong. */
static bool is_roots_own(struct doctor_report *r, int at, const char *name, const char *shown)
{
	static const char why[] = "the warden trusts what stands there";
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		doctor_add(r, DOCTOR_FAIL, "state", why, SETUP_AGAIN, "%s: %s", shown, strerror(errno));
		return false;
	}
	if (!S_ISDIR(st.st_mode) || st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		doctor_add(r, DOCTOR_FAIL, "state", why,
		           "look at what is in it, make it root's with mode 0711, run sudo stint setup",
		           "%s is not a folder that only root can write (uid %u, mode %04o)", shown, st.st_uid,
		           (unsigned int)st.st_mode & 07777u);
		return false;
	}
	return true;
}

static bool state_directory(struct doctor_report *r, int state)
{
	int n;

	if (!is_roots_own(r, state, "journal", SETUP_STATE_DIR "/journal") || !is_roots_own(r, state, "home", SETUP_HOME))
		return false;
	doctor_add(r, DOCTOR_OK, "state", NULL, NULL, "%s, root's own", SETUP_STATE_DIR);
	n = entries(state, "home", "");
	if (n != 0)
		doctor_add(r, DOCTOR_WARN, "home",
		           "each role's HOME is put over it; nothing may shine through where that fails", "empty that folder",
		           n > 0 ? "%s is not empty" : "%s cannot be read", SETUP_HOME);
	n = entries(state, "journal", ".project");
	if (n > 0)
		doctor_add(r, DOCTOR_WARN, "journal", "ACLs or owners there may still be those of a turn",
		           "if no run is going on, run sudo stint restore in each", "%d not yet restored (%s/journal)", n,
		           SETUP_STATE_DIR);
	return true;
}

/* True when a run could use the account. */
static bool account(struct doctor_report *r, const struct setup_user *known)
{
	static const char todo[] = "make another with stint setup --user NAME and name it in stint.yaml (agent_user)";
	static const char why[] = "the warden refuses it: such an account could reach more than stint grants";
	struct setup_user now;
	struct err e = {0};
	pid_t pid;

	if (account_check(known->name, &now, &e) != 0) {
		doctor_add(r, DOCTOR_WARN, "agent-user", why, todo, "%s", e.msg);
		return false;
	}
	if (now.uid != known->uid || now.gid != known->gid) {
		doctor_add(r, DOCTOR_WARN, "agent-user", why, SETUP_AGAIN " with --user and its name",
		           "%s has uid %u and gid %u, but is recorded with %u and %u", now.name, now.uid, now.gid, known->uid,
		           known->gid);
		return false;
	}
	if (known->writers == 0 || now.writers != known->writers)
		doctor_add(r, DOCTOR_WARN, "agent-writers", "without it every change of roles sets each ACL in a folder that one role "
		           "writes and another reads", SETUP_AGAIN " with --user and its name",
		           "%s has no group of writers of its own", now.name);
	doctor_add(r, DOCTOR_OK, "agent-user", NULL, NULL, "%s (uid %u, gid %u): no login, no other groups", now.name,
	           now.uid, now.gid);
	pid = account_process(now.uid, &e);
	if (pid > 0)
		doctor_add(r, DOCTOR_WARN, "agent-process", "the next run ends every process of that account",
		           "nothing, if a run is going on; otherwise look at it", "process %d runs as %s", (int)pid, now.name);
	return true;
}

/* The account that the project here names; a folder without a stint.yaml names none. */
static void named_account(struct doctor_report *r, struct setup_users *users, int root_fd)
{
	struct config config = {0};
	struct err e = {0};
	int rc = config_load(&config, root_fd, true, &e);

	if (rc != 0)
		doctor_add(r, DOCTOR_FAIL, "config", "a run here begins with it", "mend it: man stint.yaml", "%s", e.msg);
	else if (faccessat(root_fd, CONFIG_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0 && setup_users_find(users, config.agent_user) == NULL)
		doctor_add(r, DOCTOR_FAIL, "agent-user", "this project names it (agent_user)",
		           "run sudo stint setup --user with that name, or name a recorded one in " CONFIG_FILE,
		           "%s is not recorded", config.agent_user);
	config_done(&config);
}

void doctor_accounts(struct doctor_report *r, int root_fd)
{
	AUTO_FD state = open(SETUP_STATE_DIR, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct setup_users users;
	struct err e = {0};
	size_t fit = 0;

	if (state < 0 && errno == ENOENT) {
		doctor_add(r, DOCTOR_FAIL, "agent-user", "agents run as an account of their own", SETUP_AGAIN,
		           "stint setup has not been run: there is no %s", SETUP_STATE_DIR);
		return;
	}
	if (!is_roots_own(r, AT_FDCWD, SETUP_STATE_DIR, SETUP_STATE_DIR) || !state_directory(r, state))
		return;
	if (setup_users_read(state, &users, &e) != 0) {
		doctor_add(r, DOCTOR_FAIL, "agent-user", "the warden takes only accounts that are recorded there",
		           "mend that file, then run sudo stint setup", "%s", e.msg);
		return;
	}
	for (size_t i = 0; i < users.n && i < 8; i++)
		fit += account(r, &users.v[i]);
	if (fit == 0)
		doctor_add(r, DOCTOR_FAIL, "agent-user", "agents run as an account of their own", SETUP_AGAIN,
		           "no account is recorded that a run could use");
	else
		named_account(r, &users, root_fd);
}
