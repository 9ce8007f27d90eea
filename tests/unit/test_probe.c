/* The probe: sees what a domain and ownership allow, and leaves no trace. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "protocol/frames.h"
#include "sandbox/landlock.h"
#include "sandbox/probe.h"

#define NOBODY 65534

struct place {
	char root[64];
	int fd;
};

static void make_file(int at, const char *path)
{
	int fd = openat(at, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "content", 7), 7);
	assert_int_equal(close(fd), 0);
}

/* rw/ and none/ with a file and a folder each, writable by everyone. */
static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	(void)umask(0);
	(void)snprintf(p->root, sizeof(p->root), "/tmp/test_probe_XXXXXX");
	assert_non_null(mkdtemp(p->root));
	assert_int_equal(chmod(p->root, 0755), 0);
	p->fd = open(p->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->fd >= 0);
	assert_int_equal(fchdir(p->fd), 0);
	assert_int_equal(mkdir("rw", 0777), 0);
	assert_int_equal(mkdir("none", 0777), 0);
	make_file(p->fd, "rw/f");
	make_file(p->fd, "none/f");
	assert_int_equal(mkdir("rw/d", 0777), 0);
	assert_int_equal(mkdir("none/d", 0777), 0);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	assert_int_equal(fchdir(p->fd), 0);
	assert_int_equal(chmod("rw", 0700), 0);
	assert_int_equal(unlink("rw/f"), 0);
	assert_int_equal(unlink("none/f"), 0);
	assert_int_equal(rmdir("rw/d"), 0);
	assert_int_equal(rmdir("none/d"), 0);
	assert_int_equal(rmdir("rw"), 0);
	assert_int_equal(rmdir("none"), 0);
	assert_int_equal(rmdir(p->root), 0);
	(void)close(p->fd);
	free(p);
	return 0;
}

static struct probe_target target(uint8_t op, const char *dir, const char *sample, bool is_dir)
{
	struct probe_target t = {.op = op, .is_dir = 1, .sample_is_dir = is_dir};

	(void)snprintf(t.dir, sizeof(t.dir), "%s", dir);
	(void)snprintf(t.sample, sizeof(t.sample), "%s", sample);
	return t;
}

/* Confines the child: "landlock" grants rw/ and nothing else; "uid" drops to nobody if root. */
static bool confine(const struct place *p, bool landlock, bool uid)
{
	struct landlock l = {.fd = -1};
	char path[96];
	int abi = landlock_abi();

	(void)snprintf(path, sizeof(path), "%s/rw", p->root);
	if (landlock && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	                 landlock_begin(&l, abi, landlock_rights_for(abi), NULL) != 0 ||
	                 landlock_add_path(&l, path, GRANT_WRITE, false, NULL) != 0 || landlock_enforce(&l, NULL) != 0))
		return false;
	return !uid || geteuid() != 0 || (setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
}

/* Runs the probe in a confined child and returns its one answer. */
static struct probe_result probe(const struct place *p, bool landlock, bool uid, struct probe_target t)
{
	struct probe_result r = {.index = UINT32_MAX};
	int targets = fd_sealed_memfd("targets", &t, sizeof(t));
	int pipes[2];
	int status;
	pid_t pid;

	assert_true(targets >= 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(confine(p, landlock, uid) && probe_run(targets, pipes[1], NULL) == 0 ? 0 : 1);
	(void)close(pipes[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(pipes[0], &r, sizeof(r)), sizeof(r));
	assert_int_equal(r.index, 0);
	(void)close(pipes[0]);
	(void)close(targets);
	return r;
}

static void check(const struct place *p, bool landlock, bool uid, struct probe_target t, int allowed, int seen)
{
	struct probe_result r = probe(p, landlock, uid, t);

	if (r.allowed != allowed || r.err != seen)
		fail_msg("%s of %s: allowed %d errno %d, want %d and %d", prove_op_name(t.op), t.sample, r.allowed, r.err,
		         allowed, seen);
}

/* The errnos that say yes and no, for each op; files and folders as samples. */
static void landlock_alone(void **state)
{
	const struct place *p = *state;

	for (int dir = 0; dir < 2; dir++) {
		const char *rw = dir ? "rw/d" : "rw/f";
		const char *none = dir ? "none/d" : "none/f";

		check(p, true, false, target(OP_LIST, "rw", rw, dir), 1, 0);
		check(p, true, false, target(OP_LIST, "none", none, dir), 0, EACCES);
		check(p, true, false, target(OP_READ, "rw", rw, dir), 1, 0);
		check(p, true, false, target(OP_READ, "none", none, dir), 0, EACCES);
		check(p, true, false, target(OP_CREATE, "rw", rw, dir), 1, 0);
		check(p, true, false, target(OP_CREATE, "none", none, dir), 0, EACCES);
		check(p, true, false, target(OP_DELETE, "rw", rw, dir), 1, dir ? EISDIR : ENOTDIR);
		check(p, true, false, target(OP_DELETE, "none", none, dir), 0, EACCES);
	}
	check(p, true, false, target(OP_WRITE, "rw", "rw/f", false), 1, EFBIG);
	/* Below ABI 3 the probe must say that Landlock alone does not hold truncate(2): the view's mounts do, see view.c. */
	if (landlock_abi() >= 3)
		check(p, true, false, target(OP_WRITE, "none", "none/f", false), 0, EACCES);
	else
		check(p, true, false, target(OP_WRITE, "none", "none/f", false), 1, EFBIG);
}

static void ownership_alone(void **state)
{
	const struct place *p = *state;

	if (geteuid() != 0)
		skip();
	check(p, false, true, target(OP_LIST, "none", "none/f", false), 1, 0);
	check(p, false, true, target(OP_WRITE, "none", "none/f", false), 1, EFBIG);
	check(p, false, true, target(OP_CREATE, "none", "none/f", false), 1, 0);
	check(p, false, true, target(OP_DELETE, "none", "none/f", false), 1, ENOTDIR);
	assert_int_equal(chmod("none", 0755), 0); /* read-only for others */
	assert_int_equal(chmod("none/f", 0644), 0);
	check(p, false, true, target(OP_LIST, "none", "none/f", false), 1, 0);
	check(p, false, true, target(OP_READ, "none", "none/f", false), 1, 0);
	check(p, false, true, target(OP_WRITE, "none", "none/f", false), 0, EACCES);
	check(p, false, true, target(OP_CREATE, "none", "none/f", false), 0, EACCES);
	check(p, false, true, target(OP_DELETE, "none", "none/f", false), 0, EACCES);
	assert_int_equal(chmod("none", 0700), 0); /* sealed */
	for (uint8_t op = 0; op < OP_COUNT; op++)
		check(p, false, true, target(op, "none", "none/f", false), 0, EACCES);
}

/* Nothing was written, removed or touched, not even by a target that calls an empty folder a file. */
static void no_trace(void **state)
{
	const struct place *p = *state;
	struct stat before[3];
	struct stat after[3];
	static const char *const paths[] = {"rw", "rw/f", "rw/d"};

	for (size_t i = 0; i < 3; i++)
		assert_int_equal(lstat(paths[i], &before[i]), 0);
	for (uint8_t op = 0; op < OP_COUNT; op++) {
		(void)probe(p, true, false, target(op, "rw", "rw/f", false));
		(void)probe(p, false, false, target(op, "rw", "rw/f", true));
		(void)probe(p, false, false, target(op, "rw", "rw/d", false));
	}
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(lstat(paths[i], &after[i]), 0);
		assert_int_equal(before[i].st_ino, after[i].st_ino);
		assert_int_equal(before[i].st_size, after[i].st_size);
		assert_memory_equal(&before[i].st_mtim, &after[i].st_mtim, sizeof(before[i].st_mtim));
		assert_memory_equal(&before[i].st_ctim, &after[i].st_ctim, sizeof(before[i].st_ctim));
	}
}

static int run_targets(const void *data, size_t n)
{
	AUTO_FD targets = fd_sealed_memfd("targets", data, n);
	AUTO_FD null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	assert_true(targets >= 0 && null >= 0);
	return probe_run(targets, null, NULL);
}

static void malformed_targets(void **state)
{
	struct probe_target t = target(OP_READ, "rw", "rw/f", false);
	AUTO_FD plain = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(run_targets(&t, sizeof(t)), 0);
	assert_int_equal(run_targets(&t, sizeof(t) - 1), -EINVAL);
	assert_int_equal(run_targets(&t, 0), 0);
	t.op = OP_COUNT;
	assert_int_equal(run_targets(&t, sizeof(t)), -EINVAL);
	t = target(OP_READ, "rw", "/etc/passwd", false);
	assert_int_equal(run_targets(&t, sizeof(t)), -EINVAL);
	t = target(OP_READ, "rw", "rw/../none/f", false);
	assert_int_equal(run_targets(&t, sizeof(t)), -EINVAL);
	t = target(OP_READ, "rw", "", false);
	assert_int_equal(run_targets(&t, sizeof(t)), -EINVAL);
	t = target(OP_READ, "rw", "rw/..f", false);
	assert_int_equal(run_targets(&t, sizeof(t)), 0);
	memset(t.sample, 'a', sizeof(t.sample));
	assert_int_equal(run_targets(&t, sizeof(t)), -EINVAL);
	assert_int_equal(probe_run(plain, 1, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(landlock_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ownership_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_trace, set_up, tear_down),
		cmocka_unit_test_setup_teardown(malformed_targets, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
