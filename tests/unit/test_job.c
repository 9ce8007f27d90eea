/* Jobs without the guard: ends, output, input, deadlines, trees, many at once, a killed keeper. The guarded ones are in
 * tests/e2e/skill.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "orchestrator/job.h"
#include "sandbox/descendants.h"

static struct jobs jobs;

static struct job_result run_spec(struct job_spec s, const char *script)
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct job_result r = {0};
	struct err e = {0};

	s.argv = argv;
	s.profile_fd = -1;
	if (s.keep == 0)
		s.keep = 4096;
	if (job_run(&jobs, &s, -1, &r, &e) != 0)
		fail_msg("%s: %s", script, e.msg);
	assert_int_equal(descendants_count(getpid()), 0);
	return r;
}

static void test_ends(void **state)
{
	static const struct { const char *script; enum job_why why; int code; int exit; } rows[] = {
		{"exit 0", JOB_EXITED, 0, 0},
		{"exit 7", JOB_EXITED, 7, 7},
		{"kill -SEGV $$", JOB_SIGNALED, SIGSEGV, 128 + SIGSEGV},
		{"no-such-program-here", JOB_EXITED, 127, 127},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job_result r = run_spec((struct job_spec){0}, rows[i].script);

		assert_int_equal(r.why, rows[i].why);
		assert_int_equal(r.code, rows[i].code);
		assert_int_equal(r.exit, rows[i].exit);
		job_result_done(&r);
	}
}

static void test_not_started(void **state)
{
	const char *const argv[] = {"no-such-program-here", NULL};
	struct job_spec s = {.argv = argv, .profile_fd = -1, .keep = 100};
	struct job_result r = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(job_run(&jobs, &s, -1, &r, &e), 0);
	assert_int_equal(r.why, JOB_NOT_STARTED);
	assert_int_equal(r.code, 127);
	assert_non_null(strstr(r.reason, "no-such-program-here: No such file"));
	job_result_done(&r);
	r = run_spec((struct job_spec){.dir = "/no/such/folder"}, "true");
	assert_int_equal(r.why, JOB_NOT_STARTED);
	assert_non_null(strstr(r.reason, "/no/such/folder"));
	job_result_done(&r);
}

static void test_streams(void **state)
{
	const char *const env[] = {"PATH=/usr/bin:/bin", "WORD=a b", NULL};
	struct job_result r = run_spec((struct job_spec){.env = env, .input = "in\0put", .n_input = 6, .dir = "/"},
	                               "cat; pwd; echo \"$WORD\"; env | wc -l; echo err >&2");

	(void)state;
	assert_int_equal(r.out.n, r.out.total);
	assert_memory_equal(r.out.bytes, "in\0put/\na b\n", 12);
	assert_string_equal(r.err.bytes, "err\n");
	job_result_done(&r);
	r = run_spec((struct job_spec){.merged = true}, "echo one; echo two >&2; echo three; read x || echo end");
	assert_string_equal(r.out.bytes, "one\ntwo\nthree\nend\n");
	assert_int_equal(r.err.total, 0);
	job_result_done(&r);
}

/* sha256sum(1) of a million bytes "a", the example of FIPS 180-2. */
static void test_capped(void **state)
{
	struct job_result r = run_spec((struct job_spec){.keep = 10}, "head -c 1000000 /dev/zero | tr '\\0' a");

	(void)state;
	assert_string_equal(r.out.bytes, "aaaaaaaaaa");
	assert_int_equal(r.out.total, 1000000);
	assert_string_equal(r.out.hash, "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	assert_string_equal(r.err.hash, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	job_result_done(&r);
	r = run_spec((struct job_spec){.keep = 10, .output_max = 100000}, "yes");
	assert_int_equal(r.why, JOB_LIMIT);
	assert_int_equal(r.out.n, 10);
	assert_true(r.out.total > 100000);
	job_result_done(&r);
}

#define TREE "trap '' TERM HUP INT; sleep 300 & setsid sh -c 'trap \"\" TERM HUP INT; (sleep 300 & sleep 300) & sleep 300' & "

static void test_trees(void **state)
{
	struct job_result r = run_spec((struct job_spec){.timeout_ms = 500}, TREE "sleep 300");

	(void)state;
	assert_int_equal(r.why, JOB_TIMEOUT);
	assert_int_equal(r.exit, 124);
	assert_true(r.left >= 5);
	assert_true(r.wall_ms >= 500 && r.wall_ms < 5000);
	job_result_done(&r);
	r = run_spec((struct job_spec){0}, TREE "sleep 0.2; exit 3");
	assert_int_equal(r.why, JOB_EXITED);
	assert_int_equal(r.code, 3);
	assert_true(r.left >= 4);
	job_result_done(&r);
	/* Without end, but not without bound: RLIMIT_NPROC does not hold root. */
	r = run_spec((struct job_spec){.timeout_ms = 700},
	             "[ $(id -u) -ne 0 ] || as='setpriv --reuid 65532 --clear-groups'; "
	             "exec $as prlimit --nproc=300 sh -c 'f() { f & f & sleep 0.05; f; }; f' 2>/dev/null");
	assert_true(r.why == JOB_TIMEOUT || r.why == JOB_EXITED || r.why == JOB_SIGNALED);
	job_result_done(&r);
}

static void start(struct job **ret, const char *script, uint64_t timeout_ms)
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct job_spec s = {.argv = argv, .profile_fd = -1, .keep = 4096, .timeout_ms = timeout_ms};
	struct err e = {0};

	if (job_start(ret, &jobs, &s, &e) != 0)
		fail_msg("%s", e.msg);
}

/* Moves all until each is over. */
static void move_all(struct job **j, size_t n)
{
	for (;;) {
		struct pollfd p[8 * JOB_POLLS];
		size_t over = 0;

		for (size_t i = 0; i < n; i++) {
			assert_int_equal(job_polls(j[i], p + i * JOB_POLLS), JOB_POLLS);
			over += job_over(j[i]) ? 1 : 0;
		}
		if (over == n)
			return;
		assert_true(poll(p, n * JOB_POLLS, 10000) > 0);
		for (size_t i = 0; i < n; i++) {
			struct err e = {0};

			if (job_move(j[i], p + i * JOB_POLLS, &e) != 0)
				fail_msg("%s", e.msg);
		}
	}
}

/* One of several kills its keeper: its tree is ended, the others come to their own ends. */
static void test_many(void **state)
{
	static const char *const scripts[] = {"sleep 1; echo done", "echo out; exit 1", TREE "sleep 0.2; kill -KILL $PPID; sleep 300",
	                                      "sleep 300", TREE "sleep 1; exit 5"};
	static const enum job_why whys[] = {JOB_EXITED, JOB_EXITED, JOB_LOST, JOB_TIMEOUT, JOB_EXITED};
	static const int exits[] = {0, 1, 125, 124, 5};
	struct job *j[5];

	(void)state;
	for (size_t i = 0; i < 5; i++)
		start(&j[i], scripts[i], i == 3 ? 1200 : 10000);
	move_all(j, 5);
	for (size_t i = 0; i < 5; i++) {
		struct job_result r = {0};
		struct err e = {0};

		assert_int_equal(job_finish(&j[i], &r, &e), 0);
		assert_null(j[i]);
		assert_int_equal(r.why, whys[i]);
		assert_int_equal(r.exit, exits[i]);
		if (i == 0)
			assert_string_equal(r.out.bytes, "done\n");
		job_result_done(&r);
	}
	assert_null(jobs.first);
	assert_int_equal(descendants_count(getpid()), 0);
}

static void test_ended(void **state)
{
	struct job_result r = {0};
	struct err e = {0};
	struct job *j = NULL;

	(void)state;
	start(&j, TREE "sleep 300", 0);
	assert_int_equal(job_finish(&j, &r, &e), 0);
	assert_int_equal(r.why, JOB_ENDED);
	assert_int_equal(descendants_count(getpid()), 0);
	job_result_done(&r);
}

/* The program that has the jobs is killed: their keepers end them. */
static void test_killed(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct job *j[3];

		for (size_t i = 0; i < 3; i++)
			start(&j[i], TREE "sleep 300", 0);
		(void)sleep(1);
		(void)raise(SIGKILL);
	}
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 50 && descendants_count(getpid()) > 0; i++)
		(void)usleep(100000);
	assert_int_equal(descendants_count(getpid()), 0);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends), cmocka_unit_test(test_not_started), cmocka_unit_test(test_streams),
		cmocka_unit_test(test_capped), cmocka_unit_test(test_trees), cmocka_unit_test(test_many), cmocka_unit_test(test_ended),
		cmocka_unit_test(test_killed),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
