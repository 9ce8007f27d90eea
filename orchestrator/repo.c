/* Opening the project's repository so that nothing it configures can run: see repo.h. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"

#define ALTERNATES_MAX (64u << 10)
#define WALK_FDS 16
#define CACHE_MAX (2 << 20)   /* libgit2's object cache: trees of a large project need not stay in memory */

#define RELEASE(type) \
	void repo_##type##_done(git_##type **p) { git_##type##_free(*p); *p = NULL; }
RELEASE(tree)
RELEASE(commit)
RELEASE(reference)
RELEASE(index)
RELEASE(odb)
RELEASE(signature)
RELEASE(diff)

struct repo_shown repo_show(const char *path)
{
	AUTO_BUF struct buf b = {0};
	struct repo_shown ret = {"?"};
	const char *s;

	if (buf_add_escaped(&b, path, strnlen(path, sizeof(ret.s)), false) == 0 && (s = buf_str(&b)) != NULL)
		(void)snprintf(ret.s, sizeof(ret.s), "%s", s);
	return ret;
}

int repo_git_error(struct err *e, int rc, int stop, const char *fmt, ...)
{
	static const struct { int git, code; } map[] = {
		{GIT_ENOTFOUND, ENOENT}, {GIT_ELOCKED, EBUSY}, {GIT_EMODIFIED, ESTALE}, {GIT_EEXISTS, EEXIST},
		{GIT_EOWNER, EPERM}, {GIT_EUNBORNBRANCH, ENOENT},
	};
	const git_error *last = git_error_last();
	char what[ERR_MSG_MAX];
	int code = EIO;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (map[i].git == rc)
			code = map[i].code;
	return err_stop(e, stop, err_set(e, code, "%s: %s", what,
	                                 last == NULL ? "no reason given by libgit2" : repo_show(last->message).s));
}

/* Nobody's configuration but the owner's own ~/.gitconfig is read beside the repository's (it names the person's ignore
 * file); libgit2 knows no setting that runs a program, and no filter but the two built in, which are not used. */
static int library_init(struct err *e)
{
	if (git_libgit2_init() < 0)
		return repo_git_error(e, GIT_ERROR, STOP_RECORD, "cannot start libgit2");
	(void)git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_SYSTEM, "");
	(void)git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_PROGRAMDATA, "");
	(void)git_libgit2_opts(GIT_OPT_SET_TEMPLATE_PATH, "");
	(void)git_libgit2_opts(GIT_OPT_SET_CACHE_MAX_SIZE, (ssize_t)CACHE_MAX);
	return 0;
}

/* `.git` and its objects are folders of this project, reached without a link. */
static int check_layout(int root_fd, const char *root_path, struct err *e)
{
	static const char *const dirs[] = {".git", ".git/objects", ".git/refs"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		AUTO_FD fd = fd_open_beneath(root_fd, dirs[i], O_PATH | O_DIRECTORY, 0, false);
		int rc = fd;

		if (rc == -ENOENT && i == 0)
			err_set(e, -rc, "%s is no git repository: stint commits each task: run stint init there, or git init and "
			                "a first commit", root_path);
		else if (rc == -ENOTDIR && i == 0)
			err_set(e, -rc, "%s/.git is a file: this is a worktree or a submodule, whose repository lies elsewhere: "
			                "use a clone of its own", root_path);
		else if (rc == -ELOOP)
			err_set(e, -rc, "%s/%s is a symbolic link: the repository must lie inside the project: use a clone "
			                "of its own", root_path, dirs[i]);
		else if (rc < 0)
			err_errno(e, -rc, "cannot open %s/%s", root_path, dirs[i]);
		if (rc < 0)
			return err_stop(e, STOP_USAGE, rc);
	}
	return 0;
}

/* An alternate outside the project would be readable history that no table covers. */
static int check_alternates(int root_fd, const char *root_path, struct err *e)
{
	static const char *const files[] = {".git/objects/info/alternates", ".git/commondir"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		AUTO_FD fd = fd_open_beneath(root_fd, files[i], O_RDONLY | O_NONBLOCK, 0, false);
		AUTO_FREE char *text = NULL;
		size_t n = 0;
		int rc;

		if (fd == -ENOENT)
			continue;
		rc = fd < 0 ? fd : fd_read_all(fd, ALTERNATES_MAX, &text, &n);
		if (rc != 0)
			return err_stop(e, STOP_USAGE, err_errno(e, -rc, "cannot read %s/%s", root_path, files[i]));
		if (strspn(text, " \t\r\n") < n)
			return err_stop(e, STOP_USAGE, err_set(e, EXDEV, "%s/%s: the repository borrows objects from outside the "
			        "project: run git repack -a -d and remove that file, or use a clone made without --shared",
			        root_path, files[i]));
	}
	return 0;
}

/* Whoever opens a pipe waits for its other end, and libgit2 opens what it finds. A socket cannot be opened, and git's file system
 * monitor has one. */
static int may_wait(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)path;
	(void)at;
	if (type == FTW_NS)
		return 0;
	return S_ISFIFO(st->st_mode) || S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode) ? 1 : 0;
}

static int refuse_waiting(int root_fd, const char *root_path, struct err *e)
{
	AUTO_BUF struct buf path = {0};
	const char *s;
	int rc;

	if (buf_addf(&path, "/proc/self/fd/%d/.git", root_fd) != 0 || (s = buf_str(&path)) == NULL)
		return err_errno(e, ENOMEM, "cannot look at %s/.git", root_path);
	rc = nftw(s, may_wait, WALK_FDS, FTW_PHYS);
	if (rc > 0)
		rc = err_set(e, EINVAL, "%s/.git holds a pipe or a device, which a run could wait for without end: git has none: remove "
		             "what find %s/.git -type p -o -type c -o -type b shows", root_path, root_path);
	else if (rc < 0)
		rc = err_errno(e, errno, "cannot look at all of %s/.git", root_path);
	return rc == 0 ? 0 : err_stop(e, STOP_USAGE, rc);
}

/* What libgit2 opened is what the root descriptor shows, with its working tree here. */
static int check_same(struct repo *r, struct err *e)
{
	struct stat ours;
	struct stat theirs;
	const char *workdir = git_repository_workdir(r->git);

	if (git_repository_is_bare(r->git) != 0 || workdir == NULL)
		return err_set(e, EINVAL, "%s is a bare repository (core.bare): there is no tree to work in: use a clone",
		               r->root_path);
	if (fstatat(r->root_fd, ".git", &ours, AT_SYMLINK_NOFOLLOW) != 0 ||
	    stat(git_repository_path(r->git), &theirs) != 0)
		return err_errno(e, errno, "cannot look at %s/.git", r->root_path);
	if (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
		return err_set(e, ESTALE, "%s was replaced while it was opened: start again", r->root_path);
	if (fstat(r->root_fd, &ours) != 0 || stat(workdir, &theirs) != 0)
		return err_errno(e, errno, "cannot look at %s", r->root_path);
	if (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
		return err_set(e, EINVAL, "%s: its repository names another working tree (core.worktree): remove that setting",
		               r->root_path);
	return 0;
}

static int read_filemode(struct repo *r, struct err *e)
{
	git_config *config = NULL;
	int value = 1;
	int rc = git_repository_config_snapshot(&config, r->git);

	if (rc == 0)
		rc = git_config_get_bool(&value, config, "core.filemode");
	git_config_free(config);
	if (rc != 0 && rc != GIT_ENOTFOUND)
		return repo_git_error(e, rc, STOP_USAGE, "cannot read the configuration of %s/.git", r->root_path);
	r->filemode = value != 0;
	return 0;
}

int repo_open(struct repo **ret, int root_fd, const char *root_path, struct err *e)
{
	struct repo *r;
	int rc = library_init(e);

	if (rc != 0)
		return rc;
	r = calloc(1, sizeof(*r));
	if (r == NULL || (r->root_path = strdup(root_path)) == NULL) {
		free(r);
		git_libgit2_shutdown();
		return err_errno(e, ENOMEM, "cannot open %s", root_path);
	}
	r->root_fd = root_fd;
	rc = check_layout(root_fd, root_path, e);
	if (rc == 0)
		rc = refuse_waiting(root_fd, root_path, e);
	if (rc == 0)
		rc = check_alternates(root_fd, root_path, e);
	if (rc == 0) {
		rc = git_repository_open_ext(&r->git, root_path, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);
		if (rc == GIT_EOWNER)
			rc = err_set(e, EPERM, "%s/.git belongs to somebody else: it must belong to the project's owner: "
			                       "chown it", root_path);
		else if (rc != 0)
			rc = repo_git_error(e, rc, STOP_USAGE, "cannot open the repository %s", root_path);
	}
	if (rc == 0)
		rc = check_same(r, e);
	if (rc == 0)
		rc = read_filemode(r, e);
	if (rc != 0) {
		repo_free(r);
		return err_stop(e, STOP_USAGE, rc);
	}
	*ret = r;
	return 0;
}

void repo_free(struct repo *r)
{
	if (r == NULL)
		return;
	git_repository_free(r->git);
	free(r->branch);
	free(r->root_path);
	free(r);
	git_libgit2_shutdown();
}

int repo_head_commit(struct repo *r, git_reference **ret_ref, git_commit **ret, int stop, struct err *e)
{
	REPO_AUTO(reference, ref) = NULL;
	int rc = git_repository_head(&ref, r->git);

	if (rc == 0)
		rc = git_commit_lookup(ret, r->git, git_reference_target(ref));
	if (rc != 0)
		return repo_git_error(e, rc, stop, "cannot read HEAD of %s", r->root_path);
	if (ret_ref != NULL) {
		*ret_ref = ref;
		ref = NULL;
	}
	return 0;
}

int repo_signature(git_signature **ret, const char *author, struct err *e)
{
	const char *open = strrchr(author, '<');
	const char *close = open == NULL ? NULL : strchr(open, '>');
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *mail = NULL;
	int rc;

	if (close == NULL || close == open + 1 || close[1] != '\0')
		return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "commit author \"%s\" is not of the form Name <mail>: "
		                "correct commit.author", repo_show(author).s));
	name = strndup(author, (size_t)(open - author));
	mail = strndup(open + 1, (size_t)(close - open - 1));
	if (name == NULL || mail == NULL)
		return err_errno(e, ENOMEM, "cannot make a signature");
	rc = git_signature_now(ret, name, mail);
	if (rc != 0)
		return repo_git_error(e, rc, STOP_USAGE, "commit author \"%s\"", repo_show(author).s);
	return 0;
}
