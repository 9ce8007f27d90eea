/* The project's git repository, through libgit2 and as the owner: checked at start, compared with the tree,
 * one commit a task, pushed. No hook, no filter, no fsmonitor and no program is ever run: files are
 * read raw through the root descriptor and never through libgit2's working-tree functions.
 *
 * Lists of paths are bytes: one path after another, each ended by NUL, relative to the root, in any order.
 * Zones are the paths that some role may write, without trailing slash ("" is the whole root).
 * `.git` and `.stint` of the root are never looked at.
 * Life of one task's end: repo_commit → the caller ticks TASKS.md on disk → repo_refresh_index.
 * Source: docs/architecture.md, "The loop". */
#ifndef STINT_ORCHESTRATOR_REPO_H
#define STINT_ORCHESTRATOR_REPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define REPO_OID_SIZE 41           /* hex and NUL */
#define REPO_TASKS_FILE "TASKS.md"
#define REPO_REVIEW_FILE "REVIEW.md"

struct repo;

/* Opens the repository in the root itself (never one further up). root_fd is borrowed and must outlive it; root_path
 * is its absolute path. Refused with the remedy, STOP_USAGE: no repository, bare, `.git` not a folder (worktree,
 * submodule), objects or alternates outside it, a format that libgit2 does not know. */
int repo_open(struct repo **ret, int root_fd, const char *root_path, struct err *e) MUST_CHECK;
void repo_free(struct repo *r);

/* May a run start here? Remembers branch and HEAD: a later repo_commit() refuses when somebody else moved them.
 * Refused with the remedy, STOP_USAGE: unborn branch, detached HEAD, merge/rebase/cherry-pick/… in progress,
 * conflicts, an index that cannot be read, a submodule in a zone; unless unfinished_run: zone paths that differ from
 * HEAD on disk or in the index (up to 5 are named). TASKS.md and REVIEW.md may differ. */
int repo_check_start(struct repo *r, const char *const *zones, size_t n, bool unfinished_run, struct err *e) MUST_CHECK;

/* Is there a remote of that name with a URL that libgit2 can push to? STOP_USAGE otherwise. */
int repo_check_remote(struct repo *r, const char *remote, struct err *e) MUST_CHECK;

/* Appends the paths in zones that differ from HEAD by raw bytes or mode: deleted, modified, added and not ignored.
 * Stops after max paths (0: no bound). ret_n may be NULL. What is neither file, symlink nor folder is not seen. */
int repo_dirty(struct repo *r, const char *const *zones, size_t n, size_t max, struct buf *ret_paths, size_t *ret_n,
               struct err *e) MUST_CHECK;

struct repo_commit_request {
	const char *const *zones;  /* a candidate outside is not committed */
	size_t n_zones;
	const char *paths;         /* candidates: the change lists of the task's turns, or repo_dirty() after a
	                            * resume. Each is compared with HEAD: unchanged, repeated and ignored untracked
	                            * ones are dropped; a new folder is looked through */
	size_t paths_len;
	const char *tasks;         /* TASKS.md as it shall be committed (ticked); NULL: left out */
	size_t tasks_len;
	const char *title;         /* the task's; any bytes, cleaned here */
	const char *author;        /* "Name <mail>" */
	const char *run;           /* the run's ID */
	unsigned int iterations;
	const char *suite;         /* verdict's summary */
};

/* Builds one commit on HEAD and moves the branch by compare-and-swap. Nothing to commit besides TASKS.md is still
 * a commit. Neither the files on disk nor the user's index are touched. ret_oid: the commit; ret_paths (appended): what
 * is in it, TASKS.md included, for repo_refresh_index(). STOP_RECORD; -ESTALE: another process moved HEAD or the
 * branch (nothing is lost: all work is in the tree). */
int repo_commit(struct repo *r, const struct repo_commit_request *q, char ret_oid[REPO_OID_SIZE],
                struct buf *ret_paths, struct err *e) MUST_CHECK;

/* Why this changed path will not be in a commit, or NULL. A .gitignore or .gitattributes that is no regular file is removed:
 * libgit2 would follow it.
 * STOP_RECORD. */
int repo_left_out(struct repo *r, const char *path, const char **ret_why, struct err *e) MUST_CHECK;

/* Brings these paths of the user's real index to HEAD, under index.lock (waits up to 5 s for it), with stat data so
 * that git need not read them again. A path that the user staged with something else since HEAD's parent stays as
 * staged (TASKS.md excepted: its commit holds what was on disk). STOP_RECORD; -EBUSY: locked by another git. */
int repo_refresh_index(struct repo *r, const char *paths, size_t paths_len, struct err *e) MUST_CHECK;

/* Resume: did one of these runs (ids, each with NUL) already commit this task, with a commit that is not in done? Looks at the
 * trailers of HEAD and up to 63 first parents. Found: 0 and *ret_found, the commit in ret_oid and its paths appended to
 * ret_paths (for the tick and repo_refresh_index()). Not found: 0. */
int repo_find_task_commit(struct repo *r, const struct buf *runs, const struct buf *done, const char *title,
                          bool *ret_found, char ret_oid[REPO_OID_SIZE], struct buf *ret_paths, struct err *e) MUST_CHECK;

/* Pushes the branch of HEAD to the same name at a remote: no force, no program, in a child that is killed at the
 * deadline (-ETIMEDOUT). ssh keys come from the agent at SSH_AUTH_SOCK only; https without credentials only.
 * STOP_RECORD. */
int repo_push(struct repo *r, const char *remote, uint64_t deadline_ms, struct err *e) MUST_CHECK;

/* A file's bytes in HEAD: malloc'ed with a NUL after them. -ENOENT when it has none, -EFBIG over max. STOP_RECORD. */
int repo_read_head(struct repo *r, const char *path, size_t max, char **ret, size_t *ret_n, struct err *e) MUST_CHECK;

/* A hash over what lies at these paths (files, symlinks, folders with all that is not ignored): equal when names,
 * modes and bytes are equal. For "unchanged tree three times": either the zones or the run's candidates, always
 * the same kind. Order and repeats do not matter. */
int repo_fingerprint(struct repo *r, const char *paths, size_t paths_len, char ret_hex[REPO_OID_SIZE],
                     struct err *e) MUST_CHECK;

/* A unified diff of HEAD against the disk for these paths, for the record; binary files are named only. Stops with a
 * line that says so after max bytes. */
int repo_diff(struct repo *r, const char *paths, size_t paths_len, size_t max, struct buf *ret,
              struct err *e) MUST_CHECK;

/* `stint init`: makes a repository (branch main) where there is none, and the first commit of all that is not ignored
 * where the branch is unborn; the index is written. Names that begin with `.env` and nested repositories are left out.
 * A repository with commits is left as it is. *ret_committed says whether a commit was made. The caller has
 * written .gitignore (with .stint/) before. */
int repo_init(int root_fd, const char *root_path, const char *author, bool *ret_committed, struct err *e) MUST_CHECK;

#endif
