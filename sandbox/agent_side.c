/* The agent side: see agent_side.h. */
#include "sandbox/agent_side.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"

#define ABOVE 64 /* above every descriptor number that is given out */

static int lift(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, ABOVE);
}

static int put(int fd, int number, int flags)
{
	return dup3(fd, number, flags) < 0 ? -errno : 0;
}

/* Standard input: a fresh description of the prompt, or nothing; never something that stays open. */
static int put_input(bool prompt, int number)
{
	AUTO_FD low = open(prompt ? SANDBOX_PROMPT : "/dev/null", O_RDONLY | O_CLOEXEC);
	AUTO_FD fd = lift(low);

	return fd < 0 ? -errno : put(fd, number, 0);
}

/* A pipe belongs to whoever made it; only its owner can open /dev/stdout or /dev/stderr, which scripts do. Named pipes
 * and files are somebody's own and stay as they are. */
static int own_pipe(int fd, const struct spawn_spec *s)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return -errno;
	if (fs.f_type == PIPEFS_MAGIC && fchown(fd, s->uid, s->gid) != 0)
		return -errno;
	return 0;
}

/* Exactly 0, 1, 2 and what the guard's words name; everything else is closed. */
static int arrange(const struct spawn_spec *s, bool has_prompt, int error_fd)
{
	int from[COMMAND_FDS] = {
		[STDOUT_FILENO] = lift(s->fds[SPAWN_STDOUT]),
		[STDERR_FILENO] = lift(s->fds[SPAWN_STDERR]),
		[COMMAND_FD_ERROR] = lift(error_fd),
		[COMMAND_FD_PROMPT] = -1,
		[COMMAND_FD_PROBE] = lift(s->probe_fd),
		[COMMAND_FD_GUARD] = lift(s->guard_fd),
	};
	int keep[COMMAND_FDS];
	size_t n = 0;
	bool on_stdin = has_prompt && (s->policy->role[s->role].flags & ROLE_STDIN_PROMPT) != 0;
	int rc = put_input(on_stdin, STDIN_FILENO);

	if (rc == 0 && has_prompt)
		rc = put_input(true, COMMAND_FD_PROMPT);
	if (has_prompt)
		keep[n++] = COMMAND_FD_PROMPT;
	for (int i = STDOUT_FILENO; rc == 0 && i < COMMAND_FDS; i++) {
		if (i == COMMAND_FD_PROMPT || (i == COMMAND_FD_PROBE && s->probe_fd < 0))
			continue;
		rc = from[i] < 0 ? -EBADF : put(from[i], i, i == COMMAND_FD_GUARD ? O_CLOEXEC : 0);
		keep[n++] = i;
	}
	if (rc == 0)
		rc = own_pipe(STDOUT_FILENO, s);
	if (rc == 0)
		rc = own_pipe(STDERR_FILENO, s);
	return rc == 0 ? fd_close_from_except(3, keep, n) : rc;
}

static void reset_signals(void)
{
	static const unsigned long by_default[4]; /* the kernel's struct sigaction, all zero: SIG_DFL */
	sigset_t none;

	/* By the kernel's call: libc's refuses the two signals that it keeps to itself, which can be inherited ignored too. SIGKILL and
	 * SIGSTOP fail. */
	for (int i = 1; i < NSIG; i++)
		(void)syscall(SYS_rt_sigaction, i, by_default, NULL, sizeof(unsigned long));
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int become(const struct spawn_spec *s, const struct identity_limits *limits, struct err *e)
{
	int rc;

	if (setsid() < 0)
		return err_errno(e, errno, "cannot start a session of its own");
	reset_signals();
	(void)umask(022);
	/* The caller's keyring holds the caller's keys; a kernel without keyrings has none to leak. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return err_errno(e, errno, "cannot leave the caller's session keyring");
	rc = identity_limit(limits, e);
	return rc == 0 ? identity_drop(s->uid, s->gid, s->writers, e) : rc;
}

void agent_side(const struct spawn_spec *s, const struct command *c, const struct identity_limits *limits,
                bool has_prompt, int error_fd)
{
	struct err e = {0};
	int rc = arrange(s, has_prompt, error_fd);
	int out = rc == 0 ? COMMAND_FD_ERROR : error_fd;

	if (rc != 0)
		rc = err_errno(&e, -rc, "cannot arrange the command's descriptors");
	if (rc == 0)
		rc = become(s, limits, &e);
	if (rc == 0) {
		(void)syscall(SYS_execveat, COMMAND_FD_GUARD, "", c->argv.v, c->env.v, AT_EMPTY_PATH);
		(void)err_errno(&e, errno, "cannot start stint-guard: is the installation complete and world-executable?");
	}
	(void)!fd_write_all(out, e.msg, strlen(e.msg));
	_exit(RUN_UNCONFINED);
}
