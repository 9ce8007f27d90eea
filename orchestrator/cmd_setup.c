/* `stint setup`: makes the account that agents run as and the state directory, or removes the account.
 *
 * Everything happens under a lock on the state directory, and in an order that a second call completes: the account,
 * then its record; on removal the account, then its record. The warden takes only accounts that are in both. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "orchestrator/cmd.h"
#include "orchestrator/setup_account.h"
#include "orchestrator/setup_users.h"

#define DEFAULT_USER "stint-agent"
#define JOURNAL_ENTRY_MAX 65536u
#define RUN_DIR "/run/stint" /* where the warden keeps its locks: SANDBOX_RUN_DIR */

/* A directory of root's own with exactly this mode, made if it is missing; the umask does not matter. */
static int own_dir(int at, const char *name, const char *shown, mode_t mode, struct err *e)
{
	AUTO_FD fd = -1;
	struct stat st;

	if (mkdirat(at, name, mode) != 0 && errno != EEXIST)
		return err_errno(e, errno, "cannot make %s", shown);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		return err_errno(e, errno, "cannot use %s", shown);
	if (st.st_uid != 0)
		return err_set(e, EPERM, "%s belongs to uid %u: only root may have written there: look into it, then remove it",
		               shown, st.st_uid);
	if ((st.st_mode & 07777) != mode && fchmod(fd, mode) != 0)
		return err_errno(e, errno, "cannot set the mode of %s", shown);
	return fd_take(&fd);
}

/* The state directory, locked until its descriptor is closed. */
static int state_open(struct err *e)
{
	AUTO_FD fd = own_dir(AT_FDCWD, SETUP_STATE_DIR, SETUP_STATE_DIR, 0711, e);
	int sub;

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX) != 0)
		return err_errno(e, errno, "cannot lock %s", SETUP_STATE_DIR);
	sub = own_dir(fd, "journal", SETUP_STATE_DIR "/journal", 0700, e);
	if (sub < 0)
		return sub;
	fd_close(&sub);
	sub = own_dir(fd, "home", SETUP_HOME, 0755, e);
	if (sub < 0)
		return sub;
	fd_close(&sub);
	return fd_take(&fd);
}

/* Puts the remedy behind what account_check() found. */
static int unfit(struct err *e)
{
	const struct err why = *e;

	return err_stop(e, STOP_USAGE, err_set(e, EPERM, "%s: agents cannot run as it: name another with --user", why.msg));
}

static int create(const char *name, int state, struct setup_users *users, struct err *e)
{
	const struct setup_user *known = setup_users_find(users, name);
	struct setup_user u;
	bool made = false;
	int rc = account_check(name, &u, e);

	if (rc == -ENOENT) {
		rc = account_create(name, e);
		if (rc == 0)
			rc = account_check(name, &u, e);
		if (rc != 0)
			return err_stop(e, STOP_CONFINE, rc);
		made = true;
	}
	if (rc == 0 && u.writers == 0) {
		rc = account_create_writers(u.uid, e);
		if (rc == 0)
			rc = account_check(name, &u, e);
		if (rc != 0)
			return err_stop(e, STOP_CONFINE, rc);
	}
	if (rc != 0)
		return rc == -EPERM ? unfit(e) : err_stop(e, STOP_CONFINE, rc);
	if (known != NULL && known->uid == u.uid && known->gid == u.gid && known->writers == u.writers) {
		(void)printf("%s: already set up (uid %u, gid %u)\n", name, u.uid, u.gid);
		return 0;
	}
	rc = setup_users_set(users, &u, e);
	if (rc == 0)
		rc = setup_users_write(state, users, e);
	if (rc != 0)
		return err_stop(e, STOP_CONFINE, rc);
	(void)printf("%s: %s (uid %u, gid %u): no login, no groups; recorded in %s/%s\n", name,
	             made ? "made" : "taken over", u.uid, u.gid, SETUP_STATE_DIR, SETUP_USERS_FILE);
	return 0;
}

/* The value of a key in a journal entry, a run of "key=value" strings each with its NUL
 * (sandbox/journal.h), or NULL. */
static const char *entry_value(const char *entry, size_t n, const char *key)
{
	size_t k = strlen(key);

	for (const char *p = entry; p < entry + n; p += strlen(p) + 1)
		if (strncmp(p, key, k) == 0 && p[k] == '=')
			return p + k + 1;
	return NULL;
}

/* One *.project of the journal: refuses when it names this account, or does not say whom it names. */
static int entry_must_be_anothers(int journal, const char *name, uid_t uid, struct err *e)
{
	AUTO_FREE char *entry = NULL;
	AUTO_BUF struct buf shown = {0};
	AUTO_FD fd = openat(journal, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const char *agent;
	const char *path;
	size_t n = 0;
	int rc = fd < 0 ? -errno : fd_read_all(fd, JOURNAL_ENTRY_MAX, &entry, &n);

	if (rc == -ENOENT)
		return 0;
	if (rc != 0)
		return err_errno(e, -rc, "cannot read %s/journal/%s", SETUP_STATE_DIR, name);
	agent = entry_value(entry, n, "agent");
	if (agent != NULL && strtoul(agent, NULL, 10) != uid)
		return 0;
	path = entry_value(entry, n, "path");
	if (path == NULL)
		path = "(unknown)";
	rc = buf_add_escaped(&shown, path, strlen(path), false);
	path = rc == 0 ? buf_str(&shown) : NULL;
	return err_set(e, EBUSY, "the project %s waits to be restored: run sudo stint restore -C there first, wherever it is now; if "
	               "it is gone for good, remove %s/journal/%s", path == NULL ? name : path, SETUP_STATE_DIR, name);
}

/* A journal entry is a project whose ACLs or ownership may still name the account. */
static int journal_must_be_clear(int state, uid_t uid, struct err *e)
{
	AUTO_FD fd = fd_open_beneath(state, "journal", O_RDONLY | O_DIRECTORY, 0, false);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;
	int rc = 0;

	if (dir == NULL)
		return err_errno(e, fd < 0 ? -fd : errno, "cannot read %s/journal", SETUP_STATE_DIR);
	(void)fd_take(&fd);
	while (rc == 0 && (d = readdir(dir)) != NULL) {
		const char *dot = strrchr(d->d_name, '.');

		if (dot != NULL && str_eq(dot, ".project"))
			rc = entry_must_be_anothers(dirfd(dir), d->d_name, uid, e);
	}
	(void)closedir(dir);
	return rc;
}

/* Takes the lock that a run with this account holds (sandbox/warden.h), so that none starts meanwhile. */
static int lock_out_runs(uid_t uid, struct err *e)
{
	AUTO_FD dir = own_dir(AT_FDCWD, RUN_DIR, RUN_DIR, 0755, e);
	AUTO_FD fd = -1;
	char name[48];

	if (dir < 0)
		return dir;
	(void)snprintf(name, sizeof(name), "uid-%u.lock", uid);
	fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(e, errno, "cannot open the lock %s/%s", RUN_DIR, name);
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return err_set(e, EBUSY, "a run uses the account: wait for its end");
	return fd_take(&fd);
}

/* Nothing of the account may be left that only its record could repair. */
static int must_be_idle(int state, uid_t uid, struct err *e)
{
	pid_t pid;
	int rc = journal_must_be_clear(state, uid, e);

	if (rc != 0)
		return rc;
	pid = account_process(uid, e);
	if (pid > 0)
		return err_set(e, EBUSY, "process %d still runs as it: end it first", (int)pid);
	return pid;
}

static int delete_account(const char *name, int state, struct setup_users *users, struct err *e)
{
	const struct setup_user *known = setup_users_find(users, name);
	struct setup_user now;
	int rc;

	rc = account_check(name, &now, e);
	if (rc == -EPERM || (rc == 0 && (now.uid != known->uid || now.gid != known->gid))) {
		/* Recorded once, another account by now: not stint's to delete. */
		log_warn("the account %s is not the one that stint made (uid %u): it stays, only its record goes", name,
		         known->uid);
	} else if (rc == 0 || rc == -ENOENT) {
		rc = account_delete(name, known->uid, e);
		if (rc != 0)
			return rc;
	} else {
		return rc;
	}
	setup_users_drop(users, name);
	return setup_users_write(state, users, e);
}

/* After the last account nothing of stint is left on the machine. What is not empty stays. */
static void remove_state(int state)
{
	if (unlinkat(state, "home", AT_REMOVEDIR) == 0 && unlinkat(state, "journal", AT_REMOVEDIR) == 0 &&
	    (unlinkat(state, SETUP_USERS_FILE, 0) == 0 || errno == ENOENT))
		(void)rmdir(SETUP_STATE_DIR);
}

static int remove_user(const char *name, int state, struct setup_users *users, struct err *e)
{
	const struct setup_user *known = setup_users_find(users, name);
	AUTO_FD lock = -1;
	int rc;

	if (known == NULL) {
		if (users->n == 0)
			remove_state(state); /* which this call has just made */
		return err_stop(e, STOP_USAGE,
		                err_set(e, ENOENT, "cannot remove %s: stint setup did not record it (%s/%s lists those that it "
		                        "did)", name, SETUP_STATE_DIR, SETUP_USERS_FILE));
	}
	lock = lock_out_runs(known->uid, e);
	rc = lock < 0 ? lock : must_be_idle(state, known->uid, e);
	if (rc == 0)
		rc = delete_account(name, state, users, e);
	if (rc != 0) {
		(void)err_wrap(e, "cannot remove %s", name);
		return err_stop(e, STOP_CONFINE, rc);
	}
	if (users->n == 0)
		remove_state(state);
	(void)printf("%s: removed\n", name);
	return 0;
}

static int name_refuse(const char *name, struct err *e)
{
	AUTO_BUF struct buf b = {0};
	const char *shown = buf_add_escaped(&b, name, strlen(name), false) == 0 ? buf_str(&b) : NULL;

	return err_stop(e, STOP_USAGE,
	                err_set(e, EINVAL, "\"%.64s\" is no name for an account: use a-z, 0-9, _ and -, a letter first, at "
	                        "most %d characters", shown == NULL ? "" : shown, SETUP_NAME_MAX - 1));
}

static int setup(const char *name, bool removing, struct err *e)
{
	AUTO_FD state = -1;
	struct setup_users users;
	int rc;

	if (!setup_name_ok(name))
		return name_refuse(name, e);
	if (geteuid() != 0)
		return err_stop(e, STOP_USAGE,
		                err_set(e, EPERM, "setup makes an account: that takes root: run sudo stint setup"));
	(void)umask(022);
	state = state_open(e);
	rc = state < 0 ? state : setup_users_read(state, &users, e);
	if (rc != 0)
		return err_stop(e, STOP_CONFINE, rc);
	return removing ? remove_user(name, state, &users, e) : create(name, state, &users, e);
}

int cmd_setup(struct cmd *c, int argc, char **argv)
{
	static const struct option options[] = {
		{"user", required_argument, NULL, 'u'},
		{"remove", no_argument, NULL, 'r'},
		{0},
	};
	const char *name = DEFAULT_USER;
	bool removing = false;
	struct err e = {0};
	int o;

	(void)c;
	opterr = 0;
	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 'u': name = optarg; break;
		case 'r': removing = true; break;
		default:
			log_note("setup: unknown or incomplete option %s: stint setup --help shows them", argv[optind - 1]);
			return STOP_USAGE;
		}
	}
	if (optind < argc) {
		log_note("setup: takes no argument, so not %s: stint setup --help shows its options", argv[optind]);
		return STOP_USAGE;
	}
	if (setup(name, removing, &e) != 0)
		return log_err(&e, STOP_CONFINE);
	return STOP_DONE;
}
