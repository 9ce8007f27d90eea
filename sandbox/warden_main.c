/* stint-warden: root's part. Opens the project once, starts the coordinator as the project's owner, then only
 * answers its frames. `stint-warden restore` needs no coordinator. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "sandbox/journal.h"
#include "sandbox/warden.h"

#define MAX_ARGS 4096
#define EXIT_GRACE_MS 3000u

/* Takes -C DIR out of argv (up to `--`); the last one wins. Returns the new count. */
static int take_dir(int argc, char **argv, const char **ret_dir)
{
	int n = 0;
	bool ours = true;

	for (int i = 0; i < argc; i++) {
		if (str_eq(argv[i], "--"))
			ours = false;
		if (ours && str_eq(argv[i], "-C") && i + 1 < argc)
			*ret_dir = argv[++i];
		else
			argv[n++] = argv[i];
	}
	argv[n] = NULL;
	return n;
}

static int open_root(struct warden *w, const char *dir, char path[PATH_MAX], struct err *e)
{
	char link[64];
	struct stat st;
	ssize_t n;

	w->root_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->root_fd < 0)
		return err_stop(e, STOP_USAGE, err_errno(e, errno, "cannot open the project %s", dir));
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", w->root_fd);
	n = readlink(link, path, PATH_MAX - 1);
	if (n <= 1 || path[0] != '/')
		return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "%s cannot be a project: it has no path of its own below /", dir));
	path[n] = '\0';
	w->root_path = path;
	if (fstat(w->root_fd, &st) != 0)
		return err_errno(e, errno, "cannot look at %s", path);
	w->who.owner = st.st_uid;
	return 0;
}

/* sudo's word for who asks must be the owner's; root itself may act for any owner. */
static int check_sudo_uid(const struct warden *w, struct err *e)
{
	const char *asked = getenv("SUDO_UID");
	char *end = NULL;
	unsigned long uid;

	if (asked == NULL)
		return 0;
	errno = 0;
	uid = strtoul(asked, &end, 10);
	if (errno != 0 || end == asked || *end != '\0')
		return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "SUDO_UID is not a number: run stint through sudo"));
	if (uid != 0 && uid != w->who.owner)
		return err_stop(e, STOP_USAGE,
		                err_set(e, EPERM, "%s belongs to user %u, but user %lu asks: run stint as the owner", w->root_path,
		                        w->who.owner, uid));
	return 0;
}

static int set_env(const char *name, const char *value)
{
	return setenv(name, value, 1) == 0 ? 0 : -errno;
}

/* In the coordinator's process: the owner's identity for good, the owner's HOME, nothing of root's XDG folders. */
static int become_owner(const struct passwd *pw, struct err *e)
{
	static const char *const drop[] = {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
	                                   "XDG_RUNTIME_DIR", "MAIL"};

	for (size_t i = 0; i < sizeof(drop) / sizeof(drop[0]); i++)
		(void)unsetenv(drop[i]);
	if (set_env("HOME", pw->pw_dir) != 0 || set_env("USER", pw->pw_name) != 0 || set_env("LOGNAME", pw->pw_name) != 0)
		return err_errno(e, ENOMEM, "cannot set the owner's environment");
	if (initgroups(pw->pw_name, pw->pw_gid) != 0 || setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) != 0 ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) != 0)
		return err_errno(e, errno, "cannot become user %s", pw->pw_name);
	if (pw->pw_uid != 0 && (setuid(0) == 0 || seteuid(0) == 0))
		return err_set(e, EPERM, "cannot give up root for user %s: it came back", pw->pw_name);
	return 0;
}

/* What the coordinator is told beside the caller's own words. */
struct handover {
	char name[24];
	char opt_root[16], root[16];
	char opt_sock[16], sock[16];
	char opt_path[16], path[PATH_MAX];
};

static void fill_args(char **args, struct handover *h, int argc, char **argv)
{
	char *fixed[] = {h->name, h->opt_root, h->root, h->opt_sock, h->sock, h->opt_path, h->path};
	int n = 0;

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		args[n++] = fixed[i];
	for (int i = 1; i < argc; i++)
		args[n++] = argv[i];
	args[n] = NULL;
}

/* The coordinator gets the root and the socket, nothing else. */
static int hand_over(const int keep[2], struct err *e)
{
	int rc = fd_close_from_except(3, keep, 2);

	for (int i = 0; rc == 0 && i < 2; i++)
		rc = fcntl(keep[i], F_SETFD, 0) == 0 ? 0 : -errno;
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot close the warden's descriptors before starting the coordinator");
}

static void run_coordinator(const struct warden *w, const struct passwd *pw, const char *program, int sock, int argc,
                            char **argv)
{
	char *args[MAX_ARGS + 8];
	int keep[] = {w->root_fd, sock};
	struct handover h = {"stint-coordinator", "--root-fd", "", "--warden-fd", "", "--root-path", ""};
	sigset_t none;
	struct err e = {0};

	(void)snprintf(h.root, sizeof(h.root), "%d", w->root_fd);
	(void)snprintf(h.sock, sizeof(h.sock), "%d", sock);
	(void)snprintf(h.path, sizeof(h.path), "%s", w->root_path);
	fill_args(args, &h, argc, argv);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGQUIT, SIG_DFL);
	(void)signal(SIGPIPE, SIG_DFL);
	if (become_owner(pw, &e) == 0 && hand_over(keep, &e) == 0) {
		(void)execv(program, args);
		(void)err_errno(&e, errno, "cannot start %s as user %s: that user must be able to read it: install stint (make "
		                "install) or move it where everybody can", program, pw->pw_name);
	}
	_exit(log_err(&e, STOP_CONFINE));
}

static int start_coordinator(struct warden *w, int argc, char **argv, pid_t *ret, struct err *e)
{
	char program[PATH_MAX + 64];
	const struct passwd *pw = getpwuid(w->who.owner);
	int pair[2];
	pid_t pid;
	int rc = fd_sibling_path("stint-coordinator", program, sizeof(program), e);

	if (rc != 0)
		return rc;
	if (pw == NULL)
		return err_stop(e, STOP_USAGE, err_set(e, ENOENT, "%s belongs to user %u, who has no passwd entry: give it to a "
		                                       "real user", w->root_path, w->who.owner));
	w->who.owner_gid = pw->pw_gid;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_errno(e, errno, "cannot make a socket pair");
	pid = fork();
	if (pid == 0)
		run_coordinator(w, pw, program, pair[1], argc, argv);
	(void)close(pair[1]);
	w->sock = pair[0];
	if (pid < 0)
		return err_errno(e, errno, "cannot fork");
	*ret = w->coordinator = pid;
	return 0;
}

/* Ctrl-C is the coordinator's; TERM and HUP are passed on to it. */
static int take_signals(struct warden *w, struct err *e)
{
	sigset_t set;

	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return err_errno(e, errno, "cannot block signals");
	w->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	return w->signal_fd >= 0 ? 0 : err_errno(e, errno, "cannot watch for signals");
}

/* After a signal a coordinator that does not end by itself is ended. */
static int exit_of(pid_t pid, bool signalled)
{
	const struct timespec step = {.tv_nsec = 10000000};
	int status = 0;
	pid_t got = 0;

	for (unsigned int ms = 0; got == 0; ms += 10) {
		bool late = signalled && ms >= EXIT_GRACE_MS;

		if (late)
			(void)kill(pid, SIGKILL);
		got = waitpid(pid, &status, late || !signalled ? 0 : WNOHANG);
		if (got < 0 && errno != EINTR)
			return STOP_CONFINE;
		if (got < 0)
			got = 0;
		else if (got == 0)
			(void)nanosleep(&step, NULL);
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	log_note("the coordinator was killed by signal %d: everything was put back as before the run", WTERMSIG(status));
	return STOP_INTERRUPTED;
}

static int serve(struct warden *w, int argc, char **argv, struct err *e)
{
	pid_t pid = -1;
	int rc = check_sudo_uid(w, e);
	int status;

	if (rc == 0)
		rc = take_signals(w, e);
	if (rc == 0) {
		w->guard_fd = fd_open_sibling("stint-guard", e);
		rc = w->guard_fd < 0 ? w->guard_fd : 0;
	}
	if (rc == 0)
		rc = start_coordinator(w, argc, argv, &pid, e);
	if (rc != 0)
		return log_err(e, STOP_CONFINE);
	rc = warden_serve(w, e);
	status = exit_of(pid, w->stop_ms != 0);
	return rc == 0 ? status : log_err(e, STOP_CONFINE);
}

/* Whom a restore must find at rest. */
struct quiet {
	bool known;             /* the journal names this project's agent */
	uid_t agent;
	uid_t busy[USERS_MAX];  /* other accounts whose run goes on: nothing of theirs is touched */
	size_t n_busy;
};

/* The lock of this project's agent must be had, or a run would be restored under its feet. Another account may be busy, in another
 * project or just beginning in this one. Locks are held until exit. */
static int quiet_account(const struct acl_agent *agent, void *cookie, struct err *e)
{
	struct quiet *q = cookie;
	uid_t uid = agent->uid;
	struct err busy = {0};
	int fd = warden_lock_user(uid, 0, &busy);

	if (fd == -EBUSY && !(q->known && uid == q->agent) && q->n_busy < USERS_MAX) {
		q->busy[q->n_busy++] = uid;
		return 0;
	}
	if (fd < 0) {
		*e = busy;
		return fd;
	}
	return kill_all_of(uid, e);
}

static int find_agent(const struct warden *w, struct quiet *q, struct err *e)
{
	AUTO_FD dir = journal_dir(w->state_dir_fd, e);
	struct journal j;
	struct stat st;
	int rc;

	if (dir < 0)
		return dir;
	if (fstat(w->root_fd, &st) != 0)
		return err_errno(e, errno, "cannot look at %s", w->root_path);
	rc = journal_find(dir, st.st_dev, st.st_ino, w->root_path, &j, e);
	if (rc < 0)
		return rc;
	q->known = rc == 0;
	q->agent = rc == 0 ? j.agent.uid : 0;
	return 0;
}

static int restore(struct warden *w, int argc, char **argv, struct err *e)
{
	struct quiet quiet = {0};
	uint64_t n = 0;
	int rc;

	if (argc > 2) {
		log_note("restore: unexpected argument %s: usage: stint restore [-C DIR]", argv[2]);
		return STOP_USAGE;
	}
	rc = find_agent(w, &quiet, e);
	if (rc == 0)
		rc = users_each(w->state_dir_fd, quiet_account, &quiet, e);
	if (rc == 0)
		rc = tree_restore_unattended(w->root_fd, w->root_path, quiet.busy, quiet.n_busy, &n, e);
	if (rc != 0)
		return log_err(e, STOP_CONFINE);
	(void)printf("restored %s: %llu entries put back\n", w->root_path, (unsigned long long)n);
	return STOP_DONE;
}

int main(int argc, char **argv)
{
	struct warden w = {.sock = -1, .signal_fd = -1, .root_fd = -1, .state_dir_fd = -1, .guard_fd = -1, .lock_fd = -1};
	char path[PATH_MAX];
	const char *dir = ".";
	struct err e = {0};

	(void)signal(SIGCHLD, SIG_DFL); /* ignored by the caller, the kernel would take exit statuses away from us */
	if (argc < 2 || argc > MAX_ARGS) {
		log_note("stint-warden is started by `stint`: call that");
		return STOP_USAGE;
	}
	if (geteuid() != 0) {
		log_note("%s needs root to flip access between turns: run `sudo stint %s …` (the agents never run as root)", argv[1],
		         argv[1]);
		return STOP_CONFINE;
	}
	argc = take_dir(argc, argv, &dir);
	w.state_dir_fd = open(SANDBOX_STATE_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w.state_dir_fd < 0) {
		log_note("%s is missing: this machine has no agent user yet: run `sudo stint setup` once", SANDBOX_STATE_DIR);
		return STOP_USAGE;
	}
	if (open_root(&w, dir, path, &e) != 0)
		return log_err(&e, STOP_CONFINE);
	if (str_eq(argv[1], "restore"))
		return restore(&w, argc, argv, &e);
	return serve(&w, argc, argv, &e);
}
