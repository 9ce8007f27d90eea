/* Extended attributes of an inode that is named by an O_PATH descriptor, or, to look only, by its name in an open folder.
 * No link is followed. The kernel's *xattrat calls take such names as they are; before Linux 6.13 a path below /proc/self/fd
 * does.
 * Source: getxattrat(2), getxattr(2). */
#ifndef STINT_SANDBOX_XATTR_H
#define STINT_SANDBOX_XATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct xattr_at {
	int fd;           /* O_PATH of the inode, or -1: */
	int dir_fd;       /* the folder */
	const char *name; /* and the name in it */
};

/* What the running kernel can do, found out at the first call, and the folder of this process's descriptors, so that not every
 * call finds it anew. Zeroed: not known yet. Not for a child after fork(). */
struct xattr_kernel {
	bool no_at;
	bool proc_open;
	int proc_fd; /* /proc/self/fd, when proc_open */
};
void xattr_kernel_done(struct xattr_kernel *k);

/* As listxattr(2) and getxattr(2): bytes, or a negative errno. */
ssize_t xattr_list(struct xattr_kernel *k, struct xattr_at at, char *buf, size_t size) MUST_CHECK;
ssize_t xattr_get(struct xattr_kernel *k, struct xattr_at at, const char *xattr, void *buf, size_t size) MUST_CHECK;

/* By descriptor only: 0 or a negative errno. What is not there is removed. */
int xattr_set(struct xattr_kernel *k, int fd, const char *xattr, const void *value, size_t size) MUST_CHECK;
int xattr_remove(int fd, const char *xattr) MUST_CHECK;

/* chmod(2) of an O_PATH descriptor. */
int xattr_chmod(int fd, mode_t mode) MUST_CHECK;
int xattr_mtime(int fd, const struct timespec *mtime) MUST_CHECK;

#endif
