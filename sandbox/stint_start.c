/* libstint: finding and starting stint-guard from a process that may have threads: by posix_spawn, with everything prepared. See
 * stint_impl.h. */
#include "sandbox/stint_impl.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define PROGRAM "stint-guard"

/* The folder that this library was loaded from, with a slash; "" when the loader knows no absolute path. */
static void own_folder(char ret[PATH_MAX])
{
	Dl_info info;
	const char *slash;

	ret[0] = '\0';
	if (dladdr((const void *)(uintptr_t)own_folder, &info) == 0 || info.dli_fname == NULL || info.dli_fname[0] != '/')
		return;
	slash = strrchr(info.dli_fname, '/');
	(void)snprintf(ret, PATH_MAX, "%.*s", (int)(slash + 1 - info.dli_fname), info.dli_fname);
}

/* False when there is no such program. */
static bool try_path(const char *folder, const char *below, char ret[PATH_MAX])
{
	int n = snprintf(ret, PATH_MAX, "%s%s" PROGRAM, folder, below);

	return folder[0] == '/' && n > 0 && n < PATH_MAX && faccessat(AT_FDCWD, ret, X_OK, AT_EACCESS) == 0;
}

int stint_guard_path(const char *folder, char ret[PATH_MAX], struct err *e)
{
	/* An installation that was moved as a whole, a build's tree, and where it was installed to. */
	static const char *const below[] = {"../libexec/stint/", "../bin/"};
	char own[PATH_MAX];

	if (folder != NULL) {
		int n = snprintf(ret, PATH_MAX, "%s/" PROGRAM, folder);

		return n > 0 && n < PATH_MAX ? 0 : err_errno(e, ENAMETOOLONG, "cannot find " PROGRAM);
	}
	own_folder(own);
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++)
		if (try_path(own, below[i], ret))
			return 0;
	if (try_path(STINT_LIBEXECDIR "/", "", ret))
		return 0;
	return err_set(e, ENOENT, PROGRAM " is neither in " STINT_LIBEXECDIR " nor beside libstint: install it, or name its folder");
}

/* ---- starting */

/* Above the numbers that they become, so that putting one in place closes no other. */
static int lift(const int fds[STINT_CHILD_FDS], int ret[STINT_CHILD_FDS], struct err *e)
{
	for (int i = 0; i < STINT_CHILD_FDS; i++)
		ret[i] = -1;
	for (int i = 0; i < STINT_CHILD_FDS; i++) {
		if (fds[i] < 0)
			continue;
		ret[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, STINT_CHILD_FDS);
		if (ret[i] < 0)
			return err_errno(e, errno, "cannot start " PROGRAM);
	}
	return 0;
}

static int add_actions(posix_spawn_file_actions_t *a, const struct stint_start *s, const int fds[STINT_CHILD_FDS])
{
	int code = s->folder != NULL ? posix_spawn_file_actions_addchdir_np(a, s->folder) : 0;

	for (int i = 0; code == 0 && i < STINT_CHILD_FDS; i++)
		code = fds[i] >= 0 ? posix_spawn_file_actions_adddup2(a, fds[i], i) : posix_spawn_file_actions_addclose(a, i);
	return code;
}

static int set_attributes(posix_spawnattr_t *a)
{
	sigset_t all;
	sigset_t none;
	int code;

	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	code = posix_spawnattr_setsigdefault(a, &all);
	if (code == 0)
		code = posix_spawnattr_setsigmask(a, &none);
	return code != 0 ? code
	                 : posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
}

static int spawn(const struct stint_start *s, const int fds[STINT_CHILD_FDS], pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int code = posix_spawn_file_actions_init(&actions);

	if (code != 0)
		return code;
	code = posix_spawnattr_init(&attributes);
	if (code == 0) {
		code = add_actions(&actions, s, fds);
		if (code == 0)
			code = set_attributes(&attributes);
		if (code == 0)
			code = posix_spawn(ret, s->path, &actions, &attributes, s->words, environ);
		(void)posix_spawnattr_destroy(&attributes);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return code;
}

int stint_start(const struct stint_start *s, pid_t *ret, struct err *e)
{
	int fds[STINT_CHILD_FDS];
	int rc = lift(s->fds, fds, e);
	int code = rc == 0 ? spawn(s, fds, ret) : 0;

	for (int i = 0; i < STINT_CHILD_FDS; i++)
		fd_close(&fds[i]);
	if (code != 0)
		return s->folder != NULL ? err_errno(e, code, "cannot start %s in %s", s->path, s->folder)
		                         : err_errno(e, code, "cannot start %s", s->path);
	return rc;
}

int stint_reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}
