/* Extended attributes by descriptor or by name in a folder: see xattr.h. */
#include "sandbox/xattr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The same on every architecture; newer than Debian 12's headers. */
#define NR_SETXATTRAT 463
#define NR_GETXATTRAT 464
#define NR_LISTXATTRAT 465

#define PROC_MAX 320   /* "/proc/self/fd/N/NAME" */
#define FIRST_TRY 512u /* the kernel allocates as much as it is offered: nearly everything fits in this */

/* Source: linux/xattr.h, struct xattr_args. */
struct args {
	_Alignas(8) uint64_t value;
	uint32_t size;
	uint32_t flags;
};

static void proc_of(char ret[PROC_MAX], int fd)
{
	(void)snprintf(ret, PROC_MAX, "/proc/self/fd/%d", fd);
}

/* Puts the inode's path into ret and returns 0, or -ENAMETOOLONG. A descriptor's is to be followed, a name's is not. */
static int proc_path(char ret[PROC_MAX], const struct xattr_at *at)
{
	if (at->fd >= 0)
		proc_of(ret, at->fd);
	else if (snprintf(ret, PROC_MAX, "/proc/self/fd/%d/%s", at->dir_fd, at->name) >= PROC_MAX)
		return -ENAMETOOLONG;
	return 0;
}

/* The inode as the *xattrat calls take it; a descriptor's is a link in the folder of descriptors. */
struct place {
	int dir_fd;
	int flags;
	char digits[16];
	const char *name;
};

/* False when only a path will do. */
static bool place_of(struct place *ret, struct xattr_kernel *k, const struct xattr_at *at)
{
	if (k->no_at)
		return false;
	if (at->fd < 0) {
		ret->dir_fd = at->dir_fd;
		ret->name = at->name;
		ret->flags = AT_SYMLINK_NOFOLLOW;
		return true;
	}
	if (!k->proc_open)
		k->proc_fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	k->proc_open = k->proc_fd >= 0;
	ret->dir_fd = k->proc_fd;
	(void)snprintf(ret->digits, sizeof(ret->digits), "%d", at->fd);
	ret->name = ret->digits;
	ret->flags = 0;
	return k->proc_open;
}

void xattr_kernel_done(struct xattr_kernel *k)
{
	if (k->proc_open)
		(void)close(k->proc_fd);
	*k = (struct xattr_kernel){0};
}

/* What a call gave: bytes or a negative errno. *ret_old: the kernel does not know it, or a container's filter does not and answers
 * EPERM; the path tells that from a refusal. */
static ssize_t result(struct xattr_kernel *k, long n, bool *ret_old)
{
	*ret_old = n < 0 && (errno == ENOSYS || errno == EPERM);
	k->no_at = k->no_at || *ret_old;
	return n < 0 ? -errno : n;
}

static ssize_t list_once(struct xattr_kernel *k, const struct xattr_at *at, char *buf, size_t size)
{
	struct place p;
	char proc[PROC_MAX];
	bool old = true;
	ssize_t n = 0;

	if (place_of(&p, k, at))
		n = result(k, syscall(NR_LISTXATTRAT, p.dir_fd, p.name, p.flags, buf, size), &old);
	if (!old)
		return n;
	if (proc_path(proc, at) != 0)
		return -ENAMETOOLONG;
	n = at->fd >= 0 ? listxattr(proc, buf, size) : llistxattr(proc, buf, size);
	return n < 0 ? -errno : n;
}

ssize_t xattr_list(struct xattr_kernel *k, struct xattr_at at, char *buf, size_t size)
{
	ssize_t n = list_once(k, &at, buf, size < FIRST_TRY ? size : FIRST_TRY);

	return n == -ERANGE && size > FIRST_TRY ? list_once(k, &at, buf, size) : n;
}

static ssize_t get_once(struct xattr_kernel *k, const struct xattr_at *at, const char *xattr, void *buf, size_t size)
{
	struct args args = {.value = (uint64_t)(uintptr_t)buf, .size = (uint32_t)size};
	struct place p;
	char proc[PROC_MAX];
	bool old = true;
	ssize_t n = 0;

	if (place_of(&p, k, at))
		n = result(k, syscall(NR_GETXATTRAT, p.dir_fd, p.name, p.flags, xattr, &args, sizeof(args)), &old);
	if (!old)
		return n;
	if (proc_path(proc, at) != 0)
		return -ENAMETOOLONG;
	n = at->fd >= 0 ? getxattr(proc, xattr, buf, size) : lgetxattr(proc, xattr, buf, size);
	return n < 0 ? -errno : n;
}

ssize_t xattr_get(struct xattr_kernel *k, struct xattr_at at, const char *xattr, void *buf, size_t size)
{
	ssize_t n = get_once(k, &at, xattr, buf, size < FIRST_TRY ? size : FIRST_TRY);

	return n == -ERANGE && size > FIRST_TRY ? get_once(k, &at, xattr, buf, size) : n;
}

int xattr_set(struct xattr_kernel *k, int fd, const char *xattr, const void *value, size_t size)
{
	const struct args args = {.value = (uint64_t)(uintptr_t)value, .size = (uint32_t)size};
	const struct xattr_at at = {.fd = fd, .dir_fd = -1};
	struct place p;
	char proc[PROC_MAX];
	bool old = true;
	ssize_t n = 0;

	if (place_of(&p, k, &at))
		n = result(k, syscall(NR_SETXATTRAT, p.dir_fd, p.name, p.flags, xattr, &args, sizeof(args)), &old);
	if (!old)
		return (int)n;
	proc_of(proc, fd);
	return setxattr(proc, xattr, value, size, 0) == 0 ? 0 : -errno;
}

int xattr_remove(int fd, const char *xattr)
{
	char proc[PROC_MAX];

	proc_of(proc, fd);
	return removexattr(proc, xattr) == 0 || errno == ENODATA ? 0 : -errno;
}

int xattr_chmod(int fd, mode_t mode)
{
	char proc[PROC_MAX];

	proc_of(proc, fd);
	return chmod(proc, mode) == 0 ? 0 : -errno;
}

int xattr_mtime(int fd, const struct timespec *mtime)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, *mtime};
	char proc[PROC_MAX];

	proc_of(proc, fd);
	return utimensat(AT_FDCWD, proc, times, 0) == 0 ? 0 : -errno;
}
