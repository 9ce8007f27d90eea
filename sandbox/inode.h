/* One inode through its O_PATH descriptor: reads its ACLs, grants, puts back, takes over from the agent. Nothing is opened
 * for reading or writing and no link is followed: /proc/self/fd/N names the inode itself.
 *
 * Every function writes only what is not yet as wanted (a write changes ctime) and returns 0 or a negative errno
 * without a message: the caller knows the name.
 * Source: docs/threat-model.md, "How the table is held by ACLs", rules 2, 6 and 7. */
#ifndef STINT_SANDBOX_INODE_H
#define STINT_SANDBOX_INODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "sandbox/acl.h"

#define INODE_NO_DEFAULT (-1) /* leave the default ACL alone */
#define INODE_PROC_MAX 288    /* "/proc/self/fd/N", or that and "/NAME" */

enum inode_has {
	INODE_ACCESS = 1 << 0,        /* system.posix_acl_access */
	INODE_DEFAULT = 1 << 1,
	INODE_SAVED_ACCESS = 1 << 2,  /* trusted.stint.access: as before the first grant */
	INODE_SAVED_DEFAULT = 1 << 3,
	INODE_CREATED = 1 << 4,       /* trusted.stint.created: an absent file that the warden made */
	INODE_USER = 1 << 5,          /* user.* */
	INODE_OURS = INODE_ACCESS | INODE_DEFAULT | INODE_SAVED_ACCESS | INODE_SAVED_DEFAULT | INODE_CREATED,
};

/* Scratch for one inode at a time, about 800 KiB of which little is ever touched; allocate once. */
struct inode_work {
	struct acl cur, saved, want, scratch;
	struct acl base;         /* out: the access ACL without us */
	struct acl base_default; /* out: the default ACL without us, none for a file */
	char raw[ACL_RAW_MAX];
	char names[ACL_RAW_MAX];
	size_t names_len;
	uint32_t user_hash;      /* of the names of user.* xattrs, 0 without any */
	unsigned int writes;     /* counts what was written, ever */
};

/* Which xattrs the inode has: the bits, or a negative errno. Fills names and user_hash. */
int inode_list(struct inode_work *w, int fd) MUST_CHECK;

/* The same for a name in an open folder, without opening it: only to see whether there is anything to do. */
int inode_peek(struct inode_work *w, int dir_fd, const char *name) MUST_CHECK;

/* Grants perm to agent (who->agents[0]) and, for a folder, default_perm (or INODE_NO_DEFAULT). Saves first what rule 6
 * says. Leaves base and base_default for the snapshot. st is refreshed when something was written. */
int inode_grant(struct inode_work *w, int fd, struct stat *st, const struct acl_who *who, unsigned int perm,
                int default_perm) MUST_CHECK;

/* Takes our entries away and puts back what was saved; removes what we saved. */
int inode_restore(struct inode_work *w, int fd, const struct stat *st, const struct acl_who *who) MUST_CHECK;

/* Before a run has set anything: what names the agent already is a person's, so it is saved like every other ACL. */
int inode_pin(struct inode_work *w, int fd, const struct acl_who *who) MUST_CHECK;

/* Set-id and sticky bits off, then the new owner. Nothing else changes. */
int inode_chown(int fd, const struct stat *st, uid_t uid, gid_t gid) MUST_CHECK;

/* Sets both ACLs (def none: no default ACL) and with them the mode, after inode_chown(); drops user.* xattrs and ours. */
int inode_settle(struct inode_work *w, int fd, const struct stat *st, const struct acl *access, const struct acl *def) MUST_CHECK;

/* No ACL and mode 0: nobody but root opens it. */
int inode_disable(struct inode_work *w, int fd) MUST_CHECK;

int inode_chmod(int fd, mode_t mode) MUST_CHECK;

/* The access ACL as it is, into cur. */
int inode_read_access(struct inode_work *w, int fd, const struct stat *st) MUST_CHECK;

/* The default ACL of a folder without us, into base_default. */
int inode_read_default(struct inode_work *w, int fd, const struct acl_who *who) MUST_CHECK;

/* The mark of a file that the warden created because the role may write it. */
int inode_mark_created(int fd) MUST_CHECK;    /* fd: an ordinary descriptor */
int inode_unmark_created(int fd) MUST_CHECK;  /* fd: O_PATH */

#endif
