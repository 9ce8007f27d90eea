/* The accounts that agents run as: see setup_account.h. */
#include "orchestrator/setup_account.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <shadow.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

#define USERADD "/usr/sbin/useradd"
#define USERDEL "/usr/sbin/userdel"
#define GROUPADD "/usr/sbin/groupadd"
#define GROUPDEL "/usr/sbin/groupdel"
#define NOLOGIN "/usr/sbin/nologin"
#define TOOL_OUTPUT_MAX 4096u
#define WRITERS_NAME 32

/* ------------------------------------------------------------------ judging */

static bool shell_is_closed(const char *shell)
{
	static const char *const closed[] = {NOLOGIN, "/sbin/nologin", "/usr/bin/nologin", "/bin/false", "/usr/bin/false"};

	for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
		if (str_eq(shell, closed[i]))
			return true;
	return false;
}

/* Only root reads shadow; for others the shell alone is judged. */
static bool password_is_locked(const struct passwd *pw)
{
	const struct spwd *sp;

	if (pw->pw_passwd[0] == '\0')
		return false;
	if (geteuid() != 0)
		return true;
	sp = getspnam(pw->pw_name);
	return sp == NULL || sp->sp_pwdp[0] == '!' || sp->sp_pwdp[0] == '*';
}

static bool has_own_groups_only(const char *name, gid_t gid)
{
	gid_t groups[2];
	int n = 2;
	const struct group *gr;

	if (getgrouplist(name, gid, groups, &n) < 0 || n != 1 || groups[0] != gid)
		return false;
	gr = getgrgid(gid);
	return gr == NULL || gr->gr_mem[0] == NULL || (str_eq(gr->gr_mem[0], name) && gr->gr_mem[1] == NULL);
}

static void writers_name(char ret[WRITERS_NAME], uid_t uid)
{
	(void)snprintf(ret, WRITERS_NAME, "stint-w-%u", uid);
}

/* The account's group of writers, if there is one: nobody is in it. */
static int find_writers(struct setup_user *u, struct err *e)
{
	char name[WRITERS_NAME];
	const struct group *gr;

	writers_name(name, u->uid);
	gr = getgrnam(name);
	if (gr == NULL)
		return 0;
	if (gr->gr_gid == 0 || gr->gr_mem[0] != NULL)
		return err_set(e, EPERM, "the group %s of the account %s has members, or root's id", name, u->name);
	u->writers = gr->gr_gid;
	return 0;
}

/* The first other account with this uid, or with one of these groups as its own. */
static bool shared_with(const struct setup_user *u, char *ret_name, size_t size)
{
	const struct passwd *pw;
	bool found = false;

	setpwent();
	while (!found && (pw = getpwent()) != NULL) {
		found = (pw->pw_uid == u->uid || pw->pw_gid == u->gid || (u->writers != 0 && pw->pw_gid == u->writers)) &&
		        !str_eq(pw->pw_name, u->name);
		if (found)
			(void)snprintf(ret_name, size, "%s", pw->pw_name);
	}
	endpwent();
	return found;
}

int account_check(const char *name, struct setup_user *ret, struct err *e)
{
	struct setup_user u = {0};
	const struct passwd *pw;
	char other[64];

	errno = 0;
	pw = getpwnam(name);
	if (pw == NULL && errno != 0 && errno != ENOENT && errno != ESRCH)
		return err_errno(e, errno, "cannot look up the account %s", name);
	if (pw == NULL)
		return err_set(e, ENOENT, "there is no account %s", name);
	(void)snprintf(u.name, sizeof(u.name), "%s", name);
	u.uid = pw->pw_uid;
	u.gid = pw->pw_gid;
	if (u.uid == 0 || u.gid == 0)
		return err_set(e, EPERM, "the account %s has root's user or group id", name);
	if (!shell_is_closed(pw->pw_shell))
		return err_set(e, EPERM, "the account %s can log in: its shell is %s", name, pw->pw_shell);
	if (!str_eq(pw->pw_dir, SETUP_HOME))
		return err_set(e, EPERM, "the home of the account %s is %s, not %s", name, pw->pw_dir, SETUP_HOME);
	if (!password_is_locked(pw))
		return err_set(e, EPERM, "the account %s has a password", name);
	if (!has_own_groups_only(name, u.gid))
		return err_set(e, EPERM, "the account %s has supplementary groups, or its group has other members", name);
	if (find_writers(&u, e) != 0)
		return -EPERM;
	if (shared_with(&u, other, sizeof(other)))
		return err_set(e, EPERM, "the account %s shares its user or group id with %s", name, other);
	*ret = u;
	return 0;
}

/* ------------------------------------------------------------------ the system's own tools */

/* In the child: nothing of the caller's environment or descriptors reaches a root tool. */
static void __attribute__((noreturn)) tool_exec(const char *const *argv, int out)
{
	char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char locale[] = "LC_ALL=C";
	char *const env[] = {path, locale, NULL};
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0 && dup2(null, 0) == 0 && dup2(out, 1) == 1 && dup2(out, 2) == 2 &&
	    fd_close_from_except(3, NULL, 0) == 0)
		(void)execve(argv[0], (char *const *)(uintptr_t)argv, env);
	_exit(errno == ENOENT ? 127 : 126);
}

/* Runs the tool to its end. *ret_status is its exit status; said gets what it printed, on one line. */
static int tool_run(const char *const *argv, int *ret_status, struct buf *said, struct err *e)
{
	AUTO_FREE char *text = NULL;
	AUTO_FD in = -1;
	AUTO_FD out = -1;
	int p[2];
	int status;
	size_t len = 0;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC) != 0)
		return err_errno(e, errno, "cannot run %s", argv[0]);
	in = p[0];
	out = p[1];
	pid = fork();
	if (pid < 0)
		return err_errno(e, errno, "cannot run %s", argv[0]);
	if (pid == 0)
		tool_exec(argv, out);
	fd_close(&out);
	if (fd_read_all(in, TOOL_OUTPUT_MAX, &text, &len) != 0)
		len = 0;
	fd_close(&in);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(e, errno, "cannot wait for %s", argv[0]);
	while (len > 0 && text[len - 1] == '\n')
		len--;
	if (buf_add_escaped(said, text == NULL ? "" : text, len, false) != 0)
		return err_errno(e, ENOMEM, "cannot run %s", argv[0]);
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}

/* Runs it and turns anything but exit 0 into an error. */
static int tool_must(const char *const *argv, struct err *e)
{
	AUTO_BUF struct buf said = {0};
	const char *text;
	int status = 0;
	int rc = tool_run(argv, &status, &said, e);

	if (rc != 0 || status == 0)
		return rc;
	if (status == 127)
		return err_set(e, ENOENT, "%s is missing: install the package that has it (passwd or shadow-utils)", argv[0]);
	text = buf_str(&said);
	return err_set(e, EIO, "%s failed with status %d: %s", argv[0], status,
	               text == NULL || *text == '\0' ? "it said nothing" : text);
}

int account_create(const char *name, struct err *e)
{
	const char *const argv[] = {
		USERADD, "--system", "--user-group", "--no-create-home", "--home-dir", SETUP_HOME,
		"--shell", access(NOLOGIN, X_OK) == 0 ? NOLOGIN : "/bin/false",
		"--comment", "stint agents", name, NULL,
	};

	return tool_must(argv, e);
}

int account_create_writers(uid_t uid, struct err *e)
{
	char name[WRITERS_NAME];
	const char *const argv[] = {GROUPADD, "--system", name, NULL};

	writers_name(name, uid);
	return tool_must(argv, e);
}

static int delete_group(const char *name, struct err *e)
{
	const char *const argv[] = {GROUPDEL, name, NULL};

	return getgrnam(name) == NULL ? 0 : tool_must(argv, e);
}

int account_delete(const char *name, uid_t uid, struct err *e)
{
	const char *const userdel[] = {USERDEL, name, NULL};
	char writers[WRITERS_NAME];
	int rc = getpwnam(name) == NULL ? 0 : tool_must(userdel, e);

	writers_name(writers, uid);
	if (rc == 0)
		rc = delete_group(name, e); /* USERGROUPS_ENAB no in login.defs leaves it behind */
	return rc == 0 ? delete_group(writers, e) : rc;
}

/* ------------------------------------------------------------------ its processes */

/* The four ids of "Uid:" in /proc/PID/status. A process that has just gone has none of them. */
static bool process_has_uid(int proc_fd, const char *pid, uid_t uid)
{
	AUTO_FREE char *text = NULL;
	char path[64];
	uid_t id[4];
	size_t len = 0;
	const char *line;
	int fd;
	int rc;

	(void)snprintf(path, sizeof(path), "%.20s/status", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	rc = fd_read_all(fd, 65536, &text, &len);
	fd_close(&fd);
	line = rc == 0 ? strstr(text, "\nUid:") : NULL;
	if (line == NULL || sscanf(line, "\nUid: %u %u %u %u", &id[0], &id[1], &id[2], &id[3]) != 4)
		return false;
	return id[0] == uid || id[1] == uid || id[2] == uid || id[3] == uid;
}

pid_t account_process(uid_t uid, struct err *e)
{
	DIR *proc = opendir("/proc");
	const struct dirent *d;
	pid_t found = 0;

	if (proc == NULL)
		return err_errno(e, errno, "cannot list processes in /proc");
	while (found == 0 && (d = readdir(proc)) != NULL)
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && process_has_uid(dirfd(proc), d->d_name, uid))
			found = (pid_t)strtol(d->d_name, NULL, 10);
	(void)closedir(proc);
	return found;
}
