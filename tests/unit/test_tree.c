/* The ACLs of a turn: who may do what, and that everything is as it was afterwards. */
#include "tests/unit/tree_fixture.h"

#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include <linux/fs.h>

/* Written by hand from the table `usual`: r read (a folder: list), w write (a folder: create), x execute or pass. */
static const struct {
	const char *path;
	const char *may[N_ROLES];
} matrix[] = {
	{".", {"rx", "rx", "rx"}},
	{"src", {"rwx", "", "rx"}},
	{"src/a.c", {"rw", "", "r"}},
	{"src/run", {"rwx", "", "rx"}},
	{"src/sub", {"rwx", "", "rx"}},
	{"src/sub/b.c", {"rw", "", "r"}},
	{"tests", {"", "rwx", "rx"}},
	{"tests/t.sh", {"", "rwx", "rx"}},
	{"lib", {"x", "x", "x"}},
	{"lib/readme", {"", "", ""}},
	{"lib/core", {"x", "x", "x"}},
	{"lib/core/src", {"rwx", "rx", "rx"}},
	{"lib/core/src/c.c", {"rw", "r", "r"}},
	{"docs", {"rx", "rx", "rx"}},
	{"docs/d.md", {"r", "r", "r"}},
	{"TASKS.md", {"r", "r", "rw"}},
	{"other.txt", {"", "", ""}},
	{".git", {"", "", ""}},
	{".git/config", {"", "", ""}},
	{".stint", {"", "", ""}},
};

static void check_matrix(struct fx *f, unsigned int role)
{
	for (size_t i = 0; i < sizeof(matrix) / sizeof(matrix[0]); i++) {
		const char *may = matrix[i].may[role];
		const char *path = matrix[i].path;
		struct stat st = fx_stat(f, path);
		char new[128];

		(void)snprintf(new, sizeof(new), "%s/new", path);
		if (fx_as(f, AGENT, act_read, path) != (strchr(may, 'r') != NULL ? 0 : EACCES))
			fail_msg("role %u, read %s: not \"%s\"", role, path, may);
		if (fx_as(f, AGENT, S_ISDIR(st.st_mode) ? act_create : act_write, S_ISDIR(st.st_mode) ? new : path) !=
		    (strchr(may, 'w') != NULL ? 0 : EACCES))
			fail_msg("role %u, write %s: not \"%s\"", role, path, may);
		if (fx_as(f, AGENT, act_exec, path) != (strchr(may, 'x') != NULL ? 0 : EACCES))
			fail_msg("role %u, execute %s: not \"%s\"", role, path, may);
	}
}

static void test_each_role_may_what_the_table_says(void **state)
{
	struct fx *f = *state;

	/* Before: the modes let everybody read, so what is denied below is denied by us. */
	assert_int_equal(fx_as(f, AGENT, act_read, "other.txt"), 0);
	assert_int_equal(fx_as(f, AGENT, act_read, ".git/config"), 0);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/a.c"), EACCES);
	fx_open(f);
	for (int turn = 0; turn < 2; turn++) {
		for (unsigned int role = 0; role < N_ROLES; role++) {
			fx_flip(f, role);
			check_matrix(f, role);
			assert_int_equal(fx_as(f, STRANGER, act_read, "src/a.c"), 0);
			assert_int_equal(fx_as(f, OWNER, act_write, "src/a.c"), 0);
			fx_reclaim(f);
		}
	}
	fx_close(f);
	assert_int_equal(fx_as(f, AGENT, act_read, "other.txt"), 0);
}

static void test_what_appears_later_is_closed(void **state)
{
	struct fx *f = *state;

	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_sh(f, OWNER, "echo k > secret; mkdir newdir; echo k > newdir/in; echo l > lib/later; echo s > src/mine; cat src/mine");
	assert_int_equal(fx_as(f, AGENT, act_read, "secret"), EACCES);
	assert_int_equal(fx_as(f, AGENT, act_read, "newdir"), EACCES);
	assert_int_equal(fx_as(f, AGENT, act_read, "newdir/in"), EACCES);
	assert_int_equal(fx_as(f, AGENT, act_read, "lib/later"), EACCES);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/mine"), 0);
	fx_reclaim(f);
	/* One that came in without inheriting is sealed at the next flip. */
	fx_file(f, "moved-in", "k\n", 0644);
	assert_int_equal(removexattr(fx_path(f, "moved-in"), "system.posix_acl_access"), 0);
	assert_int_equal(fx_as(f, AGENT, act_read, "moved-in"), 0);
	fx_flip(f, TESTER);
	assert_int_equal(fx_as(f, AGENT, act_read, "moved-in"), EACCES);
	fx_reclaim(f);
	fx_close(f);
	assert_int_equal(fx_stat(f, "secret").st_mode, S_IFREG | 0644);
	assert_int_equal(fx_stat(f, "newdir").st_mode, S_IFDIR | 0755);
	assert_int_equal(fx_stat(f, "newdir/in").st_mode, S_IFREG | 0644);
	assert_int_equal(fx_stat(f, "src/mine").st_mode, S_IFREG | 0644);
	assert_string_equal(fx_acl_text(f, "newdir/in", ACL_TYPE_ACCESS), "u::rw-,g::r--,o::r--");
}

/* Inodes of every kind, with ACLs of every kind. */
static void make_zoo(struct fx *f)
{
	static const char raw_unsorted[] =
		"\2\0\0\0" "\1\0\7\0\377\377\377\377" "\2\0\5\0\160\21\1\0" "\2\0\7\0\7\0\0\0" "\4\0\5\0\377\377\377\377"
		"\10\0\6\0\11\0\0\0" "\20\0\7\0\377\377\377\377" "\40\0\0\0\377\377\377\377";

	fx_file(f, "src/named", "n\n", 0644);
	fx_acl(f, "src/named", ACL_TYPE_ACCESS, "u::rw-,u:7:rwx,g::r-x,g:9:rw-,m::r--,o::r--");
	fx_file(f, "src/wide-mask", "n\n", 0644);
	fx_acl(f, "src/wide-mask", ACL_TYPE_ACCESS, "u::rw-,u:7:r--,g::r--,m::rwx,o::---");
	fx_file(f, "src/mask-only", "n\n", 0644);
	fx_acl(f, "src/mask-only", ACL_TYPE_ACCESS, "u::rw-,g::rwx,m::r--,o::---");
	fx_file(f, "src/names-agent", "n\n", 0600);
	fx_acl(f, "src/names-agent", ACL_TYPE_ACCESS, "u::rw-,u:61002:r-x,g::---,m::r-x,o::---");
	fx_file(f, "tests/names-agent", "n\n", 0600);
	fx_acl(f, "tests/names-agent", ACL_TYPE_ACCESS, "u::rw-,u:61002:rwx,g::---,m::rwx,o::---");
	fx_file(f, ".git/names-agent", "n\n", 0600);
	fx_acl(f, ".git/names-agent", ACL_TYPE_ACCESS, "u::rw-,u:61002:rwx,g::---,m::rwx,o::---");
	fx_file(f, "src/unsorted", "n\n", 0644);
	assert_int_equal(setxattr(fx_path(f, "src/unsorted"), "system.posix_acl_access", raw_unsorted, sizeof(raw_unsorted) - 1, 0),
	                 0);
	fx_mkdir(f, "src/shared", 02775);
	assert_int_equal(fchownat(f->root_fd, "src/shared", OWNER, TEAM, 0), 0);
	assert_int_equal(fchmodat(f->root_fd, "src/shared", 02775, 0), 0);
	fx_acl(f, "src/shared", ACL_TYPE_DEFAULT, "u::rwx,g::rwx,g:61003:rwx,m::rwx,o::---");
	fx_mkdir(f, "src/shared/deep", 03770);
	fx_acl(f, "src/shared/deep", ACL_TYPE_DEFAULT, "u::rwx,g::r-x,o::---");
	fx_acl(f, "src/shared/deep", ACL_TYPE_ACCESS, "u::rwx,u:8:rwx,g::r-x,m::rwx,o::r-x");
	fx_mkdir(f, "src/names-agent-default", 0755);
	fx_acl(f, "src/names-agent-default", ACL_TYPE_DEFAULT, "u::rwx,u:61002:r-x,g::r-x,m::r-x,o::---");
	fx_file(f, "src/setuid", "n\n", 06755);
	fx_file(f, "src/private", "n\n", 0600);
	fx_file(f, "src/nothing", "n\n", 0);
	fx_mkdir(f, "src/closed", 0);
	fx_file(f, "src/xattr", "n\n", 0644);
	assert_int_equal(setxattr(fx_path(f, "src/xattr"), "user.note", "mine", 4, 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", f->root_fd, "src/link"), 0);
	fx_own(f, "src/link");
	assert_int_equal(symlinkat("nowhere", f->root_fd, "root-link"), 0);
	fx_own(f, "root-link");
	for (int i = 0; i < 2; i++) {
		const char *fifo = i == 0 ? "src/fifo" : "fifo";
		const char *sock = i == 0 ? "src/sock" : "sock";

		assert_int_equal(mkfifoat(f->root_fd, fifo, 0644), 0);
		fx_own(f, fifo);
		assert_int_equal(mknodat(f->root_fd, sock, S_IFSOCK | 0666, 0), 0);
		fx_own(f, sock);
	}
	assert_int_equal(mknodat(f->root_fd, "src/null", S_IFCHR | 0666, makedev(1, 3)), 0);
	fx_own(f, "src/null");
	fx_file(f, "src/strangers", "n\n", 0666);
	assert_int_equal(fchownat(f->root_fd, "src/strangers", STRANGER, STRANGER, 0), 0);
	fx_mkdir(f, "src/strangers-dir", 0755);
	fx_file(f, "src/strangers-dir/mine", "n\n", 0644);
	assert_int_equal(fchownat(f->root_fd, "src/strangers-dir", STRANGER, STRANGER, 0), 0);
	fx_file(f, "src/one", "n\n", 0644);
	assert_int_equal(linkat(f->root_fd, "src/one", f->root_fd, "src/sub/two", 0), 0);
	fx_file(f, "src/store", "n\n", 0644);
	assert_int_equal(linkat(f->root_fd, "src/store", f->root_fd, "tests/store", 0), 0);
	fx_file(f, "src/new\nline \x1b[31m", "n\n", 0644);
	fx_mkdir(f, "src/\xff\xfe", 0755);
	fx_file(f, "src/\xff\xfe/\x80", "n\n", 0644);
	fx_acl(f, ".", ACL_TYPE_ACCESS, "u::rwx,u:7:r-x,g::r-x,m::r-x,o::r-x");
	fx_acl(f, "lib", ACL_TYPE_DEFAULT, "u::rwx,u:7:rwx,g::r-x,m::rwx,o::r-x");
}

static void test_everything_is_as_before(void **state)
{
	struct fx *f = *state;
	AUTO_FREE char *before = NULL;
	AUTO_FREE char *after = NULL;

	make_zoo(f);
	before = fx_dump(f, false);
	fx_open(f);
	for (unsigned int turn = 0; turn < 7; turn++) {
		fx_flip(f, turn % N_ROLES);
		fx_reclaim(f);
		assert_int_equal(f->changes.n_changes, 0);
	}
	fx_flip(f, DEVELOPER); /* and from the middle of a turn */
	fx_close(f);
	after = fx_dump(f, false);
	assert_same_dump(before, after);
	assert_int_equal(fx_journal(f), 0);
}

static void test_flips_write_only_what_changes(void **state)
{
	struct fx *f = *state;
	AUTO_FREE char *first = NULL;
	AUTO_FREE char *second = NULL;
	AUTO_FREE char *untouched = NULL;
	AUTO_FREE char *restored = NULL;

	make_zoo(f);
	fx_open(f);
	fx_flip(f, DEVELOPER);
	first = fx_dump(f, true);
	fx_flip(f, DEVELOPER);
	second = fx_dump(f, true);
	assert_same_dump(first, second);
	fx_close(f);
	/* Nothing of ours is left, so a second restore has nothing to write. */
	untouched = fx_dump(f, true);
	{
		uint64_t n = 99;

		OK(f, tree_restore_unattended_at(f->state_fd, f->root_fd, f->root, NULL, 0, &n, &f->e));
		assert_int_equal(n, 0);
	}
	restored = fx_dump(f, true);
	assert_same_dump(untouched, restored);
}

/* Constant cost: inside a sealed zone nothing is written. */
static void test_a_seal_touches_only_the_top(void **state)
{
	struct fx *f = *state;
	struct stat before, after;

	fx_open(f);
	before = fx_stat(f, "tests/t.sh");
	fx_flip(f, DEVELOPER);
	after = fx_stat(f, "tests/t.sh");
	assert_memory_equal(&before.st_ctim, &after.st_ctim, sizeof(before.st_ctim));
	assert_string_equal(fx_acl_text(f, "tests", ACL_TYPE_ACCESS), "u::rwx,u:61002:---,g::r-x,m::r-x,o::r-x");
	fx_close(f);
}

static void test_all_modes_come_back(void **state)
{
	struct fx *f = *state;
	AUTO_FREE char *before = NULL;
	AUTO_FREE char *after = NULL;
	char path[64];

	fx_mkdir(f, "src/modes", 0755);
	for (mode_t mode = 0; mode <= 07777; mode++) {
		(void)snprintf(path, sizeof(path), "src/modes/%04o", mode);
		if (mode % 16 == 0 || mode < 512)
			fx_file(f, path, "", mode);
		else
			fx_mkdir(f, path, mode);
	}
	before = fx_dump(f, false);
	fx_open(f);
	for (unsigned int role = 0; role < N_ROLES; role++) {
		fx_flip(f, role);
		fx_reclaim(f);
		assert_int_equal(f->changes.n_changes, 0);
	}
	fx_close(f);
	after = fx_dump(f, false);
	assert_same_dump(before, after);
}

static void test_nobody_else_gains_on_disk(void **state)
{
	struct fx *f = *state;

	fx_file(f, "src/cut", "n\n", 0640);
	fx_acl(f, "src/cut", ACL_TYPE_ACCESS, "u::rw-,u:61004:rw-,g::rw-,m::r--,o::---");
	assert_int_equal(fx_as(f, STRANGER, act_read, "src/cut"), 0);
	assert_int_equal(fx_as(f, STRANGER, act_write, "src/cut"), EACCES);
	fx_open(f);
	fx_flip(f, DEVELOPER);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/cut"), 0);
	assert_int_equal(fx_as(f, STRANGER, act_read, "src/cut"), 0);
	assert_int_equal(fx_as(f, STRANGER, act_write, "src/cut"), EACCES);
	assert_int_equal(fx_as(f, STRANGER, act_read, "src/sub/b.c"), EACCES);
	fx_close(f);
}

static void test_a_persons_changes_stay(void **state)
{
	struct fx *f = *state;

	fx_file(f, "src/tight", "n\n", 0600);
	fx_file(f, "src/acl", "n\n", 0640);
	fx_acl(f, "src/acl", ACL_TYPE_ACCESS, "u::rw-,u:7:rw-,g::r--,m::rw-,o::---");
	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_sh(f, OWNER, "chmod 640 src/tight; chmod 755 src/a.c; chmod 600 src/acl; umask 077; echo p > src/new-private; umask 022; "
	      "echo p > src/new-public; mkdir src/new-dir; chmod 700 src/sub; mv src/run other-run");
	fx_reclaim(f);
	fx_flip(f, REVIEWER);
	assert_int_equal(fx_as(f, AGENT, act_exec, "src/a.c"), 0);
	fx_reclaim(f);
	fx_close(f);
	assert_int_equal(fx_stat(f, "src/tight").st_mode & 07777, 0640);
	assert_int_equal(fx_stat(f, "src/a.c").st_mode & 07777, 0755);
	assert_string_equal(fx_acl_text(f, "src/acl", ACL_TYPE_ACCESS), "u::rw-,u:7:rw-,g::r--,m::---,o::---");
	assert_int_equal(fx_stat(f, "src/new-public").st_mode & 07777, 0644);
	assert_int_equal(fx_stat(f, "src/new-dir").st_mode & 07777, 0755);
	assert_int_equal(fx_stat(f, "src/sub").st_mode & 07777, 0700);
	assert_int_equal(fx_stat(f, "other-run").st_mode & 07777, 0755);
	assert_string_equal(fx_acl_text(f, "other-run", ACL_TYPE_ACCESS), "u::rwx,g::r-x,o::r-x");
	assert_int_equal(lgetxattr(fx_path(f, "src/new-dir"), "system.posix_acl_default", NULL, 0), -1);
}

static void test_hard_links(void **state)
{
	struct fx *f = *state;

	fx_file(f, "src/one", "n\n", 0644);
	assert_int_equal(linkat(f->root_fd, "src/one", f->root_fd, "src/sub/two", 0), 0);
	fx_file(f, "store", "n\n", 0644);
	assert_int_equal(linkat(f->root_fd, "store", f->root_fd, "src/sub/store", 0), 0);
	fx_file(f, "src/cross", "n\n", 0644);
	assert_int_equal(linkat(f->root_fd, "src/cross", f->root_fd, "lib/core/src/cross", 0), 0);
	fx_open(f);
	fx_flip(f, DEVELOPER);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/one"), 0);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/sub/two"), 0);
	assert_int_equal(fx_as(f, AGENT, act_read, "src/sub/store"), EACCES);
	assert_int_equal(fx_as(f, AGENT, act_read, "src/cross"), EACCES);
	assert_int_equal(fx_as(f, AGENT, act_read, "lib/core/src/cross"), EACCES);
	/* The agent may link within its zone; that is still all in it. */
	fx_sh(f, AGENT, "ln src/a.c src/sub/a2.c; echo more >> src/sub/a2.c");
	fx_reclaim(f);
	assert_true(fx_listed(f, "!src/sub/store: has other names"));
	assert_true(fx_listed(f, "!src/cross: has other names"));
	assert_true(fx_listed(f, "Asrc/sub/a2.c"));
	assert_true(fx_listed(f, "Msrc/a.c"));
	assert_false(fx_listed(f, "Msrc/one"));
	assert_int_equal(f->changes.n_changes, 2);
	fx_flip(f, DEVELOPER);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/sub/a2.c"), 0);
	fx_reclaim(f);
	assert_int_equal(f->changes.n_changes, 0);
	fx_close(f);
}

static void test_a_file_is_born_for_the_role_that_writes_it(void **state)
{
	struct fx *f = *state;

	fx_open(f);
	fx_flip(f, DEVELOPER);
	assert_false(fx_exists(f, "REVIEW.md"));
	fx_reclaim(f);
	fx_flip(f, REVIEWER);
	assert_int_equal(fx_stat(f, "REVIEW.md").st_uid, OWNER);
	assert_int_equal(fx_as(f, AGENT, act_write, "REVIEW.md"), 0);
	assert_int_equal(fx_as(f, OWNER, act_write, "REVIEW.md"), 0);
	fx_reclaim(f);
	assert_false(fx_exists(f, "REVIEW.md"));
	assert_int_equal(f->changes.n_changes, 0);
	fx_flip(f, REVIEWER);
	fx_sh(f, AGENT, "echo '- [ ] wrong' > REVIEW.md; echo x >> TASKS.md");
	fx_reclaim(f);
	assert_true(fx_listed(f, "AREVIEW.md"));
	assert_true(fx_listed(f, "MTASKS.md"));
	assert_int_equal(f->changes.n_changes, 2);
	/* It is an ordinary file now, also when it is emptied. */
	fx_flip(f, DEVELOPER);
	assert_int_equal(fx_as(f, AGENT, act_read, "REVIEW.md"), 0);
	assert_int_equal(fx_as(f, AGENT, act_write, "REVIEW.md"), EACCES);
	fx_reclaim(f);
	fx_flip(f, REVIEWER);
	fx_sh(f, AGENT, ": > REVIEW.md");
	fx_reclaim(f);
	assert_true(fx_listed(f, "MREVIEW.md"));
	assert_true(fx_exists(f, "REVIEW.md"));
	fx_close(f);
	assert_int_equal(fx_stat(f, "REVIEW.md").st_mode, S_IFREG | 0644);
	assert_string_equal(fx_acl_text(f, "REVIEW.md", ACL_TYPE_ACCESS), "u::rw-,g::r--,o::r--");
	assert_int_equal(lgetxattr(fx_path(f, "REVIEW.md"), "trusted.stint.created", NULL, 0), -1);
}

static void test_depth(void **state)
{
	struct fx *f = *state;
	int at = openat(f->root_fd, "src", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_FREE char *before = NULL;
	AUTO_FREE char *after = NULL;

	for (int i = 0; i < 5000; i++) {
		int next;

		assert_int_equal(mkdirat(at, "deep", 0755), 0);
		assert_int_equal(fchownat(at, "deep", OWNER, OWNER, 0), 0);
		next = openat(at, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(at);
		at = next;
	}
	before = fx_dump(f, false);
	fx_open(f);
	fx_flip(f, DEVELOPER);
	{
		struct stat st;
		char value[1024];
		char proc[64];

		(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", at);
		assert_true(getxattr(proc, "system.posix_acl_default", value, sizeof(value)) > 0);
		assert_int_equal(fstat(at, &st), 0);
		assert_int_equal(st.st_mode & 0070, 0070); /* the mask of a grant of rwx */
	}
	fx_reclaim(f);
	assert_int_equal(f->changes.n_changes, 0);
	fx_close(f);
	after = fx_dump(f, false);
	assert_same_dump(before, after);
	(void)close(at);
}

/* ---------------------------------------------------------------- refusals */

static void expect_refusal(struct fx *f, const char *word)
{
	memset(&f->e, 0, sizeof(f->e));
	if (fx_try_open(f) == 0) {
		assert_int_not_equal(tree_repair(f->t, &f->e), 0);
		tree_free(f->t);
		f->t = NULL;
	}
	assert_int_equal(f->e.exit, STOP_USAGE);
	if (strstr(f->e.msg, word) == NULL)
		fail_msg("\"%s\" does not say %s", f->e.msg, word);
}

static void test_unfit_zones_are_refused(void **state)
{
	struct fx *f = *state;

	OK(f, fx_try_open(f));
	tree_free(f->t);
	f->t = NULL;
	assert_int_equal(renameat(f->root_fd, "src", f->root_fd, "real"), 0);
	expect_refusal(f, "src");
	assert_int_equal(symlinkat("real", f->root_fd, "src"), 0);
	fx_own(f, "src");
	expect_refusal(f, "symbolic link");
	assert_int_equal(unlinkat(f->root_fd, "src", 0), 0);
	fx_file(f, "src", "n\n", 0644);
	expect_refusal(f, "not a folder");
	assert_int_equal(unlinkat(f->root_fd, "src", 0), 0);
	fx_mkdir(f, "src", 0755);
	assert_int_equal(fchownat(f->root_fd, "src", STRANGER, STRANGER, 0), 0);
	expect_refusal(f, "owner");
	fx_own(f, "src");
	assert_int_equal(mount("none", fx_path(f, "src"), "tmpfs", 0, NULL), 0);
	expect_refusal(f, "mount point");
	assert_int_equal(umount(fx_path(f, "src")), 0);
	assert_int_equal(mount(fx_path(f, "real"), fx_path(f, "src"), NULL, MS_BIND, NULL), 0);
	expect_refusal(f, "mount point");
	assert_int_equal(umount(fx_path(f, "src")), 0);
	OK(f, fx_try_open(f));
}

static void test_a_repository_in_an_open_zone_is_refused(void **state)
{
	struct fx *f = *state;
	static const struct row with_vendor[] = {
		{"src/", {LEVEL_RW, LEVEL_NONE, LEVEL_R}, ENTRY_NAMED},
		{"vendor/", {LEVEL_NONE, LEVEL_NONE, LEVEL_NONE}, ENTRY_NAMED},
		{NULL, {0}, 0},
	};

	fx_mkdir(f, "vendor", 0755);
	fx_mkdir(f, "vendor/x", 0755);
	fx_mkdir(f, "vendor/x/.git", 0755);
	fx_policy(f, with_vendor);
	fx_open(f);
	fx_close(f);
	fx_file(f, "src/sub/.git", "gitdir: /x\n", 0644);
	expect_refusal(f, "src/sub/.git");
}

/* "*" catches what no role may have anyway: it stays as it is. */
static void test_what_the_star_catches_may_be_unfit(void **state)
{
	struct fx *f = *state;
	static const struct row star[] = {
		{"src/", {LEVEL_RW, LEVEL_NONE, LEVEL_R}, ENTRY_NAMED},
		{"strange/", {LEVEL_NONE, LEVEL_NONE, LEVEL_NONE}, 0},
		{"link", {LEVEL_NONE, LEVEL_NONE, LEVEL_NONE}, 0},
		{NULL, {0}, 0},
	};
	AUTO_FREE char *before = NULL;
	AUTO_FREE char *after = NULL;

	fx_mkdir(f, "strange", 0755);
	assert_int_equal(fchownat(f->root_fd, "strange", 0, 0, 0), 0);
	assert_int_equal(symlinkat("/etc", f->root_fd, "link"), 0);
	fx_own(f, "link");
	before = fx_dump(f, false);
	fx_policy(f, star);
	fx_open(f);
	fx_flip(f, DEVELOPER);
	assert_int_equal(lgetxattr(fx_path(f, "strange"), "system.posix_acl_access", NULL, 0), -1);
	fx_close(f);
	after = fx_dump(f, false);
	assert_same_dump(before, after);
}

static void set_immutable(const char *path, bool on)
{
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
	int flags = 0;

	assert_int_equal(ioctl(fd, FS_IOC_GETFLAGS, &flags), 0);
	flags = on ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
	assert_int_equal(ioctl(fd, FS_IOC_SETFLAGS, &flags), 0);
}

static void test_an_immutable_file_ends_the_run(void **state)
{
	struct fx *f = *state;
	AUTO_FREE char *before = fx_dump(f, false);
	AUTO_FREE char *after = NULL;

	fx_open(f);
	set_immutable(fx_path(f, "src/sub/b.c"), true);
	assert_int_equal(tree_flip(f->t, DEVELOPER, &f->e), -EPERM);
	set_immutable(fx_path(f, "src/sub/b.c"), false);
	assert_int_equal(f->e.exit, STOP_CONFINE);
	assert_non_null(strstr(f->e.msg, "src/sub/b.c"));
	assert_non_null(strstr(f->e.msg, "chattr -i"));
	fx_close(f);
	after = fx_dump(f, false);
	assert_same_dump(before, after);
}

/* Restore goes on after a failure, keeps the journal, and can be repeated. */
static void test_restore_goes_on_after_a_failure(void **state)
{
	struct fx *f = *state;
	AUTO_FREE char *before = fx_dump(f, false);
	AUTO_FREE char *after = NULL;

	fx_open(f);
	fx_flip(f, DEVELOPER);
	set_immutable(fx_path(f, "src/sub/b.c"), true);
	assert_int_equal(tree_restore(f->t, &f->e), -EPERM);
	assert_non_null(strstr(f->e.msg, "src/sub/b.c"));
	assert_true(fx_journal(f) > 0);
	assert_string_equal(fx_acl_text(f, "tests", ACL_TYPE_ACCESS), "u::rwx,g::r-x,o::r-x");
	assert_string_equal(fx_acl_text(f, "src/a.c", ACL_TYPE_ACCESS), "u::rw-,g::r--,o::r--");
	set_immutable(fx_path(f, "src/sub/b.c"), false);
	fx_close(f);
	after = fx_dump(f, false);
	assert_same_dump(before, after);
	assert_int_equal(fx_journal(f), 0);
}

static void test_no_acl_support_ends_the_run(void **state)
{
	struct fx *f = *state;
	AUTO_FD root = -1;

	assert_int_equal(mount("none", fx_path(f, "docs"), "ramfs", 0, NULL), 0);
	root = open(fx_path(f, "docs"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fchown(root, OWNER, OWNER), 0);
	assert_int_equal(mkdirat(root, "src", 0755), 0);
	assert_int_equal(fchownat(root, "src", OWNER, OWNER, 0), 0);
	{
		static const struct row one[] = {{"src/", {LEVEL_RW, LEVEL_NONE, LEVEL_R}, ENTRY_NAMED}, {NULL, {0}, 0}};
		int keep = f->root_fd;

		fx_policy(f, one);
		f->root_fd = root;
		fx_open(f);
		assert_int_equal(tree_flip(f->t, DEVELOPER, &f->e), -EOPNOTSUPP);
		assert_int_equal(f->e.exit, STOP_CONFINE);
		assert_non_null(strstr(f->e.msg, "no ACLs"));
		fx_close(f);
		f->root_fd = keep;
	}
	fd_close(&root);
	assert_int_equal(umount(fx_path(f, "docs")), 0);
}

static void test_a_mount_point_inside_a_zone_ends_the_run(void **state)
{
	struct fx *f = *state;
	int rc;

	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_reclaim(f);
	assert_int_equal(mount(fx_path(f, "tests"), fx_path(f, "src/sub"), NULL, MS_BIND, NULL), 0);
	rc = tree_flip(f->t, DEVELOPER, &f->e);
	assert_int_equal(umount(fx_path(f, "src/sub")), 0);
	assert_int_equal(rc, -EXDEV);
	assert_int_equal(f->e.exit, STOP_CONFINE);
	assert_non_null(strstr(f->e.msg, "src/sub"));
	assert_string_equal(fx_acl_text(f, "tests/t.sh", ACL_TYPE_ACCESS), "u::rwx,g::r-x,o::r-x");
	fx_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_each_role_may_what_the_table_says),
		T(test_what_appears_later_is_closed),
		T(test_everything_is_as_before),
		T(test_flips_write_only_what_changes),
		T(test_a_seal_touches_only_the_top),
		T(test_all_modes_come_back),
		T(test_nobody_else_gains_on_disk),
		T(test_a_persons_changes_stay),
		T(test_hard_links),
		T(test_a_file_is_born_for_the_role_that_writes_it),
		T(test_depth),
		T(test_unfit_zones_are_refused),
		T(test_a_repository_in_an_open_zone_is_refused),
		T(test_what_the_star_catches_may_be_unfit),
		T(test_an_immutable_file_ends_the_run),
		T(test_restore_goes_on_after_a_failure),
		T(test_no_acl_support_ends_the_run),
		T(test_a_mount_point_inside_a_zone_ends_the_run),
	};

	/* For an account with a group of writers, and for one without, whose zones are set anew at each change of roles. */
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	fx_writers = 0;
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
