/* A readable diff of HEAD against the disk, for the record of a turn. Contents are handed to libgit2 as bytes, without
 * a repository, so that no attribute file is read and no driver chosen. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"

#define DIFF_FILE_MAX (1u << 20)  /* a larger file is named only */

struct diff {
	struct repo *r;
	git_tree *head;
	struct buf *out;
	size_t end;
	bool full;
};

/* One line that says what happened to a file whose lines are not shown. */
static int name_only(struct diff *d, const struct repo_seen *s)
{
	return buf_addf(d->out, "%s %s (not shown: large)\n",
	                s->what == 'D' ? "deleted" : s->what == 'A' ? "added" : "changed", repo_show(s->path).s);
}

/* HEAD's bytes; *ret_n is 0 and *ret NULL for an added file. -EFBIG when large. */
static int old_bytes(struct diff *d, const struct repo_seen *s, git_blob **ret, const void **ret_data, size_t *ret_n,
                     struct err *e)
{
	git_tree_entry *te = NULL;
	int rc;

	if (s->what == 'A')
		return 0;
	rc = git_tree_entry_bypath(&te, d->head, s->path);
	if (rc == 0)
		rc = git_blob_lookup(ret, d->r->git, git_tree_entry_id(te));
	git_tree_entry_free(te);
	if (rc != 0)
		return repo_git_error(e, rc, STOP_RECORD, "cannot read %s of HEAD", repo_show(s->path).s);
	if (git_blob_rawsize(*ret) > DIFF_FILE_MAX)
		return -EFBIG;
	*ret_data = git_blob_rawcontent(*ret);
	*ret_n = (size_t)git_blob_rawsize(*ret);
	return 0;
}

static int new_bytes(struct diff *d, const struct repo_seen *s, char **ret, size_t *ret_n, struct err *e)
{
	REPO_AUTO_FILE f = {0};
	int rc;

	if (s->what == 'D')
		return 0;
	rc = repo_file_open(d->r, s->path, &f, e);
	if (rc != 0)
		return rc;
	rc = f.kind == REPO_BLOB ? repo_file_read(&f, DIFF_FILE_MAX, ret, ret_n) : 0;
	return rc == 0 || rc == -EFBIG ? rc : err_errno(e, -rc, "cannot read %s", repo_show(s->path).s);
}

static int add_patch(struct diff *d, const struct repo_seen *s, const void *old, size_t old_n, const char *new,
                     size_t new_n, struct err *e)
{
	git_diff_options options;
	git_patch *patch = NULL;
	git_buf text = {0};
	int rc = git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);

	if (rc == 0)
		rc = git_patch_from_buffers(&patch, old, old_n, s->path, new, new_n, s->path, &options);
	if (rc == 0)
		rc = git_patch_to_buf(&text, patch);
	git_patch_free(patch);
	if (rc != 0)
		return repo_git_error(e, rc, STOP_RECORD, "cannot compare %s", repo_show(s->path).s);
	/* Whole files only: half a hunk is no diff. */
	if (text.size > d->end - d->out->len) {
		d->full = true;
		rc = buf_addf(d->out, "… the rest is not shown: the limit is reached\n");
	} else {
		rc = buf_add(d->out, text.ptr, text.size);
	}
	git_buf_dispose(&text);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot write a diff");
}

static int add_file(void *ctx, const struct repo_seen *s, struct err *e)
{
	struct diff *d = ctx;
	AUTO_FREE char *new = NULL;
	git_blob *blob = NULL;
	const void *old = NULL;
	size_t old_n = 0;
	size_t new_n = 0;
	int rc;

	if (s->what == '=' || s->what == 'S')
		return 0;
	rc = old_bytes(d, s, &blob, &old, &old_n, e);
	if (rc == 0)
		rc = new_bytes(d, s, &new, &new_n, e);
	if (rc == -EFBIG)
		rc = name_only(d, s);
	else if (rc == 0)
		rc = add_patch(d, s, old, old_n, new, new_n, e);
	git_blob_free(blob);
	return rc != 0 ? rc : d->full ? 1 : 0;
}

int repo_diff(struct repo *r, const char *paths, size_t paths_len, size_t max, struct buf *ret, struct err *e)
{
	REPO_AUTO(commit, head) = NULL;
	REPO_AUTO(tree, tree) = NULL;
	struct diff d = {.r = r, .out = ret, .end = ret->len + max};
	int rc = repo_head_commit(r, NULL, &head, STOP_RECORD, e);

	if (rc != 0)
		return rc;
	rc = git_commit_tree(&tree, head);
	if (rc != 0)
		return repo_git_error(e, rc, STOP_RECORD, "cannot read HEAD's tree");
	d.head = tree;
	for (size_t at = 0; at < paths_len && !d.full; at += strlen(paths + at) + 1) {
		if (memchr(paths + at, 0, paths_len - at) == NULL)
			return err_stop(e, STOP_RECORD, err_set(e, EINVAL, "a list of changed paths does not end with NUL"));
		rc = repo_walk(r, tree, paths + at, REPO_WALK_CANDIDATE, add_file, &d, e);
		if (rc != 0)
			return err_stop(e, STOP_RECORD, rc);
	}
	return 0;
}
