/* What an agent leaves behind: taken back, listed by name, and repaired after a kill at any instant. */
#include "tests/unit/tree_fixture.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>

static void check_mode(struct fx *f, const char *path, mode_t mode)
{
	struct stat st = fx_stat(f, path);

	if (st.st_uid != OWNER || st.st_gid != OWNER || st.st_mode != mode)
		fail_msg("%s: %o %u:%u, expected %o of the owner", path, st.st_mode, st.st_uid, st.st_gid, mode);
}

static void test_what_the_agent_made_is_the_owners(void **state)
{
	struct fx *f = *state;

	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_sh(f, AGENT, "cd src; echo x > plain; install -m 755 /bin/true prog; mkdir d d/e; echo y > d/e/deep; "
	      "echo p > private; chmod 600 private; install -m 6755 /bin/true suid; mkdir -m 2777 sgid; mkdir -m 1777 sticky; "
	      "echo w > open; chmod 666 open; echo n > unreadable; mkdir shut; echo s > shut/in; chmod 0 unreadable shut; "
	      "ln -s /etc/passwd link; ln plain twice");
	/* During the turn the owner can already use it. */
	assert_int_equal(fx_as(f, OWNER, act_write, "src/d/e/deep"), 0);
	assert_int_equal(fx_stat(f, "src/suid").st_mode & 06000, 06000);
	fx_reclaim(f);
	check_mode(f, "src/plain", S_IFREG | 0644);
	check_mode(f, "src/twice", S_IFREG | 0644);
	check_mode(f, "src/prog", S_IFREG | 0755);
	check_mode(f, "src/d", S_IFDIR | 0755);
	check_mode(f, "src/d/e", S_IFDIR | 0755);
	check_mode(f, "src/d/e/deep", S_IFREG | 0644);
	check_mode(f, "src/private", S_IFREG | 0600);
	check_mode(f, "src/suid", S_IFREG | 0755);
	check_mode(f, "src/sgid", S_IFDIR | 0755);
	check_mode(f, "src/sticky", S_IFDIR | 0755);
	check_mode(f, "src/open", S_IFREG | 0644);
	check_mode(f, "src/unreadable", S_IFREG | 0400);
	check_mode(f, "src/shut", S_IFDIR | 0700);
	check_mode(f, "src/shut/in", S_IFREG | 0644);
	check_mode(f, "src/link", S_IFLNK | 0777);
	assert_int_equal(fx_stat(f, "../p").st_uid, OWNER);
	fx_flip(f, REVIEWER);
	/* It does not bind the owner of a file: there is none of the agent's left. */
	assert_int_equal(fx_as(f, AGENT, act_write, "src/plain"), EACCES);
	assert_int_equal(fx_as(f, AGENT, act_read, "src/plain"), 0);
	fx_reclaim(f);
	fx_close(f);
	check_mode(f, "src/d/e/deep", S_IFREG | 0644);
	assert_int_equal(lgetxattr(fx_path(f, "src/d"), "system.posix_acl_default", NULL, 0), -1);
}

static int act_tag(const char *path)
{
	return setxattr(path, "user.evil", "1", 1, 0) == 0 ? 0 : errno;
}

static int act_socket(const char *path)
{
	return mknod(path, S_IFSOCK | 0666, 0) == 0 ? 0 : errno;
}

static void test_foreign_entries_and_xattrs_go(void **state)
{
	struct fx *f = *state;

	fx_file(f, "src/had-one", "n\n", 0644);
	assert_int_equal(setxattr(fx_path(f, "src/had-one"), "user.old", "1", 1, 0), 0);
	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_sh(f, AGENT, "cd src; echo x > gift; setfacl -m u:61004:rwx,g:61003:rwx gift; mkdir open; setfacl -m u:61004:rwx open; "
	      "setfacl -d -m u:61004:rwx open; echo x > tagged; echo more >> had-one");
	assert_int_equal(fx_as(f, AGENT, act_tag, "src/tagged"), 0);
	assert_int_equal(fx_as(f, AGENT, act_tag, "src/a.c"), 0);
	assert_int_equal(fx_as(f, STRANGER, act_write, "src/gift"), 0);
	fx_reclaim(f);
	assert_int_equal(fx_as(f, STRANGER, act_write, "src/gift"), EACCES);
	assert_string_equal(fx_acl_text(f, "src/gift", ACL_TYPE_ACCESS), "u::rw-,g::r--,o::r--");
	assert_string_equal(fx_acl_text(f, "src/open", ACL_TYPE_ACCESS), "u::rwx,g::r-x,o::r-x");
	assert_int_equal(lgetxattr(fx_path(f, "src/open"), "system.posix_acl_default", NULL, 0), -1);
	assert_int_equal(lgetxattr(fx_path(f, "src/tagged"), "user.evil", NULL, 0), -1);
	/* On the owner's file it is only reported: it may be the owner's. */
	assert_int_equal(lgetxattr(fx_path(f, "src/a.c"), "user.evil", NULL, 0), 1);
	assert_true(fx_listed(f, "!src/a.c: has user."));
	assert_false(fx_listed(f, "!src/had-one"));
	assert_true(fx_listed(f, "Msrc/had-one"));
	fx_close(f);
}

static void test_a_folders_own_default_is_kept(void **state)
{
	struct fx *f = *state;

	fx_mkdir(f, "src/team", 0770);
	fx_acl(f, "src/team", ACL_TYPE_DEFAULT, "u::rwx,g::rwx,g:61003:rwx,m::rwx,o::---");
	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_sh(f, AGENT, "cd src/team; echo x > file; mkdir dir; echo y > dir/in");
	fx_reclaim(f);
	assert_string_equal(fx_acl_text(f, "src/team/file", ACL_TYPE_ACCESS),
	                    "u::rw-,g::rwx,g:61003:rwx,m::rw-,o::---");
	fx_flip(f, DEVELOPER);
	fx_close(f);
	assert_string_equal(fx_acl_text(f, "src/team/file", ACL_TYPE_ACCESS),
	                    "u::rw-,g::rwx,g:61003:rwx,m::rw-,o::---");
	assert_string_equal(fx_acl_text(f, "src/team/dir", ACL_TYPE_DEFAULT), "u::rwx,g::rwx,g:61003:rwx,m::rwx,o::---");
}

static void make_replaced(struct fx *f)
{
	fx_file(f, "src/acl", "old\n", 0640);
	fx_acl(f, "src/acl", ACL_TYPE_ACCESS, "u::rw-,u:7:rw-,g::r--,m::rw-,o::---");
	fx_file(f, "src/script", "old\n", 0750);
	assert_int_equal(fchownat(f->root_fd, "src/script", OWNER, TEAM, 0), 0);
	fx_file(f, "src/suid", "old\n", 04755);
	fx_mkdir(f, "src/dir", 02750);
	fx_acl(f, "src/dir", ACL_TYPE_DEFAULT, "u::rwx,g::r-x,g:61003:rwx,m::rwx,o::---");
	fx_file(f, "src/dir/in", "old\n", 0600);
}

static const char replacing[] =
	"cd src; for x in acl script suid; do echo new > .tmp; mv .tmp $x; done; mv dir old; cp -r old dir; rm -r old";

static void check_replaced(struct fx *f)
{
	assert_string_equal(fx_acl_text(f, "src/acl", ACL_TYPE_ACCESS), "u::rw-,u:7:rw-,g::r--,m::rw-,o::---");
	assert_int_equal(fx_stat(f, "src/acl").st_uid, OWNER);
	assert_int_equal(fx_stat(f, "src/script").st_mode, S_IFREG | 0750);
	assert_int_equal(fx_stat(f, "src/script").st_gid, TEAM);
	check_mode(f, "src/suid", S_IFREG | 0755); /* the agent's content never gets the set-id bit */
	check_mode(f, "src/dir", S_IFDIR | 02750);
	assert_string_equal(fx_acl_text(f, "src/dir", ACL_TYPE_DEFAULT), "u::rwx,g::r-x,g:61003:rwx,m::rwx,o::---");
	check_mode(f, "src/dir/in", S_IFREG | 0600);
}

static void test_a_replaced_file_keeps_acl_and_mode(void **state)
{
	struct fx *f = *state;

	make_replaced(f);
	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_sh(f, AGENT, replacing);
	fx_reclaim(f);
	check_replaced(f);
	assert_true(fx_listed(f, "Msrc/acl"));
	assert_true(fx_listed(f, "Msrc/dir/in")); /* by path: copied over itself */
	assert_int_equal(f->changes.n_changes, 4);
	fx_flip(f, REVIEWER);
	fx_close(f);
	check_replaced(f);
}

static void test_pipes_sockets_and_repositories_are_made_useless(void **state)
{
	struct fx *f = *state;

	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_sh(f, AGENT, "cd src; mkfifo pipe; mkdir -p .git/hooks sub/.git; echo ref > .git/HEAD; echo '[core]' > .git/config; ln -s /tmp sub/.git/x; "
	      "mkdir other; echo 'gitdir: /tmp' > other/.git; mkdir third; ln -s ../sub third/.git");
	assert_int_equal(fx_as(f, AGENT, act_socket, "src/sock"), 0);
	fx_reclaim(f);
	check_mode(f, "src/pipe", S_IFIFO);
	check_mode(f, "src/sock", S_IFSOCK);
	check_mode(f, "src/.git", S_IFDIR);
	check_mode(f, "src/.git/config", S_IFREG);
	check_mode(f, "src/.git/hooks", S_IFDIR);
	check_mode(f, "src/sub/.git", S_IFDIR);
	assert_false(fx_exists(f, "src/other/.git"));
	assert_false(fx_exists(f, "src/third/.git"));
	assert_true(fx_listed(f, "!src/pipe: "));
	assert_true(fx_listed(f, "!src/sock: "));
	assert_true(fx_listed(f, "!src/.git: "));
	assert_true(fx_listed(f, "!src/other/.git: "));
	assert_true(fx_listed(f, "!src/third/.git: "));
	assert_false(fx_listed(f, "Asrc/.git/config"));
	assert_int_equal(fx_as(f, OWNER, act_read, "src/.git/config"), EACCES);
	/* The next turn does not open it again, the next run does not stumble over it. */
	fx_flip(f, DEVELOPER);
	assert_int_equal(fx_as(f, AGENT, act_read, "src/.git/config"), EACCES);
	fx_reclaim(f);
	fx_close(f);
	check_mode(f, "src/.git", S_IFDIR);
	fx_open(f);
	fx_close(f);
}

static void test_a_repository_of_a_root_owner_is_no_repository(void **state)
{
	struct fx *f = *state;

	fx_sh(f, 0, "chown -hR 0:0 .");
	f->who.owner = f->who.owner_gid = 0;
	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_sh(f, AGENT, "cd src; mkdir -p nested/.git; echo ref > nested/.git/HEAD");
	assert_true(fx_exists(f, "src/nested/.git/HEAD"));
	fx_reclaim(f);
	assert_false(fx_exists(f, "src/nested/.git/HEAD"));
	assert_int_equal(fx_stat(f, "src/nested/.git").st_mode & 07777, 0);
	fx_close(f);
}

static void test_changes_have_names(void **state)
{
	struct fx *f = *state;

	fx_mkdir(f, "src/old", 0755);
	fx_mkdir(f, "src/old/deep", 0755);
	fx_file(f, "src/old/one", "1\n", 0644);
	fx_file(f, "src/old/deep/two", "2\n", 0644);
	fx_mkdir(f, "src/gone", 0755);
	fx_mkdir(f, "src/gone/deep", 0755);
	fx_file(f, "src/gone/deep/three", "3\n", 0644);
	fx_file(f, "src/to-dir", "4\n", 0644);
	fx_mkdir(f, "src/to-file", 0755);
	fx_file(f, "src/to-file/five", "5\n", 0644);
	fx_file(f, "src/same", "6\n", 0644);
	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_sh(f, AGENT, "cd src; echo n > $'new\\n\\e[31m'; echo n > $'\\xff'; echo more >> a.c; rm run; mv sub/b.c sub/moved.c; "
	      "mv old renamed; rm -r gone; rm to-dir; mkdir to-dir; echo i > to-dir/in; rm -r to-file; echo f > to-file; "
	      "mkdir empty; cat same; ln -s x link");
	fx_reclaim(f);
	for (const char *const *p = (const char *const[]){
	             "Asrc/new\n\x1b[31m", "Asrc/\xff", "Msrc/a.c", "Dsrc/run", "Dsrc/sub/b.c", "Asrc/sub/moved.c", "Dsrc/old/one",
	             "Dsrc/old/deep/two", "Asrc/renamed/one", "Asrc/renamed/deep/two", "Dsrc/gone/deep/three", "Dsrc/to-dir",
	             "Asrc/to-dir/in", "Dsrc/to-file/five", "Asrc/to-file", "Asrc/link", NULL};
	     *p != NULL; p++)
		if (!fx_listed(f, *p))
			fail_msg("not listed: %s", *p);
	assert_int_equal(f->changes.n_changes, 16);
	assert_int_equal(f->changes.n_anomalies, 0);
	/* A zone that another role writes has not changed, and none of this is a change of the next turn. */
	fx_flip(f, DEVELOPER);
	fx_reclaim(f);
	assert_int_equal(f->changes.n_changes, 0);
	fx_close(f);
}

static void test_a_whole_zone_can_go(void **state)
{
	struct fx *f = *state;

	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_sh(f, OWNER, "rm -r src");
	fx_reclaim(f);
	assert_true(fx_listed(f, "Dsrc/a.c"));
	assert_true(fx_listed(f, "Dsrc/sub/b.c"));
	assert_int_equal(tree_flip(f->t, DEVELOPER, &f->e), -ENOENT);
	assert_int_equal(f->e.exit, STOP_CONFINE);
	fx_close(f);
}

/* The list is bounded; what it leaves out it says. */
static void test_a_long_list_is_cut(void **state)
{
	struct fx *f = *state;

	fx_open(f);
	fx_flip(f, DEVELOPER);
	fx_sh(f, AGENT, "cd src; n=$(printf 'n%.0s' {1..250}); p=.; for i in {1..14}; do mkdir $p/$n; p=$p/$n; done; cd $p; "
	      "seq 1 9500 | sed \"s/^/${n:6}/\" | xargs touch");
	fx_reclaim(f);
	assert_true(f->changes.cut);
	assert_true(fx_listed(f, "!the list of changes is cut"));
	assert_true(f->changes.records.len <= TREE_RECORDS_MAX + 100);
	fx_close(f);
}

/* ---------------------------------------------------------------- kills */

/* Flips and lets the agent act in a process that then dies without a word. */
static void turn_and_die(struct fx *f, unsigned int role, const char *script)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		fx_open(f);
		fx_flip(f, role);
		fx_sh(f, AGENT, script);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_the_next_run_repairs(void **state)
{
	struct fx *f = *state;

	make_replaced(f);
	turn_and_die(f, DEVELOPER, replacing);
	assert_true(fx_journal(f) > 0);
	assert_int_equal(fx_stat(f, "src/acl").st_uid, AGENT);
	fx_open(f);
	check_replaced(f);
	fx_close(f);
	check_replaced(f);
	assert_int_equal(fx_journal(f), 0);
}

static void test_a_repository_of_a_killed_turn_is_none(void **state)
{
	struct fx *f = *state;

	fx_mkdir(f, "src/mine", 0755);
	fx_sh(f, OWNER, "mkdir src/mine/objects src/mine/refs; echo 'ref: refs/heads/main' > src/mine/HEAD");
	turn_and_die(f, DEVELOPER, "cd src; mkdir -p r/objects r/refs nested; echo 'ref: refs/heads/main' > r/HEAD; cp -r r nested/.git");
	assert_true(fx_exists(f, "src/r/HEAD"));
	fx_open(f);
	fx_close(f);
	assert_false(fx_exists(f, "src/r/HEAD"));
	check_mode(f, "src/nested/.git", S_IFDIR);
	assert_true(fx_exists(f, "src/mine/HEAD"));
}

static void test_restore_needs_no_policy(void **state)
{
	struct fx *f = *state;
	AUTO_FREE char *before = NULL;
	AUTO_FREE char *after = NULL;
	uint64_t n = 0;

	make_replaced(f);
	turn_and_die(f, DEVELOPER, replacing);
	OK(f, tree_restore_unattended_at(f->state_fd, f->root_fd, f->root, NULL, 0, &n, &f->e));
	assert_true(n > 0);
	check_replaced(f);
	assert_int_equal(fx_journal(f), 0);
	before = fx_dump(f, false);
	assert_null(strstr(before, "trusted.stint"));
	/* A born file that nobody wrote to goes too. */
	turn_and_die(f, REVIEWER, "true");
	assert_true(fx_exists(f, "REVIEW.md"));
	OK(f, tree_restore_unattended_at(f->state_fd, f->root_fd, f->root, NULL, 0, &n, &f->e));
	assert_false(fx_exists(f, "REVIEW.md"));
	after = fx_dump(f, false);
	assert_same_dump(before, after);
	OK(f, tree_restore_unattended_at(f->state_fd, f->root_fd, f->root, NULL, 0, &n, &f->e));
	assert_int_equal(n, 0);
}

/* Without a journal the recorded accounts say whose traces to look for. */
static void test_restore_without_a_journal(void **state)
{
	struct fx *f = *state;
	AUTO_FREE char *before = fx_dump(f, false);
	AUTO_FREE char *after = NULL;
	uint64_t n = 0;

	turn_and_die(f, DEVELOPER, "true");
	{
		AUTO_FD journal = openat(f->state_fd, "journal", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		OK(f, tree_empty(journal, &f->e));
	}
	OK(f, tree_restore_unattended_at(f->state_fd, f->root_fd, f->root, NULL, 0, &n, &f->e));
	assert_int_equal(n, 0);
	{
		AUTO_FD users = openat(f->state_fd, "users", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		const char *line = fx_writers == 0 ? "stint-no-such 61002 61002\n" : "stint-no-such 61002 61002 61005\n";

		assert_int_equal(fd_write_all(users, line, strlen(line)), 0);
	}
	OK(f, tree_restore_unattended_at(f->state_fd, f->root_fd, f->root, NULL, 0, &n, &f->e));
	assert_true(n > 0);
	after = fx_dump(f, false);
	assert_same_dump(before, after);
}

static void test_another_agents_leftover_is_refused(void **state)
{
	struct fx *f = *state;
	uint64_t n = 0;

	turn_and_die(f, DEVELOPER, "true");
	f->who.agent = (struct acl_agent){AGENT + 100, AGENT + 100, 0};
	OK(f, fx_try_open(f));
	assert_int_equal(tree_repair(f->t, &f->e), -EBUSY);
	assert_int_equal(f->e.exit, STOP_CONFINE);
	OK(f, tree_restore_unattended_at(f->state_fd, f->root_fd, f->root, NULL, 0, &n, &f->e));
	OK(f, tree_repair(f->t, &f->e));
	fx_close(f);
}

/* Killed at any instant of a run, one restore brings everything back. */
static void test_a_kill_at_any_instant(void **state)
{
	struct fx *f = *state;
	AUTO_FREE char *before = NULL;

	make_replaced(f);
	for (int i = 0; i < 200; i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "src/many-%d", i);
		fx_file(f, path, "n\n", i % 2 == 0 ? 0644 : 0600);
		if (i % 3 == 0)
			fx_acl(f, path, ACL_TYPE_ACCESS, "u::rw-,u:7:rw-,g::r--,m::rw-,o::---");
	}
	fx_file(f, "src/names-agent", "n\n", 0600);
	fx_acl(f, "src/names-agent", ACL_TYPE_ACCESS, "u::rw-,u:61002:r-x,g::---,m::r-x,o::---");
	before = fx_dump(f, false);
	for (int i = 0; i < 120; i++) {
		struct timespec pause = {0, 150000L * i};
		AUTO_FREE char *after = NULL;
		uint64_t n;
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			fx_open(f);
			for (unsigned int role = 0;; role = (role + 1) % N_ROLES) {
				fx_flip(f, role);
				fx_reclaim(f);
				if (role == REVIEWER) {
					fx_close(f);
					fx_open(f);
				}
			}
		}
		(void)nanosleep(&pause, NULL);
		(void)kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		OK(f, tree_restore_unattended_at(f->state_fd, f->root_fd, f->root, NULL, 0, &n, &f->e));
		after = fx_dump(f, false);
		assert_same_dump(before, after);
		assert_int_equal(fx_journal(f), 0);
	}
}

/* ---------------------------------------------------------------- accounts */

static void write_users(struct fx *f, const char *text, mode_t mode, uid_t uid)
{
	AUTO_FD fd = -1;

	(void)unlinkat(f->state_fd, "users", 0);
	fd = openat(f->state_fd, "users", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(fchown(fd, uid, uid), 0);
}

static void test_recorded_accounts(void **state)
{
	struct fx *f = *state;
	struct acl_agent a = {0};

	assert_int_equal(users_find(f->state_fd, "nobody", &a, &f->e), -ENOENT);
	write_users(f, "daemon 1 1\nnobody 65534 65534\n", 0644, 0);
	OK(f, users_find(f->state_fd, "nobody", &a, &f->e));
	assert_int_equal(a.uid, 65534);
	assert_int_equal(a.gid, 65534);
	assert_int_equal(users_find(f->state_fd, "bin", &a, &f->e), -ENOENT);
	write_users(f, "nobody 65534 65534\n", 0666, 0);
	assert_int_equal(users_find(f->state_fd, "nobody", &a, &f->e), -EPERM);
	write_users(f, "nobody 65534 65534\n", 0644, OWNER);
	assert_int_equal(users_find(f->state_fd, "nobody", &a, &f->e), -EPERM);
	write_users(f, "nobody 65533 65534\nroot 0 0\nstint-no-such 61009 61009\n", 0644, 0);
	assert_int_equal(users_find(f->state_fd, "nobody", &a, &f->e), -EPERM);
	assert_int_equal(users_find(f->state_fd, "root", &a, &f->e), -EPERM);
	assert_int_equal(users_find(f->state_fd, "stint-no-such", &a, &f->e), -EPERM);
	assert_int_equal(unlinkat(f->state_fd, "users", 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", f->state_fd, "users"), 0);
	assert_int_equal(users_find(f->state_fd, "nobody", &a, &f->e), -ELOOP);
}

int main(void)
{
	/* These look at what a reclaim leaves; in a shared zone that has the agent's grant again. */
	const struct CMUnitTest not_shared[] = {
		T(test_what_the_agent_made_is_the_owners),
		T(test_foreign_entries_and_xattrs_go),
		T(test_a_folders_own_default_is_kept),
		T(test_a_replaced_file_keeps_acl_and_mode),
	};
	const struct CMUnitTest tests[] = {
		T(test_pipes_sockets_and_repositories_are_made_useless),
		T(test_a_repository_of_a_root_owner_is_no_repository),
		T(test_changes_have_names),
		T(test_a_whole_zone_can_go),
		T(test_a_long_list_is_cut),
		T(test_the_next_run_repairs),
		T(test_a_repository_of_a_killed_turn_is_none),
		T(test_restore_needs_no_policy),
		T(test_restore_without_a_journal),
		T(test_another_agents_leftover_is_refused),
		T(test_a_kill_at_any_instant),
		T(test_recorded_accounts),
	};

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	fx_writers = 0;
	failed += cmocka_run_group_tests(not_shared, NULL, NULL);
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
