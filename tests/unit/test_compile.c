/* From configuration and tree to the policy: what "*" catches, what is refused, and what the others get. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/compile.h"
#include "orchestrator/git_guard.h"
#include "protocol/policy.h"

struct tree {
	char path[64];
	int fd;
	struct buf notes;
	struct err e;
	const struct policy *p;
};

static int setup(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	strcpy(t->path, "/tmp/stint-compile.XXXXXX");
	assert_non_null(mkdtemp(t->path));
	t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(t->fd >= 0);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct tree *t = *state;
	char command[128];

	policy_unmap(t->p);
	buf_done(&t->notes);
	close(t->fd);
	(void)snprintf(command, sizeof(command), "rm -rf --one-file-system %s", t->path);
	assert_int_equal(system(command), 0);
	free(t);
	return 0;
}

static void folder(struct tree *t, const char *path)
{
	int fd = fd_mkdirs_beneath(t->fd, path, 0755);

	assert_true(fd >= 0);
	close(fd);
}

static void file(struct tree *t, const char *path)
{
	int fd = openat(t->fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	close(fd);
}

/* The whole default layout. */
static void layout(struct tree *t)
{
	folder(t, "src");
	folder(t, "tests");
	file(t, "TASKS.md");
}

static int compile_with(struct tree *t, const char *yaml, const struct compile_options *o)
{
	struct config c = {0};
	int fd;

	t->e = (struct err){0};
	policy_unmap(t->p);
	t->p = NULL;
	t->notes.len = 0;
	if (config_parse(&c, "stint.yaml", yaml, strlen(yaml), &t->e) != 0)
		fail_msg("%s", t->e.msg);
	fd = policy_compile(&c, t->fd, o, &t->notes, &t->e);
	config_done(&c);
	if (fd < 0) {
		assert_int_equal(t->e.exit, STOP_USAGE);
		return fd;
	}
	assert_int_equal(policy_map(fd, &t->p, &t->e), 0);
	close(fd);
	assert_non_null(buf_str(&t->notes));
	return 0;
}

static int compile(struct tree *t, const char *yaml)
{
	const struct compile_options o = {.layers = LAYER_ALL, .role = COMPILE_NOBODY};

	return compile_with(t, yaml, &o);
}

static void accepted(struct tree *t, const char *yaml)
{
	if (compile(t, yaml) != 0)
		fail_msg("%s", t->e.msg);
}

static void refused(struct tree *t, const char *yaml, const char *part)
{
	if (compile(t, yaml) == 0)
		fail_msg("accepted: %s", yaml);
	if (strstr(t->e.msg, part) == NULL)
		fail_msg("no \"%s\" in: %s", part, t->e.msg);
}

static const struct policy_entry *find(const struct tree *t, const char *path)
{
	for (uint32_t i = 0; i < t->p->n_entries; i++)
		if (str_eq(policy_str(t->p, t->p->entry[i].path), path))
			return &t->p->entry[i];
	return NULL;
}

static void noted(struct tree *t, const char *line)
{
	if (strstr(t->notes.data, line) == NULL)
		fail_msg("no \"%s\" in: %s", line, t->notes.data);
}

static void test_builtin_table(void **state)
{
	struct tree *t = *state;

	layout(t);
	file(t, "README");
	folder(t, "docs");
	folder(t, ".git/objects");
	folder(t, ".stint/runs");
	file(t, ".env");
	accepted(t, "");
	assert_int_equal(t->p->n_entries, 6);
	assert_int_equal(find(t, "src")->level[0], LEVEL_RW);
	assert_int_equal(find(t, "src")->flags, ENTRY_NAMED);
	assert_int_equal(find(t, "src")->kind, POLICY_DIR);
	assert_int_equal(find(t, "README")->kind, POLICY_FILE);
	assert_int_equal(find(t, "README")->flags, 0);
	assert_int_equal(find(t, "docs")->level[3], LEVEL_R);
	assert_int_equal(find(t, "REVIEW.md")->flags, ENTRY_NAMED);
	assert_null(find(t, ".git"));
	assert_null(find(t, ".stint"));
	assert_null(find(t, ".env"));
	noted(t, ".env: \"*\" leaves it closed: it may hold secrets");
	assert_string_equal(policy_str(t->p, t->p->agent_user), "stint-agent");
	assert_int_equal(t->p->role[3].flags, ROLE_FRESH_HOME);
	assert_int_equal(t->p->role[2].flags, ROLE_SUITE_LOG);
	assert_int_equal(t->p->limits.open_files, 4096);
}

static void test_rest_leaves_closed(void **state)
{
	struct tree *t = *state;

	layout(t);
	assert_int_equal(symlinkat("/etc", t->fd, "link"), 0);
	assert_int_equal(mkfifoat(t->fd, "fifo", 0644), 0);
	file(t, "a\nb");
	accepted(t, "");
	assert_null(find(t, "link"));
	assert_null(find(t, "fifo"));
	assert_non_null(find(t, "a\nb"));
	noted(t, "link: \"*\" leaves it closed: a symbolic link\n");
	noted(t, "fifo: \"*\" leaves it closed: neither a file nor a folder\n");
	if (geteuid() != 0)
		skip();
	file(t, "strange");
	assert_int_equal(fchownat(t->fd, "strange", 12345, 12345, 0), 0);
	accepted(t, "");
	assert_null(find(t, "strange"));
	noted(t, "strange: \"*\" leaves it closed: another user's\n");
	refused(t, "access: {strange: {developer: r}}\n", "owner");
	assert_int_equal(fchownat(t->fd, "strange", geteuid(), getegid(), 0), 0);
	accepted(t, "access: {strange: {developer: r}}\n");
}

static void test_mount_points(void **state)
{
	struct tree *t = *state;
	char path[128];

	if (geteuid() != 0)
		skip();
	layout(t);
	folder(t, "mnt/inner");
	accepted(t, "access: {mnt/: {developer: r}}\n");
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	/* The old descriptor is of the old namespace, which will not see the mount. */
	close(t->fd);
	t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "%s/mnt", t->path);
	assert_int_equal(mount("tmpfs", path, "tmpfs", 0, NULL), 0);
	refused(t, "access: {mnt/: {developer: r}}\n", "mount point");
	accepted(t, "access: {src/: {developer: r}, \"*\": {developer: r}}\n");
	assert_null(find(t, "mnt"));
	noted(t, "mnt: \"*\" leaves it closed: a mount point\n");
	assert_int_equal(umount(path), 0);
}

static void test_named_rows(void **state)
{
	struct tree *t = *state;

	layout(t);
	folder(t, "lib/core/src");
	file(t, "lib/core/other");
	assert_int_equal(symlinkat("src", t->fd, "link"), 0);
	assert_int_equal(symlinkat("lib", t->fd, "way"), 0);
	accepted(t, "access: {lib/core/src/: {developer: rw}, \"*\": {developer: r}}\n");
	assert_non_null(find(t, "lib/core/src"));
	assert_null(find(t, "lib"));
	assert_non_null(find(t, "src"));
	refused(t, "access: {link/: {developer: r}}\n", "stint.yaml:1:10: link cannot be a zone: a symbolic link");
	refused(t, "access: {way/core/: {developer: r}}\n", "symbolic link");
	refused(t, "access: {src: {developer: r}}\n", "write it as src/");
	refused(t, "access: {TASKS.md/: {developer: r}}\n", "is a file");
	refused(t, "access: {TASKS.md/x: {developer: r}}\n", "no folder");
	refused(t, "access: {new/: {developer: r}}\n", "mkdir -p new");
	refused(t, "access: {no/file: {developer: rw}}\n", "mkdir -p no");
	accepted(t, "access: {new/: {developer: none}, src/: {developer: r}}\n");
	assert_null(find(t, "new"));
	accepted(t, "access: {missing: {developer: r}, born: {tester: rw}, lib/core/born: {tester: rw}}\n");
	assert_null(find(t, "missing"));
	noted(t, "missing: not there");
	assert_int_equal(find(t, "born")->flags, ENTRY_NAMED);
	assert_int_equal(find(t, "lib/core/born")->kind, POLICY_FILE);
	accepted(t, "access: {.git/: {developer: rw}, src/: {developer: r}}\n");
	assert_null(find(t, ".git"));
	noted(t, ".git: closed to every role, whatever stint.yaml says");
	accepted(t, "access: {.env: {developer: rw}}\n");
	assert_non_null(find(t, ".env"));
}

static void test_scratch(void **state)
{
	struct tree *t = *state;

	layout(t);
	folder(t, "build");
	folder(t, "web/cache");
	accepted(t, "scratch: [build/, new]\n");
	assert_null(find(t, "build"));
	assert_int_equal(t->p->scratch.n, 2);
	refused(t, "scratch: [web/cache]\n", "web/ rows");
	accepted(t, "scratch: [web/cache]\naccess: {src/: {developer: r}}\n");
	file(t, "plain");
	refused(t, "scratch: [plain]\n", "no folder");
}

static void test_repositories(void **state)
{
	struct tree *t = *state;

	layout(t);
	folder(t, "vendor/a/b/.git");
	refused(t, "", "vendor/a/b/.git is a repository inside");
	refused(t, "access: {vendor/: {developer: r}}\n", "stint.yaml:1:10: vendor/a/b/.git");
	accepted(t, "access: {vendor/: {developer: none}, \"*\": {developer: r}}\n");
	accepted(t, "access: {src/: {developer: rw}}\n");
	file(t, "src/.git");
	refused(t, "access: {src/: {developer: rw}}\n", "src/.git");
}

static void test_root_repository(void **state)
{
	struct tree *t = *state;
	int fd;

	layout(t);
	folder(t, ".git/objects/info");
	accepted(t, "");
	file(t, ".git/objects/info/alternates");
	accepted(t, "");
	fd = openat(t->fd, ".git/objects/info/alternates", O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "/x\n", 3), 3);
	close(fd);
	refused(t, "", "alternates");
	assert_int_equal(unlinkat(t->fd, ".git/objects/info/alternates", 0), 0);
	assert_int_equal(renameat(t->fd, ".git", t->fd, "elsewhere"), 0);
	file(t, ".git");
	refused(t, "", "worktree");
}

/* Deeper than any path can name, and with names that are no text. */
static void test_deep_walk(void **state)
{
	struct tree *t = *state;
	struct buf where = {0};
	AUTO_FD at = openat(t->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[201];

	memset(name, 'd', 200);
	name[200] = '\0';
	for (int i = 0; i < 500; i++) {
		int next;

		assert_int_equal(mkdirat(at, i == 0 ? "x\xff\n" : name, 0755), 0);
		next = openat(at, i == 0 ? "x\xff\n" : name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		fd_close(&at);
		at = next;
	}
	assert_int_equal(git_find_below(t->fd, &where, &t->e), 0);
	assert_int_equal(mkdirat(at, ".git", 0755), 0);
	assert_int_equal(git_find_below(t->fd, &where, &t->e), 1);
	assert_non_null(buf_str(&where));
	assert_true(str_starts(where.data, "x\\xff\\x0a/ddd"));
	assert_string_equal(where.data + where.len - 5, "/.git");
	buf_done(&where);
}

static const char commands[] =
	"roles:\n"
	"  developer: {command: [a, '{prompt}'], env: [STINT_X_T, CI=1], stdin: prompt, ports: [443]}\n"
	"  tester: {command: [b]}\n"
	"  reviewer: {command: [c]}\n"
	"suite: {command: [d], deadline: 3s}\n";

/* config.c refuses STINT_ names, so the tests' own name is another. */
static char *yaml_with(const char *name)
{
	char *text = strdup(commands);
	char *at = strstr(text, "STINT_X_T");

	assert_non_null(at);
	memcpy(at, name, strlen("STINT_X_T"));
	return text;
}

static const char *env_of(const struct tree *t, unsigned int role, const char *name)
{
	size_t n = strlen(name);

	for (uint32_t i = 0; i < t->p->role[role].env.n; i++) {
		const char *s = policy_item(t->p, t->p->role[role].env, i);

		if (strncmp(s, name, n) == 0 && s[n] == '=')
			return s + n + 1;
	}
	return NULL;
}

static void test_roles(void **state)
{
	struct tree *t = *state;
	char *const by_hand[] = {"ls", "{prompt}", NULL};
	struct compile_options loop = {.layers = LAYER_ALL, .role = COMPILE_LOOP};
	struct compile_options turn = {.layers = LAYER_ACL, .role = 0};
	char *yaml = yaml_with("XSTINTX_T");

	layout(t);
	assert_int_equal(unsetenv("XSTINTX_T"), 0);
	assert_int_equal(compile_with(t, yaml, &loop), -EINVAL);
	assert_non_null(strstr(t->e.msg, "stint.yaml:2:3: "));
	assert_non_null(strstr(t->e.msg, "--preserve-env=XSTINTX_T"));
	assert_int_equal(compile_with(t, yaml, &turn), -EINVAL);
	turn.role = 1;
	assert_int_equal(compile_with(t, yaml, &turn), 0);
	assert_int_equal(t->p->layers, LAYER_ACL);
	turn.role = 0;
	turn.command = by_hand;
	assert_int_equal(compile_with(t, yaml, &turn), 0);
	assert_string_equal(policy_item(t->p, t->p->role[0].argv, 0), "ls");
	noted(t, "XSTINTX_T is not set");

	assert_int_equal(setenv("XSTINTX_T", "a=b c", 1), 0);
	assert_int_equal(setenv("LANG", "C.UTF-8", 1), 0);
	assert_int_equal(setenv("TERM", "xterm", 1), 0);
	assert_int_equal(compile_with(t, yaml, &loop), 0);
	assert_string_equal(env_of(t, 0, "XSTINTX_T"), "a=b c");
	assert_string_equal(env_of(t, 0, "CI"), "1");
	assert_string_equal(env_of(t, 3, "LANG"), "C.UTF-8");
	assert_null(env_of(t, 1, "XSTINTX_T"));
	assert_null(env_of(t, 1, "TERM"));
	assert_null(env_of(t, 1, "PATH"));
	assert_int_equal(t->p->role[0].argv.n, 2);
	assert_int_equal(t->p->role[0].flags, ROLE_STDIN_PROMPT);
	assert_int_equal(t->p->role[0].ports[0], 443);
	assert_int_equal(t->p->role[3].deadline_ms, 3000);
	free(yaml);
}

static void test_missing_commands(void **state)
{
	struct tree *t = *state;
	struct compile_options o = {.layers = LAYER_ALL, .role = COMPILE_LOOP};

	layout(t);
	assert_int_equal(compile_with(t, "roles: {developer: {command: [a]}}\n", &o), -EINVAL);
	assert_non_null(strstr(t->e.msg, "role tester has no command"));
	assert_int_equal(compile_with(t, "roles: {developer: {command: [a]}, tester: {command: [a]}, reviewer: {command: [a]}}\n",
	                              &o), -EINVAL);
	assert_non_null(strstr(t->e.msg, "suite has no command"));
	o.role = 0;
	assert_int_equal(compile_with(t, "roles: {developer: {command: [a]}}\n", &o), 0);
	o.role = 1;
	assert_int_equal(compile_with(t, "roles:\n  tester: {}\n", &o), -EINVAL);
	assert_true(str_starts(t->e.msg, "stint.yaml:2:3: role tester has no command"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_builtin_table), CASE(test_rest_leaves_closed), CASE(test_named_rows), CASE(test_scratch),
		CASE(test_repositories), CASE(test_root_repository), CASE(test_deep_walk), CASE(test_roles),
		CASE(test_missing_commands), CASE(test_mount_points), /* last: it unshares */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
