/* Moves a branch by compare-and-swap, in git's own way (REF.lock is renamed over REF), so that a kill does not leave it locked
 * for ever: REF.lock is a second name of a file of ours whose flock is held as long as its maker lives. libgit2 makes
 * a REF.lock that nobody can tell from a living git's.
 *
 * Ours lies beside it as REF.stint.lock: git passes over names that end in .lock. It is never written to once it has its
 * second name, because that may be the branch by then.
 * Source: git's Documentation/technical/api-lockfile, gitrepository-layout(5) for logs/. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"

#define WAIT_MS 1000
#define STEP_MS 50

/* The folder of a reference's file, and three names in it. */
struct place {
	int dir_fd;
	char name[NAME_MAX + 1];
	char lock[NAME_MAX + 1];
	char ours[NAME_MAX + 1];
};

static int place_open(struct place *p, int root_fd, const char *ref)
{
	const char *base = strrchr(ref, '/');
	AUTO_BUF struct buf dir = {0};

	if (base == NULL)
		return -EINVAL;
	if (snprintf(p->ours, sizeof(p->ours), "%s.stint.lock", base + 1) >= (int)sizeof(p->ours))
		return -ENAMETOOLONG;
	(void)snprintf(p->name, sizeof(p->name), "%s", base + 1);
	(void)snprintf(p->lock, sizeof(p->lock), "%.240s.lock", base + 1);
	if (buf_addf(&dir, ".git/%.*s", (int)(base - ref), ref) != 0 || buf_str(&dir) == NULL)
		return -ENOMEM;
	/* The folder of a branch that is only in packed-refs may be missing. */
	p->dir_fd = fd_mkdirs_beneath(root_fd, dir.data, 0777);
	return p->dir_fd < 0 ? p->dir_fd : 0;
}

static bool is_locked_by(const struct place *p, int ours_fd)
{
	struct stat a;
	struct stat b;

	return fstat(ours_fd, &a) == 0 && fstatat(p->dir_fd, p->lock, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static int unlock(const struct place *p, int ours_fd)
{
	if (is_locked_by(p, ours_fd) && unlinkat(p->dir_fd, p->lock, 0) != 0)
		return -errno;
	return unlinkat(p->dir_fd, p->ours, 0) == 0 || errno == ENOENT ? 0 : -errno;
}

/* 0, or -EEXIST when another run of stint holds the lock. */
static int clear(const struct place *p)
{
	AUTO_FD fd = fd_open_beneath(p->dir_fd, p->ours, O_RDONLY | O_NONBLOCK, 0, false);

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK ? -EEXIST : -errno;
	return unlock(p, fd);
}

/* One try: a descriptor of REF.lock, which holds text, or a negative errno: -EEXIST when another process has it. */
static int try_lock(const struct place *p, const char *text)
{
	AUTO_FD fd = -1;
	int rc = clear(p);

	if (rc != 0)
		return rc;
	fd = fd_open_beneath(p->dir_fd, p->ours, O_WRONLY | O_CREAT | O_EXCL, 0666, false);
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) /* between the two somebody took it for a dead one, and is removing it */
		return errno == EWOULDBLOCK ? -EEXIST : -errno;
	rc = fd_write_all(fd, text, strlen(text));
	if (rc == 0 && fsync(fd) != 0)
		rc = -errno;
	if (rc == 0 && linkat(p->dir_fd, p->ours, p->dir_fd, p->lock, 0) != 0)
		rc = errno == ENOENT ? -EEXIST : -errno;
	if (rc == 0)
		return fd_take(&fd);
	(void)unlinkat(p->dir_fd, p->ours, 0);
	return rc;
}

static int lock(const struct place *p, const char *text)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	int fd = try_lock(p, text);

	for (int waited = 0; fd == -EEXIST && waited < WAIT_MS; waited += STEP_MS) {
		(void)nanosleep(&step, NULL);
		fd = try_lock(p, text);
	}
	return fd;
}

/* Under the lock: is the branch still where it was? */
static int compare(struct repo *r, const char *ref, const git_oid *from, struct err *e)
{
	REPO_AUTO(reference, now) = NULL;
	int rc = git_reference_lookup(&now, r->git, ref);

	if (rc != 0 && rc != GIT_ENOTFOUND)
		return repo_git_error(e, rc, STOP_RECORD, "cannot move %s", ref);
	if (rc == 0 && git_reference_type(now) == GIT_REFERENCE_DIRECT && git_oid_equal(git_reference_target(now), from))
		return 0;
	return err_set(e, ESTALE, "cannot move %s: another process moved it: nothing is lost, all work is in the tree: start stint "
	               "run again", ref);
}

/* One line at the end of a log. A log that cannot be written is no reason to take the commit for failed. */
static void log_move(struct repo *r, const char *ref, const char *line, bool make)
{
	const char *base = strrchr(ref, '/');
	AUTO_BUF struct buf path = {0};
	AUTO_FD dir = -1;
	AUTO_FD fd = -1;

	if (buf_addf(&path, ".git/logs%s%.*s", base == NULL ? "" : "/", base == NULL ? 0 : (int)(base - ref), ref) != 0 ||
	    buf_str(&path) == NULL)
		return;
	dir = make ? fd_mkdirs_beneath(r->root_fd, path.data, 0777)
	           : fd_open_beneath(r->root_fd, path.data, O_RDONLY | O_DIRECTORY, 0, false);
	if (dir >= 0)
		fd = fd_open_beneath(dir, base == NULL ? ref : base + 1, O_WRONLY | O_APPEND | (make ? O_CREAT : 0), 0666, false);
	if (fd >= 0)
		(void)!fd_write_all(fd, line, strlen(line));
}

/* As git's: unless the repository says no, a log is made for HEAD and every branch. */
static void log_both(struct repo *r, const char *ref, const char *from, const char *to, const git_signature *who,
                     const char *what)
{
	AUTO_BUF struct buf line = {0};
	git_config *config = NULL;
	int make = 1;
	int offset = who->when.offset < 0 ? -who->when.offset : who->when.offset;

	if (git_repository_config_snapshot(&config, r->git) == 0)
		(void)git_config_get_bool(&make, config, "core.logallrefupdates");
	git_config_free(config);
	if (buf_addf(&line, "%s %s %s <%s> %lld %c%02d%02d\t%s\n", from, to, who->name, who->email, (long long)who->when.time,
	             who->when.offset < 0 ? '-' : '+', offset / 60, offset % 60, what) != 0 || buf_str(&line) == NULL)
		return;
	log_move(r, ref, line.data, make != 0);
	log_move(r, "HEAD", line.data, make != 0);
}

int repo_ref_move(struct repo *r, const char *ref, const git_oid *from, const git_oid *to, const git_signature *who,
                  const char *what, struct err *e)
{
	struct place p = {.dir_fd = -1};
	char was[GIT_OID_HEXSZ + 2];
	char is[GIT_OID_HEXSZ + 2];
	int rc = place_open(&p, r->root_fd, ref);
	AUTO_FD dir = p.dir_fd;
	AUTO_FD fd = -1;

	(void)git_oid_tostr(was, sizeof(was) - 1, from);
	(void)git_oid_tostr(is, sizeof(is) - 1, to);
	is[GIT_OID_HEXSZ] = '\n';
	is[GIT_OID_HEXSZ + 1] = '\0';
	if (rc == 0)
		rc = fd = lock(&p, is);
	if (rc == -EEXIST)
		return err_set(e, EBUSY, "cannot move %s: another process is moving it: nothing is lost, all work is in the tree: "
		               "start stint run again", ref);
	if (rc < 0)
		return err_errno(e, -rc, "cannot move %s", ref);
	rc = compare(r, ref, from, e);
	if (rc == 0 && renameat(dir, p.lock, dir, p.name) != 0)
		rc = err_errno(e, errno, "cannot move %s", ref);
	if (rc == 0 && fsync(dir) != 0)
		rc = err_errno(e, errno, "cannot move %s", ref);
	(void)unlock(&p, fd); /* what is left of it the next run clears away */
	is[GIT_OID_HEXSZ] = '\0';
	if (rc == 0)
		log_both(r, ref, was, is, who, what);
	return rc;
}

int repo_ref_clear(struct repo *r, const char *ref, struct err *e)
{
	struct place p = {.dir_fd = -1};
	int rc = place_open(&p, r->root_fd, ref);

	if (rc == 0)
		rc = clear(&p);
	fd_close(&p.dir_fd);
	return rc == 0 || rc == -EEXIST ? 0 : err_errno(e, -rc, "cannot remove the lock that a killed run left on %s", ref);
}
