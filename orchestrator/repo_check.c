/* May a run start on this repository? Every refusal names the remedy. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"

#define SHOWN_PATHS 5

static int refuse_state(struct repo *r, struct err *e)
{
	static const struct { int state; const char *what, *remedy; } rows[] = {
		{GIT_REPOSITORY_STATE_MERGE, "a merge", "git merge --continue or --abort"},
		{GIT_REPOSITORY_STATE_REVERT, "a revert", "git revert --continue or --abort"},
		{GIT_REPOSITORY_STATE_REVERT_SEQUENCE, "a revert", "git revert --continue or --abort"},
		{GIT_REPOSITORY_STATE_CHERRYPICK, "a cherry-pick", "git cherry-pick --continue or --abort"},
		{GIT_REPOSITORY_STATE_CHERRYPICK_SEQUENCE, "a cherry-pick", "git cherry-pick --continue or --abort"},
		{GIT_REPOSITORY_STATE_BISECT, "a bisect", "git bisect reset"},
		{GIT_REPOSITORY_STATE_REBASE, "a rebase", "git rebase --continue or --abort"},
		{GIT_REPOSITORY_STATE_REBASE_INTERACTIVE, "a rebase", "git rebase --continue or --abort"},
		{GIT_REPOSITORY_STATE_REBASE_MERGE, "a rebase", "git rebase --continue or --abort"},
		{GIT_REPOSITORY_STATE_APPLY_MAILBOX, "git am", "git am --continue or --abort"},
		{GIT_REPOSITORY_STATE_APPLY_MAILBOX_OR_REBASE, "git am or a rebase", "git status says how"},
	};
	int state = git_repository_state(r->git);

	if (state == GIT_REPOSITORY_STATE_NONE)
		return 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].state == state)
			return err_set(e, EBUSY, "%s: %s is in progress: finish it first: %s", r->root_path, rows[i].what,
			               rows[i].remedy);
	return err_set(e, EBUSY, "%s: an operation of git is in progress (state %d): finish it first", r->root_path, state);
}

static int check_head(struct repo *r, struct err *e)
{
	int rc = git_repository_head_unborn(r->git);

	if (rc < 0)
		return repo_git_error(e, rc, STOP_USAGE, "cannot read HEAD of %s", r->root_path);
	if (rc == 1)
		return err_set(e, ENOENT, "%s has no commit yet: stint needs a first one to compare with: run stint init, or "
		               "git add and git commit", r->root_path);
	rc = git_repository_head_detached(r->git);
	if (rc < 0)
		return repo_git_error(e, rc, STOP_USAGE, "cannot read HEAD of %s", r->root_path);
	if (rc == 1)
		return err_set(e, EINVAL, "%s has a detached HEAD: commits would belong to no branch: git switch BRANCH first",
		               r->root_path);
	return refuse_state(r, e);
}

struct zones {
	const char *const *v;
	size_t n;
	char *found;
};

static int find_submodule(const char *root, const git_tree_entry *entry, void *payload)
{
	struct zones *z = payload;
	AUTO_BUF struct buf path = {0};
	const char *s;
	bool hit;

	if (git_tree_entry_type(entry) != GIT_OBJECT_COMMIT)
		return 0;
	if (buf_addf(&path, "%s%s", root, git_tree_entry_name(entry)) != 0 || (s = buf_str(&path)) == NULL)
		return -1;
	hit = repo_in_zones(z->v, z->n, s);
	for (size_t i = 0; i < z->n; i++)
		hit = hit || repo_in_zones(&s, 1, z->v[i]);
	if (!hit)
		return 0;
	z->found = strdup(s);
	return -1;
}

static int check_submodules(git_tree *tree, const char *const *zones, size_t n, struct err *e)
{
	struct zones z = {.v = zones, .n = n};
	int rc = git_tree_walk(tree, GIT_TREEWALK_PRE, find_submodule, &z);

	if (z.found != NULL) {
		rc = err_set(e, EINVAL, "%s is a submodule in a zone that a role may write: one commit cannot hold its "
		             "changes: give that path none or r in stint.yaml", repo_show(z.found).s);
		free(z.found);
		return rc;
	}
	return rc == 0 ? 0 : repo_git_error(e, rc, STOP_USAGE, "cannot read HEAD's tree");
}

static bool may_differ(const char *path)
{
	return str_eq(path, REPO_TASKS_FILE) || str_eq(path, REPO_REVIEW_FILE);
}

/* Opened beside the repository object, which would keep it in memory for the whole run. */
static int open_index(struct repo *r, git_index **ret, struct err *e)
{
	AUTO_BUF struct buf path = {0};
	const char *s;
	int rc;

	if (buf_addf(&path, "%sindex", git_repository_path(r->git)) != 0 || (s = buf_str(&path)) == NULL)
		return err_errno(e, ENOMEM, "cannot read git's index");
	rc = git_index_open(ret, s);
	if (rc != 0)
		return repo_git_error(e, rc, STOP_USAGE, "cannot read git's index (if it is split or sparse: git update-index "
		                      "--no-split-index, git sparse-checkout disable)");
	if (git_index_has_conflicts(*ret) == 1)
		return err_set(e, EBUSY, "%s has unresolved conflicts: resolve them and commit first", r->root_path);
	return 0;
}

/* Zone paths that are staged differently from HEAD. */
static int staged(struct repo *r, git_tree *tree, const char *const *zones, size_t n, struct buf *ret, struct err *e)
{
	REPO_AUTO(index, index) = NULL;
	REPO_AUTO(diff, diff) = NULL;
	git_diff_options options;
	int rc = open_index(r, &index, e);

	if (rc != 0)
		return rc;
	rc = git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
	options.flags = GIT_DIFF_INCLUDE_TYPECHANGE | GIT_DIFF_SKIP_BINARY_CHECK;
	if (rc == 0)
		rc = git_diff_tree_to_index(&diff, r->git, tree, index, &options);
	if (rc != 0)
		return repo_git_error(e, rc, STOP_USAGE, "cannot compare git's index with HEAD");
	for (size_t i = 0; i < git_diff_num_deltas(diff); i++) {
		const char *path = git_diff_get_delta(diff, i)->new_file.path;

		if (repo_in_zones(zones, n, path) && !may_differ(path) && buf_add(ret, path, strlen(path) + 1) != 0)
			return err_errno(e, ENOMEM, "cannot look at git's index");
	}
	return 0;
}

/* "a, b, c, …" for a list of paths without those that may differ; returns how many. Out of memory is never none. */
static size_t name_some(const struct buf *paths, struct buf *names)
{
	size_t n = 0;

	for (size_t at = 0; at < paths->len; at += strlen(paths->data + at) + 1) {
		const char *path = paths->data + at;

		if (may_differ(path))
			continue;
		if (n < SHOWN_PATHS && buf_addf(names, "%s%s", n == 0 ? "" : ", ", repo_show(path).s) != 0)
			return 1;
		n++;
	}
	if (n > SHOWN_PATHS && buf_addf(names, ", …") != 0)
		return 1;
	return n;
}

struct index_check {
	struct repo *r;
	git_tree *tree;
	const char *const *zones;
	size_t n;
	bool unfinished;
};

static int check_index(void *arg, struct err *e)
{
	const struct index_check *c = arg;
	AUTO_BUF struct buf paths = {0};
	AUTO_BUF struct buf names = {0};
	int rc = staged(c->r, c->tree, c->zones, c->n, &paths, e);

	if (rc != 0 || c->unfinished || name_some(&paths, &names) == 0)
		return rc;
	return err_set(e, EBUSY, "%s: changes are staged where a role may write: %s: commit or unstage them first",
	               c->r->root_path, buf_str(&names));
}

static int check_clean(struct repo *r, git_tree *tree, const char *const *zones, size_t n, bool unfinished,
                       struct err *e)
{
	struct index_check c = {.r = r, .tree = tree, .zones = zones, .n = n, .unfinished = unfinished};
	AUTO_BUF struct buf paths = {0};
	AUTO_BUF struct buf names = {0};
	int rc = repo_in_child(check_index, &c, 0, e);

	if (rc != 0 || unfinished)
		return rc;
	/* More than are shown: TASKS.md and REVIEW.md may be among them. */
	rc = repo_dirty(r, zones, n, SHOWN_PATHS + 3, &paths, NULL, e);
	if (rc != 0 || name_some(&paths, &names) == 0)
		return rc;
	return err_set(e, EBUSY, "%s: changes that no unfinished run explains where a role may write: %s: commit, stash or "
	               "ignore them first (a path that git status calls clean goes through a filter, which stint does not "
	               "run: autocrlf, LFS)", r->root_path, buf_str(&names));
}

static int pin(struct repo *r, git_reference *ref, git_commit *head, struct err *e)
{
	char *branch = strdup(git_reference_name(ref));

	if (branch == NULL)
		return err_errno(e, ENOMEM, "cannot look at %s", r->root_path);
	free(r->branch);
	r->branch = branch;
	(void)git_oid_cpy(&r->head, git_commit_id(head));
	r->pinned = true;
	return 0;
}

/* What another git holds, or left when it was killed, would stop the run at its commit. */
static int check_locks(struct repo *r, const char *ref, struct err *e)
{
	int lock = repo_lock_index(r->root_fd, e);
	AUTO_BUF struct buf path = {0};
	struct stat st;

	if (lock < 0 || repo_unlock_index(r->root_fd, &lock, e) != 0)
		return lock < 0 ? lock : -EIO;
	if (buf_addf(&path, ".git/%s.lock", ref) != 0 || buf_str(&path) == NULL)
		return err_errno(e, ENOMEM, "cannot look at %s", r->root_path);
	if (fstatat(r->root_fd, path.data, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(e, EBUSY, "%s is locked by another process: when no git runs, remove %s", ref, path.data);
	return 0;
}

int repo_check_start(struct repo *r, const char *const *zones, size_t n, bool unfinished_run, struct err *e)
{
	REPO_AUTO(reference, ref) = NULL;
	REPO_AUTO(commit, head) = NULL;
	REPO_AUTO(tree, tree) = NULL;
	int rc = repo_clear_lock(r->root_fd, e);

	if (rc == 0)
		rc = check_head(r, e);
	if (rc == 0)
		rc = repo_head_commit(r, &ref, &head, STOP_USAGE, e);
	if (rc == 0 && git_commit_tree(&tree, head) != 0)
		rc = repo_git_error(e, GIT_ERROR, STOP_USAGE, "cannot read HEAD's tree");
	if (rc == 0)
		rc = check_submodules(tree, zones, n, e);
	if (rc == 0)
		rc = check_clean(r, tree, zones, n, unfinished_run, e);
	if (rc == 0)
		rc = repo_ref_clear(r, git_reference_name(ref), e);
	if (rc == 0)
		rc = check_locks(r, git_reference_name(ref), e);
	if (rc == 0)
		rc = pin(r, ref, head, e);
	if (rc != 0 && e != NULL)
		e->exit = STOP_USAGE;
	return rc;
}
