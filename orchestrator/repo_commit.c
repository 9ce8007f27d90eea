/* One commit a task: the changed paths of the zones and the ticked TASKS.md on top of HEAD, by compare-and-swap. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <string.h>

#include "base/exit.h"

/* HEAD is where the run saw it last. */
static int check_pin(const struct repo *r, const git_reference *ref, const git_commit *head, struct err *e)
{
	char was[9];
	char is[9];

	if (!r->pinned || (str_eq(git_reference_name(ref), r->branch) && git_oid_equal(git_commit_id(head), &r->head)))
		return 0;
	(void)git_oid_tostr(was, sizeof(was), &r->head);
	(void)git_oid_tostr(is, sizeof(is), git_commit_id(head));
	return err_stop(e, STOP_RECORD, err_set(e, ESTALE, "HEAD moved from %s (%s) to %s (%s) during the run: another "
	                "process committed or switched branches: nothing is lost, all work is in the tree: look at git status, "
	                "then start stint run again", was, r->branch, is, git_reference_name(ref)));
}

static int collect(struct repo *r, git_tree *head, const struct repo_commit_request *q, struct repo_updates *u,
                   struct err *e)
{
	for (size_t at = 0; at < q->paths_len; at += strnlen(q->paths + at, q->paths_len - at) + 1) {
		const char *path = q->paths + at;
		int rc;

		if (strnlen(path, q->paths_len - at) == q->paths_len - at)
			return err_set(e, EINVAL, "a list of changed paths does not end with NUL");
		if (!repo_in_zones(q->zones, q->n_zones, path) || str_eq(path, REPO_TASKS_FILE))
			continue;
		rc = repo_walk(r, head, path, REPO_WALK_CANDIDATE, repo_updates_seen, u, e);
		if (rc != 0)
			return rc;
	}
	return repo_updates_store(r, u, e);
}

static int add_tasks(struct repo *r, git_tree *head, const struct repo_commit_request *q, struct repo_updates *u,
                     struct err *e)
{
	const git_tree_entry *te = git_tree_entry_byname(head, REPO_TASKS_FILE);
	git_filemode_t mode = te != NULL && git_tree_entry_type(te) == GIT_OBJECT_BLOB ? git_tree_entry_filemode(te)
	                                                                               : GIT_FILEMODE_BLOB;
	REPO_AUTO(odb, odb) = NULL;
	git_oid oid;
	int rc;

	if (q->tasks == NULL)
		return 0;
	rc = git_repository_odb(&odb, r->git);
	if (rc == 0)
		rc = git_odb_write(&oid, odb, q->tasks, q->tasks_len, GIT_OBJECT_BLOB);
	if (rc != 0)
		return repo_git_error(e, rc, STOP_RECORD, "cannot store " REPO_TASKS_FILE);
	rc = repo_updates_add(u, REPO_TASKS_FILE, &oid, mode == GIT_FILEMODE_LINK ? GIT_FILEMODE_BLOB : mode);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot store " REPO_TASKS_FILE);
}

/* The review is over: a REVIEW.md that HEAD has, and the disk no longer, goes with it. */
static int drop_review(struct repo *r, git_tree *head, struct repo_updates *u, struct err *e)
{
	REPO_AUTO_FILE f = {0};
	int rc = git_tree_entry_byname(head, REPO_REVIEW_FILE) == NULL ? 1 : repo_file_open(r, REPO_REVIEW_FILE, &f, e);

	if (rc != 0 || f.kind != REPO_ABSENT)
		return rc < 0 ? rc : 0;
	rc = repo_updates_add(u, REPO_REVIEW_FILE, NULL, 0);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot commit");
}

static int write_commit(struct repo *r, git_commit *head, const git_oid *tree_oid, const struct repo_commit_request *q,
                        git_oid *ret, struct err *e)
{
	REPO_AUTO(signature, who) = NULL;
	REPO_AUTO(tree, tree) = NULL;
	AUTO_BUF struct buf message = {0};
	const git_commit *parents[] = {head};
	int rc = repo_signature(&who, q->author, e);

	if (rc != 0)
		return rc;
	if (repo_message(&message, q) != 0 || buf_str(&message) == NULL)
		return err_errno(e, ENOMEM, "cannot write the commit");
	rc = git_tree_lookup(&tree, r->git, tree_oid);
	if (rc == 0)
		rc = git_commit_create(ret, r->git, NULL, who, who, NULL, message.data, tree, 1, parents);
	return rc == 0 ? 0 : repo_git_error(e, rc, STOP_RECORD, "cannot write the commit");
}

/* The swap: fails when the branch is no longer at the commit that was read. */
static int move_branch(struct repo *r, const git_reference *ref, const git_commit *from, const git_oid *to, const char *author,
                       struct err *e)
{
	REPO_AUTO(signature, who) = NULL;
	int rc = repo_signature(&who, author, e);

	if (rc == 0)
		rc = repo_ref_move(r, git_reference_name(ref), git_commit_id(from), to, who, "commit: stint task", e);
	if (rc == 0)
		(void)git_oid_cpy(&r->head, to);
	return err_stop(e, STOP_RECORD, rc);
}

int repo_commit(struct repo *r, const struct repo_commit_request *q, char ret_oid[REPO_OID_SIZE],
                struct buf *ret_paths, struct err *e)
{
	REPO_AUTO(reference, ref) = NULL;
	REPO_AUTO(commit, head) = NULL;
	REPO_AUTO(tree, old) = NULL;
	REPO_AUTO(tree, new) = NULL;
	REPO_AUTO_UPDATES u = {0};
	git_oid tree;
	git_oid made;
	int rc = repo_head_commit(r, &ref, &head, STOP_RECORD, e);

	if (rc == 0)
		rc = check_pin(r, ref, head, e);
	if (rc != 0)
		return rc;
	rc = git_commit_tree(&old, head);
	if (rc != 0)
		return repo_git_error(e, rc, STOP_RECORD, "cannot read HEAD's tree");
	rc = collect(r, old, q, &u, e);
	if (rc == 0)
		rc = add_tasks(r, old, q, &u, e);
	if (rc == 0)
		rc = drop_review(r, old, &u, e);
	if (rc == 0)
		rc = repo_updates_apply(r, old, &u, &tree, e);
	if (rc == 0)
		rc = write_commit(r, head, &tree, q, &made, e);
	if (rc == 0 && git_tree_lookup(&new, r->git, &tree) != 0)
		rc = repo_git_error(e, GIT_ERROR, STOP_RECORD, "cannot read the commit's tree");
	if (rc == 0)
		rc = repo_tree_paths(r, old, new, ret_paths, e);
	if (rc == 0)
		rc = move_branch(r, ref, head, &made, q->author, e);
	if (rc == 0)
		(void)git_oid_tostr(ret_oid, REPO_OID_SIZE, &made);
	return rc == 0 ? 0 : err_stop(e, STOP_RECORD, rc);
}
