/* Mounts by descriptor: clone, restrict, attach. Every clone is private at once, so that what is mounted on it
 * later (covers) never propagates to the host. The warden's views are made of these, and `stint doctor` tries them.
 * Source: open_tree(2), move_mount(2), mount_setattr(2). */
#ifndef STINT_SANDBOX_MNT_H
#define STINT_SANDBOX_MNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum mnt_attr {
	MNT_RO = 1 << 0,
	MNT_NOSUID = 1 << 1,
	MNT_NODEV = 1 << 2,
	MNT_NOEXEC = 1 << 3,
};

/* A detached, private copy of the mount at path (follows links) or, with path "", of dir_fd itself.
 * dir_fd's mount must belong to the caller's mount namespace. attrs: enum mnt_attr, on the whole
 * copy. Returns an O_PATH descriptor (the copy dissolves when it is closed unattached) or a negative errno. */
int mnt_clone(int dir_fd, const char *path, bool recursive, unsigned int attrs) MUST_CHECK;

/* A new detached tmpfs: root-owned, mode 0755, at most size bytes (0: the kernel's default). */
int mnt_tmpfs(uint64_t size, unsigned int attrs) MUST_CHECK;

/* Adds attrs to the mount that mnt_fd is the root of. 0 or a negative errno. */
int mnt_restrict(int mnt_fd, unsigned int attrs) MUST_CHECK;

/* Attaches a detached mount on what target_fd refers to. 0 or a negative errno. */
int mnt_attach(int mnt_fd, int target_fd) MUST_CHECK;

/* The root of an attached mount, which must be the current directory, becomes this mount namespace's root; what was there
 * is detached. 0 or a negative errno. */
int mnt_become_root(void) MUST_CHECK;

#endif
