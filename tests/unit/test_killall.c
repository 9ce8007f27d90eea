/* Ending every process of an account, and nobody else's. */
#include "tests/unit/spawn_fixture.h"

#include <grp.h>
#include <sys/prctl.h>

#define VICTIM 64120u
#define BYSTANDER 64121u

/* A process of uid in a session of its own that ignores what it can and has a child like itself. */
static pid_t start(uid_t uid, bool stopped)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	if (setsid() < 0 || setgroups(0, NULL) != 0 || setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0)
		_exit(1);
	(void)signal(SIGTERM, SIG_IGN);
	(void)!fork();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (stopped)
		(void)raise(SIGSTOP);
	for (;;)
		(void)pause();
}

static void wait_for(uid_t uid, uint64_t n)
{
	for (int i = 0; i < 500 && fx_left(uid) != n; i++)
		(void)usleep(5000);
	assert_int_equal(fx_left(uid), n);
}

static void test_all_and_only(void **state)
{
	pid_t a = start(VICTIM, false);
	pid_t b = start(VICTIM, true);
	pid_t other = start(BYSTANDER, false);
	int status;

	(void)state;
	wait_for(VICTIM, 4);
	wait_for(BYSTANDER, 2);
	assert_int_equal(kill_all_of(VICTIM, NULL), 0);
	assert_int_equal(fx_left(VICTIM), 0);
	assert_int_equal(fx_left(BYSTANDER), 2);
	assert_int_equal(waitpid(a, &status, 0), a);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(waitpid(b, &status, 0), b);
	assert_int_equal(kill_all_of(BYSTANDER, NULL), 0);
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(kill_all_of(VICTIM, NULL), 0);
}

/* Each kills what it can see of its own uid, the killer included, and forks all the time. */
static void test_fighting_back(void **state)
{
	struct err e = {0};
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setgroups(0, NULL) != 0 || setresgid(VICTIM, VICTIM, VICTIM) != 0 || setresuid(VICTIM, VICTIM, VICTIM) != 0)
			_exit(1);
		(void)signal(SIGCHLD, SIG_IGN);
		for (int i = 0;; i++) {
			if (fork() == 0) {
				(void)usleep(2000);
				_exit(0);
			}
			if (i % 16 == 0)
				(void)kill(-1, SIGSTOP);
			(void)usleep(200);
		}
	}
	for (int i = 0; i < 500 && fx_left(VICTIM) < 3; i++)
		(void)usleep(1000);
	if (kill_all_of(VICTIM, &e) != 0)
		fail_msg("%s", e.msg);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(fx_left(VICTIM), 0);
}

static void test_refuses_root(void **state)
{
	struct err e = {0};

	(void)state;
	assert_int_equal(kill_all_of(0, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "root"));
}

/* A zombie cannot be killed and holds nothing. */
static void test_zombies_do_not_count(void **state)
{
	pid_t pid = start(VICTIM, false);
	int status;

	(void)state;
	wait_for(VICTIM, 2);
	assert_int_equal(kill(-pid, SIGKILL), 0);
	wait_for(VICTIM, 0);
	assert_int_equal(kill_all_of(VICTIM, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_and_only), cmocka_unit_test(test_fighting_back), cmocka_unit_test(test_refuses_root),
		cmocka_unit_test(test_zombies_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
