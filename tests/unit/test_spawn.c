/* One command from the warden's side: identity, descriptors, environment, limits, its end and what it leaves. */
#include <sys/syscall.h>

#include "tests/unit/spawn_fixture.h"

#define AGENT 64100u

static struct fx fx;

static int setup(void **state)
{
	*state = &fx;
	fx_open(&fx, "/tmp", AGENT);
	fx_fill(&fx);
	return 0;
}

static int teardown(void **state)
{
	fx_close(*state);
	return 0;
}

static void test_status_and_usage(void **state)
{
	struct fx *f = *state;

	fx_reset(f);
	assert_int_equal(fx_run(f, "echo out; echo err >&2; exit 7"), 7);
	assert_string_equal(f->text, "out\nerr\n");
	assert_int_equal(f->gone.type, FRAME_EXITED);
	assert_int_equal(f->gone.flags, 0);
	assert_string_equal(f->gone.msg, "");
	assert_in_range(f->gone.max_rss, 100u << 10, 1u << 30);
	assert_int_equal(fx_run(f, "kill -TERM $$"), 128 + SIGTERM);
	/* An orphan's time counts: it was reaped by init, not by the command. */
	assert_int_equal(fx_run(f, "(sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done' &) | cat"), 0);
	assert_string_equal(f->text, "done\n");
	assert_true(f->gone.user_ms > 20);
	assert_true(f->gone.wall_ms >= 20);
}

static void test_identity(void **state)
{
	struct fx *f = *state;

	fx_reset(f);
	assert_prints(f, "id -u; id -g; umask; pwd >/dev/null && ps >/dev/null 2>&1; grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs)' "
	              "/proc/self/status | tr -s '\\t ' ' '",
	              "64100\n64100\n0022\nUid: 64100 64100 64100 64100\nGid: 64100 64100 64100 64100\nGroups: \n"
	              "CapInh: 0000000000000000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\n"
	              "CapBnd: 0000000000000000\nCapAmb: 0000000000000000\nNoNewPrivs: 1\n");
	f->as_owner = true;
	f->layers = LAYER_LANDLOCK | LAYER_SECCOMP;
	assert_prints(f, "id -u; grep -c '^Cap.*0000000000000000' /proc/self/status; grep -c ^Cap /proc/self/status",
	              "64101\n5\n5\n");
}

/* Signals are back to their defaults and none is blocked; the session is its own and has no terminal. */
static void test_signals_and_session(void **state)
{
	struct fx *f = *state;

	fx_reset(f);
	assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	assert_int_equal(syscall(SYS_rt_sigaction, 32, (const unsigned long[4]){1}, NULL, sizeof(unsigned long)), 0);
	assert_prints(f, "grep -E '^(SigBlk|SigIgn)' /proc/self/status | tr -s '\\t' ' '; "
	              "cut -d' ' -f6,7 /proc/$$/stat; echo $$; (: </dev/tty) 2>&1 | grep -o 'No such device or address'",
	              "SigBlk: 0000000000000000\nSigIgn: 0000000000000000\n2 0\n2\nNo such device or address\n");
	(void)signal(SIGPIPE, SIG_DFL);
}

static void test_environment(void **state)
{
	struct fx *f = *state;
	char want[1024];

	fx_reset(f);
	assert_int_equal(setenv("STINT_TEST_LEAK", "secret", 1), 0);
	f->env[0] = "CI=1";
	f->env[1] = "HOME=/elsewhere";
	f->env[2] = "STINT_ROLE=owner";
	f->prompt = "do it";
	(void)snprintf(want, sizeof(want), "CI=1\nHOME=%s\nLOGNAME=stint-test\nPATH=/usr/local/bin:/usr/bin:/bin\nPWD=%s\n"
	               "SHELL=/bin/sh\nSTINT_ITERATION=3\nSTINT_PROMPT_FILE=%s\nSTINT_ROLE=developer\nSTINT_TASK=one\nTERM=dumb\n"
	               "TMPDIR=/tmp\nUSER=stint-test\n", SANDBOX_HOME, f->root, SANDBOX_PROMPT);
	assert_prints(f, "env | grep -v -e ^_= -e ^SHLVL= -e ^OLDPWD= -e ^ASAN_ | LC_ALL=C sort", want);
	f->env[1] = "PATH=/bin";
	f->env[2] = "TERM=vt100";
	assert_prints(f, "echo $PATH $TERM", "/bin vt100\n");
}

/* ls opens the folder itself as number 3. */
static void test_no_descriptor_leaks(void **state)
{
	struct fx *f = *state;
	int leak = open("/etc/passwd", O_RDONLY);
	int high = fcntl(leak, F_DUPFD, 200);

	fx_reset(f);
	f->prompt = "do it";
	assert_true(leak >= 0 && high >= 200);
	assert_prints(f, "ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 ");
	assert_prints(f, "ls /proc/1/fd 2>&1 | grep -o 'Permission denied'", "Permission denied\n");
	(void)close(leak);
	(void)close(high);
}

static void test_input(void **state)
{
	struct fx *f = *state;
	const char *argv[] = {"/bin/echo", "<{prompt}>", NULL};

	fx_reset(f);
	assert_prints(f, "readlink /proc/self/fd/0; cat", "/dev/null\n");
	f->prompt = "do it; now\n";
	assert_prints(f, "cat; echo =; cat $STINT_PROMPT_FILE", "=\ndo it; now\n");
	f->role_flags = ROLE_STDIN_PROMPT;
	assert_prints(f, "cat; echo =; cat $STINT_PROMPT_FILE", "do it; now\n=\ndo it; now\n");
	assert_int_equal(fx_start(f, argv), 0);
	fx_finish(f);
	assert_string_equal(f->text, "<do it; now\n>\n");
	f->suite_log = "not ok 1\n";
	assert_prints(f, "ls /run/stint/suite.log 2>&1 | grep -o 'No such file'", "No such file\n");
	f->role_flags = ROLE_SUITE_LOG;
	assert_prints(f, "cat /run/stint/suite.log", "not ok 1\n");
	assert_prints(f, "(echo x >/run/stint/prompt) 2>&1 | grep -o 'Read-only file system'",
	              "Read-only file system\n");
}

static void test_limits(void **state)
{
	struct fx *f = *state;

	fx_reset(f);
	assert_prints(f, "ulimit -n; ulimit -c; ulimit -f", "256\n0\n131072\n");
	assert_prints(f, "grep -E '^Max (file size|open files|core)' /proc/self/limits | tr -s ' '",
	              "Max file size 67108864 67108864 bytes \nMax core file size 0 0 bytes \nMax open files 256 256 files \n");
	f->limits.file = 4096;
	assert_int_equal(fx_run(f, "head -c 4096 /dev/zero >/tmp/x && echo fits; head -c 4097 /dev/zero >/tmp/y"), 128 + SIGXFSZ);
	assert_has(f, "fits\n");
}

/* By the cgroup where it has the controller, by RLIMIT_NPROC elsewhere: the count is the same but for init's helpers. */
static void test_process_limit(void **state)
{
	static const char script[] = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do sleep 100 & done; "
	                             "echo all";
	struct fx *f = *state;

	fx_reset(f);
	assert_prints(f, script, "all\n");
	f->limits.processes = 20;
	assert_int_equal(fx_run(f, script), 2);
	assert_has(f, "Cannot fork");
	assert_int_equal(fx_left(AGENT), 0);
}

#ifndef __SANITIZE_ADDRESS__
/* tail keeps its last line, which is all of it. */
static void test_memory_limit(void **state)
{
	struct fx *f = *state;
	int rc;

	fx_reset(f);
	assert_prints(f, "head -c 100000000 /dev/zero | tail -n 1 | wc -c", "100000000\n");
	f->limits.memory = 64u << 20;
	assert_int_equal(fx_run(f, "head -c 100000000 /dev/zero | tail -n 1 | wc -c"), 0);
	assert_lacks(f, "100000000");
	/* Files in memory count: no space, or with a cgroup ended by the kernel. */
	f->limits.file = 0;
	rc = fx_run(f, "head -c 100000000 /dev/zero >/dev/shm/x");
	assert_true(rc == 1 || rc == 128 + SIGKILL);
}
#endif

/* Descendants that left the session keep the pipe open and ignore signals: all are gone when the command is. */
static void test_nothing_outlives(void **state)
{
	struct fx *f = *state;
	uint64_t start = fx_now_ms();

	fx_reset(f);
	assert_int_equal(fx_run(f, "trap '' TERM HUP; for i in 1 2 3; do (setsid sh -c 'trap \"\" TERM HUP; (sleep 1000 & sleep 1000) & "
	                        "sleep 1000' &) ; done; i=0; while [ $(ps -e -o comm= | grep -c '^sleep') -lt 9 ] && [ $i -lt 50 ]; do "
	                        "i=$((i+1)); read x </proc/uptime; done; ps -e -o comm= | grep -c '^sleep'; exit 3"), 3);
	assert_string_equal(f->text, "9\n");
	assert_int_equal(fx_left(AGENT), 0);
	assert_true(fx_now_ms() - start < 10000);
}

static void start_sleeper(struct fx *f)
{
	const char *argv[] = {"/bin/sh", "-c", "trap '' TERM HUP INT; (setsid sleep 1000 &); echo up; while :; do sleep 1000; done", NULL};
	char up[4] = "";

	assert_int_equal(fx_start(f, argv), 0);
	assert_int_equal(read(f->out, up, 3), 3);
	assert_string_equal(up, "up\n");
	assert_true(fx_left(AGENT) >= 2);
}

static void test_kill(void **state)
{
	struct fx *f = *state;

	fx_reset(f);
	start_sleeper(f);
	/* Init is deaf to everything but SIGKILL. */
	assert_int_equal(kill(f->spawn.init, SIGTERM), 0);
	assert_int_equal(kill(f->spawn.init, SIGINT), 0);
	(void)usleep(50000);
	assert_true(fx_left(AGENT) >= 2);
	spawn_kill(&f->spawn);
	spawn_kill(&f->spawn);
	fx_finish(f);
	spawn_kill(&f->spawn);
	assert_true(WIFSIGNALED(f->gone.wstatus) && WTERMSIG(f->gone.wstatus) == SIGKILL);
	assert_int_equal(f->gone.flags, 0);
	assert_int_equal(fx_left(AGENT), 0);
}

static void test_life_pipe(void **state)
{
	struct fx *f = *state;

	fx_reset(f);
	start_sleeper(f);
	fd_close(&f->spawn.life_fd);
	fx_finish(f);
	assert_int_equal(fx_left(AGENT), 0);
}

/* The warden is killed: the turn dies with it. */
static void test_parent_killed(void **state)
{
	struct fx *f = *state;
	pid_t warden = fork();
	int status;

	assert_true(warden >= 0);
	fx_reset(f);
	if (warden == 0) {
		start_sleeper(f);
		(void)raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(warden, &status, 0), warden);
	assert_true(WIFSIGNALED(status));
	for (int i = 0; i < 500 && fx_left(AGENT) > 0; i++)
		(void)usleep(10000);
	assert_int_equal(fx_left(AGENT), 0);
}

static void test_not_started(void **state)
{
	struct fx *f = *state;
	const char *missing[] = {"/usr/bin/no-such-program", NULL};
	const char *plain[] = {"/etc/passwd", NULL};

	fx_reset(f);
	assert_int_equal(fx_start(f, missing), 0);
	fx_finish(f);
	assert_int_equal(f->gone.wstatus, 127 << 8);
	assert_int_equal(f->gone.flags, 0);
	assert_non_null(strstr(f->gone.msg, "no-such-program"));
	assert_int_equal(fx_start(f, plain), 0);
	fx_finish(f);
	assert_int_equal(f->gone.wstatus, 126 << 8);
	assert_int_equal(f->gone.flags, 0);
	/* The command's own 125 is its own. */
	assert_int_equal(fx_run(f, "exit 125"), 125);
	assert_int_equal(f->gone.flags, 0);
	f->read[0] = "/opt/no-such-folder";
	assert_int_equal(fx_run(f, "echo started"), 125);
	assert_int_equal(f->gone.flags, EXITED_UNCONFINED);
	assert_string_equal(f->text, "");
	assert_non_null(strstr(f->gone.msg, "/opt/no-such-folder"));
}

/* A project of root's without the acl layer: the command is uid 0 and still has nothing of root. */
static void test_root_owner(void **state)
{
	struct fx *f = *state;
	uid_t owner = f->owner;

	fx_reset(f);
	f->owner = 0;
	f->as_owner = true;
	f->layers = LAYER_LANDLOCK;
	assert_int_equal(chown(f->root, 0, 0), 0);
	assert_int_equal(system("test -s /etc/shadow"), 0);
	assert_prints(f, "id -u; grep -c '^Cap.*0000000000000000' /proc/self/status; head -c 4 /etc/passwd; echo; "
	              "(cat /etc/shadow) 2>&1 | grep -o 'Permission denied'; "
	              "(cat tests/secret) 2>&1 | grep -o 'Permission denied'; "
	              "(echo 1 >/proc/sys/kernel/printk) 2>&1 | grep -o 'Read-only file system'; "
	              "(chmod 777 /dev/null) 2>&1 | grep -o 'Read-only file system'; "
	              "(chmod 777 tests) 2>&1 | grep -o 'Read-only file system'; "
	              "(mount -t tmpfs x /tmp) 2>&1 | grep -oE 'permission denied|Operation not permitted|must be superuser'; "
	              "readlink /proc/self/exe | grep -o readlink; readlink /proc/1/exe || echo no; echo ok >src/new && cat src/new",
	              "0\n5\nroot\nPermission denied\nPermission denied\nRead-only file system\nRead-only file system\n"
	              "Read-only file system\npermission denied\nreadlink\nno\nok\n");
	f->owner = owner;
	assert_int_equal(chown(f->root, owner, owner), 0);
}

static void test_agent_is_never_root(void **state)
{
	struct fx *f = *state;
	const char *argv[] = {"/bin/true", NULL};
	uid_t agent = f->agent;

	fx_reset(f);
	f->agent = 0;
	assert_int_equal(fx_start(f, argv), -EINVAL);
	fd_close(&f->out);
	f->agent = agent;
}

static void test_notes(void **state)
{
	struct fx *f = *state;
	const char *argv[] = {"/bin/true", NULL};
	char msg[FRAME_MSG_MAX] = "first";

	fx_reset(f);
	f->n_ports = 1;
	f->port = 443;
	fx_policy(f, argv);
	spawn_notes(f->b.p, 0, LAYER_ACL, msg, sizeof(msg));
	assert_non_null(strstr(msg, "first\ndeveloper: its ports are not enforced"));
	policy_done(&f->b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status_and_usage), cmocka_unit_test(test_identity),
		cmocka_unit_test(test_signals_and_session), cmocka_unit_test(test_environment),
		cmocka_unit_test(test_no_descriptor_leaks), cmocka_unit_test(test_input),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_process_limit),
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(test_memory_limit),
#endif
		cmocka_unit_test(test_nothing_outlives),
		cmocka_unit_test(test_kill), cmocka_unit_test(test_life_pipe),
		cmocka_unit_test(test_parent_killed), cmocka_unit_test(test_not_started),
		cmocka_unit_test(test_root_owner), cmocka_unit_test(test_agent_is_never_root),
		cmocka_unit_test(test_notes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
