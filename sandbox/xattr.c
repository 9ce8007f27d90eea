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

/* Puts the path of a name into ret and returns 0, or -ENAMETOOLONG. */
static int proc_of_name(char ret[PROC_MAX], const struct xattr_at *at)
{
	return snprintf(ret, PROC_MAX, "/proc/self/fd/%d/%s", at->dir_fd, at->name) < PROC_MAX ? 0 : -ENAMETOOLONG;
}

/* A system call that this kernel lacks, or that a container's filter refuses because it does not know it. */
static bool is_missing(int code)
{
	return code == ENOSYS || code == EPERM;
}

static ssize_t list_once(struct xattr_kernel *k, const struct xattr_at *at, char *buf, size_t size)
{
	char proc[PROC_MAX];
	ssize_t n;

	if (at->fd >= 0) {
		proc_of(proc, at->fd);
		n = listxattr(proc, buf, size);
		return n < 0 ? -errno : n;
	}
	if (!k->no_at) {
		n = syscall(NR_LISTXATTRAT, at->dir_fd, at->name, AT_SYMLINK_NOFOLLOW, buf, size);
		if (n >= 0 || !is_missing(errno))
			return n < 0 ? -errno : n;
		k->no_at = true;
	}
	if (proc_of_name(proc, at) != 0)
		return -ENAMETOOLONG;
	n = llistxattr(proc, buf, size);
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
	char proc[PROC_MAX];
	ssize_t n;

	if (at->fd >= 0) {
		proc_of(proc, at->fd);
		n = getxattr(proc, xattr, buf, size);
		return n < 0 ? -errno : n;
	}
	if (!k->no_at) {
		n = syscall(NR_GETXATTRAT, at->dir_fd, at->name, AT_SYMLINK_NOFOLLOW, xattr, &args, sizeof(args));
		if (n >= 0 || !is_missing(errno))
			return n < 0 ? -errno : n;
		k->no_at = true;
	}
	if (proc_of_name(proc, at) != 0)
		return -ENAMETOOLONG;
	n = lgetxattr(proc, xattr, buf, size);
	return n < 0 ? -errno : n;
}

ssize_t xattr_get(struct xattr_kernel *k, struct xattr_at at, const char *xattr, void *buf, size_t size)
{
	ssize_t n = get_once(k, &at, xattr, buf, size < FIRST_TRY ? size : FIRST_TRY);

	return n == -ERANGE && size > FIRST_TRY ? get_once(k, &at, xattr, buf, size) : n;
}

static int open_proc(struct xattr_kernel *k)
{
	if (!k->proc_open)
		k->proc_fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	k->proc_open = k->proc_fd >= 0;
	return k->proc_open ? 0 : -errno;
}

void xattr_kernel_done(struct xattr_kernel *k)
{
	if (k->proc_open)
		(void)close(k->proc_fd);
	*k = (struct xattr_kernel){0};
}

int xattr_set(struct xattr_kernel *k, int fd, const char *xattr, const void *value, size_t size)
{
	const struct args args = {.value = (uint64_t)(uintptr_t)value, .size = (uint32_t)size};
	char proc[PROC_MAX];

	if (!k->no_at && open_proc(k) == 0) {
		(void)snprintf(proc, sizeof(proc), "%d", fd);
		if (syscall(NR_SETXATTRAT, k->proc_fd, proc, 0, xattr, &args, sizeof(args)) == 0)
			return 0;
		if (errno != ENOSYS)
			return -errno;
		k->no_at = true;
	}
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
