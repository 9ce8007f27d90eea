/* A task's commit and the user's index after it, against the real git binary: fsck, status, log. */
#include "tests/unit/repo_fixture.h"

static void test_commit_kinds(void **state)
{
	struct fix *f = *state;

	check_accepts(f, false);
	RUN(f, "echo more >>src/a.c && rm src/sub/b.c && ln -s a.c src/link && echo e >src/run.sh && chmod 755 src/run.sh && "
	       "touch src/x.o && echo z >docs/d && mkdir tests/deep tests/deep/er && echo n >tests/deep/er/n && touch other");
	commit_all(f, LIST("src/a.c\0src/sub\0src/sub/b.c\0src/link\0src/run.sh\0src/x.o\0docs/d\0tests/deep\0src/run.sh\0other"));
	SAYS(f, "100644 src/a.c\n120000 src/link\n100755 src/run.sh\n100644 tests/deep/er/n\n100644 tests/t.sh\n",
	     "git ls-tree -r HEAD src tests | sed 's/ blob [0-9a-f]*\\t/ /'");
	SAYS(f, "a.c", "git cat-file blob HEAD:src/link");
	SAYS(f, "- [x] First\n", "git show HEAD:TASKS.md");
	SAYS(f, " M docs/d\n?? other\n", "git status --porcelain");
	SAYS(f, "Add the thing\n\nStint-Task: Add the thing\nStint-Run: R1\nStint-Iterations: 2\nStint-Suite: 12 of 12 passed\n\n",
	     "git log -1 --format=%%B");
	SAYS(f, "stint <stint@localhost>\n", "git log -1 '--format=%%an <%%ae>'");
	SAYS(f, "R1\n", "git log -1 '--format=%%(trailers:key=Stint-Run,valueonly,separator=)'");
	SAYS(f, "stint stint@localhost\n", "git reflog -1 '--format=%%gn %%ge'");
}

static void test_commit_file_and_folder_swap(void **state)
{
	struct fix *f = *state;

	RUN(f, "rm -r src/sub && echo now a file >src/sub && rm src/a.c && mkdir src/a.c && echo in >src/a.c/in");
	commit_all(f, LIST("src/sub\0src/a.c/in"));   /* the least that a change list could say */
	SAYS(f, "src/a.c/in\nsrc/sub\n", "git ls-tree -r --name-only HEAD src");
	SAYS(f, "", "git status --porcelain");
	RUN(f, "rm src/sub && mkdir src/sub && echo 2 >src/sub/b.c && rm -r src/a.c && echo 1 >src/a.c");
	commit_all(f, LIST("src/sub\0src/sub/b.c\0src/a.c\0src/a.c/in"));
	SAYS(f, "src/a.c\nsrc/sub/b.c\n", "git ls-tree -r --name-only HEAD src");
	SAYS(f, "", "git status --porcelain");
	RUN(f, "rm -r src");
	commit_all(f, LIST("src/a.c\0src/sub/b.c"));
	SAYS(f, ".gitignore\nTASKS.md\ndocs\ntests\n", "git ls-tree --name-only HEAD");
	SAYS(f, "", "git status --porcelain");
}

static void test_commit_of_the_tick_alone(void **state)
{
	struct fix *f = *state;

	commit_all(f, NULL, 0);
	SAYS(f, "TASKS.md\n", "git diff --name-only HEAD~ HEAD");
	SAYS(f, "", "git status --porcelain");
}

static void test_odd_names(void **state)
{
	struct fix *f = *state;

	RUN(f, "printf x >src/\"$(printf 'n\\nl')\" && printf y >src/\"$(printf 'bad\\377')\" && printf z >'src/ sp*[?'");
	commit_all(f, LIST("src/n\nl\0src/bad\377\0src/ sp*[?"));
	SAYS(f, "", "git status --porcelain");
	SAYS(f, "5\n", "git ls-files -z src | tr -dc '\\0' | wc -c");
}

static void test_staged_stays_staged(void **state)
{
	struct fix *f = *state;
	AUTO_BUF struct buf done = {0};

	check_accepts(f, false);
	RUN(f, "echo staged >docs/d && git add docs/d && echo later >docs/d && echo added >new && git add new");
	/* TASKS.md is the exception: its commit holds what was on disk. */
	RUN(f, "echo agent >src/a.c && echo agent >src/n.c && echo more >>TASKS.md && git add TASKS.md");
	commit_all(f, LIST("src/a.c\0src/n.c"));
	SAYS(f, "MM docs/d\nA  new\n", "git status --porcelain");
	SAYS(f, "staged\n", "git show :docs/d");
	SAYS(f, "src/a.c\nsrc/n.c\nTASKS.md\n", "git diff --name-only HEAD~ HEAD | sort -r | sort -f");
	/* The user's next commit must not revert the task. */
	RUN(f, "git commit -qm user");
	SAYS(f, "agent\n", "git show HEAD:src/a.c");
	/* What the user staged at a path that is committed too stays as staged. */
	f->e = (struct err){0};
	RUN(f, "git checkout -q docs/d && echo mine >src/a.c && git add src/a.c && echo agents >src/a.c");
	check_accepts(f, true);
	assert_int_equal(commit(f, LIST("src/a.c"), "- [x] First\n", &done), 0);
	assert_int_equal(repo_refresh_index(f->r, done.data, done.len, &f->e), 0);
	SAYS(f, "mine\n", "git show :src/a.c");
	SAYS(f, "agents\n", "git show HEAD:src/a.c");
}

static void test_racy_index_is_not_settled(void **state)
{
	struct fix *f = *state;

	/* docs/d gets other bytes of the same size in the second in which git wrote the index; size, mtime and inode as before. */
	RUN(f, "touch -d '2020-01-01' docs/d && git add -A && git status -s && touch -d '2020-01-01' .git/index && "
	       "printf 'X\\n' >docs/d && touch -d '2020-01-01' docs/d && git config core.trustctime false");
	/* Without optional locks git status leaves the index as it is. */
	SAYS(f, " M docs/d\n", "GIT_OPTIONAL_LOCKS=0 git status --porcelain");
	RUN(f, "echo x >src/a.c");
	commit_all(f, LIST("src/a.c"));
	SAYS(f, " M docs/d\n", "git status --porcelain");
}

static void test_index_needs_no_second_look(void **state)
{
	struct fix *f = *state;

	RUN(f, "find . -type f -exec touch -d 2020-01-01 {} + && git status && echo x >src/a.c && touch -d 2021-01-01 src/a.c && "
	       "touch -d 2019-01-01 TASKS.md");
	commit_all(f, LIST("src/a.c"));
	/* Entry and file agree in every field that git compares: nothing is left to rehash. */
	SAYS(f, "", "git diff-files --name-only");
	SAYS(f, "same\n", "s=$(stat -c '%%i %%u %%g %%s' src/a.c) && git ls-files --debug src/a.c >../dbg && "
	     "grep -q \"ino: ${s%%%% *}\" ../dbg && grep -q 'size: 2' ../dbg && grep -q 'mtime: 1609' ../dbg && echo same");
}

static void test_moved_head(void **state)
{
	struct fix *f = *state;
	AUTO_BUF struct buf done = {0};

	check_accepts(f, false);
	RUN(f, "echo agent >src/a.c && git commit -qm user --allow-empty && git rev-parse HEAD >../before");
	assert_int_equal(commit(f, LIST("src/a.c"), "- [x] First\n", &done), -ESTALE);
	assert_int_equal(f->e.exit, STOP_RECORD);
	RUN(f, "git rev-parse HEAD | cmp - ../before && grep -q agent src/a.c && grep -q '\\[ \\]' TASKS.md");
	check_accepts(f, true);
	RUN(f, "git checkout -qb elsewhere");
	assert_int_equal(commit(f, LIST("src/a.c"), "- [x] First\n", &done), -ESTALE);
	check_accepts(f, true);
	RUN(f, "touch .git/refs/heads/elsewhere.lock");
	assert_int_equal(commit(f, LIST("src/a.c"), "- [x] First\n", &done), -EBUSY);
	RUN(f, "rm .git/refs/heads/elsewhere.lock");
	assert_int_equal(commit(f, LIST("src/a.c"), "- [x] First\n", &done), 0);
	/* A second task of the same run goes on top of the first. */
	assert_int_equal(commit(f, LIST("src/a.c"), "- [x] First\n", &done), 0);
}

/* What a run that was killed while it moved the branch leaves: before git's lock, with it, and after the branch was moved. */
static void test_ref_lock_of_a_killed_run(void **state)
{
	static const char *const left[] = {
		"touch main.stint.lock",
		"echo 0123456789012345678901234567890123456789 >main.stint.lock && ln main.stint.lock main.lock",
		"ln main main.stint.lock",
	};
	struct fix *f = *state;
	AUTO_BUF struct buf done = {0};

	RUN(f, "git branch -M main");
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		RUN(f, "cd .git/refs/heads && %s", left[i]);
		check_accepts(f, true);
		RUN(f, "test -z \"$(ls .git/refs/heads | grep lock)\" && git commit -qm works --allow-empty");
		check_accepts(f, true);
		RUN(f, "cd .git/refs/heads && %s", left[i]);
		assert_int_equal(commit(f, LIST("src/a.c"), "- [x] First\n", &done), 0);
		RUN(f, "test -z \"$(ls .git/refs/heads | grep lock)\" && test $(stat -c %%h .git/refs/heads/main) = 1 && git fsck --strict");
		SAYS(f, "commit: stint task\ncommit: stint task\n", "git reflog -1 --format=%%gs; git reflog -1 --format=%%gs main");
	}
	/* Of a run that lives it stays. */
	RUN(f, "cd .git/refs/heads && %s; flock main.stint.lock sleep 4 >/dev/null 2>&1 & sleep 0.2", left[1]);
	assert_int_equal(commit(f, LIST("src/a.c"), "- [x] First\n", &done), -EBUSY);
	RUN(f, "test -e .git/refs/heads/main.lock");
}

static void test_packed_branch(void **state)
{
	struct fix *f = *state;

	RUN(f, "git checkout -qb far/away && git pack-refs --all && test ! -e .git/refs/heads/far && echo x >src/a.c");
	check_accepts(f, true);
	commit_all(f, LIST("src/a.c"));
	RUN(f, "test -e .git/refs/heads/far/away && git fsck --strict");
}

static void test_index_lock(void **state)
{
	struct fix *f = *state;

	RUN(f, "echo x >src/a.c; touch .git/index.lock; (sleep 0.3; rm .git/index.lock) >/dev/null 2>&1 &");
	commit_all(f, LIST("src/a.c"));
	RUN(f, "touch .git/index.lock");
	assert_int_equal(repo_refresh_index(f->r, LIST("src/a.c"), &f->e), -EBUSY);
	assert_int_equal(f->e.exit, STOP_RECORD);
	RUN(f, "rm .git/index.lock");   /* it must still be there: it is another's */
}

/* What a run that was killed with the lock in its hands leaves: both names, and libgit2's own lock on the copy. */
static const char killed_locks[] = "touch .git/index.lock.stint .git/index.stint .git/index.stint.lock; "
                                   "ln .git/index.lock.stint .git/index.lock";

static void test_lock_of_a_killed_run(void **state)
{
	struct fix *f = *state;

	RUN(f, "echo x >src/a.c");
	commit_all(f, LIST("src/a.c"));
	RUN(f, "%s", killed_locks);
	assert_int_equal(repo_refresh_index(f->r, LIST("src/a.c"), &f->e), 0);
	SAYS(f, "", "ls .git | grep -e lock -e stint || true");
	RUN(f, "%s", killed_locks);
	assert_int_equal(repo_check_start(f->r, ZONES, ZONES_N, true, &f->e), 0);
	RUN(f, "git add src/a.c");      /* git can lock it again */
	/* The same, held: its maker lives. */
	RUN(f, "%s; flock .git/index.lock.stint sleep 6 >/dev/null 2>&1 & sleep 0.2", killed_locks);
	assert_int_equal(repo_check_start(f->r, ZONES, ZONES_N, true, &f->e), -EBUSY); /* after 5 s */
	RUN(f, "test -e .git/index.lock");
	assert_int_equal(repo_refresh_index(f->r, LIST("src/a.c"), &f->e), 0); /* waits for it */
}

static const struct buf none;

#define RUNS(s) (&(struct buf){.data = (char []){s}, .len = sizeof(s)})

static void test_resume(void **state)
{
	struct fix *f = *state;
	AUTO_BUF struct buf done = {0};
	AUTO_BUF struct buf again = {0};
	char oid[REPO_OID_SIZE];
	char head[REPO_OID_SIZE + 1];
	bool found = true;

	assert_int_equal(repo_find_task_commit(f->r, RUNS("R1"), &none, "Add the thing", &found, oid, &again, &f->e), 0);
	assert_false(found);
	RUN(f, "echo x >src/a.c");
	assert_int_equal(commit(f, LIST("src/a.c"), "- [x] First\n", &done), 0);
	assert_int_equal(repo_find_task_commit(f->r, RUNS("R2"), &none, "Add the thing", &found, oid, &again, &f->e), 0);
	assert_false(found);
	assert_int_equal(repo_find_task_commit(f->r, RUNS("R1"), &none, "Add the thin", &found, oid, &again, &f->e), 0);
	assert_false(found);
	RUN(f, "git rev-parse HEAD");
	(void)snprintf(head, sizeof(head), "%.40s", out(f));
	RUN(f, "git commit -qm user --allow-empty");
	assert_int_equal(repo_find_task_commit(f->r, RUNS("R3\0R1"), &none, " Add  the\nthing", &found, oid, &again, &f->e), 0);
	assert_true(found);
	assert_string_equal(oid, head);
	assert_int_equal(again.len, done.len);
	assert_memory_equal(again.data, done.data, done.len);
}

static void test_untrusted_title(void **state)
{
	struct fix *f = *state;
	AUTO_BUF struct buf done = {0};
	char oid[REPO_OID_SIZE];
	char big[5000];
	bool found;
	struct repo_commit_request q = {.zones = ZONES, .n_zones = ZONES_N, .tasks = "x", .tasks_len = 1, .author = AUTHOR,
		.run = "R1", .iterations = 1, .suite = "ok\nStint-Run: R9",
		.title = "  a\n\nStint-Run: R9\x1b[31m\xff \xe2\x80\xae" "b  "};

	assert_int_equal(repo_commit(f->r, &q, oid, &done, &f->e), 0);
	SAYS(f, "a Stint-Run: R9 [31m b\n", "git log -1 --format=%%s");
	SAYS(f, "R1\n", "git log -1 '--format=%%(trailers:key=Stint-Run,valueonly,separator=)'");
	memset(big, 'w', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	q.title = big;
	assert_int_equal(repo_commit(f->r, &q, oid, &done, &f->e), 0);
	RUN(f, "test $(git log -1 --format=%%s | wc -c) -le 110");
	/* A title that speaks like a trailer is none. */
	q.title = "x Stint-Run: R2";
	assert_int_equal(repo_commit(f->r, &q, oid, &done, &f->e), 0);
	assert_int_equal(repo_find_task_commit(f->r, RUNS("R1"), &none, q.title, &found, oid, &done, &f->e), 0);
	assert_true(found);
	assert_int_equal(repo_find_task_commit(f->r, RUNS("R2"), &none, q.title, &found, oid, &done, &f->e), 0);
	assert_false(found);
	q.title = "\n";
	assert_int_equal(repo_commit(f->r, &q, oid, &done, &f->e), 0);
	SAYS(f, "Task without a title\n", "git log -1 --format=%%s");
	q.author = "nobody";
	assert_int_equal(repo_commit(f->r, &q, oid, &done, &f->e), -EINVAL);
}

static void test_nothing_is_followed(void **state)
{
	struct fix *f = *state;
	AUTO_BUF struct buf paths = {0};
	size_t n;

	RUN(f, "mkdir ../secret && echo s >../secret/s && rm -r src/sub && ln -s ../../secret src/sub && mkfifo src/pipe");
	assert_int_equal(repo_dirty(f->r, ZONES, ZONES_N, 0, &paths, &n, &f->e), 0);
	assert_int_equal(n, 2);  /* src/sub/b.c deleted, src/sub a new link; the pipe is not seen */
	commit_all(f, LIST("src/sub\0src/sub/b.c\0src/sub/s\0src/pipe"));
	SAYS(f, "src/a.c\nsrc/sub\n", "git ls-tree -r --name-only HEAD src");
	SAYS(f, "../../secret", "git cat-file blob HEAD:src/sub");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROJECT(test_commit_kinds),
		PROJECT(test_commit_file_and_folder_swap),
		PROJECT(test_commit_of_the_tick_alone),
		PROJECT(test_odd_names),
		PROJECT(test_staged_stays_staged),
		PROJECT(test_racy_index_is_not_settled),
		PROJECT(test_index_needs_no_second_look),
		PROJECT(test_moved_head),
		PROJECT(test_ref_lock_of_a_killed_run),
		PROJECT(test_packed_branch),
		PROJECT(test_index_lock),
		PROJECT(test_lock_of_a_killed_run),
		PROJECT(test_resume),
		PROJECT(test_untrusted_title),
		PROJECT(test_nothing_is_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
