/* A command whose refused calls are seen: answers as the program's, calls let through, deadlines, daemons, and commands that cannot
 * start. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/check_run.h"
#include "orchestrator/notify.h"
#include "orchestrator/profile_file.h"
#include "tests/unit/bpf.h"

#define DEADLINE_MS 60000

struct try {
	const char *profile;
	const char *script;          /* for sh */
	const char *path;            /* NULL: /bin/sh */
	unsigned int deadline_ms;
	bool unwatched;
	bool listed;
	const struct seccomp_data *list;
	unsigned int n_list;
	char printed[256];
	struct check_ran r;
};

static void try(struct try *t)
{
	char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)(t->script != NULL ? t->script : ""), NULL};
	char *env[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
	struct profile_program made = {0};
	struct profile p = {0};
	struct err e = {0};
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out = memfd_create("out", MFD_CLOEXEC);
	struct check_run run = {
		.program = &made, .watch = !t->unwatched, .listed = t->listed, .list = t->list, .n_list = t->n_list, .dir = "/",
		.path = t->path != NULL ? t->path : "/bin/sh", .argv = argv, .env = env, .in_fd = in, .out_fd = out, .err_fd = out,
		.deadline_ms = t->deadline_ms != 0 ? t->deadline_ms : DEADLINE_MS,
	};
	ssize_t n;

	if (profile_parse(&p, "x.yaml", t->profile, strlen(t->profile), false, &e) != 0 || profile_compile(&p, &made, &e) != 0 ||
	    check_run(&run, &t->r, &e) != 0)
		fail_msg("%s", e.msg);
	n = pread(out, t->printed, sizeof(t->printed) - 1, 0);
	assert_true(n >= 0);
	t->printed[n] = '\0';
	assert_int_equal(close(in), 0);
	assert_int_equal(close(out), 0);
	profile_program_done(&made);
	profile_done(&p);
}

static bool saw(const struct try *t, long nr)
{
	for (unsigned int i = 0; i < t->r.n; i++)
		if (t->r.call[i].nr == nr && t->r.call[i].arch == NATIVE)
			return true;
	return false;
}

#define DENY_KILL "extends: agent\ndeny: [{call: kill, errno: EACCES}]\n"
#define SELF "kill -0 $$ 2>/dev/null && echo yes || echo no; kill -0 $$ && echo yes || echo no"

static void answers(void **state)
{
	static const struct seccomp_data kill_call = {.nr = SYS_kill, .arch = NATIVE};
	static const struct seccomp_data other = {.nr = SYS_getpid, .arch = NATIVE};
	struct try t = {.profile = DENY_KILL, .script = SELF};

	(void)state;
	try(&t);
	assert_true(WIFEXITED(t.r.wstatus) && WEXITSTATUS(t.r.wstatus) == 0 && !t.r.late && t.r.error == 0);
	assert_non_null(strstr(t.printed, "no\n"));
	assert_non_null(strstr(t.printed, "Permission denied"));
	assert_true(saw(&t, SYS_kill));
	/* not in the list: as if it was allowed */
	t = (struct try){.profile = DENY_KILL, .script = SELF, .listed = true, .list = &other, .n_list = 1};
	try(&t);
	assert_string_equal(t.printed, "yes\nyes\n");
	assert_int_equal(t.r.n, 0);
	t = (struct try){.profile = DENY_KILL, .script = SELF, .listed = true, .list = &kill_call, .n_list = 1};
	try(&t);
	assert_non_null(strstr(t.printed, "Permission denied"));
	assert_true(t.r.n == 1 && saw(&t, SYS_kill));
	t.unwatched = true;
	try(&t);
	assert_non_null(strstr(t.printed, "Permission denied"));
	assert_int_equal(t.r.n, 0);
	t = (struct try){.profile = "extends: agent\n", .script = SELF};
	try(&t);
	assert_string_equal(t.printed, "yes\nyes\n");
	assert_false(saw(&t, SYS_kill));
}

static void kills_and_notifies(void **state)
{
	struct try t = {.profile = "extends: agent\ndeny: [{call: kill, errno: kill}]\n",
	                .script = "echo begun; kill -0 $$; echo lives"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		t.unwatched = i == 1;
		t.profile = "extends: agent\ndeny: [{call: kill, errno: kill}]\n";
		try(&t);
		assert_true(WIFSIGNALED(t.r.wstatus));
		assert_string_equal(t.printed, "begun\n");
		t.profile = "extends: agent\ndeny: [{call: kill, errno: notify}]\n";
		try(&t);
		assert_non_null(strstr(t.printed, "Function not implemented")); /* as the kernel says where nobody listens */
		assert_non_null(strstr(t.printed, "lives\n"));
	}
}

/* A call that passes does so in the kernel: the end of a child does not interrupt the next fork, as it would if we let it pass. */
static void signals(void **state)
{
	static const struct seccomp_data list[] = {{.nr = SYS_getppid, .arch = NATIVE}, {.nr = SYS_ptrace, .arch = NATIVE}};
	struct try t = {.profile = "extends: numeric-compute\n", .listed = true, .list = list, .n_list = 2,
	                .script = "trap : CHLD; i=0; while [ $i -lt 300 ]; do true & true & true | true || exit 1; "
	                          "i=$((i + 1)); done; wait; echo done"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		t.unwatched = i == 1;
		try(&t);
		assert_string_equal(t.printed, "done\n");
	}
}

/* Whatever the list, its calls get the program's answer and no others: the longest list, its first and its last call. */
static void long_list(void **state)
{
	struct seccomp_data list[CHECK_CALLS];
	struct try t = {.profile = DENY_KILL, .script = SELF, .listed = true, .list = list, .n_list = CHECK_CALLS};

	(void)state;
	for (unsigned int at = 0; at < CHECK_CALLS; at += CHECK_CALLS - 1) {
		for (unsigned int i = 0; i < CHECK_CALLS; i++)
			list[i] = (struct seccomp_data){.nr = 1000 + (int)i, .arch = NATIVE};
		try(&t);
		assert_string_equal(t.printed, "yes\nyes\n");
		list[at] = (struct seccomp_data){.nr = SYS_kill, .arch = FOREIGN};
		try(&t);
		assert_string_equal(t.printed, "yes\nyes\n");
		list[at].arch = NATIVE;
		try(&t);
		assert_non_null(strstr(t.printed, "Permission denied"));
	}
}

static int seconds_since(time_t then)
{
	return (int)(time(NULL) - then);
}

static void deadline(void **state)
{
	time_t then = time(NULL);
	struct try t = {.profile = "extends: agent\n", .script = "echo begun; sleep 300; echo late", .deadline_ms = 300};

	(void)state;
	try(&t);
	assert_true(t.r.late);
	assert_string_equal(t.printed, "begun\n");
	assert_true(seconds_since(then) < 100);
}

/* What left the command's session is gone as well when the result is there. */
static void daemons(void **state)
{
	struct try t = {.profile = "extends: agent\n",
	                .script = "{ setsid sh -c 'echo $$; setsid sleep 300 & sleep 300' & } | head -n 1; exit 3"};
	pid_t pid;

	(void)state;
	try(&t);
	assert_true(WIFEXITED(t.r.wstatus) && WEXITSTATUS(t.r.wstatus) == 3);
	pid = (pid_t)strtol(t.printed, NULL, 10);
	assert_true(pid > 1);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void cannot_start(void **state)
{
	struct try t = {.profile = "extends: strict\n", .path = "/nonexistent/program"};
	char script[] = "/tmp/stint-test.XXXXXX";
	int fd;

	(void)state;
	try(&t);
	assert_int_equal(t.r.error, ENOENT);
	t = (struct try){.profile = "extends: strict\n", .path = "/etc/passwd"};
	try(&t);
	assert_int_equal(t.r.error, EACCES);
	/* a failure that only the kernel sees, behind the filter */
	fd = mkstemp(script);
	assert_true(fd >= 0 && fchmod(fd, 0700) == 0 && write(fd, "#!/nonexistent/shell\n", 21) == 21 && close(fd) == 0);
	t = (struct try){.profile = "extends: strict\n", .path = script};
	try(&t);
	assert_int_equal(unlink(script), 0);
	assert_int_equal(t.r.error, ENOENT);
}

static void same_as_the_kernel(void **state)
{
	static const char *const names[] = {"agent", "build", "node", "python-stdlib-read-only", "pure-parse", "strict"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct filter *f = filter_find(names[i], true);
		struct profile_program p = {(struct sock_filter *)(uintptr_t)f->insn, f->n};

		for (int nr = -1; nr < 600; nr++)
			for (uint64_t a = 0; a < 64; a++) {
				struct seccomp_data d = {.nr = nr, .arch = a % 8 == 7 ? FOREIGN : NATIVE, .args = {a, a * 17, a << 10, a}};

				assert_int_equal(notify_evaluate(&p, &d), bpf_run(f, &d));
			}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers), cmocka_unit_test(kills_and_notifies), cmocka_unit_test(deadline), cmocka_unit_test(daemons),
		cmocka_unit_test(cannot_start), cmocka_unit_test(signals), cmocka_unit_test(long_list),
		cmocka_unit_test(same_as_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
