/* The repository module outside a commit: opening, the checks before a run, init, fingerprint, diff, push. */
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "orchestrator/repo_impl.h"
#include "tests/unit/repo_fixture.h"

/* Opens the project anew and expects a refusal with this word in it. */
static void refused(struct fix *f, const char *word)
{
	struct repo *r = NULL;

	f->e = (struct err){0};
	assert_true(repo_open(&r, f->root_fd, f->root, &f->e) < 0);
	assert_null(r);
	assert_int_equal(f->e.exit, STOP_USAGE);
	if (strstr(f->e.msg, word) == NULL)
		fail_msg("\"%s\" is not in: %s", word, f->e.msg);
}

static void opens(struct fix *f)
{
	struct repo *r = NULL;

	f->e = (struct err){0};
	if (repo_open(&r, f->root_fd, f->root, &f->e) != 0)
		fail_msg("%s", f->e.msg);
	repo_free(r);
}

static void test_open_refusals(void **state)
{
	struct fix *f = *state;

	refused(f, "stint init");
	RUN(f, "git init -q --bare .git");
	refused(f, "bare");
	RUN(f, "rm -rf .git && git init -q");
	opens(f);
	RUN(f, "git config core.worktree /tmp");
	refused(f, "core.worktree");
	RUN(f, "git config --unset core.worktree; mkdir ../o && echo ../../../o >.git/objects/info/alternates");
	refused(f, "borrows objects");
	RUN(f, "echo >.git/objects/info/alternates");
	opens(f);
	RUN(f, "mkfifo .git/index");
	refused(f, "pipe or a device");
	RUN(f, "rm .git/index && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\".git/monitor\")'");
	opens(f);
	RUN(f, "rm .git/monitor");
	RUN(f, "mv .git/objects ../obj && ln -s ../../obj .git/objects");
	refused(f, "symbolic link");
	RUN(f, "rm .git/objects && mv ../obj .git/objects && mv .git ../moved && ln -s ../moved .git");
	refused(f, "symbolic link");
	RUN(f, "rm .git && git init -q ../main && cd ../main && git commit -qm x --allow-empty && git worktree add -q ../p2 && "
	       "cp ../p2/.git ../p/.git");
	refused(f, "worktree");
}

static void test_never_a_parent_repository(void **state)
{
	struct fix *f = *state;

	RUN(f, "cd .. && git init -q && git commit -qm x --allow-empty");
	refused(f, "stint init");
}

static void test_start_dirt(void **state)
{
	struct fix *f = *state;

	check_accepts(f, false);
	RUN(f, "echo x >>docs/d && echo x >>TASKS.md && echo x >REVIEW.md && touch src/x.o && mkdir src/build && touch src/build/y");
	check_accepts(f, false);
	RUN(f, "echo x >>src/a.c");
	check_refuses(f, false, "src/a.c");
	check_accepts(f, true);
	RUN(f, "git checkout -q src/a.c && rm tests/t.sh");
	check_refuses(f, false, "tests/t.sh");
	RUN(f, "git checkout -q tests && touch src/new.c");
	check_refuses(f, false, "src/new.c");
	RUN(f, "rm src/new.c && chmod +x src/sub/b.c");
	check_refuses(f, false, "src/sub/b.c");
	RUN(f, "git config core.fileMode false");
	repo_free(f->r);
	assert_int_equal(repo_open(&f->r, f->root_fd, f->root, &f->e), 0);
	check_accepts(f, false);
	RUN(f, "cd src && touch 1 2 3 4 5 6 7");
	check_refuses(f, false, "…");
	RUN(f, "rm src/[1-7] && echo y >src/a.c && git add src/a.c && echo one >src/a.c");
	check_refuses(f, false, "staged");
	RUN(f, "git reset -q && git add docs");
	check_accepts(f, false);
}

static void test_start_states(void **state)
{
	struct fix *f = *state;

	check_accepts(f, false);
	RUN(f, "git checkout -q --detach");
	check_refuses(f, true, "detached");
	RUN(f, "git checkout -q main && git checkout -qb other && echo o >docs/d && git commit -qam o && git checkout -q main && "
	       "echo m >docs/d && git commit -qam m; git merge other || true; test -f .git/MERGE_HEAD");
	check_refuses(f, true, "merge");
	RUN(f, "git merge --abort; git cherry-pick other || true; test -f .git/CHERRY_PICK_HEAD");
	check_refuses(f, true, "cherry-pick");
	RUN(f, "git cherry-pick --abort; git rebase other || true; test -d .git/rebase-merge");
	check_refuses(f, true, "detached");   /* a rebase detaches HEAD: either word is right */
	RUN(f, "git rebase --abort && git bisect start");
	check_refuses(f, true, "bisect");
	RUN(f, "git bisect reset && git update-index --split-index");
	check_refuses(f, true, "split");
	RUN(f, "git update-index --no-split-index && git checkout -q --orphan fresh && git rm -rqf --cached .");
	check_refuses(f, true, "no commit yet");
}

static void test_start_submodule(void **state)
{
	struct fix *f = *state;

	RUN(f, "git init -q ../lib && cd ../lib && git commit -qm l --allow-empty && cd ../p && git submodule -q add ../lib docs/lib && "
	       "git commit -qam s");
	check_accepts(f, false);
	RUN(f, "git submodule -q add ../lib src/lib && git commit -qam s2");
	check_refuses(f, true, "submodule");
}

static void test_nothing_runs(void **state)
{
	struct fix *f = *state;

	RUN(f, "git config filter.evil.clean 'touch %s/ran; cat' && git config filter.evil.smudge 'touch %s/ran; cat' && "
	       "git config filter.evil.process 'touch %s/ran' && git config core.fsmonitor 'touch %s/ran; true' && "
	       "git config diff.evil.textconv 'touch %s/ran; cat' && git config diff.evil.command 'touch %s/ran' && "
	       "git config core.sshCommand 'touch %s/ran' && git config core.hooksPath %s/hooks && git config core.autocrlf true && "
	       "git config commit.gpgsign true && git config gpg.program '%s/hooks/pre-commit'",
	    f->dir, f->dir, f->dir, f->dir, f->dir, f->dir, f->dir, f->dir, f->dir);
	RUN(f, "mkdir ../hooks && for h in pre-commit commit-msg prepare-commit-msg post-commit reference-transaction pre-push "
	       "post-index-change post-checkout; do printf '#!/bin/sh\\ntouch %s/ran\\n' >../hooks/$h; chmod +x ../hooks/$h; done; "
	       "cp -r ../hooks/. .git/hooks/; echo '* filter=evil diff=evil ident text' >src/.gitattributes; "
	       "cp src/.gitattributes .git/info/attributes", f->dir);
	/* The trap works: git itself springs it. */
	RUN(f, "git add -n src >/dev/null; git status >/dev/null; git diff >/dev/null; test -e %s/ran && rm %s/ran", f->dir, f->dir);
	repo_free(f->r);
	assert_int_equal(repo_open(&f->r, f->root_fd, f->root, &f->e), 0);
	check_accepts(f, true);
	{
		AUTO_BUF struct buf done = {0};
		AUTO_BUF struct buf text = {0};
		char hex[REPO_OID_SIZE];

		RUN(f, "printf '$Id$ crlf\\r\\n' >src/a.c");
		assert_int_equal(repo_dirty(f->r, ZONES, ZONES_N, 0, &done, NULL, &f->e), 0);
		assert_int_equal(repo_diff(f->r, done.data, done.len, 4096, &text, &f->e), 0);
		assert_int_equal(repo_fingerprint(f->r, done.data, done.len, hex, &f->e), 0);
		assert_int_equal(commit(f, done.data, done.len, "- [x] First\n", &text), 0);
		assert_int_equal(repo_refresh_index(f->r, done.data, done.len, &f->e), 0);
		RUN(f, "git init -q --bare ../remote && cp ../hooks/pre-push ../remote/hooks/post-receive && cp ../hooks/pre-push "
		       "../remote/hooks/pre-receive && cp ../hooks/pre-push ../remote/hooks/update; rm -f ../ran; "
		       "printf '[remote \"o\"]\\n\\turl = %s/remote\\n' >>.git/config", f->dir);
		assert_int_equal(repo_push(f->r, "o", 20000, &f->e), 0);
	}
	RUN(f, "test ! -e %s/ran", f->dir);
	SAYS(f, "$Id$ crlf\r\n", "git cat-file blob HEAD:src/a.c");
}

static void test_ignore_file_traps(void **state)
{
	struct fix *f = *state;
	AUTO_BUF struct buf paths = {0};

	RUN(f, "touch src/new && mkfifo src/.gitignore");   /* would block for ever */
	assert_int_equal(repo_dirty(f->r, ZONES, ZONES_N, 0, &paths, NULL, &f->e), -EINVAL);
	assert_non_null(strstr(f->e.msg, "src/.gitignore"));
	RUN(f, "rm src/.gitignore && ln -s /etc/passwd src/.gitignore");
	assert_int_equal(repo_dirty(f->r, ZONES, ZONES_N, 0, &paths, NULL, &f->e), -EINVAL);
	RUN(f, "rm src/.gitignore && echo new >src/.gitignore");
	paths.len = 0;
	assert_int_equal(repo_dirty(f->r, ZONES, ZONES_N, 0, &paths, NULL, &f->e), 0);
	assert_int_equal(paths.len, sizeof("src/.gitignore"));
}

static void test_ignore_file_too_large(void **state)
{
	struct fix *f = *state;
	AUTO_BUF struct buf paths = {0};

	RUN(f, "touch src/new && yes '*.o' | head -c 1048576 >src/.gitignore");
	assert_int_equal(repo_dirty(f->r, ZONES, ZONES_N, 0, &paths, NULL, &f->e), 0);
	RUN(f, "echo '*.o' >>src/.gitignore");
	assert_int_equal(repo_dirty(f->r, ZONES, ZONES_N, 0, &paths, NULL, &f->e), -EFBIG);
	assert_non_null(strstr(f->e.msg, "src/.gitignore"));
}

/* Files of any size that take no space: the person can stop it, and it stops by itself. */
static void test_a_walk_without_end(void **state)
{
	struct fix *f = *state;
	AUTO_BUF struct buf paths = {0};
	sigset_t set;
	int got;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	assert_int_equal(repo_dirty(f->r, ZONES, ZONES_N, 0, &paths, NULL, &f->e), 0);
	assert_int_equal(raise(SIGINT), 0);
	assert_int_equal(repo_dirty(f->r, ZONES, ZONES_N, 0, &paths, NULL, &f->e), -EINTR);
	assert_int_equal(f->e.exit, STOP_INTERRUPTED);
	assert_int_equal(sigwait(&set, &got), 0);
	assert_int_equal(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
	RUN(f, "truncate -s 65G src/hollow");
	assert_int_equal(repo_dirty(f->r, ZONES, ZONES_N, 0, &paths, NULL, &f->e), -EFBIG);
	assert_non_null(strstr(f->e.msg, "src/hollow"));
}

static void fingerprint(struct fix *f, char hex[REPO_OID_SIZE])
{
	if (repo_fingerprint(f->r, LIST("src\0tests\0src/a.c"), hex, &f->e) != 0)
		fail_msg("%s", f->e.msg);
}

static void test_fingerprint(void **state)
{
	struct fix *f = *state;
	char a[REPO_OID_SIZE];
	char b[REPO_OID_SIZE];

	fingerprint(f, a);
	assert_int_equal(repo_fingerprint(f->r, LIST("tests\0src"), b, &f->e), 0);
	assert_string_equal(a, b);
	RUN(f, "touch src/a.c src/x.o && echo x >docs/d");
	fingerprint(f, b);
	assert_string_equal(a, b);
	RUN(f, "chmod +x src/a.c");
	fingerprint(f, b);
	assert_string_not_equal(a, b);
	RUN(f, "chmod -x src/a.c && mv src/a.c src/z.c");
	fingerprint(f, b);
	assert_string_not_equal(a, b);
	RUN(f, "mv src/z.c src/a.c && echo x >src/sub/b.c");
	fingerprint(f, b);
	assert_string_not_equal(a, b);
}

static void test_diff(void **state)
{
	struct fix *f = *state;
	AUTO_BUF struct buf text = {0};

	RUN(f, "echo more >>src/a.c && rm tests/t.sh && echo n >src/new && head -c 2000000 /dev/zero >src/big");
	assert_int_equal(repo_diff(f->r, LIST("src/a.c\0tests/t.sh\0src/new\0src/big\0src/sub/b.c"), 65536, &text, &f->e), 0);
	assert_non_null(strstr(buf_str(&text), "\n one\n+more\n"));
	assert_non_null(strstr(text.data, "\n-t\n"));
	assert_non_null(strstr(text.data, "\n+n\n"));
	assert_non_null(strstr(text.data, "added src/big (not shown: large)"));
	assert_null(strstr(text.data, "b.c"));
	text.len = 0;
	assert_int_equal(repo_diff(f->r, LIST("src/a.c\0tests/t.sh"), 100, &text, &f->e), 0);
	assert_non_null(strstr(buf_str(&text), "the limit is reached"));
	assert_true(text.len < 200);
}

static void test_push(void **state)
{
	struct fix *f = *state;

	assert_true(repo_check_remote(f->r, "o", &f->e) < 0);
	assert_int_equal(f->e.exit, STOP_USAGE);
	RUN(f, "git init -q --bare ../remote && git remote add o ../remote && git remote add x 'ext::touch %s/ran'", f->dir);
	RUN(f, "git remote set-url o %s/remote", f->dir);
	assert_int_equal(repo_check_remote(f->r, "o", &f->e), 0);
	assert_int_equal(repo_check_remote(f->r, "x", &f->e), -EINVAL);
	if (repo_push(f->r, "o", 20000, &f->e) != 0)
		fail_msg("%s", f->e.msg);
	RUN(f, "test $(git -C ../remote rev-parse main) = $(git rev-parse HEAD)");
	RUN(f, "git clone -q ../remote ../second && cd ../second && git commit -qm other --allow-empty && git push -q && "
	       "cd ../p && git commit -qm mine --allow-empty && git -C ../remote rev-parse main >../before");
	f->e = (struct err){0};
	assert_true(repo_push(f->r, "o", 20000, &f->e) < 0);
	assert_int_equal(f->e.exit, STOP_RECORD);
	RUN(f, "git -C ../remote rev-parse main | cmp - ../before && test ! -e ../ran");
}

static void test_push_deadline(void **state)
{
	struct fix *f = *state;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(at);
	AUTO_FD mute = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* A server that accepts and never says a word. */
	assert_int_equal(bind(mute, (struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(mute, 4), 0);
	assert_int_equal(getsockname(mute, (struct sockaddr *)&at, &n), 0);
	RUN(f, "git remote add o git://127.0.0.1:%d/x", ntohs(at.sin_port));
	assert_int_equal(repo_push(f->r, "o", 700, &f->e), -ETIMEDOUT);
	assert_int_equal(f->e.exit, STOP_RECORD);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);   /* no child is left */
	assert_int_equal(errno, ECHILD);
}

/* libgit2 calls a .gitignore that it cannot open absent: what it lists must not be committed for that. */
static void test_ignore_file_unread(void **state)
{
	struct fix *f = *state;
	bool ignored = false;
	struct rlimit was;
	struct rlimit none;
	int next;

	RUN(f, "echo '*.o' >src/.gitignore && touch src/x.o");
	assert_int_equal(repo_ignored(f->r, "src/x.o", false, &ignored, &f->e), 0);
	assert_true(ignored);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	next = dup(0);
	(void)close(next);
	none = (struct rlimit){(rlim_t)next, was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(repo_ignored(f->r, "src/x.o", false, &ignored, &f->e), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(repo_ignored(f->r, "src/x.o", false, &ignored, &f->e), 0);
	assert_true(ignored);
}

static int is_killed(void *arg, struct err *e)
{
	(void)arg;
	(void)e;
	(void)kill(getpid(), SIGKILL);
	return 0;
}

static void test_killed_child(void **state)
{
	struct fix *f = *state;

	assert_int_equal(repo_in_child(is_killed, NULL, 0, &f->e), -EIO);
	assert_string_equal(f->e.msg, "cannot work on the repository: the process for it ended early (signal 9): start again");
}

/* An object that cannot be read must not look like a name that git refuses: its file would be left out of the commit. */
static void test_fits_asks_no_object(void **state)
{
	struct fix *f = *state;

	assert_false(repo_fits(f->r, "src/.gitmodules"));
	assert_false(repo_fits(f->r, "src/.GIT/x"));
	RUN(f, "mv .git/objects .git/away && mkdir .git/objects");
	assert_true(repo_fits(f->r, "src/new/file.c"));
	assert_false(repo_fits(f->r, "src/.git/x"));
	RUN(f, "rmdir .git/objects && mv .git/away .git/objects");
}

static void test_init(void **state)
{
	struct fix *f = *state;
	bool made = false;

	RUN(f, "mkdir -p src .stint/x deps && git init -q deps/nested && touch src/.env .env.local .stint/x/y src/a.o deps/nested/n && "
	       "echo '*.o' >.gitignore && echo hi >src/a && ln -s a src/l");
	if (repo_init(f->root_fd, f->root, AUTHOR, &made, &f->e) != 0)
		fail_msg("%s", f->e.msg);
	assert_true(made);
	SAYS(f, "refs/heads/main\n", "git symbolic-ref HEAD");
	SAYS(f, ".gitignore\nsrc/a\nsrc/l\n", "git ls-tree -r --name-only HEAD");
	SAYS(f, "?? .env.local\n?? .stint/\n?? deps/\n?? src/.env\n", "git status --porcelain");
	RUN(f, "git fsck --strict && test \"$(ls .git/hooks)\" = README.sample");
	SAYS(f, "", "git fsck --unreachable --no-reflogs");   /* no key was written as an object */
	assert_int_equal(repo_init(f->root_fd, f->root, AUTHOR, &made, &f->e), 0);
	assert_false(made);
	SAYS(f, "1\n", "git rev-list --count HEAD");
	assert_int_equal(repo_open(&f->r, f->root_fd, f->root, &f->e), 0);
	check_refuses(f, false, "src/.env");
}

static void test_person_ignore_file_counts(void **state)
{
	struct fix *f = *state;

	RUN(f, "touch src/a.swp");
	check_refuses(f, false, "src/a.swp");
	RUN(f, "echo '*.swp' >../ignore && git config --global core.excludesFile %s/ignore", f->dir);
	repo_free(f->r);
	assert_int_equal(repo_open(&f->r, f->root_fd, f->root, &f->e), 0);
	check_accepts(f, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EMPTY(test_open_refusals),
		EMPTY(test_never_a_parent_repository),
		EMPTY(test_init),
		EMPTY(test_killed_child),
		PROJECT(test_start_dirt),
		PROJECT(test_start_states),
		PROJECT(test_start_submodule),
		PROJECT(test_person_ignore_file_counts),
		PROJECT(test_ignore_file_traps),
		PROJECT(test_ignore_file_unread),
		PROJECT(test_ignore_file_too_large),
		PROJECT(test_a_walk_without_end),
		PROJECT(test_nothing_runs),
		PROJECT(test_fits_asks_no_object),
		PROJECT(test_fingerprint),
		PROJECT(test_diff),
		PROJECT(test_push),
		PROJECT(test_push_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
