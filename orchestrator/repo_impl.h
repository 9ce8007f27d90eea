/* Private to repo*.c: the object, the errors of libgit2, files read raw, the walk that compares tree and HEAD. */
#ifndef STINT_ORCHESTRATOR_REPO_IMPL_H
#define STINT_ORCHESTRATOR_REPO_IMPL_H

#include <git2.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "orchestrator/repo.h"

struct repo {
	git_repository *git;
	int root_fd;             /* borrowed */
	char *root_path;
	bool filemode;           /* core.fileMode: false means that HEAD's executable bit is right */
	uint64_t ignore_ms;      /* processor time that patterns of .gitignore took so far */
	bool pinned;             /* repo_check_start() has seen branch and head */
	char *branch;            /* full reference name, when pinned */
	git_oid head;
};

/* Release by scope for libgit2's objects; all accept NULL. */
#define REPO_AUTO(type, name) __attribute__((cleanup(repo_##type##_done))) git_##type *name
void repo_tree_done(git_tree **p);
void repo_commit_done(git_commit **p);
void repo_reference_done(git_reference **p);
void repo_index_done(git_index **p);
void repo_odb_done(git_odb **p);
void repo_signature_done(git_signature **p);
void repo_diff_done(git_diff **p);

/* Sets e from libgit2's last error: "FMT: its words". rc is libgit2's; stop goes into e->exit.
 * -ENOENT, -EBUSY, -ESTALE, -EEXIST where libgit2 says so, else -EIO. */
int repo_git_error(struct err *e, int rc, int stop, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* A path for a message: escaped, cut, in a static-size array. */
struct repo_shown { char s[160]; };
struct repo_shown repo_show(const char *path);

/* HEAD's branch reference, commit and tree. */
int repo_head_commit(struct repo *r, git_reference **ret_ref, git_commit **ret, int stop, struct err *e) MUST_CHECK;

/* "Name <mail>" to a signature with the current time. */
int repo_signature(git_signature **ret, const char *author, struct err *e) MUST_CHECK;

/* ---- files, read raw (repo_file.c) */
enum repo_kind { REPO_ABSENT, REPO_BLOB, REPO_DIR, REPO_OTHER };
struct repo_file {
	enum repo_kind kind;
	git_filemode_t mode;     /* of a blob: 100644, 100755 or 120000 */
	struct stat st;
	int fd;                  /* O_PATH, unless absent; repo_file_done() closes it */
};
#define REPO_AUTO_FILE __attribute__((cleanup(repo_file_done))) struct repo_file
void repo_file_done(struct repo_file *f);
/* Looks at path beneath the root without following any link; "" is the root. Absent is no error. */
int repo_file_open(struct repo *r, const char *path, struct repo_file *ret, struct err *e) MUST_CHECK;
/* The blob id of a REPO_BLOB; nothing is written. */
int repo_file_hash(const struct repo_file *f, const char *path, git_oid *ret, struct err *e) MUST_CHECK;
/* As repo_file_hash() and writes the blob into the repository. */
int repo_file_store(struct repo *r, const struct repo_file *f, const char *path, git_oid *ret,
                    struct err *e) MUST_CHECK;
/* The bytes of a REPO_BLOB: -EFBIG when more than max. */
int repo_file_read(const struct repo_file *f, size_t max, char **ret, size_t *ret_len) MUST_CHECK;
/* Is this untracked path ignored? Refuses .gitignore files that are no regular files, because libgit2 would follow
 * or block on them. */
int repo_ignored(struct repo *r, const char *path, bool is_dir, bool *ret, struct err *e) MUST_CHECK;

/* ---- what git cannot hold (repo_fit.c) */
#define REPO_IGNORE_FILE ".gitignore"
bool repo_fits(struct repo *r, const char *path);

/* ---- the walk (repo_walk.c) */
bool repo_in_zones(const char *const *zones, size_t n, const char *path);
bool repo_is_private(const char *path);   /* .git or .stint of the root, or below */

struct repo_seen {
	char what;               /* A added, M modified, D deleted, = unchanged, S submodule */
	const char *path;
	git_filemode_t mode;     /* on disk: A, M, = */
	git_oid oid;             /* on disk: A, M, = */
};
/* 0 to go on, > 0 to end the walk without error, negative errno with e set. */
typedef int repo_seen_fn(void *ctx, const struct repo_seen *s, struct err *e);

enum repo_walk_flag {
	REPO_WALK_CANDIDATE = 1 << 0, /* start is one changed path: a folder that HEAD has too is not looked through */
};
/* Compares what lies at and below start with the tree head (NULL: empty) and reports each file. What git cannot hold is passed
 * over. */
int repo_walk(struct repo *r, git_tree *head, const char *start, unsigned int flags, repo_seen_fn *fn, void *ctx,
              struct err *e) MUST_CHECK;

/* ---- text (repo_message.c) */
int repo_message(struct buf *ret, const struct repo_commit_request *q) MUST_CHECK;
/* Paths in which two trees differ (old may be NULL). */
int repo_tree_paths(struct repo *r, git_tree *old, git_tree *new, struct buf *ret, struct err *e) MUST_CHECK;

/* ---- tree (repo_tree.c): what a commit will hold */
struct repo_update {
	char *path;
	git_oid oid;
	git_filemode_t mode;
	bool remove;
};
struct repo_updates {            /* zeroed is empty */
	struct repo_update *v;
	size_t n, cap;
};
#define REPO_AUTO_UPDATES __attribute__((cleanup(repo_updates_done))) struct repo_updates
void repo_updates_done(struct repo_updates *u);
int repo_updates_add(struct repo_updates *u, const char *path, const git_oid *oid, git_filemode_t mode) MUST_CHECK;
/* A repo_seen_fn whose ctx is a struct repo_updates: collects A, M and D. */
int repo_updates_seen(void *ctx, const struct repo_seen *s, struct err *e);
/* Writes the files of all A and M from disk into the repository as blobs. */
int repo_updates_store(struct repo *r, struct repo_updates *u, struct err *e) MUST_CHECK;
/* Applies them to base (NULL: empty): *ret_oid. Sorts them and drops repeats. */
int repo_updates_apply(struct repo *r, git_tree *base, struct repo_updates *u, git_oid *ret_oid,
                       struct err *e) MUST_CHECK;

/* ---- git's index lock (repo_lock.c) */
/* Takes it, waiting up to 5 s (-EBUSY): a descriptor. One that a killed run left is taken over. */
int repo_lock_index(int root_fd, struct err *e) MUST_CHECK;
int repo_unlock_index(int root_fd, int *lock, struct err *e) MUST_CHECK;
/* Removes one that a killed run left, so that git works again. */
int repo_clear_lock(int root_fd, struct err *e) MUST_CHECK;

/* ---- a branch's lock (repo_ref.c) */
/* Moves ref from one commit to another and logs it. -EBUSY when it is locked, -ESTALE when it is elsewhere. */
int repo_ref_move(struct repo *r, const char *ref, const git_oid *from, const git_oid *to, const git_signature *who,
                  const char *what, struct err *e) MUST_CHECK;
/* Removes a lock that a killed run left on ref. */
int repo_ref_clear(struct repo *r, const char *ref, struct err *e) MUST_CHECK;

/* ---- a bounded child (repo_child.c) */
/* Runs fn(arg) in a forked child and waits at most deadline_ms (0: for ever); its error comes back in e.
 * -ETIMEDOUT (e unset) when it had to be killed. Without a deadline it ignores the terminal's signals. */
int repo_in_child(int (*fn)(void *arg, struct err *e), void *arg, uint64_t deadline_ms, struct err *e) MUST_CHECK;

#endif
