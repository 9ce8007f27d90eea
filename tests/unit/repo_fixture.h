/* What the tests of orchestrator/repo.h share: a throw-away project, the real git binary as the judge, a task's end. */
#ifndef STINT_TESTS_REPO_FIXTURE_H
#define STINT_TESTS_REPO_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/exit.h"
#include "base/fd.h"
#include "orchestrator/repo.h"

#define LIST(s) s "\0", sizeof(s)   /* a list that ends in NUL; write "a\0b" for two paths */
#define AUTHOR "stint <stint@localhost>"

static const char *const ZONES[] = {"src", "tests", "TASKS.md", "REVIEW.md"};
#define ZONES_N (sizeof(ZONES) / sizeof(ZONES[0]))

struct fix {
	char dir[64];
	char root[96];
	int root_fd;
	struct repo *r;
	struct err e;
};

/* Runs a shell line in the project; returns its exit status. */
__attribute__((format(printf, 2, 3)))
static int sh(const struct fix *f, const char *fmt, ...)
{
	char line[2048];
	char all[4096];
	va_list ap;
	int st;

	va_start(ap, fmt);
	assert_true(vsnprintf(line, sizeof(line), fmt, ap) < (int)sizeof(line));
	va_end(ap);
	assert_true(snprintf(all, sizeof(all), "cd %s && { %s\n} >%s/out 2>&1", f->root, line, f->dir) < (int)sizeof(all));
	st = system(all); /* NOLINT: a test's own words */
	assert_true(WIFEXITED(st));
	return WEXITSTATUS(st);
}

/* What the last sh() printed. */
static inline const char *out(const struct fix *f)
{
	static char text[16384];
	char path[128];
	ssize_t n;
	AUTO_FD fd = -1;

	(void)snprintf(path, sizeof(path), "%s/out", f->dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, text, sizeof(text) - 1);
	assert_true(n >= 0);
	text[n] = '\0';
	return text;
}

#define RUN(f, ...) do { if (sh(f, __VA_ARGS__) != 0) fail_msg("%s", out(f)); } while (0)
#define SAYS(f, expected, ...) do { RUN(f, __VA_ARGS__); assert_string_equal(out(f), expected); } while (0)

static inline int setup(void **state)
{
	struct fix *f = calloc(1, sizeof(*f));

	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/stint-test-repo.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	(void)snprintf(f->root, sizeof(f->root), "%s/p", f->dir);
	assert_int_equal(mkdir(f->root, 0755), 0);
	assert_int_equal(setenv("HOME", f->dir, 1), 0);
	assert_int_equal(setenv("GIT_CONFIG_NOSYSTEM", "1", 1), 0);
	assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
	RUN(f, "git config --global user.name T && git config --global user.email t@t && git config --global "
	       "init.defaultBranch main && git config --global protocol.file.allow always");
	f->root_fd = open(f->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = f;
	return 0;
}

/* The project that most tests start from: one commit, everything clean. */
static inline int setup_project(void **state)
{
	struct fix *f;

	(void)setup(state);
	f = *state;
	RUN(f, "git init -q && mkdir -p src/sub tests docs && echo one >src/a.c && echo two >src/sub/b.c && echo t >tests/t.sh && "
	       "echo d >docs/d && printf -- '- [ ] First\\n' >TASKS.md && printf '/.stint/\\n*.o\\nbuild/\\n' >.gitignore && "
	       "git add -A && git commit -qm first");
	assert_int_equal(repo_open(&f->r, f->root_fd, f->root, &f->e), 0);
	return 0;
}

static inline int teardown(void **state)
{
	struct fix *f = *state;
	char line[128];

	repo_free(f->r);
	fd_close(&f->root_fd);
	(void)snprintf(line, sizeof(line), "rm -rf %s", f->dir);
	assert_int_equal(system(line), 0);
	free(f);
	return 0;
}

/* Expects repo_check_start() to refuse with this word. */
static inline void check_refuses(struct fix *f, bool unfinished, const char *word)
{
	f->e = (struct err){0};
	if (repo_check_start(f->r, ZONES, ZONES_N, unfinished, &f->e) == 0)
		fail_msg("not refused: %s", word);
	assert_int_equal(f->e.exit, STOP_USAGE);
	if (strstr(f->e.msg, word) == NULL)
		fail_msg("\"%s\" is not in: %s", word, f->e.msg);
}

static inline void check_accepts(struct fix *f, bool unfinished)
{
	f->e = (struct err){0};
	if (repo_check_start(f->r, ZONES, ZONES_N, unfinished, &f->e) != 0)
		fail_msg("%s", f->e.msg);
}

static inline int commit(struct fix *f, const char *paths, size_t n, const char *tasks, struct buf *done)
{
	char oid[REPO_OID_SIZE];
	struct repo_commit_request q = {
		.zones = ZONES, .n_zones = ZONES_N, .paths = paths, .paths_len = n, .tasks = tasks,
		.tasks_len = tasks == NULL ? 0 : strlen(tasks), .title = "Add the thing", .author = AUTHOR, .run = "R1",
		.iterations = 2, .suite = "12 of 12 passed",
	};

	f->e = (struct err){0};
	return repo_commit(f->r, &q, oid, done, &f->e);
}

/* A whole task's end as the loop does it. */
static inline void commit_all(struct fix *f, const char *paths, size_t n)
{
	AUTO_BUF struct buf done = {0};

	if (commit(f, paths, n, "- [x] First\n", &done) != 0)
		fail_msg("%s", f->e.msg);
	RUN(f, "printf -- '- [x] First\\n' >TASKS.md");
	if (repo_refresh_index(f->r, done.data, done.len, &f->e) != 0)
		fail_msg("%s", f->e.msg);
	RUN(f, "git fsck --strict --no-dangling");
	RUN(f, "test ! -e .git/index.lock && test ! -e .git/index.stint");
}

#define PROJECT(t) cmocka_unit_test_setup_teardown(t, setup_project, teardown)
#define EMPTY(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

/* libgit2 1.5 forgets what it allocated for a regular expression that does not match (configuration of a remote). */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpcre2\n";
}

#endif
