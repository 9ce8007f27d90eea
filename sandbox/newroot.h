/* The view's new root: an empty tmpfs that the process moves into, with read-only copies of the system's folders.
 * What is not listed here, or in the role's `read`, does not exist in the view. */
#ifndef STINT_SANDBOX_NEWROOT_H
#define STINT_SANDBOX_NEWROOT_H

#include <stdbool.h>

#include "base/err.h"
#include "sandbox/place.h"
#include "sandbox/spawn.h"

#define NEWROOT_MAX_FOUND (POLICY_MAX_LIST + 64)

struct found {              /* something of the host that the view shows */
	char *path;             /* where; owned */
	char *link;             /* a symlink with this target instead of a mount; owned, or NULL */
	int mnt;                /* detached mount, owned, or -1 */
	bool is_dir;
};

struct newroot {
	struct found found[NEWROOT_MAX_FOUND];
	unsigned int n;
};

/* Clones what the command sees of the host: system folders, device nodes, the role's read paths (reached with the
 * command's own rights), the target of /etc/resolv.conf when the role has ports. In the host's view. */
int newroot_collect(struct newroot *r, const struct spawn_spec *s, struct err *e) MUST_CHECK;

/* Moves the process to an empty root of at most size bytes and detaches the host's tree. */
int newroot_enter(uint64_t size, struct err *e) MUST_CHECK;

/* Puts what was collected, /dev, /proc's folder, private /tmp, /var/tmp and /dev/shm in place. */
int newroot_populate(struct newroot *r, struct place *p, struct err *e) MUST_CHECK;

void newroot_done(struct newroot *r);

/* A writable folder of the new root's own, mounted over itself: path is made with mode and owner. Returns the
 * attached mount's descriptor. */
int newroot_private(struct place *p, const char *path, mode_t mode, uid_t uid, gid_t gid, struct err *e) MUST_CHECK;

#endif
