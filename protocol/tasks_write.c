/* TASKS.md: the one byte that is ticked, and text that is put back. In place, so inode, mode and ACL stay. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "protocol/tasks.h"

char *tasks_ticked_bytes(const struct tasks *t, const struct task *task)
{
	char *copy = malloc(t->n_bytes + 1);

	if (copy == NULL)
		return NULL;
	memcpy(copy, t->bytes, t->n_bytes + 1);
	if (!task->done)
		copy[task->box_offset] = 'x';
	return copy;
}

/* O_RDWR on a regular file that is no link; O_NONBLOCK because a FIFO may stand there. */
static int open_regular(int root_fd, int flags, struct err *e)
{
	AUTO_FD fd = fd_open_beneath(root_fd, TASKS_FILE, O_RDWR | O_NONBLOCK | flags, 0644, false);
	struct stat st;

	if (fd < 0)
		return err_errno(e, -fd, "cannot open %s for writing", TASKS_FILE);
	if (fstat(fd, &st) != 0)
		return err_errno(e, errno, "cannot open %s for writing", TASKS_FILE);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "%s is not a regular file: put a Markdown file there", TASKS_FILE);
	return fd_take(&fd);
}

static int tick(int root_fd, const struct tasks *t, const struct task *task, struct err *e)
{
	AUTO_FD fd = open_regular(root_fd, 0, e);
	AUTO_FREE char *now = NULL;
	AUTO_FREE char *ticked = tasks_ticked_bytes(t, task);
	size_t n = 0;
	int rc;

	if (fd < 0)
		return fd;
	if (ticked == NULL)
		return err_errno(e, ENOMEM, "cannot tick %s:%u", TASKS_FILE, task->line);
	rc = fd_read_all(fd, TASKS_MAX_BYTES, &now, &n);
	if (rc != 0 && rc != -EFBIG)
		return err_errno(e, -rc, "cannot read %s", TASKS_FILE);
	if (rc == 0 && n == t->n_bytes && memcmp(now, ticked, n) == 0)
		return 0;
	if (rc != 0 || n != t->n_bytes || memcmp(now, t->bytes, n) != 0)
		return err_set(e, ESTALE, "cannot tick %s:%u: the file was edited meanwhile: look at it and run again", TASKS_FILE,
		               task->line);
	if (pwrite(fd, "x", 1, (off_t)task->box_offset) != 1 || fsync(fd) != 0)
		return err_errno(e, errno, "cannot tick %s:%u", TASKS_FILE, task->line);
	return 0;
}

int tasks_tick(int root_fd, const struct tasks *t, const struct task *task, struct err *e)
{
	return err_stop(e, STOP_RECORD, tick(root_fd, t, task, e));
}

int tasks_write(int root_fd, const char *bytes, size_t n, struct err *e)
{
	AUTO_FD fd = open_regular(root_fd, O_CREAT, e);
	int rc;

	if (fd < 0)
		return err_stop(e, STOP_RECORD, fd);
	/* Write, then cut: a reader in between sees too much rather than nothing. */
	rc = fd_write_all(fd, bytes, n);
	if (rc == 0 && (ftruncate(fd, (off_t)n) != 0 || fsync(fd) != 0))
		rc = -errno;
	return rc == 0 ? 0 : err_stop(e, STOP_RECORD, err_errno(e, -rc, "cannot write %s", TASKS_FILE));
}
