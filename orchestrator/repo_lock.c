/* git's index.lock, in a way that a kill does not leave it for ever: it is a second name of a file of ours whose flock is held as
 * long as its maker lives. An index.lock that is this file, while nobody holds the flock, is what a killed run left. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 5000
#define LOCK_STEP_MS 50
#define GIT_DIR ".git"
#define LOCK "index.lock"
#define OURS "index.lock.stint"

static int open_git(int root_fd)
{
	return fd_open_beneath(root_fd, GIT_DIR, O_PATH | O_DIRECTORY, 0, false);
}

static bool same_file(int git_fd, int ours_fd)
{
	struct stat a;
	struct stat b;

	return fstat(ours_fd, &a) == 0 && fstatat(git_fd, LOCK, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Our file with its flock, or a negative errno: -EEXIST when another run of stint has it. */
static int open_ours(int git_fd, int flags)
{
	AUTO_FD fd = fd_open_beneath(git_fd, OURS, O_RDWR | flags, 0600, false);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK ? -EEXIST : -errno;
	return fd_take(&fd);
}

/* One try: the descriptor, or a negative errno: -EEXIST when it is held. */
static int try_lock(int git_fd)
{
	AUTO_FD fd = open_ours(git_fd, O_CREAT);

	if (fd < 0)
		return fd;
	if (linkat(git_fd, OURS, git_fd, LOCK, 0) == 0 || (errno == EEXIST && same_file(git_fd, fd)))
		return fd_take(&fd);
	return -errno;
}

int repo_lock_index(int root_fd, struct err *e)
{
	AUTO_FD git_fd = open_git(root_fd);

	if (git_fd < 0)
		return err_errno(e, -git_fd, "cannot lock git's index");
	for (int waited = 0;; waited += LOCK_STEP_MS) {
		const struct timespec step = {.tv_nsec = LOCK_STEP_MS * 1000000L};
		int fd = try_lock(git_fd);

		if (fd >= 0)
			return fd;
		if (fd != -EEXIST)
			return err_errno(e, -fd, "cannot lock git's index");
		if (waited >= LOCK_WAIT_MS)
			return err_set(e, EBUSY, "git's index is locked by another process: when no git runs, remove " GIT_DIR "/" LOCK);
		(void)nanosleep(&step, NULL);
	}
}

int repo_unlock_index(int root_fd, int *lock, struct err *e)
{
	AUTO_FD git_fd = open_git(root_fd);
	int rc = git_fd;

	if (git_fd >= 0)
		rc = unlinkat(git_fd, LOCK, 0) == 0 && unlinkat(git_fd, OURS, 0) == 0 ? 0 : -errno;
	fd_close(lock);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot unlock git's index");
}

int repo_clear_lock(int root_fd, struct err *e)
{
	AUTO_FD git_fd = open_git(root_fd);
	AUTO_FD fd = git_fd < 0 ? git_fd : open_ours(git_fd, 0);

	if (fd == -ENOENT || fd == -EEXIST)
		return 0;
	if (fd < 0)
		return err_errno(e, -fd, "cannot look at git's index lock");
	if (same_file(git_fd, fd) && unlinkat(git_fd, LOCK, 0) != 0)
		return err_errno(e, errno, "cannot remove the index lock of a killed run");
	return unlinkat(git_fd, OURS, 0) == 0 ? 0 : err_errno(e, errno, "cannot remove the index lock of a killed run");
}
