/* What the parts of the tree engine share: who owns what, what is known about a run, and the change list.
 * Not for other modules: their contract is tree.h. */
#ifndef STINT_SANDBOX_TREE_PRIVATE_H
#define STINT_SANDBOX_TREE_PRIVATE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "roles/role.h"
#include "sandbox/acl.h"
#include "sandbox/inode.h"
#include "sandbox/journal.h"
#include "sandbox/snapshot.h"
#include "sandbox/tree.h"
#include "sandbox/walk.h"
#include "sandbox/zones.h"

#define TREE_STATE_DIR "/var/lib/stint"
#define TREE_RECORDS_MAX (32u << 20) /* bytes of one change list */
#define TREE_NOTES_MAX 64u           /* anomalies of one flip that are spelt out */

/* Whose files these are and which accounts' traces are ours. Points into itself: never copied. */
struct tree_ids {
	struct acl_who who;
	struct acl_agent agents[USERS_MAX + 1];
	uid_t owner;
	gid_t owner_gid;
	struct inode_work *work;
};

struct tree {
	int root_fd;           /* borrowed */
	const struct policy *policy;
	struct tree_ids ids;   /* ids.agents[0]: the run's agent user */
	int journal_fd;
	struct journal journal;
	bool journaled;
	struct zones zones;
	int role;              /* flipped for and not yet reclaimed, or -1 */
	bool has_last[ROLE_MAX]; /* the journal has the snapshot of the role's turn before, made in this run */
	struct tree_changes notes; /* of the flip, for the next change list */
};

/* ids.c */
int ids_init(struct tree_ids *ids, uid_t owner, gid_t owner_gid, mode_t umask, struct err *e) MUST_CHECK;
void ids_add(struct tree_ids *ids, const struct acl_agent *agent); /* no more than USERS_MAX + 1 are kept */
bool ids_is_agent(const struct tree_ids *ids, uid_t uid);
int ids_how(const struct tree_ids *ids, const struct stat *st); /* enum inode_how, by the inode's owner */
void ids_done(struct tree_ids *ids);
/* Is this folder a repository in git's eyes without being called .git? By the names in it. */
bool tree_is_bare(int dir_fd, const char *name);
/* True for `.git` in any spelling that a case-folding folder would take for it. */
bool tree_is_dot_git(const char *name);
/* The entry by its name: to look only. */
struct xattr_at walk_at(const struct walk_entry *en);
/* rc as an error about one entry, with the remedy for what rc says; asks for STOP_CONFINE. */
int tree_entry_fail(const char *what, const struct buf *dir, const char *name, int rc, struct err *e);

/* linked.c. A socket or a FIFO: what a command says there a process outside hears. */
static inline bool tree_is_door(const struct stat *st) { return S_ISSOCK(st->st_mode) || S_ISFIFO(st->st_mode); }
/* The error for one that no ACL of ours closes. STOP_CONFINE. */
int tree_refuse_door(const struct walk_entry *en, struct err *e) MUST_CHECK;

/* changes.c: c may be NULL, then nothing is kept. 0 or -ENOMEM. */
int changes_add(struct tree_changes *c, char kind, const struct buf *dir, const char *name) MUST_CHECK;
/* An anomaly: "NAME: why". */
int changes_note(struct tree_changes *c, const struct buf *dir, const char *name, const char *why) MUST_CHECK;
int changes_move(struct tree_changes *to, struct tree_changes *from) MUST_CHECK;

/* reclaim.c: takes one entry that an agent owns back. */
enum reclaim_bit {
	RECLAIM_CHAINED = 1 << 0, /* cookie.ino is the folder's inode in the snapshot; 0: it is new */
	RECLAIM_PLAIN = 1 << 1,   /* ownership only: HOME and scratch of a role, the root's own .git */
	RECLAIM_DOT_GIT = 1 << 2, /* below a .git in a zone */
};

struct reclaim {
	struct tree_ids *ids;
	struct tree_changes *out;  /* or NULL */
	struct snap_reader snap;
	struct snap_reader gone;   /* the same file, for folders that are no longer there */
	struct buf gone_stack;
	bool chained;              /* the folder being visited is in the snapshot, or is new in it */
	bool default_known;        /* parent_default is the folder's */
	struct acl *parent_default;
	struct acl *access;
	struct acl *def;
	uint64_t taken;            /* inodes that changed hands */
	unsigned int parts;        /* of a repository, seen in the folder being visited: reclaim.c */
	bool grants;               /* the zone is shared: what changed is opened again at once */
	bool missed;               /* something of it only the next flip's walk can judge */
};

/* journal_fd and snapshot_name: NULL for none. */
int reclaim_begin(struct reclaim *r, struct tree_ids *ids, struct tree_changes *out, int journal_fd,
                  const char *snapshot_name, struct err *e) MUST_CHECK;
void reclaim_done(struct reclaim *r);
/* To be called when a folder is entered. */
int reclaim_enter(struct reclaim *r, const struct walk_dir *d, struct err *e) MUST_CHECK;
/* The entry's record (NULL: it is new or no snapshot is there), and its cookie for what is below. */
const struct snap_rec *reclaim_lookup(struct reclaim *r, struct walk_entry *en);
/* Looks whether the entry is part of a repository. touched: an agent may have made or changed it. */
void reclaim_look(struct reclaim *r, const struct walk_entry *en, bool touched);
/* To be called when all entries of a folder are visited: one that an agent made a repository is none any more. */
int reclaim_listed(struct reclaim *r, const struct walk_dir *d, struct err *e) MUST_CHECK;
/* An entry at or below a `.git` that was not there at the flip, whoever owns it: makes it useless. 0 or a negative errno. */
int reclaim_dot_git(struct reclaim *r, struct walk_entry *en) MUST_CHECK;
/* Takes it back. enum walk_next, or an error. */
int reclaim_take(struct reclaim *r, struct walk_entry *en, const struct snap_rec *rec, struct err *e) MUST_CHECK;

/* compare.c: takes the role's writable zones back and lists what differs from the snapshot. */
int reclaim_zones(struct tree *t, struct tree_changes *out, struct err *e) MUST_CHECK;

/* flip.c */
int flip_all(struct tree *t, unsigned int role, struct err *e) MUST_CHECK;
/* What a role with this level in a zone is granted on an inode in it: 0..7. */
unsigned int flip_perm(enum level level, const struct stat *st);

/* restore.c: puts everything below and including root_fd back. Goes on after a failure and returns the first. j: the run's journal
 * entry, or NULL when there is none. */
int restore_all(struct tree_ids *ids, int root_fd, int journal_fd, const struct journal *j, uint64_t *ret_restored,
                struct err *e) MUST_CHECK;

/* start.c: what a run finds: takes back what agents own, pins what is a person's, refuses a .git in an open zone. */
int start_walk(struct tree *t, struct err *e) MUST_CHECK;

/* tree.c, for tests: the same with another state folder (borrowed). */
int tree_open_at(struct tree **ret, int state_fd, int root_fd, const char *path, const struct policy *p,
                 const struct tree_owner *who, struct err *e) MUST_CHECK;
int tree_restore_unattended_at(int state_fd, int root_fd, const char *path, const uid_t *busy, size_t n_busy,
                               uint64_t *ret_restored, struct err *e) MUST_CHECK;

#endif
