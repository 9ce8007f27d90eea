/* The project tree as the warden holds it: flips ACLs for a role, takes the tree back, says what
 * changed, and puts everything as it was. Root code: descriptors only, nothing an agent wrote is parsed.
 *
 * Life of a run:
 *   tree_open → tree_repair (once) → [tree_flip(role) … tree_reclaim()]* → tree_restore → tree_free
 * Source: docs/threat-model.md, "How the table is held by ACLs"; rules are numbered there. */
#ifndef STINT_SANDBOX_TREE_H
#define STINT_SANDBOX_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "protocol/policy.h"
#include "sandbox/acl.h"

struct tree;

struct tree_owner {
	uid_t owner;         /* the project directory's owner */
	gid_t owner_gid;     /* the group that reclaimed files get: the owner's primary group */
	struct acl_agent agent;
	mode_t umask;        /* the caller's */
};

/* What one reclaim found, in the record format of protocol/frames.h. */
struct tree_changes {
	struct buf records;
	uint32_t n_changes;
	uint32_t n_anomalies;
	bool cut;            /* there was more than records may hold; its last record says so */
};
void tree_changes_done(struct tree_changes *c);

/* Builds the zone tree from a checked policy and checks it against the file system: every present
 * entry is of its kind, owned by the owner (a zone top), not a symlink, not a mount point.
 * root_fd and policy are borrowed and must outlive the tree. path: the root's absolute path, for the journal and messages.
 * Errors carry STOP_USAGE or STOP_CONFINE in e->exit. */
int tree_open(struct tree **ret, int root_fd, const char *path, const struct policy *p,
              const struct tree_owner *who, struct err *e) MUST_CHECK;
void tree_free(struct tree *t);

/* Start of a run, when no process of the agent user is left: if the journal names this project as not yet
 * restored, restores it; reclaims what the agent user owns anywhere in the project; writes the
 * journal's entry for this run (fsynced). */
int tree_repair(struct tree *t, struct err *e) MUST_CHECK;

/* Sets the ACLs for this role: opens zones (walks), seals the rest at the top, covers traverse-only
 * directories; creates absent files that the role may write; takes the snapshot of writable zones and journals
 * what rule 6 says. Idempotent; writes nothing that is already right. STOP_CONFINE with the entry's name when an
 * inode cannot be flipped. */
int tree_flip(struct tree *t, unsigned int role, struct err *e) MUST_CHECK;

/* The group that a turn of this role needs beside the agent's own to write in its zones; 0 for none. */
gid_t tree_writers(const struct tree *t, unsigned int role);

/* In place of tree_flip() without the ACL layer: refuses when a file in a zone that is open to the role has a name outside that
 * zone, or when there is a socket or a FIFO. Writes nothing. STOP_CONFINE. */
int tree_refuse_links(const struct tree *t, unsigned int role, struct err *e) MUST_CHECK;

/* After the turn, when no process of the agent user is left: set-id bits off, ownership back, mode and ACL
 * normalised, foreign ACL entries and xattrs dropped on what the agent owned; sockets, FIFOs and .git entries
 * that it made are neutralised; empty absent files removed. Adds to ret what changed since tree_flip(). */
int tree_reclaim(struct tree *t, struct tree_changes *ret, struct err *e) MUST_CHECK;

/* Ownership, modes and ACLs as before the first flip; removes the journal's entry. Goes on after an entry that
 * fails and reports the first; the journal's entry stays then. */
int tree_restore(struct tree *t, struct err *e) MUST_CHECK;

/* `stint restore`, which has no policy: restores the project at root_fd from its journal entry and saved
 * xattrs, reclaims what agents own, and reports how many inodes were put back (may be 0).
 * With no journal entry it still walks the whole project for leftovers of any account in /var/lib/stint/users but those that are
 * busy. */
int tree_restore_unattended(int root_fd, const char *path, const uid_t *busy, size_t n_busy, uint64_t *ret_restored,
                            struct err *e) MUST_CHECK;

/* Takes back everything below dir_fd (a role's HOME or scratch): chown to the owner, set-id bits off. Never follows,
 * never opens anything but directories. */
int tree_chown_all(int dir_fd, uid_t from, uid_t to, gid_t to_gid, struct err *e) MUST_CHECK;

/* Empties a directory (fresh HOME and scratch): removes everything below dir_fd on its device, bounded memory,
 * paths longer than PATH_MAX included. */
int tree_empty(int dir_fd, struct err *e) MUST_CHECK;

/* The agent accounts that `stint setup` recorded: /var/lib/stint/users, lines "NAME UID GID WRITERS", the last not in those of
 * older versions. 0 and the ids, or -ENOENT (not recorded), -EPERM (the passwd entry differs, the account has supplementary
 * groups, others are in its groups, it is root, or the file is not root's own). state_dir_fd: /var/lib/stint. */
#define USERS_MAX 64
int users_find(int state_dir_fd, const char *name, struct acl_agent *ret, struct err *e) MUST_CHECK;

/* Calls each for every recorded account (at most USERS_MAX), checked as users_find() does except that an account or a group
 * that is gone is still visited. Stops at the first non-zero result and returns it. */
int users_each(int state_dir_fd, int (*each)(const struct acl_agent *a, void *cookie, struct err *e), void *cookie,
               struct err *e) MUST_CHECK;

#endif
