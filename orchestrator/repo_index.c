/* The user's real index after a commit: only the committed paths change, under git's own lock.
 *
 * libgit2 takes index.lock only while it writes, so a change that another git makes between read and write would be
 * lost. Here the lock is taken first, libgit2 edits a copy, and the copy is renamed into place. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"

#define INDEX ".git/index"
#define COPY_NAME "index.stint"      /* ours alone while the lock is held */
#define COPY ".git/" COPY_NAME
#define COPY_LOCK COPY ".lock"       /* libgit2's, while it writes the copy */

/* git's own rule compares whole seconds unless it was built otherwise: be as careful. */
static bool racy(const git_index_entry *en, time_t stamp)
{
	return (time_t)en->mtime.seconds >= stamp;
}

/* Copies the index. *ret_stamp: its time of writing. Without an index there is no copy: libgit2 reads that as empty. */
static int copy_index(int root_fd, time_t *ret_stamp, struct err *e)
{
	AUTO_FD from = fd_open_beneath(root_fd, INDEX, O_RDONLY, 0, false);
	AUTO_FD to = -1;
	struct stat st;
	off_t left;

	*ret_stamp = 0;
	(void)unlinkat(root_fd, COPY, 0);
	(void)unlinkat(root_fd, COPY_LOCK, 0);
	if (from == -ENOENT)
		return 0;
	if (from < 0 || fstat(from, &st) != 0)
		return err_errno(e, from < 0 ? -from : errno, "cannot read git's index");
	to = fd_open_beneath(root_fd, COPY, O_WRONLY | O_CREAT | O_EXCL, st.st_mode & 0777, false);
	if (to < 0)
		return err_errno(e, -to, "cannot copy git's index");
	for (left = st.st_size; left > 0;) {
		ssize_t n = sendfile(to, from, NULL, (size_t)left);

		if (n <= 0)
			return err_errno(e, n < 0 ? errno : EIO, "cannot copy git's index");
		left -= n;
	}
	*ret_stamp = st.st_mtime;
	return 0;
}

/* An entry whose file may have changed in the second in which the old index was written gets size 0, as git does when
 * it writes an index: the new time of writing must not make it look settled. */
static int smudge_racy(git_index *index, time_t stamp, struct err *e)
{
	for (size_t i = 0; i < git_index_entrycount(index); i++) {
		const git_index_entry *en = git_index_get_byindex(index, i);
		git_index_entry copy = *en;
		int rc;

		if (!racy(en, stamp) || en->file_size == 0 || git_index_entry_stage(en) != 0)
			continue;
		copy.file_size = 0;
		rc = git_index_add(index, &copy);
		if (rc != 0)
			return repo_git_error(e, rc, STOP_RECORD, "cannot edit git's index");
	}
	return 0;
}

static bool same_entry(const git_index_entry *en, const git_tree_entry *te)
{
	if (en == NULL || te == NULL)
		return en == NULL && te == NULL;
	return git_oid_equal(&en->id, git_tree_entry_id(te)) && en->mode == (uint32_t)git_tree_entry_filemode(te);
}

/* Stat data for an entry if the file on disk holds exactly these bytes; otherwise zeros, and git will look itself. */
static int fill_stat(struct repo *r, git_index_entry *en, struct err *e)
{
	REPO_AUTO_FILE f = {0};
	git_oid oid;
	int rc = repo_file_open(r, en->path, &f, e);

	if (rc != 0 || f.kind != REPO_BLOB)
		return rc;
	rc = repo_file_hash(&f, en->path, &oid, e);
	if (rc != 0 || !git_oid_equal(&oid, &en->id) || (r->filemode && (uint32_t)f.mode != en->mode))
		return rc;
	en->ctime.seconds = (int32_t)f.st.st_ctim.tv_sec;
	en->ctime.nanoseconds = (uint32_t)f.st.st_ctim.tv_nsec;
	en->mtime.seconds = (int32_t)f.st.st_mtim.tv_sec;
	en->mtime.nanoseconds = (uint32_t)f.st.st_mtim.tv_nsec;
	en->dev = (uint32_t)f.st.st_dev;
	en->ino = (uint32_t)f.st.st_ino;
	en->uid = f.st.st_uid;
	en->gid = f.st.st_gid;
	en->file_size = (uint32_t)f.st.st_size;
	return 0;
}

static git_tree_entry *tree_entry(git_tree *tree, const char *path)
{
	git_tree_entry *te = NULL;

	if (tree != NULL && git_tree_entry_bypath(&te, tree, path) != 0)
		te = NULL;
	/* A folder of that name is no entry of an index. */
	if (te != NULL && git_tree_entry_type(te) == GIT_OBJECT_TREE) {
		git_tree_entry_free(te);
		te = NULL;
	}
	return te;
}

static int set_entry(struct repo *r, git_index *index, const char *path, const git_tree_entry *to, struct err *e)
{
	git_index_entry en = {.path = path};
	int rc;

	if (to == NULL) {
		rc = git_index_remove(index, path, 0);
		return rc == 0 || rc == GIT_ENOTFOUND ? 0
		                                      : repo_git_error(e, rc, STOP_RECORD, "cannot edit git's index");
	}
	(void)git_oid_cpy(&en.id, git_tree_entry_id(to));
	en.mode = (uint32_t)git_tree_entry_filemode(to);
	rc = fill_stat(r, &en, e);
	if (rc != 0)
		return rc;
	rc = git_index_add(index, &en);
	return rc == 0 ? 0 : repo_git_error(e, rc, STOP_RECORD, "cannot edit git's index");
}

static int refresh_path(struct repo *r, git_index *index, git_tree *parent, git_tree *head, const char *path,
                        struct err *e)
{
	git_tree_entry *was = tree_entry(parent, path);
	git_tree_entry *is = tree_entry(head, path);
	const git_index_entry *en = git_index_get_bypath(index, path, 0);
	bool ours = str_eq(path, REPO_TASKS_FILE) || same_entry(en, was) || same_entry(en, is);
	int rc = 0;

	/* Removed by the user's staging, or staged with other content: it stays as staged. */
	if (ours)
		rc = set_entry(r, index, path, is, e);
	git_tree_entry_free(was);
	git_tree_entry_free(is);
	return rc;
}

static int head_and_parent(struct repo *r, git_tree **ret_head, git_tree **ret_parent, struct err *e)
{
	REPO_AUTO(commit, head) = NULL;
	REPO_AUTO(commit, parent) = NULL;
	int rc = repo_head_commit(r, NULL, &head, STOP_RECORD, e);

	if (rc != 0)
		return rc;
	rc = git_commit_tree(ret_head, head);
	if (rc == 0 && git_commit_parentcount(head) > 0) {
		rc = git_commit_parent(&parent, head, 0);
		if (rc == 0)
			rc = git_commit_tree(ret_parent, parent);
	}
	return rc == 0 ? 0 : repo_git_error(e, rc, STOP_RECORD, "cannot read HEAD's tree");
}

static int edit(struct repo *r, git_index *index, const char *paths, size_t len, struct err *e)
{
	REPO_AUTO(tree, head) = NULL;
	REPO_AUTO(tree, parent) = NULL;
	int rc = head_and_parent(r, &head, &parent, e);

	for (size_t at = 0; rc == 0 && at < len; at += strlen(paths + at) + 1) {
		if (memchr(paths + at, 0, len - at) == NULL)
			return err_set(e, EINVAL, "a list of committed paths does not end with NUL");
		rc = refresh_path(r, index, parent, head, paths + at, e);
	}
	return rc;
}

struct rewrite {
	struct repo *r;
	const char *paths;
	size_t len;
};

static int rewrite(void *arg, struct err *e)
{
	const struct rewrite *w = arg;
	struct repo *r = w->r;
	REPO_AUTO(index, index) = NULL;
	AUTO_FREE char *path = NULL;
	time_t stamp;
	int rc = copy_index(r->root_fd, &stamp, e);

	if (rc != 0)
		return rc;
	if (asprintf(&path, "%s" COPY_NAME, git_repository_path(r->git)) < 0) {
		path = NULL;
		return err_errno(e, ENOMEM, "cannot copy git's index");
	}
	rc = git_index_open(&index, path);
	if (rc != 0)
		return repo_git_error(e, rc, STOP_RECORD, "cannot read git's index");
	rc = smudge_racy(index, stamp, e);
	if (rc == 0)
		rc = edit(r, index, w->paths, w->len, e);
	if (rc != 0)
		return rc;
	rc = git_index_write(index);
	if (rc != 0)
		return repo_git_error(e, rc, STOP_RECORD, "cannot write git's index");
	if (renameat(r->root_fd, COPY, r->root_fd, INDEX) != 0)
		return err_errno(e, errno, "cannot replace git's index");
	return 0;
}

int repo_refresh_index(struct repo *r, const char *paths, size_t paths_len, struct err *e)
{
	struct rewrite w = {.r = r, .paths = paths, .len = paths_len};
	int lock = repo_lock_index(r->root_fd, e);
	int unlocked;
	int rc;

	if (lock < 0)
		return err_stop(e, STOP_RECORD, lock);
	rc = repo_in_child(rewrite, &w, 0, e);
	if (rc != 0)
		(void)unlinkat(r->root_fd, COPY, 0);
	unlocked = repo_unlock_index(r->root_fd, &lock, rc == 0 ? e : NULL);
	if (rc == 0)
		rc = unlocked;
	return rc == 0 ? 0 : err_stop(e, STOP_RECORD, rc);
}
