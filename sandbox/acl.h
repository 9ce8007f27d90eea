/* POSIX ACLs as values: what an inode's ACL becomes when the agent is granted something, and what it was before.
 * Pure: no system call, no allocation; every function is a table of old entries in, new entries out.
 *
 * The form is the kernel's own (system.posix_acl_* xattrs, version 2: a header, then 8-byte entries), not libacl's: libacl
 * sorts what it writes and acl_set_fd() refuses O_PATH descriptors, while a saved ACL goes back byte for byte. Entries
 * keep their order, so decoding and encoding give the same bytes.
 * Source: docs/threat-model.md, "How the table is held by ACLs", rules 4 and 5; linux/posix_acl_xattr.h. */
#ifndef STINT_SANDBOX_ACL_H
#define STINT_SANDBOX_ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define ACL_ENTRIES_MAX 8191u /* what fits in the kernel's largest xattr, 64 KiB */
#define ACL_RAW_MAX 65536u

struct acl_entry {
	uint16_t tag;  /* ACL_USER_OBJ … of linux/posix_acl.h */
	uint16_t perm; /* 0..7 */
	uint32_t id;   /* of ACL_USER and ACL_GROUP; all ones otherwise */
};

/* n == 0: there is none (only a default ACL can be absent; an access ACL without xattr is the mode). */
struct acl {
	uint32_t n;
	struct acl_entry e[ACL_ENTRIES_MAX];
};

#define ACL_UMASK_GUESSED 01000u

/* An account that agents run as. */
struct acl_agent {
	uid_t uid;
	gid_t gid;     /* its own group, in which nobody else is */
	gid_t writers; /* the group that a turn has beside it where its role may write; 0: the account has none */
};

/* A grant is one entry for the account; with this bit it is two for groups: the permissions for the writers, the same without
 * writing for the account's own group. An entry for the account goes before what groups may. */
#define ACL_BY_GROUPS 010u

/* Whose entries are ours. */
struct acl_who {
	const struct acl_agent *agents; /* the accounts whose named entries stint sets */
	unsigned int n_agents;
	uid_t owner;         /* named beside them in the default ACLs that stint sets */
	mode_t umask;        /* for default ACLs where there was none; with ACL_UMASK_GUESSED when nobody knows */
};

/* Raw bytes in: 0, or -EINVAL for what the kernel would not take. */
int acl_decode(struct acl *ret, const void *raw, size_t len) MUST_CHECK;
/* Raw bytes out (raw holds ACL_RAW_MAX); their length, 0 for none. */
size_t acl_encode(const struct acl *a, void *raw);

void acl_of_mode(struct acl *ret, mode_t mode); /* the three entries of a mode */
mode_t acl_to_mode(const struct acl *a);        /* the permission bits that setting it gives an inode */
mode_t acl_plain_mode(const struct acl *a);     /* of owner, owning group (as far as the mask lets it) and others */
void acl_copy(struct acl *to, const struct acl *from);
bool acl_is_mode(const struct acl *a);          /* says no more than a mode does: not worth an xattr */
bool acl_same(const struct acl *a, const struct acl *b);
bool acl_names(const struct acl *a, const struct acl_who *who); /* has an entry of one of the agents */

/* A default ACL as acl_grant_default() makes it: one of the agents, and beside it the owner with rwx. */
bool acl_is_granted_default(const struct acl *a, const struct acl_who *who);

/* Rule 4: base with the agent's perm (0..7, perhaps ACL_BY_GROUPS). The other group-class entries are first cut to base's mask,
 * then the mask becomes old mask | perm, so nobody else's effective rights grow. 0, or -E2BIG. */
int acl_grant(struct acl *ret, const struct acl *base, const struct acl_agent *agent, unsigned int perm) MUST_CHECK;

/* Rule 5: the default ACL of a folder in which the agent has perm: base (or the umask's permissions where there is none), the
 * grant, and the owner with rwx, so that what an agent creates is the owner's at once. 0, or -E2BIG. */
int acl_grant_default(struct acl *ret, const struct acl *base, const struct acl_who *who, const struct acl_agent *agent,
                      unsigned int perm) MUST_CHECK;

/* What an access ACL is without us. saved: the one from before the first grant, or none. When nobody but
 * us changed it, that is exactly saved; a change that a person made meanwhile wins. Scratch is overwritten. */
int acl_base(struct acl *ret, const struct acl *cur, const struct acl *saved, const struct acl_who *who,
             struct acl *scratch) MUST_CHECK;

/* The same for a default ACL; none when we had made it up, which shows by the umask: a folder that a person made meanwhile has
 * inherited what the folder around it had. */
int acl_base_default(struct acl *ret, const struct acl *cur, const struct acl *saved, const struct acl_who *who,
                     struct acl *scratch) MUST_CHECK;

/* The access ACL of a new inode with this mode in a folder with default ACL def (not none), as the kernel computes it
 * when it is created. */
void acl_inherit(struct acl *ret, const struct acl *def, mode_t mode);

#endif
