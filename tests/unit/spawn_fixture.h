/* A small project below a 0700 folder and a way to run a shell script in it as a role. Root only.
 *
 * Without ACLs: zones that the agent may use are simply open to everybody, so that what denies here is the view. */
#ifndef STINT_TESTS_UNIT_SPAWN_FIXTURE_H
#define STINT_TESTS_UNIT_SPAWN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "sandbox/killall.h"
#include "sandbox/spawn.h"

#define UNUSED __attribute__((unused))
#define ALL_BUT_SECCOMP (LAYER_ACL | LAYER_LANDLOCK)

struct fx {
	char base[64];          /* 0755 */
	char root[160];         /* base/closed/proj; closed is 0700 of the owner */
	uid_t agent, owner;
	int root_fd, guard_fd;
	/* what the next run uses; reset by fx_reset() */
	unsigned int layers;
	bool covers;
	bool as_owner;
	uint32_t role_flags;
	uint32_t n_ports;
	uint16_t port;
	const char *env[8];
	const char *read[4];
	const char *scratch[4];
	const char *role_name;
	const char *prompt, *suite_log;
	struct policy_limits limits;
	struct policy_builder b;
	struct spawn_spec spec;
	struct spawn spawn;
	int out;
	struct err e;
	struct frame_exited gone;
	char text[16384];       /* the last run's stdout and stderr */
};

static UNUSED uint64_t fx_now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

static UNUSED void fx_file(const struct fx *f, const char *path, const char *text, mode_t mode, uid_t uid)
{
	char full[256];
	int fd;

	(void)snprintf(full, sizeof(full), "%s/%s", f->root, path);
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(fchown(fd, uid, uid), 0);
	(void)close(fd);
}

static UNUSED void fx_dir(const struct fx *f, const char *path, mode_t mode, uid_t uid)
{
	char full[256];

	(void)snprintf(full, sizeof(full), "%s/%s", f->root, path);
	assert_int_equal(mkdir(full, 0700), 0);
	assert_int_equal(chmod(full, mode), 0);
	assert_int_equal(chown(full, uid, uid), 0);
}

static UNUSED void fx_reset(struct fx *f)
{
	f->layers = LAYER_ALL;
	f->covers = true;
	f->as_owner = false;
	f->role_flags = 0;
	f->n_ports = 0;
	f->port = 0;
	memset(f->env, 0, sizeof(f->env));
	memset(f->read, 0, sizeof(f->read));
	memset(f->scratch, 0, sizeof(f->scratch));
	f->role_name = "developer";
	f->prompt = NULL;
	f->suite_log = NULL;
	f->limits = (struct policy_limits){.file = 64u << 20, .processes = 200, .open_files = 256};
#ifndef __SANITIZE_ADDRESS__
	f->limits.memory = 1u << 30; /* the sanitizer's shadow does not fit in RLIMIT_DATA */
#endif
}

/* The guard of the same build: BUILD/tests/test_x beside BUILD/bin. */
static UNUSED int fx_open_guard(void)
{
	char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	char *slash;

	assert_true(n > 0);
	path[n] = '\0';
	slash = strrchr(path, '/');
	(void)snprintf(slash, 32, "/../bin/stint-guard");
	return open(path, O_PATH | O_CLOEXEC);
}

/* below: a folder that everybody may traverse. */
static UNUSED void fx_open(struct fx *f, const char *below, uid_t agent)
{
	char path[128];

	memset(f, 0, sizeof(*f));
	f->agent = agent;
	f->owner = agent + 1;
	f->out = -1;
	(void)umask(022);
	(void)snprintf(f->base, sizeof(f->base), "%s/stint-spawn-XXXXXX", below);
	assert_non_null(mkdtemp(f->base));
	assert_int_equal(chmod(f->base, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/closed", f->base);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chown(path, f->owner, f->owner), 0);
	(void)snprintf(f->root, sizeof(f->root), "%s/proj", path);
	assert_int_equal(mkdir(f->root, 0755), 0);
	assert_int_equal(chown(f->root, f->owner, f->owner), 0);
}

static UNUSED void fx_fill(struct fx *f)
{
	fx_dir(f, "src", 0777, f->owner);
	fx_file(f, "src/a.c", "int a;\n", 0666, f->owner);
	fx_dir(f, "tests", 0755, f->owner);
	fx_file(f, "tests/secret", "the answer\n", 0644, f->owner);
	fx_dir(f, ".git", 0755, f->owner);
	fx_file(f, ".git/config", "[core]\n", 0644, f->owner);
	fx_file(f, "TASKS.md", "- [ ] one\n", 0644, f->owner);
	fx_file(f, "notes", "unlisted\n", 0644, f->owner);
	fx_dir(f, "lib", 0755, f->owner);
	fx_dir(f, "lib/core", 0777, f->owner);
	fx_file(f, "lib/core/c", "core\n", 0644, f->owner);
	fx_file(f, "lib/other", "other\n", 0644, f->owner);
	f->root_fd = open(f->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->guard_fd = fx_open_guard();
	assert_true(f->root_fd >= 0);
	assert_true(f->guard_fd >= 0);
	fx_reset(f);
}

static UNUSED void fx_entry(struct policy *p, uint32_t off, enum policy_kind kind, enum level level)
{
	struct policy_entry *entry = &p->entry[p->n_entries++];

	*entry = (struct policy_entry){.path = off, .kind = (uint8_t)kind, .flags = ENTRY_NAMED, .level = {(uint8_t)level}};
}

static UNUSED uint32_t fx_count(const char *const *v, size_t max)
{
	uint32_t n = 0;

	while (n < max && v[n] != NULL)
		n++;
	return n;
}

/* One role, number 0, that runs argv. */
static UNUSED void fx_policy(struct fx *f, const char *const *argv)
{
	struct policy_builder *b = &f->b;
	const char *env[9] = {0};
	uint32_t src, tests, tasks, core;
	struct policy_list list;
	uint32_t n = 0;
	uint32_t n_env = fx_count(f->env, 8);

	memcpy(env, f->env, sizeof(f->env));
#ifdef __SANITIZE_ADDRESS__
	env[n_env++] = "ASAN_OPTIONS=detect_leaks=0"; /* it traces, which the filter refuses */
#endif
	while (argv[n] != NULL)
		n++;
	assert_int_equal(policy_begin(b), 0);
	assert_int_equal(policy_add_str(b, "src", &src), 0);
	assert_int_equal(policy_add_str(b, "tests", &tests), 0);
	assert_int_equal(policy_add_str(b, "TASKS.md", &tasks), 0);
	assert_int_equal(policy_add_str(b, "lib/core", &core), 0);
	fx_entry(b->p, src, POLICY_DIR, LEVEL_RW);
	fx_entry(b->p, tests, POLICY_DIR, LEVEL_NONE);
	fx_entry(b->p, tasks, POLICY_FILE, LEVEL_R);
	fx_entry(b->p, core, POLICY_DIR, LEVEL_RW);
	assert_int_equal(policy_add_str(b, "stint-test", &src), 0);
	b->p->agent_user = src;
	b->p->umask = 022;
	b->p->n_roles = 1;
	b->p->limits = f->limits;
	(void)snprintf(b->p->role[0].name, sizeof(b->p->role[0].name), "%s", f->role_name);
	b->p->role[0].flags = f->role_flags;
	b->p->role[0].n_ports = f->n_ports;
	b->p->role[0].ports[0] = f->port;
	assert_int_equal(policy_add_list(b, argv, n, &list), 0);
	b->p->role[0].argv = list;
	assert_int_equal(policy_add_list(b, env, n_env, &list), 0);
	b->p->role[0].env = list;
	assert_int_equal(policy_add_list(b, f->read, fx_count(f->read, 4), &list), 0);
	b->p->role[0].read = list;
	assert_int_equal(policy_add_list(b, f->scratch, fx_count(f->scratch, 4), &list), 0);
	b->p->scratch = list;
}

static UNUSED int fx_memfd(const char *text)
{
	int fd = text == NULL ? -1 : fd_sealed_memfd("test", text, strlen(text));

	assert_true(text == NULL || fd >= 0);
	return fd;
}

/* Starts argv; f->out is the read end of its stdout and stderr. */
static UNUSED int fx_start(struct fx *f, const char *const *argv)
{
	int pipes[2];
	uid_t uid = f->as_owner ? f->owner : f->agent;
	int rc;

	fx_policy(f, argv);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	f->spec = (struct spawn_spec){
		.policy = f->b.p, .role = 0, .layers = f->layers, .covers = f->covers, .root_fd = f->root_fd,
		.root_path = f->root, .uid = uid, .gid = uid, .owner = f->owner, .owner_gid = f->owner, .agent = f->agent,
		.guard_fd = f->guard_fd, .fds = {pipes[1], pipes[1], fx_memfd(f->prompt), fx_memfd(f->suite_log)},
		.probe_fd = -1, .iteration = 3, .task = "one",
	};
	memset(&f->e, 0, sizeof(f->e));
	rc = spawn_start(&f->spawn, &f->spec, &f->e);
	(void)close(pipes[1]);
	fd_close(&f->spec.fds[SPAWN_PROMPT]);
	fd_close(&f->spec.fds[SPAWN_SUITE_LOG]);
	policy_done(&f->b);
	f->out = pipes[0];
	return rc;
}

/* Reads the output to its end and waits. */
static UNUSED void fx_finish(struct fx *f)
{
	size_t n = 0;

	for (;;) {
		ssize_t got = read(f->out, f->text + n, sizeof(f->text) - 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	f->text[n] = '\0';
	fd_close(&f->out);
	assert_int_equal(spawn_wait(&f->spawn, &f->gone, &f->e), 0);
}

/* Runs a script to its end and returns its exit status (128+N for a signal). */
static UNUSED int fx_run(struct fx *f, const char *script)
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};

	if (fx_start(f, argv) != 0)
		fail_msg("spawn_start: %s", f->e.msg);
	fx_finish(f);
	if ((f->gone.flags & EXITED_UNCONFINED) != 0)
		print_message("unconfined: %s\n", f->gone.msg);
	return WIFEXITED(f->gone.wstatus) ? WEXITSTATUS(f->gone.wstatus) : 128 + WTERMSIG(f->gone.wstatus);
}

#define assert_has(f, piece) \
	do { \
		if (strstr((f)->text, (piece)) == NULL) \
			fail_msg("output lacks \"%s\":\n%s", (piece), (f)->text); \
	} while (0)
#define assert_lacks(f, piece) \
	do { \
		if (strstr((f)->text, (piece)) != NULL) \
			fail_msg("output has \"%s\":\n%s", (piece), (f)->text); \
	} while (0)
/* The script's status is 0 and its output is exactly this. */
#define assert_prints(f, script, want) \
	do { \
		int rc_ = fx_run((f), (script)); \
		if (rc_ != 0 || strcmp((f)->text, (want)) != 0) \
			fail_msg("status %d, output:\n%s(message: %s)", rc_, (f)->text, (f)->gone.msg); \
	} while (0)

static UNUSED uint64_t fx_left(uid_t uid)
{
	uint64_t threads = 0;
	pid_t pid;

	assert_int_equal(uid_processes(uid, &threads, &pid, NULL), 0);
	return threads;
}

static UNUSED void fx_close(struct fx *f)
{
	char command[256];

	fd_close(&f->root_fd);
	fd_close(&f->guard_fd);
	/* A test that failed may have left a mount. */
	(void)snprintf(command, sizeof(command), "umount -R %s 2>/dev/null; rm -rf %s", f->base, f->base);
	assert_int_equal(system(command), 0);
}

#endif
