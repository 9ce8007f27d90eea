/* A project of its own user below /var/tmp (ext4 with ACLs), a state folder, a policy, and ways to look at the one as it is
 * and to act in it as the agent user. Root only; no accounts are needed, only their numbers. */
#ifndef STINT_TESTS_UNIT_TREE_FIXTURE_H
#define STINT_TESTS_UNIT_TREE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <acl/libacl.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "protocol/policy.h"
#include "sandbox/tree_private.h"

#define UNUSED __attribute__((unused))
#define OWNER 61001u
#define AGENT 61002u
#define TEAM 61003u /* a group of the owner's */
#define STRANGER 61004u
#define WRITERS 61005u /* the agent's group of writers */

enum { DEVELOPER, TESTER, REVIEWER, N_ROLES };

struct row {
	const char *path; /* a folder's ends in a slash */
	enum level level[N_ROLES];
	uint8_t flags;
};

/* The table most tests use. */
static UNUSED const struct row usual[] = {
	{"TASKS.md", {LEVEL_R, LEVEL_R, LEVEL_RW}, ENTRY_NAMED},
	{"REVIEW.md", {LEVEL_R, LEVEL_NONE, LEVEL_RW}, ENTRY_NAMED},
	{"src/", {LEVEL_RW, LEVEL_NONE, LEVEL_R}, ENTRY_NAMED},
	{"tests/", {LEVEL_NONE, LEVEL_RW, LEVEL_R}, ENTRY_NAMED},
	{"lib/core/src/", {LEVEL_RW, LEVEL_R, LEVEL_R}, ENTRY_NAMED},
	{"docs/", {LEVEL_R, LEVEL_R, LEVEL_R}, 0},
	{NULL, {0}, 0},
};

/* Of the next project's agent: 0 for an account without such a group. */
static UNUSED gid_t fx_writers = WRITERS;

struct fx {
	char base[64];
	char root[96];
	int state_fd, root_fd;
	struct policy_builder b;
	struct tree *t;
	struct tree_owner who;
	struct tree_changes changes;
	struct err e;
};

#define OK(fx, call) \
	do { \
		if ((call) != 0) \
			fail_msg("%s: %s", #call, (fx)->e.msg); \
	} while (0)

/* ---------------------------------------------------------------- making things, as the owner */

static UNUSED void fx_own(struct fx *f, const char *path)
{
	assert_int_equal(fchownat(f->root_fd, path, OWNER, OWNER, AT_SYMLINK_NOFOLLOW), 0);
}

static UNUSED void fx_mkdir(struct fx *f, const char *path, mode_t mode)
{
	assert_int_equal(mkdirat(f->root_fd, path, 0700), 0);
	fx_own(f, path);
	assert_int_equal(fchmodat(f->root_fd, path, mode, 0), 0);
}

static UNUSED void fx_write(struct fx *f, const char *path, const char *text)
{
	int fd = openat(f->root_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	(void)close(fd);
}

static UNUSED void fx_file(struct fx *f, const char *path, const char *text, mode_t mode)
{
	fx_write(f, path, text);
	fx_own(f, path);
	assert_int_equal(fchmodat(f->root_fd, path, mode, 0), 0);
}

static UNUSED const char *fx_path(const struct fx *f, const char *path)
{
	static char full[8][4096];
	static unsigned int next;
	char *at = full[next++ % 8];

	(void)snprintf(at, 4096, "%s/%s", f->root, path);
	return at;
}

/* setfacl --set, by libacl. */
static UNUSED void fx_acl(struct fx *f, const char *path, acl_type_t type, const char *text)
{
	acl_t a = acl_from_text(text);

	assert_non_null(a);
	assert_int_equal(acl_set_file(fx_path(f, path), type, a), 0);
	(void)acl_free(a);
}

/* The access ACL in short form ("user::rw-,…,other::r--"), by libacl. */
static UNUSED const char *fx_acl_text(struct fx *f, const char *path, acl_type_t type)
{
	static char text[1024];
	acl_t a = acl_get_file(fx_path(f, path), type);
	char *s;

	assert_non_null(a);
	s = acl_to_any_text(a, NULL, ',', TEXT_ABBREVIATE | TEXT_NUMERIC_IDS);
	assert_non_null(s);
	(void)snprintf(text, sizeof(text), "%s", s);
	(void)acl_free(s);
	(void)acl_free(a);
	return text;
}

static UNUSED struct stat fx_stat(const struct fx *f, const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(f->root_fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

static UNUSED bool fx_exists(const struct fx *f, const char *path)
{
	struct stat st;

	return fstatat(f->root_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---------------------------------------------------------------- everything about the project, as text */

struct dump {
	struct buf text;
	struct buf lines; /* char * */
	bool ctime;
};

/* Every xattr with its value, sorted: the order in which the kernel lists them is not part of the state. */
static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void dump_xattrs(struct buf *b, const char *proc)
{
	char names[8192], value[65536];
	const char *name[256];
	ssize_t bytes = llistxattr(proc, names, sizeof(names));
	size_t n = 0;

	assert_true(bytes >= 0);
	for (ssize_t at = 0; at < bytes && n < 256; at += (ssize_t)strlen(names + at) + 1)
		name[n++] = names + at;
	qsort(name, n, sizeof(name[0]), by_name);
	for (size_t k = 0; k < n; k++) {
		ssize_t len = lgetxattr(proc, name[k], value, sizeof(value));

		assert_true(len >= 0);
		assert_int_equal(buf_addf(b, " %s=", name[k]), 0);
		for (ssize_t i = 0; i < len; i++)
			assert_int_equal(buf_addf(b, "%02x", (unsigned char)value[i]), 0);
	}
}

static int dump_visit(void *ctx, struct walk_entry *en, struct err *e)
{
	struct dump *d = ctx;
	struct buf b = {0};
	char proc[300];
	char *line;

	(void)e;
	assert_int_equal(walk_path(&b, en->dir, en->name), 0);
	assert_int_equal(buf_addf(&b, " %o %u:%u n%lu", en->st.st_mode, en->st.st_uid, en->st.st_gid,
	                          (unsigned long)en->st.st_nlink), 0);
	if (d->ctime)
		assert_int_equal(buf_addf(&b, " i%lu c%ld.%09ld", (unsigned long)en->st.st_ino, en->st.st_ctim.tv_sec,
		                          en->st.st_ctim.tv_nsec), 0);
	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d/%s", en->dir_fd, en->name);
	dump_xattrs(&b, proc);
	line = strndup(b.data, b.len);
	assert_non_null(line);
	buf_done(&b);
	assert_int_equal(buf_add(&d->lines, &line, sizeof(line)), 0);
	return WALK_DESCEND;
}

static int by_line(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One line an inode, sorted: name, mode, owner, links, every xattr, with_ctime also inode and ctime. To be freed. */
static UNUSED char *fx_dump(const struct fx *f, bool with_ctime)
{
	static const struct walk_ops ops = {.visit = dump_visit};
	const struct walk_cookie none = {0, 0, 0};
	struct dump d = {.ctime = with_ctime};
	struct err e = {0};
	struct stat st;
	char **line;
	size_t n;

	assert_int_equal(walk_tree(f->root_fd, "", none, &ops, &d, &e), 0);
	n = d.lines.len / sizeof(char *);
	line = (char **)(void *)d.lines.data;
	qsort(line, n, sizeof(*line), by_line);
	assert_int_equal(fstat(f->root_fd, &st), 0);
	assert_int_equal(buf_addf(&d.text, ". %o %u:%u", st.st_mode, st.st_uid, st.st_gid), 0);
	if (with_ctime)
		assert_int_equal(buf_addf(&d.text, " c%ld.%09ld", st.st_ctim.tv_sec, st.st_ctim.tv_nsec), 0);
	dump_xattrs(&d.text, f->root);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(buf_addf(&d.text, "\n%s", line[i]), 0);
		free(line[i]);
	}
	buf_done(&d.lines);
	assert_non_null(buf_str(&d.text));
	return d.text.data;
}

/* Says which line differs, then fails. */
static UNUSED void assert_same_dump(const char *want, const char *got)
{
	const char *w = want;
	const char *g = got;

	if (str_eq(want, got))
		return;
	while (*w != '\0' && *w == *g) {
		w++;
		g++;
	}
	while (w > want && w[-1] != '\n') {
		w--;
		g--;
	}
	fail_msg("not as before:\n  was %.*s\n  is  %.*s", (int)strcspn(w, "\n"), w, (int)strcspn(g, "\n"), g);
}

/* ---------------------------------------------------------------- policy and tree */

static UNUSED void fx_policy(struct fx *f, const struct row *rows)
{
	static const char *const names[N_ROLES] = {ROLE_DEVELOPER, ROLE_TESTER, ROLE_REVIEWER};
	static const char *const argv[] = {"/bin/true"};

	policy_done(&f->b);
	assert_int_equal(policy_begin(&f->b), 0);
	for (uint32_t i = 0; rows[i].path != NULL; i++) {
		struct policy_entry en = {.flags = rows[i].flags};
		char path[4096];
		size_t len = strlen(rows[i].path);

		(void)snprintf(path, sizeof(path), "%s", rows[i].path);
		en.kind = path[len - 1] == '/' ? POLICY_DIR : POLICY_FILE;
		if (en.kind == POLICY_DIR)
			path[len - 1] = '\0';
		for (int r = 0; r < N_ROLES; r++)
			en.level[r] = (uint8_t)rows[i].level[r];
		assert_int_equal(policy_add_str(&f->b, path, &en.path), 0);
		f->b.p->entry[f->b.p->n_entries++] = en;
	}
	f->b.p->n_roles = N_ROLES;
	f->b.p->layers = LAYER_ALL;
	f->b.p->limits = (struct policy_limits){1 << 30, 1 << 30, 64, 64};
	assert_int_equal(policy_add_str(&f->b, "stint-agent", &f->b.p->agent_user), 0);
	for (int r = 0; r < N_ROLES; r++) {
		(void)snprintf(f->b.p->role[r].name, ROLE_NAME_MAX, "%s", names[r]);
		assert_int_equal(policy_add_list(&f->b, argv, 1, &f->b.p->role[r].argv), 0);
	}
	{
		AUTO_FD fd = policy_seal(&f->b, &f->e); /* proves that the warden would take it */

		if (fd < 0)
			fail_msg("%s", f->e.msg);
	}
}

static UNUSED int fx_try_open(struct fx *f)
{
	return tree_open_at(&f->t, f->state_fd, f->root_fd, f->root, f->b.p, &f->who, &f->e);
}

static UNUSED void fx_open(struct fx *f)
{
	OK(f, fx_try_open(f));
	OK(f, tree_repair(f->t, &f->e));
}

static UNUSED void fx_flip(struct fx *f, unsigned int role)
{
	OK(f, tree_flip(f->t, role, &f->e));
}

static UNUSED void fx_reclaim(struct fx *f)
{
	tree_changes_done(&f->changes);
	OK(f, tree_reclaim(f->t, &f->changes, &f->e));
}

static UNUSED void fx_close(struct fx *f)
{
	OK(f, tree_restore(f->t, &f->e));
	tree_free(f->t);
	f->t = NULL;
}

/* True when the change list has this record ("M" and a path); for "!" any that begins so. */
static UNUSED bool fx_listed(const struct fx *f, const char *record)
{
	const char *data = f->changes.records.data;

	for (size_t at = 0; at < f->changes.records.len; at += strlen(data + at) + 1)
		if (record[0] == '!' ? str_starts(data + at, record) : str_eq(data + at, record))
			return true;
	return false;
}

static UNUSED void fx_show(const struct fx *f)
{
	for (size_t at = 0; at < f->changes.records.len; at += strlen(f->changes.records.data + at) + 1)
		print_message("  %s\n", f->changes.records.data + at);
}

/* The number of journal files. */
static UNUSED int fx_journal(const struct fx *f)
{
	static const struct walk_ops ops = {.visit = dump_visit};
	const struct walk_cookie none = {0, 0, 0};
	struct dump d = {0};
	struct err e = {0};
	AUTO_FD fd = openat(f->state_fd, "journal", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int n;

	if (fd < 0)
		return 0;
	assert_int_equal(walk_tree(fd, "", none, &ops, &d, &e), 0);
	n = (int)(d.lines.len / sizeof(char *));
	for (int i = 0; i < n; i++)
		free(((char **)(void *)d.lines.data)[i]);
	buf_done(&d.lines);
	return n;
}

/* ---------------------------------------------------------------- acting as somebody else */

/* The groups that a process of uid has beside its own: a turn's, where its role may write a shared zone. */
static UNUSED int fx_groups(const struct fx *f, uid_t uid)
{
	gid_t writers = uid == AGENT && f->t != NULL && f->t->role >= 0 ? tree_writers(f->t, (unsigned int)f->t->role) : 0;

	return setgroups(writers != 0, &writers);
}

/* Runs act in the project's folder as uid; its result. */
static UNUSED int fx_as(const struct fx *f, uid_t uid, int (*act)(const char *arg), const char *arg)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)umask(022);
		if (fchdir(f->root_fd) != 0 || fx_groups(f, uid) != 0 || setresgid(uid, uid, uid) != 0 ||
		    setresuid(uid, uid, uid) != 0)
			_exit(255);
		_exit(act(arg));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 255);
	return WEXITSTATUS(status);
}

static UNUSED int act_sh(const char *script)
{
	(void)execl("/bin/bash", "bash", "-ec", script, (char *)NULL);
	return 254;
}

static UNUSED void fx_sh(const struct fx *f, uid_t uid, const char *script)
{
	assert_int_equal(fx_as(f, uid, act_sh, script), 0);
}

static UNUSED int act_read(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC) >= 0 ? 0 : errno;
}

static UNUSED int act_write(const char *path)
{
	return open(path, O_WRONLY | O_CLOEXEC) >= 0 ? 0 : errno;
}

/* Creates and removes again. */
static UNUSED int act_create(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) >= 0 && unlink(path) == 0 ? 0 : errno;
}

static UNUSED int act_exec(const char *path)
{
	return access(path, X_OK) == 0 ? 0 : errno;
}

/* ---------------------------------------------------------------- setup */

static UNUSED int fx_setup(void **state)
{
	struct fx *f = calloc(1, sizeof(*f));
	char path[128];

	assert_non_null(f);
	(void)umask(022);
	(void)strcpy(f->base, "/var/tmp/stint-tree-XXXXXX");
	assert_non_null(mkdtemp(f->base));
	(void)snprintf(path, sizeof(path), "%s/state", f->base);
	assert_int_equal(mkdir(path, 0711), 0);
	f->state_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(f->root, sizeof(f->root), "%s/p", f->base);
	assert_int_equal(mkdir(f->root, 0755), 0);
	assert_int_equal(chown(f->root, OWNER, OWNER), 0);
	f->root_fd = open(f->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->state_fd >= 0 && f->root_fd >= 0);
	f->who = (struct tree_owner){OWNER, OWNER, {AGENT, AGENT, fx_writers}, 022};
	fx_mkdir(f, "src", 0755);
	fx_mkdir(f, "src/sub", 0755);
	fx_file(f, "src/a.c", "a\n", 0644);
	fx_file(f, "src/run", "#!/bin/sh\n", 0755);
	fx_file(f, "src/sub/b.c", "b\n", 0640);
	fx_mkdir(f, "tests", 0755);
	fx_file(f, "tests/t.sh", "t\n", 0755);
	fx_mkdir(f, "lib", 0755);
	fx_mkdir(f, "lib/core", 0755);
	fx_mkdir(f, "lib/core/src", 0755);
	fx_file(f, "lib/core/src/c.c", "c\n", 0644);
	fx_file(f, "lib/readme", "r\n", 0644);
	fx_mkdir(f, "docs", 0755);
	fx_file(f, "docs/d.md", "d\n", 0644);
	fx_mkdir(f, ".git", 0755);
	fx_file(f, ".git/config", "[core]\n", 0644);
	fx_mkdir(f, ".stint", 0700);
	fx_file(f, "TASKS.md", "- [ ] one\n", 0644);
	fx_file(f, "other.txt", "o\n", 0644);
	fx_policy(f, usual);
	*state = f;
	return 0;
}

static UNUSED int fx_teardown(void **state)
{
	struct fx *f = *state;
	AUTO_FD base = open(f->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	tree_free(f->t);
	tree_changes_done(&f->changes);
	policy_done(&f->b);
	OK(f, tree_empty(base, &f->e));
	assert_int_equal(rmdir(f->base), 0);
	(void)close(f->state_fd);
	(void)close(f->root_fd);
	free(f);
	return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, fx_setup, fx_teardown)

#endif
