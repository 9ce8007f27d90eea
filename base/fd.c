/* Descriptors: see fd.h. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

void fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

int fd_take(int *fd)
{
	int v = *fd;

	*fd = -1;
	return v;
}

int fd_open_beneath(int dir_fd, const char *path, int flags, mode_t mode, bool no_xdev)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
		.mode = (flags & O_CREAT) != 0 ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	if (no_xdev)
		how.resolve |= RESOLVE_NO_XDEV;
	do
		fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	while (fd < 0 && (errno == EAGAIN || errno == EINTR));
	return fd < 0 ? -errno : (int)fd;
}

int fd_mkdirs_beneath(int dir_fd, const char *path, mode_t mode)
{
	AUTO_FREE char *copy = strdup(path);
	char *save = NULL;
	AUTO_FD at = -1;

	if (copy == NULL)
		return -ENOMEM;
	at = fd_open_beneath(dir_fd, ".", O_RDONLY | O_DIRECTORY, 0, false);
	if (at < 0)
		return at;
	for (char *part = strtok_r(copy, "/", &save); part != NULL; part = strtok_r(NULL, "/", &save)) {
		int next;

		if (mkdirat(at, part, mode) != 0 && errno != EEXIST)
			return -errno;
		next = fd_open_beneath(at, part, O_RDONLY | O_DIRECTORY, 0, false);
		if (next < 0)
			return next;
		fd_close(&at);
		at = next;
	}
	return fd_take(&at);
}

int fd_read_all(int fd, size_t max, char **ret_buf, size_t *ret_len)
{
	AUTO_BUF struct buf b = {0};
	char chunk[65536];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		if ((size_t)n > max - b.len)
			return -EFBIG;
		if (buf_add(&b, chunk, (size_t)n) != 0)
			return -ENOMEM;
	}
	if (buf_add(&b, "", 1) != 0)
		return -ENOMEM;
	*ret_len = b.len - 1;
	*ret_buf = b.data;
	b = (struct buf){0};
	return 0;
}

int fd_write_all(int fd, const void *buf, size_t n)
{
	const char *p = buf;

	while (n > 0) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

int fd_replace_file(int dir_fd, const char *path, const void *buf, size_t n, mode_t mode, struct err *e)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	AUTO_FREE char *parent = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path));
	AUTO_FD dir = -1;
	AUTO_FD fd = -1;
	char tmp[NAME_MAX + 1];
	int rc;

	if (parent == NULL)
		return err_errno(e, ENOMEM, "cannot write %s", path);
	dir = fd_open_beneath(dir_fd, parent, O_RDONLY | O_DIRECTORY, 0, false);
	if (dir < 0)
		return err_errno(e, -dir, "cannot write %s", path);
	if (snprintf(tmp, sizeof(tmp), ".%s.new", name) >= (int)sizeof(tmp))
		return err_errno(e, ENAMETOOLONG, "cannot write %s", path);
	(void)unlinkat(dir, tmp, 0);
	fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return err_errno(e, errno, "cannot write %s", path);
	rc = fd_write_all(fd, buf, n);
	if (rc == 0 && fsync(fd) != 0)
		rc = -errno;
	if (rc == 0 && renameat(dir, tmp, dir, name) != 0)
		rc = -errno;
	if (rc != 0) {
		(void)unlinkat(dir, tmp, 0);
		return err_errno(e, -rc, "cannot write %s", path);
	}
	if (fsync(dir) != 0)
		return err_errno(e, errno, "cannot write %s", path);
	return 0;
}

int fd_sealed_memfd(const char *name, const void *buf, size_t n)
{
	AUTO_FD fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int rc;

	if (fd < 0)
		return -errno;
	rc = fd_write_all(fd, buf, n);
	if (rc != 0)
		return rc;
	if (lseek(fd, 0, SEEK_SET) != 0 || fcntl(fd, F_ADD_SEALS, ALL_SEALS) != 0)
		return -errno;
	return fd_take(&fd);
}

bool fd_is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & ALL_SEALS) == ALL_SEALS;
}

static int close_range_of(unsigned int first, unsigned int last)
{
	if (first > last)
		return 0;
	return syscall(SYS_close_range, first, last, 0) == 0 ? 0 : -errno;
}

int fd_close_from_except(int from, const int *keep, size_t n)
{
	unsigned int next = (unsigned int)from;

	for (;;) {
		int low = -1;

		for (size_t i = 0; i < n; i++)
			if (keep[i] >= (int)next && (low < 0 || keep[i] < low))
				low = keep[i];
		if (low < 0)
			return close_range_of(next, UINT_MAX);
		if ((unsigned int)low > next) {
			int rc = close_range_of(next, (unsigned int)low - 1);

			if (rc != 0)
				return rc;
		}
		next = (unsigned int)low + 1;
	}
}

int fd_sibling_path(const char *name, char *ret, size_t size, struct err *e)
{
	static const char *const places[] = {"", "../libexec/stint/"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n <= 0)
		return err_errno(e, errno, "cannot find stint's own programs: /proc/self/exe");
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash == NULL)
		return err_set(e, ENOENT, "cannot find stint's own programs: %s has no folder", self);
	slash[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (snprintf(ret, size, "%s%s%s", self, places[i], name) >= (int)size)
			return err_errno(e, ENAMETOOLONG, "cannot find %s", name);
		if (faccessat(AT_FDCWD, ret, X_OK, AT_EACCESS) == 0)
			return 0;
		if (errno == EPERM) /* no file system says so of a look; an old container's filter does, of faccessat2 */
			return err_errno(e, EPERM, "cannot look at %s: a container's seccomp filter that refuses faccessat2?", ret);
	}
	return err_set(e, ENOENT, "%s is missing beside %sstint: the installation is incomplete: run make install again",
	               name, self);
}

int fd_open_sibling(const char *name, struct err *e)
{
	char path[PATH_MAX + 64];
	int fd;
	int rc = fd_sibling_path(name, path, sizeof(path), e);

	if (rc != 0)
		return rc;
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd >= 0 ? fd : err_errno(e, errno, "cannot open %s", path);
}
