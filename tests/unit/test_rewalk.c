/* Which zones a flip walks again: a reader's zone only after a role had it for writing, a sealed one never. */
#include "tests/unit/tree_fixture.h"

#include <sys/inotify.h>

/* Whether a folder below the zone was opened during the flip: nothing else here opens it. */
static bool walks(struct fx *f, unsigned int role, const char *folder)
{
	char events[4096] __attribute__((aligned(8)));
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	ssize_t n;

	assert_true(watch >= 0);
	assert_true(inotify_add_watch(watch, fx_path(f, folder), IN_OPEN) >= 0);
	fx_flip(f, role);
	n = read(watch, events, sizeof(events));
	(void)close(watch);
	assert_true(n > 0 || errno == EAGAIN);
	return n > 0;
}

static void test_a_zone_that_nobody_wrote_is_not_walked_again(void **state)
{
	struct fx *f = *state;

	fx_mkdir(f, "lib/core/src/deep", 0755);
	fx_open(f);
	assert_true(walks(f, DEVELOPER, "lib/core/src/deep"));
	fx_reclaim(f);
	assert_true(walks(f, TESTER, "lib/core/src/deep"));
	fx_reclaim(f);
	assert_false(walks(f, REVIEWER, "lib/core/src/deep"));
	fx_reclaim(f);
	assert_true(walks(f, DEVELOPER, "lib/core/src/deep"));
	fx_reclaim(f);
	/* Sealed in between and opened for reading for the first time since it was written. */
	assert_true(walks(f, DEVELOPER, "src/sub"));
	fx_reclaim(f);
	assert_false(walks(f, TESTER, "src/sub"));
	fx_reclaim(f);
	assert_true(walks(f, REVIEWER, "src/sub"));
	fx_reclaim(f);
	assert_false(walks(f, TESTER, "src/sub"));
	fx_reclaim(f);
	assert_false(walks(f, REVIEWER, "src/sub"));
	fx_reclaim(f);
	fx_close(f);
}

static void test_what_a_writer_made_is_read_only_for_the_next(void **state)
{
	struct fx *f = *state;

	fx_open(f);
	for (int turn = 0; turn < 2; turn++) {
		fx_flip(f, REVIEWER);
		fx_reclaim(f);
		fx_flip(f, DEVELOPER);
		fx_sh(f, AGENT, "rm -rf src/sub/made src/made-link; mkdir -p src/sub/made/in; umask 0; echo n > src/sub/made/in/file; chmod 666 src/sub/made/in/file; "
		      "ln src/sub/made/in/file src/made-link; chmod 600 src/made-link");
		fx_reclaim(f);
		fx_flip(f, REVIEWER);
		assert_int_equal(fx_as(f, AGENT, act_read, "src/sub/made/in/file"), 0);
		assert_int_equal(fx_as(f, AGENT, act_write, "src/sub/made/in/file"), EACCES);
		assert_int_equal(fx_as(f, AGENT, act_write, "src/made-link"), EACCES);
		assert_int_equal(fx_as(f, AGENT, act_create, "src/sub/made/new"), EACCES);
		fx_reclaim(f);
		/* Not walked again for the second reader, and still as the table says. */
		fx_flip(f, REVIEWER);
		assert_int_equal(fx_as(f, AGENT, act_read, "src/sub/made/in/file"), 0);
		assert_int_equal(fx_as(f, AGENT, act_write, "src/sub/made/in/file"), EACCES);
		fx_reclaim(f);
	}
	fx_close(f);
}

/* By the folder's default ACL; what a person did to modes meanwhile is there at the end. */
static void test_a_persons_new_file_is_read_only_without_a_walk(void **state)
{
	struct fx *f = *state;

	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_reclaim(f);
	fx_flip(f, REVIEWER);
	fx_sh(f, OWNER, "echo p > src/sub/mine; chmod 640 src/sub/mine; mkdir src/sub/dir; echo p > src/sub/dir/in; chmod 755 src/a.c");
	fx_reclaim(f);
	assert_false(walks(f, REVIEWER, "src/sub"));
	assert_int_equal(fx_as(f, AGENT, act_read, "src/sub/mine"), 0);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/sub/mine"), EACCES);
	assert_int_equal(fx_as(f, AGENT, act_read, "src/sub/dir/in"), 0);
	assert_int_equal(fx_as(f, AGENT, act_create, "src/sub/dir/new"), EACCES);
	fx_reclaim(f);
	fx_flip(f, DEVELOPER);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/sub/mine"), 0);
	assert_int_equal(fx_as(f, AGENT, act_exec, "src/a.c"), 0);
	fx_reclaim(f);
	fx_close(f);
	assert_int_equal(fx_stat(f, "src/sub/mine").st_mode & 07777, 0640);
	assert_int_equal(fx_stat(f, "src/a.c").st_mode & 07777, 0755);
	assert_string_equal(fx_acl_text(f, "src/sub/mine", ACL_TYPE_ACCESS), "u::rw-,g::r--,o::---");
}

/* A name outside the zone closes the file where it is seen: in the zone that is walked, for both. */
static void test_a_hard_link_out_of_a_readers_zone_is_closed(void **state)
{
	struct fx *f = *state;

	fx_mkdir(f, "lib/core/src/deep", 0755);
	fx_open(f);
	fx_flip(f, TESTER);
	assert_int_equal(fx_as(f, AGENT, act_read, "lib/core/src/c.c"), 0);
	fx_sh(f, OWNER, "ln lib/core/src/c.c tests/out");
	fx_reclaim(f);
	assert_false(walks(f, TESTER, "lib/core/src/deep"));
	assert_int_equal(fx_as(f, AGENT, act_write, "tests/out"), EACCES);
	assert_int_equal(fx_as(f, AGENT, act_read, "lib/core/src/c.c"), EACCES);
	fx_reclaim(f);
	fx_close(f);
}

/* A restore closes what was open, so nothing is known of it any more. */
static void test_a_run_after_a_restore_walks_again(void **state)
{
	struct fx *f = *state;

	fx_open(f);
	fx_flip(f, REVIEWER);
	fx_reclaim(f);
	OK(f, tree_restore(f->t, &f->e));
	OK(f, tree_repair(f->t, &f->e));
	assert_true(walks(f, REVIEWER, "src/sub"));
	assert_int_equal(fx_as(f, AGENT, act_read, "src/sub/b.c"), 0);
	assert_non_null(strstr(fx_acl_text(f, "src/sub/b.c", ACL_TYPE_ACCESS), "u:61002:r"));
	fx_reclaim(f);
	fx_close(f);
}

/* ---------------------------------------------------------------- with a group of writers */

/* Folders that the same roles write and read are opened once: what changes between turns is who has the group. */
static void test_a_shared_zone_is_walked_by_its_writers_alone(void **state)
{
	struct fx *f = *state;
	struct stat before;

	fx_open(f);
	assert_true(walks(f, REVIEWER, "src/sub"));
	fx_reclaim(f);
	before = fx_stat(f, "src/sub/b.c");
	for (int i = 0; i < 2; i++) {
		assert_true(walks(f, DEVELOPER, "src/sub"));
		assert_int_equal(fx_as(f, AGENT, act_write, "src/sub/b.c"), 0);
		assert_int_equal(fx_as(f, AGENT, act_create, "src/sub/new"), 0);
		fx_reclaim(f);
		assert_false(walks(f, TESTER, "src/sub"));
		assert_int_equal(fx_as(f, AGENT, act_read, "src/sub/b.c"), EACCES);
		assert_int_equal(fx_as(f, AGENT, act_write, "src/sub/b.c"), EACCES);
		fx_reclaim(f);
		assert_false(walks(f, REVIEWER, "src/sub"));
		assert_int_equal(fx_as(f, AGENT, act_read, "src/sub/b.c"), 0);
		assert_int_equal(fx_as(f, AGENT, act_write, "src/sub/b.c"), EACCES);
		assert_int_equal(fx_as(f, AGENT, act_create, "src/sub/new"), EACCES);
		fx_reclaim(f);
	}
	assert_int_equal(fx_stat(f, "src/sub/b.c").st_ctim.tv_sec, before.st_ctim.tv_sec);
	assert_int_equal(fx_stat(f, "src/sub/b.c").st_ctim.tv_nsec, before.st_ctim.tv_nsec);
	fx_close(f);
}

/* The reader after the writer sees all of it and writes none of it, without a walk. */
static void test_what_a_writer_made_is_shared_at_once(void **state)
{
	struct fx *f = *state;

	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_sh(f, AGENT, "umask 0; mkdir src/sub/made; echo n >src/sub/made/file; echo r >src/sub/b.new; chmod 600 src/sub/b.new; "
	      "mv src/sub/b.new src/sub/b.c; mv src/a.c src/sub/made/moved; install -m 750 /bin/true src/sub/prog; ln -s b.c src/sub/link");
	fx_reclaim(f);
	assert_false(walks(f, REVIEWER, "src/sub/made"));
	assert_int_equal(fx_as(f, AGENT, act_read, "src/sub/made/file"), 0);
	assert_int_equal(fx_as(f, AGENT, act_read, "src/sub/made/moved"), 0);
	assert_int_equal(fx_as(f, AGENT, act_read, "src/sub/link"), 0);
	assert_int_equal(fx_as(f, AGENT, act_exec, "src/sub/prog"), 0);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/sub/made/file"), EACCES);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/sub/made/moved"), EACCES);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/sub/b.c"), EACCES);
	assert_int_equal(fx_as(f, AGENT, act_create, "src/sub/made/new"), EACCES);
	fx_reclaim(f);
	fx_flip(f, DEVELOPER);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/sub/b.c"), 0);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/sub/made/file"), 0);
	fx_reclaim(f);
	fx_close(f);
	assert_string_equal(fx_acl_text(f, "src/sub/made", ACL_TYPE_ACCESS), "u::rwx,g::r-x,o::r-x");
	assert_string_equal(fx_acl_text(f, "src/sub/made/moved", ACL_TYPE_ACCESS), "u::rw-,g::r--,o::r--");
	assert_int_equal(fx_stat(f, "src/sub/b.c").st_mode & 0777, 0640); /* as the one that it replaced */
}

/* Each of these only a walk can judge. */
static void test_what_takes_more_than_a_look_is_walked(void **state)
{
	static const char *const scripts[] = {
		"ln src/a.c src/sub/twice", "mkfifo src/sub/pipe", "mkdir src/sub/.git",
	};
	struct fx *f = *state;

	fx_open(f);
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		fx_flip(f, DEVELOPER);
		fx_reclaim(f);
		assert_false(walks(f, REVIEWER, "src/sub"));
		fx_reclaim(f);
		fx_flip(f, DEVELOPER);
		fx_sh(f, i == 0 ? OWNER : AGENT, scripts[i]);
		fx_reclaim(f);
		assert_true(walks(f, REVIEWER, "src/sub"));
		fx_reclaim(f);
	}
	fx_close(f);
}

/* Whoever may write one shared folder has the group: in no other may that role only read. */
static void test_zones_that_one_group_cannot_tell_apart(void **state)
{
	static const struct row crossed[] = {
		{"TASKS.md", {LEVEL_R, LEVEL_R, LEVEL_RW}, ENTRY_NAMED},
		{"src/", {LEVEL_RW, LEVEL_R, LEVEL_R}, ENTRY_NAMED},
		{"tests/", {LEVEL_R, LEVEL_RW, LEVEL_R}, ENTRY_NAMED},
		{NULL, {0}, 0},
	};
	struct fx *f = *state;

	fx_policy(f, crossed);
	fx_open(f);
	for (int i = 0; i < 2; i++) {
		fx_flip(f, DEVELOPER);
		assert_int_equal(fx_as(f, AGENT, act_write, "src/a.c"), 0);
		assert_int_equal(fx_as(f, AGENT, act_read, "tests/t.sh"), 0);
		assert_int_equal(fx_as(f, AGENT, act_write, "tests/t.sh"), EACCES);
		fx_reclaim(f);
		fx_flip(f, TESTER);
		assert_int_equal(fx_as(f, AGENT, act_write, "tests/t.sh"), 0);
		assert_int_equal(fx_as(f, AGENT, act_read, "src/a.c"), 0);
		assert_int_equal(fx_as(f, AGENT, act_write, "src/a.c"), EACCES);
		fx_reclaim(f);
		fx_flip(f, REVIEWER);
		assert_int_equal(fx_as(f, AGENT, act_read, "tests/t.sh"), 0);
		assert_int_equal(fx_as(f, AGENT, act_write, "tests/t.sh"), EACCES);
		assert_int_equal(fx_as(f, AGENT, act_write, "src/a.c"), EACCES);
		fx_reclaim(f);
	}
	fx_close(f);
}

/* Its second flip takes from the first one's snapshot what has not changed, and the third from the second's: the base that comes
 * back must come through both. */
static void test_what_did_not_change_is_put_back_all_the_same(void **state)
{
	static const char named[] = "u::rw-,u:7:rw-,g::r--,m::rw-,o::---";
	struct fx *f = *state;

	fx_file(f, "src/named", "n\n", 0640);
	fx_acl(f, "src/named", ACL_TYPE_ACCESS, named);
	fx_mkdir(f, "src/team", 0750);
	fx_acl(f, "src/team", ACL_TYPE_DEFAULT, "u::rwx,u:8:r-x,g::r-x,m::r-x,o::---");
	fx_open(f);
	for (int turn = 0; turn < 3; turn++) {
		fx_flip(f, DEVELOPER);
		assert_int_equal(fx_as(f, AGENT, act_write, "src/named"), 0);
		if (turn == 2)
			fx_sh(f, AGENT, "cd src; rm named; echo new > named; rmdir team; mkdir team");
		fx_reclaim(f);
		fx_flip(f, TESTER);
		fx_reclaim(f);
	}
	fx_close(f);
	assert_string_equal(fx_acl_text(f, "src/named", ACL_TYPE_ACCESS), named);
	assert_string_equal(fx_acl_text(f, "src/team", ACL_TYPE_DEFAULT), "u::rwx,u:8:r-x,g::r-x,m::r-x,o::---");
	assert_int_equal(fx_stat(f, "src/named").st_uid, OWNER);
}

/* What a person changes between two turns of one role, the inode of the file itself untouched in the last two. */
static void test_what_changed_in_between_is_set_anew(void **state)
{
	struct fx *f = *state;

	fx_file(f, "src/bare", "n\n", 0644);
	fx_mkdir(f, "src/repo", 0755);
	fx_file(f, "src/repo/in", "n\n", 0644);
	fx_file(f, "src/linked", "n\n", 0644);
	fx_sh(f, OWNER, "ln src/linked src/sub/link");
	fx_open(f);
	fx_flip(f, DEVELOPER);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/bare"), 0);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/repo/in"), 0);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/linked"), 0);
	fx_reclaim(f);
	fx_acl(f, "src/bare", ACL_TYPE_ACCESS, "u::rw-,g::r--,o::r--");
	fx_sh(f, OWNER, "cd src/repo; mkdir objects refs; echo ref: refs/heads/x > HEAD; mv ../sub/link ../../outside");
	fx_flip(f, DEVELOPER);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/bare"), 0);
	assert_int_equal(fx_as(f, AGENT, act_read, "src/repo/in"), 0);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/repo/in"), EACCES);
	assert_int_equal(fx_as(f, AGENT, act_read, "src/linked"), EACCES);
	fx_reclaim(f);
	fx_sh(f, OWNER, "rm src/repo/HEAD; mv outside src/sub/link");
	fx_flip(f, DEVELOPER);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/repo/in"), 0);
	assert_int_equal(fx_as(f, AGENT, act_write, "src/linked"), 0);
	fx_reclaim(f);
	fx_close(f);
}

static void test_the_snapshots_go_with_the_run(void **state)
{
	struct fx *f = *state;
	char name[SNAP_NAME_MAX];
	struct stat st;

	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_reclaim(f);
	journal_last_name(&f->t->journal, DEVELOPER, name);
	assert_int_equal(fstatat(f->t->journal_fd, name, &st, 0), 0);
	assert_true(f->t->has_last[DEVELOPER]);
	OK(f, tree_restore(f->t, &f->e));
	assert_int_equal(fstatat(f->t->journal_fd, name, &st, 0), -1);
	assert_false(f->t->has_last[DEVELOPER]);
	fx_close(f);
}

int main(void)
{
	const struct CMUnitTest not_shared[] = {
		T(test_a_zone_that_nobody_wrote_is_not_walked_again),
		T(test_what_a_writer_made_is_read_only_for_the_next),
		T(test_a_persons_new_file_is_read_only_without_a_walk),
		T(test_a_hard_link_out_of_a_readers_zone_is_closed),
		T(test_a_run_after_a_restore_walks_again),
		T(test_what_did_not_change_is_put_back_all_the_same),
		T(test_what_changed_in_between_is_set_anew),
		T(test_the_snapshots_go_with_the_run),
	};
	const struct CMUnitTest shared[] = {
		T(test_what_a_writer_made_is_read_only_for_the_next),
		T(test_a_persons_new_file_is_read_only_without_a_walk),
		T(test_a_hard_link_out_of_a_readers_zone_is_closed),
		T(test_a_shared_zone_is_walked_by_its_writers_alone),
		T(test_what_a_writer_made_is_shared_at_once),
		T(test_what_takes_more_than_a_look_is_walked),
		T(test_zones_that_one_group_cannot_tell_apart),
		T(test_what_did_not_change_is_put_back_all_the_same),
		T(test_what_changed_in_between_is_set_anew),
		T(test_the_snapshots_go_with_the_run),
	};
	int failed = cmocka_run_group_tests(shared, NULL, NULL);

	fx_writers = 0;
	return failed + cmocka_run_group_tests(not_shared, NULL, NULL);
}
