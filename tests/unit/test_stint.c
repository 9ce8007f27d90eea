/* libstint: policies, what is kept of output, runs from every state that a caller can be in, confinement of the process itself. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "sandbox/stint_impl.h"

static char programs[PATH_MAX]; /* of this build */
static char folder[] = "/tmp/test_stint.XXXXXX";
static char secret[64];         /* a file in it that nothing grants */

static int set_up(void **state)
{
	AUTO_FD fd = -1;
	ssize_t n = readlink("/proc/self/exe", programs, sizeof(programs) - 16);

	(void)state;
	if (n <= 0 || mkdtemp(folder) == NULL)
		return -1;
	programs[n] = '\0';
	*strrchr(programs, '/') = '\0';
	strcpy(strrchr(programs, '/'), "/bin");
	(void)snprintf(secret, sizeof(secret), "%s/secret", folder);
	fd = open(secret, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return fd < 0 || fd_write_all(fd, "content\n", 8) != 0;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static struct stint_policy *policy_new(void)
{
	struct stint_policy *p = NULL;

	assert_int_equal(stint_policy_new(&p, NULL), 0);
	assert_int_equal(stint_policy_programs(p, programs, NULL), 0);
	return p;
}

/* Runs `sh -c script` with this policy and these fields of c; must have been started. */
static struct stint_result sh_with(const struct stint_policy *p, struct stint_command c, const char *script)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	struct stint_error e = {0, ""};
	struct stint_result r = {0};

	c.argv = argv;
	if (stint_run(p, &c, &r, &e) != 0)
		fail_msg("%s: %s", script, e.message);
	return r;
}

static struct stint_result sh(const char *script)
{
	struct stint_policy *p = policy_new();
	struct stint_result r = sh_with(p, (struct stint_command){0}, script);

	stint_policy_free(p);
	return r;
}

/* The script's stdout is that text and its status 0. */
static void says(const char *script, const char *text)
{
	struct stint_result r = sh(script);

	assert_string_equal(r.err.bytes, "");
	assert_string_equal(r.out.bytes, text);
	assert_int_equal(r.status, 0);
	stint_result_done(&r);
}

static bool gone(long pid)
{
	return pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static void write_file(const char *path, const void *bytes, size_t n)
{
	AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, bytes, n), 0);
}

/* ---------------------------------------------------------------- policies */

static void policies_refuse_what_makes_no_sense(void **state)
{
	struct stint_policy *p = policy_new();
	struct stint_error e = {0, ""};

	(void)state;
	assert_int_equal(stint_policy_allow(p, STINT_READ, "", &e), -EINVAL);
	assert_int_equal(e.code, EINVAL);
	assert_string_equal(e.message, "an empty path cannot be granted");
	assert_int_equal(stint_policy_allow(p, STINT_READ, NULL, NULL), -EINVAL);
	assert_int_equal(stint_policy_allow(p, (enum stint_grant)77, "/", &e), -EINVAL);
	assert_int_equal(stint_policy_port(p, STINT_CONNECT, 0, &e), -EINVAL);
	assert_string_equal(e.message, "port 0: a number from 1 to 65535 is needed");
	assert_int_equal(stint_policy_port(p, STINT_CONNECT, 65536, NULL), -EINVAL);
	assert_int_equal(stint_policy_port(p, STINT_BIND, 0, NULL), 0);
	assert_int_equal(stint_policy_port(p, (enum stint_port)9, 1, NULL), -EINVAL);
	assert_int_equal(stint_policy_option(p, (enum stint_option)99, NULL), -EINVAL);
	assert_int_equal(stint_policy_env(p, "", &e), -EINVAL);
	assert_string_equal(e.message, "a variable needs a name");
	assert_int_equal(stint_policy_env(p, "=x", NULL), -EINVAL);
	assert_int_equal(stint_policy_min_abi(p, 0, NULL), -EINVAL);
	assert_int_equal(stint_policy_min_abi(p, 1000, NULL), -EINVAL);
	for (unsigned int i = 0; i < GUARD_MAX_PORTS; i++)
		assert_int_equal(stint_policy_port(p, STINT_CONNECT, 1 + i, NULL), 0);
	assert_int_equal(stint_policy_port(p, STINT_CONNECT, 100, &e), -EINVAL);
	stint_policy_free(p);
	stint_policy_free(NULL);
	stint_profile_free(NULL);
	stint_result_done(NULL);
}

/* ---------------------------------------------------------------- output */

/* What is kept of total bytes, added in pieces, at a maximum of max: by its definition. */
static void kept(size_t max, size_t total, size_t piece)
{
	struct stint_capture c = {.max = max};
	struct stint_output o;
	char all[400];
	char want[500];
	size_t half = max / 2;

	for (size_t i = 0; i < total; i++)
		all[i] = (char)('a' + i % 26);
	for (size_t i = 0; i < total; i += piece)
		assert_int_equal(stint_capture_add(&c, all + i, total - i < piece ? total - i : piece), 0);
	if (total <= max)
		(void)snprintf(want, sizeof(want), "%.*s", (int)total, all);
	else
		(void)snprintf(want, sizeof(want), "%.*s\n[... %zu bytes left out ...]\n%.*s", (int)half, all, total - max,
		               (int)(max - half), all + total - (max - half));
	assert_int_equal(stint_capture_end(&c, &o), 0);
	assert_string_equal(o.bytes, want);
	assert_int_equal(o.length, strlen(want));
	assert_int_equal(o.total, total);
	free(o.bytes);
	stint_capture_done(&c);
}

static void output_keeps_head_and_tail(void **state)
{
	(void)state;
	for (size_t max = 1; max < 24; max++)
		for (size_t total = 0; total < 80; total++)
			for (size_t piece = 1; piece < 40; piece += 3)
				kept(max, total, piece);
	kept(300, 400, 7);
}

/* ---------------------------------------------------------------- runs */

static void a_run_gives_status_and_output(void **state)
{
	struct stint_policy *p = policy_new();
	struct stint_result r = sh_with(p, (struct stint_command){.input = "a\0b", .input_length = 3}, "cat; echo problem >&2; exit 7");

	(void)state;
	assert_int_equal(r.status, 7);
	assert_int_equal(r.out.length, 3);
	assert_memory_equal(r.out.bytes, "a\0b", 4);
	assert_string_equal(r.err.bytes, "problem\n");
	assert_int_equal(r.signal + r.timed_out, 0);
	assert_int_equal(r.left, 0);
	assert_int_equal(r.n_violations, 0);
	assert_true(r.peak_kib > 100);
	stint_result_done(&r);
	r = sh_with(p, (struct stint_command){0}, "kill -TERM $$");
	assert_int_equal(r.status, 143);
	assert_int_equal(r.signal, SIGTERM);
	stint_result_done(&r);
	stint_policy_free(p);
}

static void input_and_output_may_be_long(void **state)
{
	size_t n = 3u << 20;
	char *input = calloc(1, n);
	struct stint_policy *p = policy_new();
	struct stint_command c = {.input = input, .input_length = n, .output_max = 1000};
	struct stint_result r = sh_with(p, c, "wc -c");

	(void)state;
	assert_int_equal(strtol(r.out.bytes, NULL, 10), (long)n);
	stint_result_done(&r);
	r = sh_with(p, c, "echo first; cat; echo last; seq 30000 >&2");
	assert_int_equal(r.status, 0);
	assert_int_equal(r.out.total, n + 11);
	assert_memory_equal(r.out.bytes, "first\n", 6);
	assert_memory_equal(r.out.bytes + r.out.length - 5, "last\n", 5);
	assert_in_range(r.out.length, 1000, 1060);
	assert_non_null(strstr(r.err.bytes, "bytes left out ...]"));
	assert_memory_equal(r.err.bytes + r.err.length - 6, "30000\n", 6);
	stint_result_done(&r);
	stint_policy_free(p);
	free(input);
}

/* Nothing of the command ran, rc and words say why, and the result is as it was. */
static void not_started(const struct stint_policy *p, struct stint_command c, int want, const char *words)
{
	struct stint_result r = {.status = 4711};
	struct stint_error e = {0, ""};

	assert_int_equal(stint_run(p, &c, &r, &e), -want);
	assert_int_equal(e.code, want);
	if (strstr(e.message, words) == NULL)
		fail_msg("%s: lacks \"%s\"", e.message, words);
	assert_int_equal(r.status, 4711);
	assert_int_equal(stint_run(p, &c, &r, NULL), -want);
}

static void what_is_not_started_says_why(void **state)
{
	const char *missing[] = {"no-such-command", NULL};
	const char *data[] = {"/etc/passwd", NULL};
	const char *fine[] = {"true", NULL};
	const char *none[] = {NULL};
	struct stint_policy *p = policy_new();

	(void)state;
	not_started(p, (struct stint_command){.argv = missing}, ENOENT, "no-such-command: not found");
	not_started(p, (struct stint_command){.argv = data}, EACCES, "/etc/passwd: cannot be executed");
	not_started(p, (struct stint_command){.argv = none}, EINVAL, "a command");
	not_started(p, (struct stint_command){0}, EINVAL, "a command");
	not_started(NULL, (struct stint_command){.argv = fine}, EINVAL, "a policy");
	not_started(p, (struct stint_command){.argv = fine, .input_length = 1}, EINVAL, "no bytes");
	not_started(p, (struct stint_command){.argv = fine, .folder = "/nowhere"}, ENOENT, "in /nowhere");
	not_started(p, (struct stint_command){.argv = fine, .supervised = 1}, ENOTSUP, "not supported");
	assert_int_equal(stint_policy_allow(p, STINT_READ_OPTIONAL, "/nowhere/optional", NULL), 0);
	assert_int_equal(stint_policy_allow(p, STINT_READ, "/nowhere/needed", NULL), 0);
	not_started(p, (struct stint_command){.argv = fine}, EPERM, "cannot grant /nowhere/needed");
	assert_int_equal(stint_policy_programs(p, folder, NULL), 0);
	not_started(p, (struct stint_command){.argv = fine}, ENOENT, "stint-guard");
	stint_policy_free(p);
}

static void what_is_granted_is_all_there_is(void **state)
{
	struct stint_policy *p = policy_new();
	char script[256];
	struct stint_result r;

	(void)state;
	(void)snprintf(script, sizeof(script), "cat %s", secret);
	r = sh_with(p, (struct stint_command){0}, script);
	assert_int_equal(r.status, 1);
	assert_non_null(strstr(r.err.bytes, "Permission denied"));
	stint_result_done(&r);
	assert_int_equal(stint_policy_allow(p, STINT_READ, folder, NULL), 0);
	r = sh_with(p, (struct stint_command){0}, script);
	assert_string_equal(r.out.bytes, "content\n");
	stint_result_done(&r);
	(void)snprintf(script, sizeof(script), "echo more >>%s", secret);
	r = sh_with(p, (struct stint_command){0}, script);
	assert_non_null(strstr(r.err.bytes, "Permission denied"));
	stint_result_done(&r);
	stint_policy_free(p);
}

static void relative_paths_begin_in_the_commands_folder(void **state)
{
	struct stint_policy *p = policy_new();
	struct stint_result r;

	(void)state;
	assert_int_equal(stint_policy_allow(p, STINT_WRITE, ".", NULL), 0);
	r = sh_with(p, (struct stint_command){.folder = folder}, "pwd; cat secret; echo x >new && rm new");
	assert_string_equal(r.err.bytes, "");
	assert_memory_equal(r.out.bytes, folder, strlen(folder));
	assert_non_null(strstr(r.out.bytes, "content"));
	stint_result_done(&r);
	stint_policy_free(p);
}

static void the_environment_is_short(void **state)
{
	const char *argv[] = {"true", NULL};
	struct stint_policy *p = policy_new();
	struct stint_result r;

	(void)state;
	assert_int_equal(setenv("STINT_TEST_SECRET", "xyzzy", 1), 0);
	assert_int_equal(setenv("STINT_TEST_PASSED", "on", 1), 0);
	r = sh_with(p, (struct stint_command){0}, "echo $STINT_TEST_SECRET$STINT_TEST_PASSED${PATH:+path}");
	assert_string_equal(r.out.bytes, "path\n");
	stint_result_done(&r);
	assert_int_equal(stint_policy_env(p, "STINT_TEST_PASSED", NULL), 0);
	assert_int_equal(stint_policy_env(p, "MADE=a b", NULL), 0);
	r = sh_with(p, (struct stint_command){0}, "echo $STINT_TEST_SECRET$STINT_TEST_PASSED $MADE");
	assert_string_equal(r.out.bytes, "on a b\n");
	stint_result_done(&r);
	assert_int_equal(stint_policy_env(p, "STINT_TEST_NOT_SET", NULL), 0);
	not_started(p, (struct stint_command){.argv = argv}, EPERM, "STINT_TEST_NOT_SET");
	stint_policy_free(p);
	p = policy_new();
	assert_int_equal(stint_policy_option(p, STINT_ENV_ALL, NULL), 0);
	r = sh_with(p, (struct stint_command){0}, "echo $STINT_TEST_SECRET");
	assert_string_equal(r.out.bytes, "xyzzy\n");
	stint_result_done(&r);
	stint_policy_free(p);
	(void)unsetenv("STINT_TEST_SECRET");
}

static void grants_without_execute(void **state)
{
	struct stint_policy *p = policy_new();
	const char *script = "for d in . exec; do cp /bin/true $d/t 2>&1; $d/t && echo ran; rm -f t; done";
	char exec[64];
	struct stint_result r;

	(void)state;
	(void)snprintf(exec, sizeof(exec), "%s/exec", folder);
	assert_int_equal(mkdir(exec, 0700), 0);
	assert_int_equal(stint_policy_allow(p, STINT_WRITE, ".", NULL), 0);
	r = sh_with(p, (struct stint_command){.folder = folder}, script);
	assert_string_equal(r.out.bytes, "ran\nran\n");
	stint_result_done(&r);
	assert_int_equal(stint_policy_option(p, STINT_NO_EXEC, NULL), 0);
	assert_int_equal(stint_policy_allow(p, STINT_EXEC, "exec", NULL), 0);
	r = sh_with(p, (struct stint_command){.folder = folder}, script);
	assert_string_equal(r.out.bytes, "ran\n");
	assert_non_null(strstr(r.err.bytes, "Permission denied"));
	stint_result_done(&r);
	stint_policy_free(p);
}

/* Not below a path that it chose itself: two commands at a time have two, and what is left in one goes with its command. */
static void a_tmpdir_lasts_as_long_as_its_command(void **state)
{
	struct stint_result r = sh("echo $TMPDIR; mkdir $TMPDIR/d && ln -s / $TMPDIR/d/root && chmod 0 $TMPDIR/d; sleep 600 & cd $TMPDIR");

	(void)state;
	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.out.bytes, "/stint-guard-"));
	r.out.bytes[r.out.length - 1] = '\0';
	assert_int_equal(access(r.out.bytes, F_OK), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(access("/bin/sh", X_OK), 0);
	stint_result_done(&r);
}

/* ---------------------------------------------------------------- ends */

#define STRAYS "sleep 600 & echo $!; (setsid sh -c 'sleep 600 & echo $!; wait' &); sleep 0.2; "

static void all_are_gone(const struct stint_result *r, int n)
{
	char *at = r->out.bytes;

	for (int i = 0; i < n; i++) {
		long pid = strtol(at, &at, 10);

		if (!gone(pid))
			fail_msg("process %ld is there", pid);
	}
}

static void strays_end_with_the_command(void **state)
{
	struct stint_result r = sh(STRAYS "exit 5");

	(void)state;
	assert_int_equal(r.status, 5);
	assert_in_range(r.left, 2, 3);
	all_are_gone(&r, 2);
	stint_result_done(&r);
}

static void the_deadline_ends_everything(void **state)
{
	struct stint_policy *p = policy_new();
	struct timespec before;
	struct timespec after;
	struct stint_result r;

	(void)state;
	(void)clock_gettime(CLOCK_MONOTONIC, &before);
	r = sh_with(p, (struct stint_command){.timeout_ms = 1000}, STRAYS "trap '' TERM INT HUP; echo kept; sleep 600");
	(void)clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(r.timed_out);
	assert_int_equal(r.status, 124);
	assert_int_equal(r.n_violations, 0);
	assert_true(after.tv_sec - before.tv_sec < 60);
	assert_non_null(strstr(r.out.bytes, "kept"));
	all_are_gone(&r, 2);
	stint_result_done(&r);
	stint_policy_free(p);
}

static void a_dead_caller_takes_the_command_along(void **state)
{
	char pidfile[96];
	struct stint_policy *p = policy_new();
	char text[32] = "";
	pid_t caller;

	(void)state;
	(void)snprintf(pidfile, sizeof(pidfile), "%s/pid", folder);
	assert_int_equal(stint_policy_allow(p, STINT_WRITE, folder, NULL), 0);
	caller = fork();
	if (caller == 0) {
		const char *argv[] = {"sh", "-c", "echo $$ >new && mv new pid; sleep 600", NULL};
		struct stint_command c = {.argv = argv, .folder = folder};
		struct stint_result r;

		_exit(stint_run(p, &c, &r, NULL) == 0);
	}
	for (int i = 0; i < 600 && access(pidfile, F_OK) != 0; i++)
		(void)usleep(50000);
	{
		AUTO_FD fd = open(pidfile, O_RDONLY | O_CLOEXEC);

		assert_true(read(fd, text, sizeof(text) - 1) > 0);
	}
	assert_false(gone(strtol(text, NULL, 10)));
	assert_int_equal(kill(caller, SIGKILL), 0);
	assert_int_equal(waitpid(caller, NULL, 0), caller);
	for (int i = 0; i < 600 && !gone(strtol(text, NULL, 10)); i++)
		(void)usleep(50000);
	assert_true(gone(strtol(text, NULL, 10)));
	stint_policy_free(p);
}

static void the_keeper_is_out_of_reach(void **state)
{
	struct stint_policy *p = policy_new();
	const char *argv[] = {"sh", "-c", "kill -KILL $PPID && sleep 600", NULL};
	struct stint_result r;

	(void)state;
	if (stint_abi() >= 6) {
		r = sh_with(p, (struct stint_command){0}, "kill -KILL $PPID || echo refused");
		assert_string_equal(r.out.bytes, "refused\n");
		stint_result_done(&r);
	}
	r = sh_with(p, (struct stint_command){0}, "trap '' TERM; kill -TERM 0; echo alone");
	assert_string_equal(r.out.bytes, "alone\n");
	stint_result_done(&r);
	/* Where the caller has given that up, it is told. */
	assert_int_equal(stint_policy_option(p, STINT_NO_SCOPE, NULL), 0);
	not_started(p, (struct stint_command){.argv = argv}, ECHILD, "the command's keeper was killed");
	stint_policy_free(p);
}

/* ---------------------------------------------------------------- whatever the caller's state */

static void reap_all(int sig)
{
	int code = errno;

	(void)sig;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
	errno = code;
}

static void sigchld_may_be_anybodys(void **state)
{
	struct sigaction old;
	struct sigaction new = {.sa_handler = SIG_IGN};

	(void)state;
	assert_int_equal(sigaction(SIGCHLD, &new, &old), 0);
	says("echo ignored", "ignored\n");
	new.sa_handler = reap_all;
	assert_int_equal(sigaction(SIGCHLD, &new, NULL), 0);
	says("echo handled", "handled\n");
	assert_int_equal(sigaction(SIGCHLD, &old, NULL), 0);
}

static void signals_are_as_in_a_fresh_process(void **state)
{
	sigset_t all;
	sigset_t old;

	(void)state;
	(void)sigfillset(&all);
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(sigprocmask(SIG_SETMASK, &all, &old), 0);
	/* glibc's posix_spawn leaves its own two, 32 and 33, ignored, which libc alone can use. */
	says("sed -n 's/^SigBlk:.//p; s/^SigIgn:.*\\(.......\\)$/\\1/p' /proc/self/status", "0000000000000000\n0000000\n");
	assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
	(void)signal(SIGPIPE, SIG_DFL);
}

/* The three of its own, and that of the folder. */
#define OWN_FDS "ls /proc/self/fd | xargs echo"

static void no_descriptor_is_inherited(void **state)
{
	pid_t pid;
	int status = 0;

	(void)state;
	for (int fd = 3; fd < 40; fd++)
		(void)dup2(1, fd); /* without close-on-exec */
	says(OWN_FDS, "0 1 2 3\n");
	for (int fd = 3; fd < 40; fd++)
		(void)close(fd);
	/* The first three closed: what is opened gets their numbers. */
	pid = fork();
	if (pid == 0) {
		struct stint_policy *p = policy_new();
		const char *argv[] = {"sh", "-c", "cat; echo err >&2; " OWN_FDS, NULL};
		struct stint_command c = {.argv = argv, .input = "in\n", .input_length = 3};
		struct stint_result r = {0};
		int rc;

		(void)close(0);
		(void)close(1);
		(void)close(2);
		rc = stint_run(p, &c, &r, NULL);
		_exit(rc == 0 && strcmp(r.out.bytes, "in\n0 1 2 3\n") == 0 && strcmp(r.err.bytes, "err\n") == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void *run_a_while(void *arg)
{
	int *status = arg;
	struct stint_result r = sh("sleep 1; exit 9");

	*status = r.status;
	stint_result_done(&r);
	return NULL;
}

/* A child that another thread makes in the middle of a run has copies of all that is open then. */
static void a_fork_in_the_middle_holds_nothing_up(void **state)
{
	struct timespec limit;
	pthread_t thread;
	int status = -1;
	pid_t pid;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, run_a_while, &status), 0);
	(void)usleep(500000);
	pid = fork();
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	(void)clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 60;
	assert_int_equal(pthread_timedjoin_np(thread, NULL, &limit), 0);
	assert_int_equal(status, 9);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void no_descriptor_is_left(void **state)
{
	int before = open_fds();
	const char *missing[] = {"no-such-command", NULL};
	struct stint_profile *profile = NULL;
	struct stint_policy *p = policy_new();

	(void)state;
	says("echo fine", "fine\n");
	not_started(p, (struct stint_command){.argv = missing}, ENOENT, "not found");
	assert_int_equal(stint_profile_load(&profile, "/nowhere/at.all", programs, NULL), -ENOENT);
	stint_policy_free(p);
	assert_int_equal(open_fds(), before);
}

/* ---------------------------------------------------------------- profiles */

static void load_fails(const char *word, int want, const char *words)
{
	struct stint_profile *p = NULL;
	struct stint_error e = {0, ""};

	assert_int_equal(stint_profile_load(&p, word, programs, &e), -want);
	if (strstr(e.message, words) == NULL)
		fail_msg("%s: lacks \"%s\"", e.message, words);
	assert_null(p);
}

static void profiles_that_cannot_be_had(void **state)
{
	char path[96];

	(void)state;
	load_fails("pure-prase", EINVAL, "did you mean pure-parse?");
	load_fails("", EINVAL, "there is no such profile");
	load_fails("/nowhere/my.yaml", ENOENT, "/nowhere/my.yaml");
	(void)snprintf(path, sizeof(path), "%s/bad.yaml", folder);
	write_file(path, "name: bad\nallow: [raed]\n", 24);
	load_fails(path, EINVAL, "bad.yaml:2:9:");
	load_fails(path, EINVAL, "read");
	write_file(path, "STp2 and so on", 14);
	load_fails(path, EINVAL, "damaged");
}

static struct stint_result sh_profile(struct stint_profile *profile, const char *script)
{
	struct stint_policy *p = policy_new();
	struct stint_result r;

	stint_policy_profile(p, profile);
	r = sh_with(p, (struct stint_command){0}, script);
	stint_policy_free(p);
	return r;
}

#define KILLS "name: mine\nextends: [agent]\ndeny: [{call: mkdir, errno: kill}, {call: mkdirat, errno: kill}]\n"

static void a_profile_in_a_file(void **state)
{
	struct stint_profile *profile = NULL;
	struct stint_error e = {0, ""};
	char path[96];
	struct stint_result r;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/mine.yaml", folder);
	write_file(path, KILLS, strlen(KILLS));
	if (stint_profile_load(&profile, path, programs, &e) != 0)
		fail_msg("%s", e.message);
	assert_string_equal(stint_profile_name(profile), path);
	r = sh_profile(profile, "exec mkdir /tmp/x");
	assert_int_equal(r.signal, SIGSYS);
	assert_int_equal(r.status, 128 + SIGSYS);
	assert_int_equal(r.n_violations, 1);
	assert_int_equal(r.violations[0].kind, STINT_SYSCALL);
	assert_int_equal(r.violations[0].number, -1);
	stint_result_done(&r);
	r = sh_profile(profile, "echo else");
	assert_string_equal(r.out.bytes, "else\n");
	assert_int_equal(r.n_violations, 0);
	stint_result_done(&r);
	stint_profile_free(profile);
}

/* As --print-profile has it, without a coordinator at hand; compiled without sockets it does for policies without ports. */
static void a_compiled_profile(void **state)
{
	struct stint_profile *yaml = NULL;
	struct stint_profile *compiled = NULL;
	const char *argv[] = {"true", NULL};
	struct stint_policy *p = policy_new();
	char path[96];
	struct stint_result r;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/mine.yaml", folder);
	write_file(path, KILLS, strlen(KILLS));
	assert_int_equal(stint_profile_load(&yaml, path, programs, NULL), 0);
	(void)snprintf(path, sizeof(path), "%s/mine.stp", folder);
	write_file(path, yaml->plain.bytes, yaml->plain.n);
	assert_int_equal(stint_profile_load(&compiled, path, "/nowhere", NULL), 0);
	r = sh_profile(compiled, "exec mkdir /tmp/x");
	assert_int_equal(r.signal, SIGSYS);
	stint_result_done(&r);
	stint_policy_profile(p, compiled);
	assert_int_equal(stint_policy_port(p, STINT_CONNECT, 443, NULL), 0);
	not_started(p, (struct stint_command){.argv = argv}, EINVAL, "without ports");
	stint_profile_free(compiled);
	write_file(path, yaml->sockets.bytes, yaml->sockets.n);
	assert_int_equal(stint_profile_load(&compiled, path, "/nowhere", NULL), 0);
	stint_policy_profile(p, compiled);
	stint_profile_free(compiled); /* the policy has it */
	if (stint_abi() >= 4) {
		r = sh_with(p, (struct stint_command){0}, "echo with a port");
		assert_string_equal(r.out.bytes, "with a port\n");
		stint_result_done(&r);
	}
	write_file(path, yaml->sockets.bytes, yaml->sockets.n - 1);
	load_fails(path, EINVAL, "damaged");
	stint_profile_free(yaml);
	stint_policy_free(p);
}

/* ---------------------------------------------------------------- the process itself */

/* Runs fn in a child, which ends with what it returns: 0, or the line that was not as it should be. */
static void in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int try_open(const char *path)
{
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

#define MUST(what)                                                                                                 \
	do {                                                                                                         \
		if (!(what))                                                                                         \
			return __LINE__ % 256 == 0 ? 1 : __LINE__ % 256;                                             \
	} while (0)

static int confined(void)
{
	struct stint_profile *profile = NULL;
	struct stint_policy *p = policy_new();
	struct stint_error e = {0, ""};

	MUST(stint_profile_load(&profile, "python-stdlib-read-only", NULL, NULL) == 0);
	stint_policy_profile(p, profile);
	MUST(try_open(secret) == 0 && try_open("/etc/passwd") == 0);
	MUST(stint_confine(p, 8, &e) == -EINVAL && try_open(secret) == 0);
	MUST(stint_confine(p, 0, &e) == 0);
	MUST(try_open(secret) == EACCES && try_open("/etc/passwd") == 0);
	MUST(fork() < 0 && errno == ENOSYS);
	return 0;
}

static int confined_by_a_file(void)
{
	struct stint_profile *profile = NULL;
	struct stint_policy *p = policy_new();
	const char *yaml = "extends: [agent]\ndeny: [{call: getppid, errno: EDOM}]\n";
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/getppid.yaml", folder);
	write_file(path, yaml, strlen(yaml));
	MUST(stint_profile_load(&profile, path, programs, NULL) == 0);
	stint_policy_profile(p, profile);
	MUST(stint_policy_allow(p, STINT_READ, secret, NULL) == 0);
	MUST(syscall(SYS_getppid) > 0);
	MUST(stint_confine(p, 0, NULL) == 0);
	MUST(syscall(SYS_getppid) < 0 && errno == EDOM);
	MUST(try_open(secret) == 0 && try_open(path) == EACCES);
	return 0;
}

static int confined_without_execute(void)
{
	struct stint_policy *p = policy_new();
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/exec/t", folder);
	MUST(stint_policy_allow(p, STINT_READ, "/bin", NULL) == 0 && stint_policy_option(p, STINT_NO_SYSTEM, NULL) == 0);
	MUST(stint_policy_option(p, STINT_NO_EXEC, NULL) == 0 && stint_policy_allow(p, STINT_READ, folder, NULL) == 0);
	MUST(access(path, X_OK) == 0);
	MUST(stint_confine(p, 0, NULL) == 0);
	MUST(try_open(path) == 0 && try_open("/bin/true") == 0);
	MUST(execl(path, "t", (char *)NULL) < 0 && errno == EACCES);
	return 0;
}

static int not_confined(void)
{
	struct stint_policy *p = policy_new();
	struct stint_error e = {0, ""};

	MUST(stint_policy_allow(p, STINT_READ, "/nowhere", NULL) == 0);
	MUST(stint_confine(p, 0, &e) == -ENOENT && strstr(e.message, "/nowhere") != NULL);
	MUST(try_open(secret) == 0);
	return 0;
}

static pthread_barrier_t barrier;

static void *other_thread(void *arg)
{
	int *ret = arg;

	(void)pthread_barrier_wait(&barrier);
	*ret = try_open(secret);
	return NULL;
}

static int confined_with_threads(void)
{
	struct stint_policy *p = policy_new();
	struct stint_error e = {0, ""};
	int other = -1;
	pthread_t thread;

	(void)pthread_barrier_init(&barrier, NULL, 2);
	MUST(pthread_create(&thread, NULL, other_thread, &other) == 0);
	MUST(stint_confine(p, 0, &e) == -EBUSY && strstr(e.message, "several threads") != NULL);
	MUST(try_open(secret) == 0);
	MUST(stint_confine(p, STINT_THIS_THREAD, &e) == 0);
	(void)pthread_barrier_wait(&barrier);
	MUST(pthread_join(thread, NULL) == 0);
	MUST(other == 0 && try_open(secret) == EACCES);
	return 0;
}

static void the_process_confines_itself(void **state)
{
	(void)state;
	in_child(confined);
	in_child(confined_by_a_file);
	in_child(confined_without_execute);
	in_child(not_confined);
	in_child(confined_with_threads);
}

static void it_knows_itself(void **state)
{
	(void)state;
	assert_string_equal(stint_version(), STINT_VERSION);
	assert_true(stint_abi() >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_knows_itself),
		cmocka_unit_test(policies_refuse_what_makes_no_sense),
		cmocka_unit_test(output_keeps_head_and_tail),
		cmocka_unit_test(a_run_gives_status_and_output),
		cmocka_unit_test(input_and_output_may_be_long),
		cmocka_unit_test(what_is_not_started_says_why),
		cmocka_unit_test(what_is_granted_is_all_there_is),
		cmocka_unit_test(relative_paths_begin_in_the_commands_folder),
		cmocka_unit_test(the_environment_is_short),
		cmocka_unit_test(grants_without_execute),
		cmocka_unit_test(a_tmpdir_lasts_as_long_as_its_command),
		cmocka_unit_test(strays_end_with_the_command),
		cmocka_unit_test(the_deadline_ends_everything),
		cmocka_unit_test(a_dead_caller_takes_the_command_along),
		cmocka_unit_test(the_keeper_is_out_of_reach),
		cmocka_unit_test(sigchld_may_be_anybodys),
		cmocka_unit_test(signals_are_as_in_a_fresh_process),
		cmocka_unit_test(no_descriptor_is_inherited),
		cmocka_unit_test(no_descriptor_is_left),
		cmocka_unit_test(a_fork_in_the_middle_holds_nothing_up),
		cmocka_unit_test(profiles_that_cannot_be_had),
		cmocka_unit_test(a_profile_in_a_file),
		cmocka_unit_test(a_compiled_profile),
		cmocka_unit_test(the_process_confines_itself),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
