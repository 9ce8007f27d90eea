/* One inode: reads its ACLs, grants, puts back, takes over from the agent. Looked at by descriptor or by name in an open
 * folder; changed through its O_PATH descriptor alone, so that what changes is what was looked at. Nothing is opened for reading or
 * writing and no link is followed.
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
#include "sandbox/xattr.h"

#define INODE_NO_DEFAULT (-1) /* leave the default ACL alone */

enum inode_has {
	INODE_ACCESS = 1 << 0,        /* system.posix_acl_access */
	INODE_DEFAULT = 1 << 1,
	INODE_SAVED_ACCESS = 1 << 2,  /* trusted.stint.access: as before the first grant */
	INODE_SAVED_DEFAULT = 1 << 3,
	INODE_CREATED = 1 << 4,       /* trusted.stint.created: an absent file that the warden made */
	INODE_USER = 1 << 5,          /* user.* */
	INODE_UNLISTED = 1 << 6,      /* too many names for the kernel to list: user.* by all appearances */
	INODE_OURS = INODE_ACCESS | INODE_DEFAULT | INODE_SAVED_ACCESS | INODE_SAVED_DEFAULT | INODE_CREATED,
};

/* What inode_plan() found to do for one of an inode's two ACLs. */
enum inode_todo { INODE_NOTHING, INODE_SET, INODE_SAVE_AND_SET, INODE_UNSAVE_AND_SET };

/* Scratch for one inode at a time, about 900 KiB of which little is ever touched; allocate once. */
struct inode_work {
	struct acl cur, saved, scratch;
	struct acl want, want_default;
	struct acl base;         /* out: the access ACL without us */
	struct acl base_default; /* out: the default ACL without us, none for a file */
	enum inode_todo todo, todo_default;
	char raw[ACL_RAW_MAX];
	char names[ACL_RAW_MAX];
	size_t names_len;
	uint32_t user_hash;      /* of the names of user.* xattrs, 0 without any */
	unsigned int writes;     /* counts what was written, ever */
	bool kept;               /* inode_restore() left something saved, ever */
	struct xattr_kernel kernel;
};

/* Which xattrs the inode has: the bits, or a negative errno. Fills names and user_hash. */
int inode_list(struct inode_work *w, struct xattr_at at) MUST_CHECK;

/* Works out what granting perm to the agent (who->agents[0]) and, for a folder, default_perm (or INODE_NO_DEFAULT) takes: 1 when
 * something is to be written, 0 when all is right already, or a negative errno. Fills base and base_default. */
int inode_plan(struct inode_work *w, struct xattr_at at, const struct stat *st, const struct acl_who *who, unsigned int perm,
               int default_perm) MUST_CHECK;

/* Does what the last inode_plan() of this inode says, saving first what rule 6 says, and refreshes st, which may be
 * NULL. */
int inode_apply(struct inode_work *w, int fd, struct stat *st) MUST_CHECK;

/* Both at once, by descriptor. */
int inode_grant(struct inode_work *w, int fd, struct stat *st, const struct acl_who *who, unsigned int perm,
                int default_perm) MUST_CHECK;

/* Takes our entries away, puts back what was saved and removes what we saved; but a saved ACL that names the agent stays, and
 * sets w->kept: without it the next restore would take a person's entry for ours. It goes with INODE_SAVED_ONLY, when all is
 * put back. has: from inode_list(). */
enum inode_how {
	INODE_SAVED_ONLY = 1 << 0, /* what is not saved is not ours */
	INODE_STRANGER = 1 << 1,   /* neither owner nor agent owns it: ours is what is saved or came from a default ACL of ours */
};
int inode_restore(struct inode_work *w, int fd, int has, const struct stat *st, const struct acl_who *who, int how) MUST_CHECK;

/* Before a run has set anything: what names the agent already is a person's, so it is saved like every other ACL. Of a stranger's
 * inode (how) only what could be taken for ours. */
int inode_pin(struct inode_work *w, int fd, const struct acl_who *who, int how) MUST_CHECK;

/* Set-id and sticky bits off: before anything else, and before a new owner above all. */
int inode_plain_bits(int fd, const struct stat *st) MUST_CHECK;

int inode_chown(int fd, uid_t uid, gid_t gid) MUST_CHECK;

/* Sets both ACLs (def none: no default ACL) and with them the mode, after inode_plain_bits(); drops user.* xattrs and ours. 1 when
 * there are more than can be listed, which stay. */
int inode_settle(struct inode_work *w, int fd, const struct stat *st, const struct acl *access,
                 const struct acl *def) MUST_CHECK;

/* Whether every change in the folder's file system gives an inode another ctime, however soon after the last one: true of the usual
 * ones since Linux 6.13, which had the granularity of a tick before. Tried out on a file without a name. */
bool inode_ctime_tells(int dir_fd) MUST_CHECK;

/* No ACL and mode 0: nobody but root opens it. */
int inode_disable(struct inode_work *w, int fd) MUST_CHECK;

/* Both ACLs as they are, into base and base_default: of an inode that is not ours to change. */
int inode_read(struct inode_work *w, struct xattr_at at, const struct stat *st) MUST_CHECK;

/* The access ACL as it is, into cur. */
int inode_read_access(struct inode_work *w, int fd, const struct stat *st) MUST_CHECK;

/* The default ACL of a folder without us, into base_default. */
int inode_read_default(struct inode_work *w, int fd, const struct acl_who *who) MUST_CHECK;

/* 1 when a flip has set this folder's default ACL, 0 when not, or a negative errno. */
int inode_is_flipped(struct inode_work *w, int fd, const struct acl_who *who) MUST_CHECK;

/* The mark of a file that the warden made for the time of a turn. First without the folder's status; again, once it has its
 * name, with that from before and from after, so that the folder's mtime can come back. */
int inode_mark_created(int fd, const struct stat *before, const struct stat *after) MUST_CHECK;
/* Removes it; the folder's mtime goes back if nothing else has changed it. fd: the file's, of any kind. */
int inode_remove_created(int dir_fd, const char *name, int fd) MUST_CHECK;
int inode_unmark_created(int fd) MUST_CHECK;

#endif
