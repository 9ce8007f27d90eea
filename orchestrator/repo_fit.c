/* What an agent may leave in the tree and git cannot hold: names that git refuses because some file system would take them for
 * .git, paths longer than a path may be, a .gitignore that is no file. It is left out or removed, and said: work
 * beside it must not wait for it. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"

/* libgit2 has no function for it, but a tree refuses such a name. any: a tree that exists, for it asks for an object too. */
static bool name_fits(git_treebuilder *b, const git_tree *any, const char *name)
{
	return git_treebuilder_insert(NULL, b, name, git_tree_id(any), GIT_FILEMODE_TREE) == 0 || git_error_last() == NULL ||
	       git_error_last()->klass != GIT_ERROR_TREE;
}

bool repo_fits(struct repo *r, const git_tree *any, const char *path)
{
	AUTO_FREE char *copy = strdup(path);
	git_treebuilder *b = NULL;
	char *save = NULL;
	bool fits = strlen(path) < PATH_MAX;

	/* Out of memory here is out of memory in the commit, which says so. */
	if (any == NULL || copy == NULL || git_treebuilder_new(&b, r->git, NULL) != 0)
		return fits;
	for (char *name = strtok_r(copy, "/", &save); fits && name != NULL; name = strtok_r(NULL, "/", &save))
		fits = name_fits(b, any, name);
	git_treebuilder_free(b);
	return fits;
}

static int drop_odd_ignore(struct repo *r, const char *path, const char **ret_why, struct err *e)
{
	const char *base = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;
	AUTO_FREE char *dir = strndup(path, (size_t)(base - path));
	REPO_AUTO_FILE f = {0};
	AUTO_FD at = -1;
	int rc;

	if (!str_eq(base, REPO_IGNORE_FILE))
		return 0;
	rc = repo_file_open(r, path, &f, e);
	if (rc != 0 || f.kind == REPO_ABSENT || f.kind == REPO_DIR || S_ISREG(f.st.st_mode))
		return rc;
	at = dir == NULL ? -ENOMEM : fd_open_beneath(r->root_fd, dir[0] == '\0' ? "." : dir, O_PATH | O_DIRECTORY, 0, false);
	if (at < 0 || unlinkat(at, base, 0) != 0)
		return err_errno(e, at < 0 ? -at : errno, "cannot remove %s, which is no regular file", repo_show(path).s);
	*ret_why = "no regular file, and git would not read it: removed";
	return 0;
}

int repo_left_out(struct repo *r, const char *path, const char **ret_why, struct err *e)
{
	REPO_AUTO(commit, head) = NULL;
	REPO_AUTO(tree, tree) = NULL;
	int rc = repo_head_commit(r, NULL, &head, STOP_RECORD, e);

	*ret_why = NULL;
	if (rc != 0)
		return rc;
	if (git_commit_tree(&tree, head) != 0)
		return repo_git_error(e, GIT_ERROR, STOP_RECORD, "cannot read HEAD's tree");
	if (!repo_fits(r, tree, path))
		*ret_why = strlen(path) < PATH_MAX ? "git refuses this name: not in the commit"
		                                   : "longer than a path may be: not in the commit";
	else
		rc = drop_odd_ignore(r, path, ret_why, e);
	return err_stop(e, rc == 0 ? 0 : STOP_RECORD, rc);
}
