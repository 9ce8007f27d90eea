/* The words of a task's commit: one clean subject line, trailers, and finding them again after a cut. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"

#define SUBJECT_MAX 100u   /* bytes */
#define TRAILER_MAX 400u
#define LOOK_BACK 64       /* first parents that a resume looks at */

/* Characters that change how the text around them is shown: zero width, bidirectional marks, line separators, BOM. */
static bool invisible(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	if (len == 3 && p[0] == 0xe2 && p[1] == 0x80)
		return (p[2] >= 0x8b && p[2] <= 0x8f) || (p[2] >= 0xa8 && p[2] <= 0xae);
	if (len == 3 && p[0] == 0xe2 && p[1] == 0x81)
		return p[2] >= 0xa0 && p[2] <= 0xaf;
	return len == 3 && p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf;
}

/* Appends s as one line of at most max bytes: runs of space, control and invalid bytes become one space, none
 * at the ends; a cut is marked. */
static int add_clean(struct buf *b, const char *s, size_t max)
{
	size_t n = strlen(s);
	size_t start = b->len;
	bool gap = false;

	for (size_t i = 0; i < n;) {
		size_t len = str_utf8_len(s + i, n - i);
		unsigned char c = (unsigned char)s[i];
		bool bad = len == 0 || c <= 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)s[i + 1] < 0xa0) ||
		           invisible(s + i, len);

		if (bad) {
			gap = true;
			i += len == 0 ? 1 : len;
			continue;
		}
		if (b->len - start + len + gap > max)
			return buf_add(b, "…", strlen("…"));
		if (gap && b->len > start && buf_add(b, " ", 1) != 0)
			return -ENOMEM;
		gap = false;
		if (buf_add(b, s + i, len) != 0)
			return -ENOMEM;
		i += len;
	}
	return 0;
}

static int add_trailer(struct buf *b, const char *key, const char *value)
{
	if (buf_addf(b, "%s: ", key) != 0 || add_clean(b, value, TRAILER_MAX) != 0)
		return -ENOMEM;
	return buf_add(b, "\n", 1);
}

int repo_message(struct buf *ret, const struct repo_commit_request *q)
{
	size_t start = ret->len;

	if (add_clean(ret, q->title, SUBJECT_MAX) != 0)
		return -ENOMEM;
	if (ret->len == start && buf_addf(ret, "Task without a title") != 0)
		return -ENOMEM;
	if (buf_add(ret, "\n\n", 2) != 0 || add_trailer(ret, "Stint-Task", q->title) != 0 ||
	    add_trailer(ret, "Stint-Run", q->run) != 0 || buf_addf(ret, "Stint-Iterations: %u\n", q->iterations) != 0)
		return -ENOMEM;
	return q->suite == NULL ? 0 : add_trailer(ret, "Stint-Suite", q->suite);
}

int repo_tree_paths(struct repo *r, git_tree *old, git_tree *new, struct buf *ret, struct err *e)
{
	git_diff_options options;
	REPO_AUTO(diff, diff) = NULL;
	int rc = git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);

	if (rc != 0)
		return repo_git_error(e, rc, STOP_RECORD, "cannot compare two trees");
	options.flags = GIT_DIFF_INCLUDE_TYPECHANGE | GIT_DIFF_SKIP_BINARY_CHECK;
	rc = git_diff_tree_to_tree(&diff, r->git, old, new, &options);
	if (rc != 0)
		return repo_git_error(e, rc, STOP_RECORD, "cannot compare two trees");
	for (size_t i = 0; i < git_diff_num_deltas(diff); i++) {
		const git_diff_delta *d = git_diff_get_delta(diff, i);
		const char *path = d->status == GIT_DELTA_DELETED ? d->old_file.path : d->new_file.path;

		if (buf_add(ret, path, strlen(path) + 1) != 0)
			return err_errno(e, ENOMEM, "cannot compare two trees");
	}
	return 0;
}

/* Is this line of the message `KEY: VALUE`? */
static bool has_trailer(const char *message, const char *line)
{
	size_t n = strlen(line);
	const char *p = strstr(message, "\n\n");

	/* The subject is skipped: trailers stand below it. */
	for (; p != NULL; p = strchr(p + 1, '\n'))
		if (strncmp(p + 1, line, n) == 0)
			return true;
	return false;
}

static int commit_paths(struct repo *r, git_commit *commit, struct buf *ret, struct err *e)
{
	REPO_AUTO(commit, parent) = NULL;
	REPO_AUTO(tree, old) = NULL;
	REPO_AUTO(tree, new) = NULL;
	int rc = git_commit_tree(&new, commit);

	if (rc == 0 && git_commit_parentcount(commit) > 0) {
		rc = git_commit_parent(&parent, commit, 0);
		if (rc == 0)
			rc = git_commit_tree(&old, parent);
	}
	if (rc != 0)
		return repo_git_error(e, rc, STOP_RECORD, "cannot read a commit of this run");
	return repo_tree_paths(r, old, new, ret, e);
}

static bool by_one_of(const char *message, const struct buf *lines)
{
	for (size_t at = 0; at < lines->len; at += strlen(lines->data + at) + 1)
		if (has_trailer(message, lines->data + at))
			return true;
	return false;
}

static int run_trailers(struct buf *ret, const struct buf *runs)
{
	for (size_t at = 0; at < runs->len; at += strlen(runs->data + at) + 1)
		if (add_trailer(ret, "Stint-Run", runs->data + at) != 0 || buf_add(ret, "", 1) != 0)
			return -ENOMEM;
	return 0;
}

int repo_read_head(struct repo *r, const char *path, size_t max, char **ret, size_t *ret_n, struct err *e)
{
	REPO_AUTO(commit, head) = NULL;
	REPO_AUTO(tree, tree) = NULL;
	git_tree_entry *te = NULL;
	git_blob *blob = NULL;
	int rc = repo_head_commit(r, NULL, &head, STOP_RECORD, e);

	if (rc != 0)
		return rc;
	rc = git_commit_tree(&tree, head);
	if (rc == 0)
		rc = git_tree_entry_bypath(&te, tree, path);
	if (rc == 0)
		rc = git_blob_lookup(&blob, r->git, git_tree_entry_id(te));
	git_tree_entry_free(te);
	if (rc != 0)
		return repo_git_error(e, rc, STOP_RECORD, "cannot read %s of HEAD", repo_show(path).s);
	*ret_n = (size_t)git_blob_rawsize(blob);
	*ret = *ret_n > max ? NULL : malloc(*ret_n + 1);
	if (*ret != NULL) {
		memcpy(*ret, git_blob_rawcontent(blob), *ret_n);
		(*ret)[*ret_n] = '\0';
	}
	git_blob_free(blob);
	if (*ret == NULL)
		rc = *ret_n > max ? -EFBIG : -ENOMEM;
	return rc == 0 ? 0 : err_stop(e, STOP_RECORD, err_errno(e, -rc, "cannot read %s of HEAD", repo_show(path).s));
}

static bool listed(const struct buf *oids, const char *oid)
{
	for (size_t at = 0; at < oids->len; at += strlen(oids->data + at) + 1)
		if (str_eq(oids->data + at, oid))
			return true;
	return false;
}

int repo_find_task_commit(struct repo *r, const struct buf *runs, const struct buf *done, const char *title,
                          bool *ret_found, char ret_oid[REPO_OID_SIZE], struct buf *ret_paths, struct err *e)
{
	REPO_AUTO(commit, at) = NULL;
	AUTO_BUF struct buf task = {0};
	AUTO_BUF struct buf ids = {0};
	int rc = repo_head_commit(r, NULL, &at, STOP_RECORD, e);

	*ret_found = false;
	if (rc != 0)
		return rc;
	if (add_trailer(&task, "Stint-Task", title) != 0 || buf_str(&task) == NULL || run_trailers(&ids, runs) != 0)
		return err_errno(e, ENOMEM, "cannot look for a commit");
	for (int i = 0; i < LOOK_BACK; i++) {
		const char *message = git_commit_message(at);
		git_commit *parent = NULL;

		(void)git_oid_tostr(ret_oid, REPO_OID_SIZE, git_commit_id(at));
		if (has_trailer(message, task.data) && by_one_of(message, &ids) && !listed(done, ret_oid)) {
			rc = commit_paths(r, at, ret_paths, e);
			*ret_found = rc == 0;
			return rc;
		}
		if (git_commit_parentcount(at) == 0)
			return 0;
		rc = git_commit_parent(&parent, at, 0);
		if (rc == GIT_ENOTFOUND)     /* a shallow clone ends here */
			return 0;
		if (rc != 0)
			return repo_git_error(e, rc, STOP_RECORD, "cannot read the history of HEAD");
		git_commit_free(at);
		at = parent;
	}
	return 0;
}
