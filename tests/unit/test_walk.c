/* The walk over a tree that somebody hostile built, and what hands over or empties whole folders. Root only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/inode.h"
#include "sandbox/links.h"
#include "sandbox/tree.h"
#include "sandbox/walk.h"
#include "sandbox/xattr.h"

#define DEPTH 5000
#define AGENT 61002u
#define OWNER 61001u

struct fx {
	char path[64];
	int fd;
	struct err e;
};

static const struct walk_cookie none;

static int setup(void **state)
{
	struct fx *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	(void)strcpy(f->path, "/var/tmp/stint-walk-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->fd >= 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fx *f = *state;

	if (tree_empty(f->fd, &f->e) != 0)
		fail_msg("%s", f->e.msg);
	assert_int_equal(rmdir(f->path), 0);
	(void)close(f->fd);
	free(f);
	return 0;
}

static int make_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	return close(fd);
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	(void)closedir(d);
	return n - 3; /* ., .. and d's own */
}

struct count {
	unsigned int visits, dirs, mounts, leaves;
	int most_fds;
	struct buf names;
};

static int count_visit(void *ctx, struct walk_entry *en, struct err *e)
{
	struct count *c = ctx;

	(void)e;
	c->visits++;
	c->dirs += S_ISDIR(en->st.st_mode);
	c->mounts += en->mount;
	if (c->names.len < 4096) {
		assert_int_equal(walk_path(&c->names, en->dir, en->name), 0);
		assert_int_equal(buf_add(&c->names, "|", 1), 0);
	}
	return WALK_DESCEND;
}

static int count_enter(void *ctx, const struct walk_dir *d, struct err *e)
{
	struct count *c = ctx;
	int n = open_fds();

	(void)d;
	(void)e;
	c->most_fds = n > c->most_fds ? n : c->most_fds;
	return 0;
}

static int count_leave(void *ctx, int dir_fd, const char *name, struct err *e)
{
	struct count *c = ctx;
	struct stat st;

	(void)e;
	c->leaves++;
	assert_int_equal(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISDIR(st.st_mode));
	return 0;
}

static const struct walk_ops counting = {.visit = count_visit, .enter = count_enter, .leave = count_leave};

static void make_deep(int top)
{
	int at = dup(top);

	for (int i = 0; i < DEPTH; i++) {
		int next;

		assert_int_equal(mkdirat(at, "d", 0755), 0);
		assert_int_equal(make_file(at, "f"), 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(at);
		at = next;
	}
	(void)close(at);
}

static void test_deep_with_few_descriptors(void **state)
{
	struct fx *f = *state;
	struct count c = {0};
	int before = open_fds();

	make_deep(f->fd);
	assert_int_equal(walk_tree(f->fd, "", none, &counting, &c, &f->e), 0);
	assert_int_equal(c.visits, 2 * DEPTH);
	assert_int_equal(c.leaves, DEPTH);
	assert_true(c.most_fds - before <= 10);
	assert_int_equal(open_fds(), before);
	buf_done(&c.names);
}

static void test_side_branches_after_a_deep_one(void **state)
{
	struct fx *f = *state;
	struct count c = {0};

	for (int i = 0; i < 30; i++) {
		char name[300] = "";

		for (int k = 0; k <= i; k++) {
			char side[320];

			(void)strcat(name, k == 0 ? "m" : "/m");
			assert_true(mkdirat(f->fd, name, 0755) == 0 || errno == EEXIST);
			(void)snprintf(side, sizeof(side), "%s/s%d", name, i);
			(void)mkdirat(f->fd, side, 0755);
		}
	}
	assert_int_equal(walk_tree(f->fd, "", none, &counting, &c, &f->e), 0);
	assert_int_equal(c.dirs, 30 + 30 * 31 / 2);
	assert_int_equal(c.leaves, c.dirs);
	buf_done(&c.names);
}

static void test_links_are_not_followed_and_pipes_not_opened(void **state)
{
	struct fx *f = *state;
	struct count c = {0};

	assert_int_equal(symlinkat("/etc", f->fd, "dir-link"), 0);
	assert_int_equal(symlinkat("/etc/passwd", f->fd, "file-link"), 0);
	assert_int_equal(symlinkat("nowhere", f->fd, "broken"), 0);
	assert_int_equal(mkfifoat(f->fd, "pipe", 0644), 0); /* an open for reading would block for ever */
	assert_int_equal(mknodat(f->fd, "socket", S_IFSOCK | 0644, 0), 0);
	assert_int_equal(walk_tree(f->fd, "", none, &counting, &c, &f->e), 0);
	assert_int_equal(c.visits, 5);
	assert_int_equal(c.dirs, 0);
	buf_done(&c.names);
}

static void test_names_are_bytes(void **state)
{
	struct fx *f = *state;
	struct count c = {0};
	char shown[64];
	const struct buf dir = {(char *)"a\x1b[31m", 6, 6};

	assert_int_equal(mkdirat(f->fd, "a\nb", 0755), 0);
	assert_int_equal(mkdirat(f->fd, "a\nb/\xff\xfe", 0755), 0);
	assert_int_equal(walk_tree(f->fd, "top", none, &counting, &c, &f->e), 0);
	assert_string_equal(buf_str(&c.names), "top/a\nb|top/a\nb/\xff\xfe|");
	walk_name(shown, sizeof(shown), &dir, "\n\xff");
	assert_string_equal(shown, "a\\x1b[31m/\\x0a\\xff");
	buf_done(&c.names);
}

static void test_mount_points_are_told_and_not_entered(void **state)
{
	struct fx *f = *state;
	struct count c = {0};
	char path[96];

	assert_int_equal(mkdirat(f->fd, "other", 0755), 0);
	assert_int_equal(mkdirat(f->fd, "bind", 0755), 0);
	assert_int_equal(mkdirat(f->fd, "from", 0755), 0);
	assert_int_equal(mkdirat(f->fd, "from/inside", 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/other", f->path);
	assert_int_equal(mount("none", path, "tmpfs", 0, NULL), 0);
	(void)snprintf(path, sizeof(path), "%s/bind", f->path);
	{
		char from[96];

		(void)snprintf(from, sizeof(from), "%s/from", f->path);
		assert_int_equal(mount(from, path, NULL, MS_BIND, NULL), 0); /* the same device */
	}
	assert_int_equal(walk_tree(f->fd, "", none, &counting, &c, &f->e), 0);
	assert_int_equal(c.visits, 4);
	assert_int_equal(c.mounts, 2);
	buf_done(&c.names);
	assert_int_equal(umount(path), 0);
	(void)snprintf(path, sizeof(path), "%s/other", f->path);
	assert_int_equal(umount(path), 0);
}

struct swap {
	const struct fx *f;
	int rc;
};

/* The entry changes between being looked at and being opened. */
static int swap_visit(void *ctx, struct walk_entry *en, struct err *e)
{
	struct swap *s = ctx;

	(void)e;
	assert_int_equal(unlinkat(en->dir_fd, en->name, 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", en->dir_fd, en->name), 0);
	s->rc = walk_open(en);
	return WALK_SKIP;
}

static void test_a_swapped_entry_is_gone(void **state)
{
	struct fx *f = *state;
	static const struct walk_ops ops = {.visit = swap_visit};
	struct swap s = {f, 0};

	assert_int_equal(make_file(f->fd, "victim"), 0);
	assert_int_equal(walk_tree(f->fd, "", none, &ops, &s, &f->e), 0);
	assert_int_equal(s.rc, -ENOENT);
}

/* The deepest folder is moved away while the walk is in it: `..` then leads elsewhere. */
static int move_enter(void *ctx, const struct walk_dir *d, struct err *e)
{
	const struct fx *f = ctx;

	(void)e;
	if (d->path->len == strlen("a/b/c/d/e/f/g/h/i/j/k") && memchr(d->path->data, 'k', d->path->len) != NULL)
		assert_int_equal(renameat(f->fd, "a/b", f->fd, "moved"), 0);
	return 0;
}

static int plain_visit(void *ctx, struct walk_entry *en, struct err *e)
{
	(void)ctx;
	(void)en;
	(void)e;
	return WALK_DESCEND;
}

static void test_a_moved_folder_never_leads_outside(void **state)
{
	struct fx *f = *state;
	static const struct walk_ops ops = {.visit = plain_visit, .enter = move_enter};
	char path[64] = "a";

	for (char c = 'a'; c <= 'k'; c++) {
		assert_int_equal(mkdirat(f->fd, path, 0755), 0);
		(void)snprintf(path + strlen(path), 4, "/%c", c + 1);
	}
	assert_int_equal(walk_tree(f->fd, "", none, &ops, f, &f->e), -ESTALE);
}

static int fail_visit(void *ctx, struct walk_entry *en, struct err *e)
{
	(void)ctx;
	return err_set(e, EUCLEAN, "refused %s", en->name);
}

static void test_a_visit_can_end_the_walk(void **state)
{
	struct fx *f = *state;
	static const struct walk_ops ops = {.visit = fail_visit};
	int before = open_fds();

	assert_int_equal(make_file(f->fd, "x"), 0);
	assert_int_equal(walk_tree(f->fd, "", none, &ops, NULL, &f->e), -EUCLEAN);
	assert_string_equal(f->e.msg, "refused x");
	assert_int_equal(open_fds(), before);
}

struct shut {
	struct fx *f;
	int visited, shut, rc;
};

/* A mount that comes between the look at a folder and the way into it. */
static int visit_and_mount(void *ctx, struct walk_entry *en, struct err *e)
{
	struct shut *s = ctx;
	char path[128];

	(void)e;
	s->visited++;
	if (str_eq(en->name, "b")) {
		(void)snprintf(path, sizeof(path), "%s/b", s->f->path);
		assert_int_equal(mount("none", path, "tmpfs", 0, NULL), 0);
	}
	return WALK_DESCEND;
}

static int on_shut(void *ctx, int rc, const struct err *why)
{
	struct shut *s = ctx;

	s->shut++;
	s->rc = rc;
	assert_non_null(strstr(why->msg, "cannot walk b"));
	return 0;
}

static void test_a_folder_that_cannot_be_entered(void **state)
{
	struct fx *f = *state;
	static const struct walk_ops goes_on = {.visit = visit_and_mount, .shut = on_shut};
	static const struct walk_ops ends = {.visit = visit_and_mount};
	static const char *const folders[] = {"a", "a/x", "b", "b/x", "c", "c/x"};
	int before = open_fds();

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		assert_int_equal(mkdirat(f->fd, folders[i], 0755), 0);
	for (int i = 0; i < 2; i++) {
		struct shut s = {.f = f};
		char path[128];

		assert_int_equal(walk_tree(f->fd, "", none, i == 0 ? &goes_on : &ends, &s, &f->e), i == 0 ? 0 : -EXDEV);
		(void)snprintf(path, sizeof(path), "%s/b", f->path);
		assert_int_equal(umount2(path, 0), 0);
		if (i == 0)
			assert_true(s.shut == 1 && s.rc == -EXDEV && s.visited == 5);
	}
	assert_int_equal(open_fds(), before);
}

/* Kernels before 6.13 are asked by a path below /proc: the same answers, and the same links not followed. */
static void test_xattrs_by_name_on_every_kernel(void **state)
{
	struct fx *f = *state;
	char path[96];
	static char large[3000];

	assert_int_equal(make_file(f->fd, "file"), 0);
	assert_int_equal(symlinkat("file", f->fd, "link"), 0);
	(void)snprintf(path, sizeof(path), "%s/file", f->path);
	memset(large, 'x', sizeof(large));
	assert_int_equal(setxattr(path, "user.large", large, sizeof(large), 0), 0);
	for (int old = 0; old < 2; old++) {
		struct xattr_kernel k = {.no_at = old == 1};
		struct xattr_at at = {-1, f->fd, "file"};
		char names[4096], value[4096];

		assert_int_equal(xattr_list(&k, at, names, sizeof(names)), sizeof("user.large"));
		assert_string_equal(names, "user.large");
		assert_int_equal(xattr_get(&k, at, "user.large", value, sizeof(value)), sizeof(large));
		assert_memory_equal(value, large, sizeof(large));
		assert_int_equal(xattr_get(&k, at, "user.none", value, sizeof(value)), -ENODATA);
		at.name = "link";
		assert_int_equal(xattr_list(&k, at, names, sizeof(names)), 0);
		at.name = "gone";
		assert_int_equal(xattr_list(&k, at, names, sizeof(names)), -ENOENT);
		xattr_kernel_done(&k);
	}
}

/* The same by an O_PATH descriptor, which is how everything is written: the file that was opened, under whatever name now. A link is not
 * followed, and nothing stays open. */
static void test_xattrs_by_descriptor_on_every_kernel(void **state)
{
	struct fx *f = *state;
	int before = open_fds();

	assert_int_equal(make_file(f->fd, "file"), 0);
	assert_int_equal(symlinkat("moved", f->fd, "link"), 0);
	for (int old = 0; old < 2; old++) {
		struct xattr_kernel k = {.no_at = old == 1};
		AUTO_FD fd = openat(f->fd, "file", O_PATH | O_NOFOLLOW | O_CLOEXEC);
		AUTO_FD link = openat(f->fd, "link", O_PATH | O_NOFOLLOW | O_CLOEXEC);
		struct xattr_at at = {.fd = fd, .dir_fd = -1};
		char names[4096], value[4096];

		assert_int_equal(renameat(f->fd, "file", f->fd, "moved"), 0);
		assert_int_equal(make_file(f->fd, "file"), 0);
		assert_int_equal(xattr_set(&k, fd, "trusted.t", "new", 3), 0);
		assert_int_equal(xattr_list(&k, at, names, sizeof(names)), sizeof("trusted.t"));
		assert_int_equal(xattr_get(&k, at, "trusted.t", value, sizeof(value)), 3);
		assert_memory_equal(value, "new", 3);
		assert_int_equal(xattr_get(&k, (struct xattr_at){-1, f->fd, "moved"}, "trusted.t", value, sizeof(value)), 3);
		assert_int_equal(xattr_list(&k, (struct xattr_at){-1, f->fd, "file"}, names, sizeof(names)), 0);
		assert_int_equal(xattr_list(&k, (struct xattr_at){link, -1, NULL}, names, sizeof(names)), 0);
		assert_int_equal(xattr_remove(fd, "trusted.t"), 0);
		assert_int_equal(xattr_get(&k, at, "trusted.t", value, sizeof(value)), -ENODATA);
		assert_int_equal(unlinkat(f->fd, "moved", 0), 0);
		xattr_kernel_done(&k);
	}
	assert_int_equal(open_fds(), before);
}

static void test_links_are_counted(void **state)
{
	struct links l = {0};

	(void)state;
	assert_int_equal(links_seen(&l, 7), 0);
	for (ino_t i = 1; i <= 10000; i++)
		for (ino_t k = 0; k <= i % 3; k++)
			assert_int_equal(links_add(&l, i * 4096), 0);
	for (ino_t i = 1; i <= 10000; i++)
		assert_int_equal(links_seen(&l, i * 4096), i % 3 + 1);
	assert_int_equal(links_seen(&l, 4097), 0);
	links_done(&l);
}

static void test_chown_all(void **state)
{
	struct fx *f = *state;
	struct stat st;

	assert_int_equal(mkdirat(f->fd, "in", 0755), 0);
	assert_int_equal(make_file(f->fd, "in/plain"), 0);
	assert_int_equal(make_file(f->fd, "in/setuid"), 0);
	assert_int_equal(make_file(f->fd, "in/strangers"), 0);
	assert_int_equal(make_file(f->fd, "outside"), 0);
	assert_int_equal(linkat(f->fd, "outside", f->fd, "in/shared", 0), 0);
	assert_int_equal(linkat(f->fd, "in/plain", f->fd, "in/twice", 0), 0);
	assert_int_equal(symlinkat("../outside", f->fd, "in/link"), 0);
	assert_int_equal(mkfifoat(f->fd, "in/pipe", 0600), 0);
	for (const char *const *p = (const char *const[]){"in/plain", "in/setuid", "in/shared", "in/link", "in/pipe", NULL};
	     *p != NULL; p++)
		assert_int_equal(fchownat(f->fd, *p, AGENT, AGENT, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(fchmodat(f->fd, "in/setuid", 06755, 0), 0);
	{
		AUTO_FD in = openat(f->fd, "in", O_PATH | O_DIRECTORY | O_CLOEXEC);

		assert_int_equal(tree_chown_all(in, AGENT, OWNER, OWNER, &f->e), 0);
	}
	for (const char *const *p = (const char *const[]){"in/plain", "in/setuid", "in/twice", "in/link", "in/pipe", NULL};
	     *p != NULL; p++) {
		assert_int_equal(fstatat(f->fd, *p, &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(st.st_uid, OWNER);
		assert_int_equal(st.st_gid, OWNER);
		assert_int_equal(st.st_mode & 06000, 0);
	}
	assert_int_equal(fstatat(f->fd, "in/strangers", &st, 0), 0);
	assert_int_equal(st.st_uid, 0);
	/* One of its names is elsewhere: handing it over would hand that over too. */
	assert_int_equal(fstatat(f->fd, "outside", &st, 0), 0);
	assert_int_equal(st.st_uid, AGENT);
	/* The folder itself is the caller's to do. */
	assert_int_equal(fstatat(f->fd, "in", &st, 0), 0);
	assert_int_equal(st.st_uid, 0);
}

static void test_empty(void **state)
{
	struct fx *f = *state;
	struct count c = {0};
	AUTO_FD in = -1;

	assert_int_equal(make_file(f->fd, "outside"), 0);
	assert_int_equal(mkdirat(f->fd, "in", 0755), 0);
	in = openat(f->fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_deep(in);
	assert_int_equal(symlinkat("../outside", in, "link"), 0);
	assert_int_equal(mkfifoat(in, "pipe", 0), 0);
	for (int i = 0; i < 3000; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "many-%d", i);
		assert_int_equal(make_file(in, name), 0);
	}
	assert_int_equal(tree_empty(in, &f->e), 0);
	assert_int_equal(walk_tree(in, "", none, &counting, &c, &f->e), 0);
	assert_int_equal(c.visits, 0);
	assert_int_equal(faccessat(f->fd, "outside", F_OK, 0), 0);
	buf_done(&c.names);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_deep_with_few_descriptors),
		T(test_side_branches_after_a_deep_one),
		T(test_links_are_not_followed_and_pipes_not_opened),
		T(test_names_are_bytes),
		T(test_mount_points_are_told_and_not_entered),
		T(test_a_swapped_entry_is_gone),
		T(test_a_moved_folder_never_leads_outside),
		T(test_a_visit_can_end_the_walk),
		T(test_a_folder_that_cannot_be_entered),
		T(test_xattrs_by_name_on_every_kernel),
		T(test_xattrs_by_descriptor_on_every_kernel),
		cmocka_unit_test(test_links_are_counted),
		T(test_chown_all),
		T(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
