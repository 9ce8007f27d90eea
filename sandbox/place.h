/* Places things in the view's new root: a root-owned skeleton of folders on the way, then a mount. */
#ifndef STINT_SANDBOX_PLACE_H
#define STINT_SANDBOX_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define PLACE_MAX_SKELETONS 16

struct place {
	uid_t uid;                               /* who must be able to traverse the way */
	gid_t gid;
	int skeleton[PLACE_MAX_SKELETONS];       /* writable until place_seal(); owned */
	unsigned int n_skeletons;
};

/* Makes path (absolute) exist in the present root: folders 0755 of root, the last one a folder or an empty file 0444.
 * An existing folder on the way that uid cannot traverse gets a tmpfs over it. No component may be a link.
 * Returns an O_PATH descriptor of it or a negative errno. */
int place_node(struct place *p, const char *path, bool is_dir, struct err *e) MUST_CHECK;

/* Attaches a detached mount at path, after place_node(). */
int place_mount(struct place *p, int mnt_fd, const char *path, bool is_dir, struct err *e) MUST_CHECK;

/* A symlink at path with this target, its parents made like place_node(); one that exists stays. */
int place_link(struct place *p, const char *path, const char *target, struct err *e) MUST_CHECK;

/* Makes every skeleton mount read-only. Releases p. */
int place_seal(struct place *p, struct err *e) MUST_CHECK;

#endif
