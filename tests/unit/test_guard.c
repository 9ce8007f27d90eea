/* The guard's parts that need no confinement: command line, environment, names of targets, the sweep of old TMPDIRs. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/guard.h"

/* ---- command line */

static int parse(struct guard_options *o, struct err *e, int argc, const char *const *words)
{
	static char *argv[16];

	for (int i = 0; i < argc; i++)
		argv[i] = (char *)(uintptr_t)words[i];
	argv[argc] = NULL;
	*o = (struct guard_options){.error_fd = -1};
	*e = (struct err){0};
	return guard_parse(o, argc, argv, e);
}
#define PARSE(o, e, ...) \
	parse(o, e, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__})

static void no_exec_concerns_all_but_allow_exec(void **state)
{
	static const enum landlock_grant want[] = {GRANT_READ_DATA, GRANT_WRITE_DATA, GRANT_READ, GRANT_LIST, GRANT_READ_DATA, GRANT_UNIX};
	struct guard_options o;
	struct err e;

	(void)state;
	assert_int_equal(PARSE(&o, &e, "g", "--allow-read", "a", "--allow-write", "b", "--no-exec", "--allow-exec", "c", "--allow-list", "d",
	                       "--optional-read=e", "--allow-unix=f", "--", "cmd"), 0);
	assert_int_equal(o.n_paths, 6);
	for (size_t i = 0; i < o.n_paths; i++)
		assert_int_equal(o.paths[i].grant, want[i]);
	assert_int_equal(guard_tmp_grant(&o), GRANT_WRITE_DATA);
	guard_options_done(&o);
	assert_int_equal(PARSE(&o, &e, "g", "--allow-read", "a", "--allow-exec", "c", "cmd"), 0);
	assert_int_equal(o.paths[0].grant, GRANT_READ);
	assert_int_equal(o.paths[1].grant, GRANT_READ);
	assert_int_equal(guard_tmp_grant(&o), GRANT_WRITE);
	guard_options_done(&o);
}

static void mistakes_are_named(void **state)
{
	static const char *const wrong[][4] = {
		{"--env", "", NULL, ""}, {"--env", "=x", NULL, "=x"}, {"--env", "STINT_UNSET_HERE", NULL, "STINT_UNSET_HERE"},
		{"--print-policy", "xml", NULL, "xml"}, {"--min-abi", "0", NULL, "--min-abi 0"}, {"--allow-read", "", NULL, "empty path"},
		{"--allow-connect", "-1", NULL, "-1"}, {"--no-exce", "x", NULL, "no-exec"}, {"--best-effort", NULL, NULL, "no command"},
	};
	struct guard_options o;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *words[4] = {"g", wrong[i][0], wrong[i][1], NULL};

		assert_int_equal(parse(&o, &e, wrong[i][1] == NULL ? 2 : 3, words), -EINVAL);
		assert_non_null(strstr(e.msg, wrong[i][3]));
		guard_options_done(&o);
	}
}

static void who_gets_a_tmpdir(void **state)
{
	static const char *const without[] = {"--no-tmp", "--no-system", "--no-landlock", "--env=TMPDIR=/x"};
	struct guard_options o;
	struct err e;

	(void)state;
	assert_int_equal(PARSE(&o, &e, "g", "--env=TMP=/x", "cmd"), 0);
	assert_true(guard_wants_tmp(&o));
	guard_options_done(&o);
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		assert_int_equal(PARSE(&o, &e, "g", without[i], "cmd"), 0);
		assert_false(guard_wants_tmp(&o));
		guard_options_done(&o);
	}
}

/* ---- environment */

/* The environment's settings that begin with T_ or LC_, sorted as they come, one blank between. */
static const char *made(const char *const *caller, const char *const *words, int n)
{
	static char text[512];
	struct guard_state s = {.tmp = {.fd = -1, .path = (char[]){"/t"}}};
	struct guard_options o;
	struct err e;
	size_t len = 0;
	char **before = environ;

	environ = (char **)(uintptr_t)caller;
	assert_int_equal(parse(&o, &e, n, words), 0);
	assert_int_equal(guard_environment(&o, &s, &e), 0);
	environ = before;
	text[0] = '\0';
	for (char **v = s.env; *v != NULL; v++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len > 0 ? " " : "", *v);
	for (char **v = s.env; *v != NULL; v++)
		if (str_starts(*v, "TMPDIR="))
			free(*v);
	free(s.env);
	guard_options_done(&o);
	return text;
}
#define MADE(caller, ...) \
	made(caller, (const char *[]){"g", __VA_ARGS__, "cmd"}, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)) + 2)

static void environment_by_hand(void **state)
{
	static const char *const caller[] = {"PATH=/bin", "PATHX=1", "LC_ALL=C", "LC=1", "KEY=a=b", "LANG", "TZ=", "HOME=/h", NULL};

	(void)state;
	assert_string_equal(MADE(caller, "--quiet"), "PATH=/bin LC_ALL=C TZ= HOME=/h TMPDIR=/t");
	assert_string_equal(MADE(caller, "--env=KEY"), "PATH=/bin LC_ALL=C KEY=a=b TZ= HOME=/h TMPDIR=/t");
	assert_string_equal(MADE(caller, "--env=KEY", "--env=KEY=", "--env=HOME=/x", "--env=NEW=1", "--env=NEW=2"),
	                    "PATH=/bin LC_ALL=C KEY= TZ= HOME=/x NEW=2 TMPDIR=/t");
	assert_string_equal(MADE(caller, "--env-all"), "PATH=/bin PATHX=1 LC_ALL=C LC=1 KEY=a=b LANG TZ= HOME=/h TMPDIR=/t");
}

/* ---- targets */

static void targets(void **state)
{
	static const struct { const char *path, *target; } cases[] = {
		{"/", NULL}, {"//", NULL}, {"/usr", NULL}, {"/usr/", NULL}, {"//usr//./bin/", NULL}, {"usr/bin", NULL}, {".", NULL}, {"./", NULL},
		{"usr/..", "/"}, {"/usr/../usr", "/usr"}, {"/proc/self/root/usr", "/usr"},
	};

	(void)state;
	assert_int_equal(chdir("/"), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd = open(cases[i].path, O_PATH | O_CLOEXEC);
		char *target = guard_target(fd, cases[i].path);

		if (cases[i].target == NULL)
			assert_null(target);
		else
			assert_string_equal(target, cases[i].target);
		free(target);
		assert_int_equal(close(fd), 0);
	}
}

/* ---- the sweep */

#define DEPTH 3000

static void make_file(int at, const char *name)
{
	int fd = openat(at, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
}

/* A folder with a file and a folder with a file and … */
static void make_deep(int at, const char *name)
{
	int fd = dup(at);

	for (int i = 0; i < DEPTH; i++) {
		const char *next = i == 0 ? name : "d";
		int sub;

		assert_int_equal(mkdirat(fd, next, 0700), 0);
		sub = openat(fd, next, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(sub >= 0);
		assert_int_equal(close(fd), 0);
		make_file(sub, "f");
		fd = sub;
	}
	assert_int_equal(close(fd), 0);
}

static void set_age(int at, const char *name, time_t seconds)
{
	struct timespec t[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};

	assert_int_equal(utimensat(at, name, t, AT_SYMLINK_NOFOLLOW), 0);
}

static bool is_there(int at, const char *name)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void the_sweep_is_deep_and_small(void **state)
{
	char dir[] = "/tmp/test_guard_XXXXXX";
	struct rlimit old;
	struct rlimit few;
	struct stat ns;
	char gone[GUARD_PROCESS_MAX];
	char mine[GUARD_PROCESS_MAX];
	int parent;

	(void)state;
	assert_non_null(mkdtemp(dir));
	parent = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(parent >= 0);
	assert_int_equal(stat("/proc/self/ns/pid", &ns), 0);
	(void)snprintf(gone, sizeof(gone), "%lx.3fffffff.1", (unsigned long)ns.st_ino);
	guard_process_name(mine);
	make_deep(parent, gone);
	assert_int_equal(mkdirat(parent, mine, 0700), 0);
	set_age(parent, gone, 2 * 86400);
	set_age(parent, mine, 2 * 86400);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = (struct rlimit){(rlim_t)parent + 8, old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	guard_sweep(parent);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_false(is_there(parent, gone));
	assert_true(is_there(parent, mine)); /* this process lives */
	assert_int_equal(unlinkat(parent, mine, AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(parent, "swept", 0), 0);
	assert_int_equal(rmdir(dir), 0); /* and nothing else is left */
	assert_int_equal(close(parent), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_exec_concerns_all_but_allow_exec),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(who_gets_a_tmpdir),
		cmocka_unit_test(environment_by_hand),
		cmocka_unit_test(targets),
		cmocka_unit_test(the_sweep_is_deep_and_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
