/* `stint init`: a repository where there is none, and its first commit. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/exit.h"

#define FIRST_BRANCH "main"
#define FIRST_MESSAGE "Start the project\n\nMade by stint init.\n"

static int make_repository(int root_fd, const char *root_path, struct err *e)
{
	git_repository_init_options options;
	git_repository *git = NULL;
	struct stat st;
	int rc;

	if (fstatat(root_fd, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (errno != ENOENT)
		return err_errno(e, errno, "cannot look at %s/.git", root_path);
	if (git_libgit2_init() < 0)
		return repo_git_error(e, GIT_ERROR, STOP_RECORD, "cannot start libgit2");
	/* No template of this machine: it could bring hooks, which the person's own git would run. */
	(void)git_libgit2_opts(GIT_OPT_SET_TEMPLATE_PATH, "");
	rc = git_repository_init_options_init(&options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
	options.flags = GIT_REPOSITORY_INIT_NO_REINIT;
	options.initial_head = FIRST_BRANCH;
	if (rc == 0)
		rc = git_repository_init_ext(&git, root_path, &options);
	git_repository_free(git);
	if (rc != 0)
		rc = repo_git_error(e, rc, STOP_RECORD, "cannot make a repository in %s", root_path);
	git_libgit2_shutdown();
	return rc;
}

/* `.env`, `.env.local`, …: keys do not belong into a first commit that nobody reviewed. */
static bool holds_keys(const char *path)
{
	return str_starts(path, ".env") || strstr(path, "/.env") != NULL;
}

static int add_first(void *ctx, const struct repo_seen *s, struct err *e)
{
	return holds_keys(s->path) ? 0 : repo_updates_seen(ctx, s, e);
}

static int first_commit(struct repo *r, const char *author, struct err *e)
{
	REPO_AUTO(signature, who) = NULL;
	REPO_AUTO(tree, tree) = NULL;
	REPO_AUTO_UPDATES u = {0};
	AUTO_BUF struct buf paths = {0};
	git_oid oid;
	int rc = repo_signature(&who, author, e);

	if (rc == 0)
		rc = repo_walk(r, NULL, "", 0, add_first, &u, e);
	if (rc == 0)
		rc = repo_updates_store(r, &u, e);
	if (rc == 0)
		rc = repo_updates_apply(r, NULL, &u, &oid, e);
	if (rc != 0)
		return rc;
	rc = git_repository_set_ident(r->git, who->name, who->email);
	if (rc == 0)
		rc = git_tree_lookup(&tree, r->git, &oid);
	/* "HEAD" with no parents: libgit2 refuses when the branch was born meanwhile. */
	if (rc == 0)
		rc = git_commit_create(&oid, r->git, "HEAD", who, who, NULL, FIRST_MESSAGE, tree, 0, NULL);
	if (rc != 0)
		return repo_git_error(e, rc, STOP_RECORD, "cannot make the first commit");
	rc = repo_tree_paths(r, NULL, tree, &paths, e);
	return rc == 0 ? repo_refresh_index(r, paths.data, paths.len, e) : rc;
}

int repo_init(int root_fd, const char *root_path, const char *author, bool *ret_committed, struct err *e)
{
	struct repo *r = NULL;
	int rc = make_repository(root_fd, root_path, e);

	*ret_committed = false;
	if (rc == 0)
		rc = repo_open(&r, root_fd, root_path, e);
	if (rc != 0)
		return err_stop(e, STOP_RECORD, rc);
	rc = git_repository_head_unborn(r->git);
	if (rc < 0)
		rc = repo_git_error(e, rc, STOP_USAGE, "cannot read HEAD of %s", root_path);
	else if (rc == 1)
		rc = first_commit(r, author, e);
	else
		goto out;
	*ret_committed = rc == 0;
out:
	repo_free(r);
	return rc == 0 ? 0 : err_stop(e, STOP_RECORD, rc);
}
