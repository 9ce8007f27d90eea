/* REVIEW.md on disk: reading, the coordinator's own finding, removal after a pass. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/str.h"
#include "protocol/review.h"

/* A regular file that is no link; O_NONBLOCK because a FIFO may stand there. */
static int open_regular(int root_fd, int flags, struct err *e)
{
	AUTO_FD fd = fd_open_beneath(root_fd, REVIEW_FILE, flags | O_NONBLOCK, 0644, false);
	struct stat st;

	if (fd == -ENOENT)
		return -ENOENT;
	if (fd == -ELOOP)
		return err_set(e, ELOOP, "%s is a symbolic link: remove it", REVIEW_FILE);
	if (fd < 0)
		return err_errno(e, -fd, "cannot open %s", REVIEW_FILE);
	if (fstat(fd, &st) != 0)
		return err_errno(e, errno, "cannot open %s", REVIEW_FILE);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "%s is not a regular file: remove it", REVIEW_FILE);
	return fd_take(&fd);
}

/* One byte over the maximum is enough to know that there is more. */
static int read_some(int fd, struct buf *b)
{
	char chunk[16384];

	while (b->len <= REVIEW_MAX_BYTES) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		if (buf_add(b, chunk, (size_t)n) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int load_bytes(int root_fd, struct buf *b, struct err *e)
{
	AUTO_FD fd = open_regular(root_fd, O_RDONLY, e);
	int rc;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	rc = read_some(fd, b);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot read %s", REVIEW_FILE);
}

int review_load(struct review *ret, int root_fd, struct err *e)
{
	AUTO_BUF struct buf b = {0};
	int rc = load_bytes(root_fd, &b, e);

	if (rc == 0)
		rc = review_parse(ret, b.data, b.len, e);
	return err_stop(e, STOP_USAGE, rc);
}

int review_write(int root_fd, const char *text, size_t n, struct err *e)
{
	AUTO_FD fd = open_regular(root_fd, O_RDWR | O_CREAT, e);
	int rc;

	if (fd < 0)
		return err_stop(e, STOP_RECORD, fd == -ENOENT ? err_errno(e, ENOENT, "cannot create %s", REVIEW_FILE) : fd);
	/* Cut last: a kill in between leaves findings too many, never none. */
	rc = fd_write_all(fd, text, n);
	if (rc == 0 && (ftruncate(fd, (off_t)n) != 0 || fsync(fd) != 0))
		rc = -errno;
	return rc == 0 ? 0 : err_stop(e, STOP_RECORD, err_errno(e, -rc, "cannot write %s", REVIEW_FILE));
}

int review_remove(int root_fd, const struct review *r, struct err *e)
{
	AUTO_BUF struct buf b = {0};
	int rc = load_bytes(root_fd, &b, e);

	if (rc == 0 && b.len > 0 && (b.len != r->n_bytes || memcmp(b.data, r->bytes, b.len) != 0))
		rc = err_set(e, ESTALE, "cannot remove %s: it was edited meanwhile: look at it and run again", REVIEW_FILE);
	if (rc == 0 && unlinkat(root_fd, REVIEW_FILE, 0) != 0 && errno != ENOENT)
		rc = err_errno(e, errno, "cannot remove %s", REVIEW_FILE);
	return err_stop(e, STOP_RECORD, rc);
}
