/* Files of the tree as git sees them, read raw through the root descriptor: no link is followed, nothing but
 * regular files is opened, no filter is applied. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"

#define PROC_FD_MAX 32
#define IGNORE_SECONDS 20u         /* for one path: more than any honest .gitignore takes */
#define IGNORE_TOTAL_MS 120000u    /* for all paths of a run: many that each take a while are without end as well */
#define IGNORE_BYTES (1 << 20)     /* libgit2 takes forty times as much memory for its lines */
#define LATE "a .gitignore on the way to %s keeps git busy without end: all work is in the tree: make its patterns simpler, then " \
             "start stint run again"

static void proc_path(char out[PROC_FD_MAX], int fd)
{
	(void)snprintf(out, PROC_FD_MAX, "/proc/self/fd/%d", fd);
}

void repo_file_done(struct repo_file *f)
{
	if (f->kind != REPO_ABSENT)
		fd_close(&f->fd);
	*f = (struct repo_file){0};
}

int repo_file_open(struct repo *r, const char *path, struct repo_file *ret, struct err *e)
{
	struct repo_file f = {.kind = REPO_OTHER};
	int fd = fd_open_beneath(r->root_fd, path[0] == '\0' ? "." : path, O_PATH | O_NOFOLLOW, 0, false);

	*ret = (struct repo_file){.kind = REPO_ABSENT};
	/* A link or a file on the way means that nothing of git's lies at this path. */
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0;
	if (fd < 0)
		return err_errno(e, -fd, "cannot look at %s", repo_show(path).s);
	f.fd = fd;
	if (fstat(fd, &f.st) != 0) {
		int code = errno;

		repo_file_done(&f);
		return err_errno(e, code, "cannot look at %s", repo_show(path).s);
	}
	if (S_ISDIR(f.st.st_mode)) {
		f.kind = REPO_DIR;
	} else if (S_ISLNK(f.st.st_mode)) {
		f.kind = REPO_BLOB;
		f.mode = GIT_FILEMODE_LINK;
	} else if (S_ISREG(f.st.st_mode)) {
		f.kind = REPO_BLOB;
		f.mode = (f.st.st_mode & S_IXUSR) != 0 ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB;
	}
	*ret = f;
	return 0;
}

static int read_link(const struct repo_file *f, char target[PATH_MAX], size_t *ret_len)
{
	ssize_t n = readlinkat(f->fd, "", target, PATH_MAX);

	if (n < 0)
		return -errno;
	*ret_len = (size_t)n;
	return 0;
}

int repo_file_hash(const struct repo_file *f, const char *path, git_oid *ret, struct err *e)
{
	char name[PROC_FD_MAX];
	char target[PATH_MAX];
	size_t n;
	int rc;

	if (f->mode == GIT_FILEMODE_LINK) {
		rc = read_link(f, target, &n);
		if (rc != 0)
			return err_errno(e, -rc, "cannot read %s", repo_show(path).s);
		rc = git_odb_hash(ret, target, n, GIT_OBJECT_BLOB);
	} else {
		proc_path(name, f->fd);
		rc = git_odb_hashfile(ret, name, GIT_OBJECT_BLOB);
	}
	return rc == 0 ? 0 : repo_git_error(e, rc, 0, "cannot read %s", repo_show(path).s);
}

static int open_content(const struct repo_file *f)
{
	char name[PROC_FD_MAX];
	int fd;

	proc_path(name, f->fd);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* Streams a regular file into the object database: memory does not depend on its size. */
static int store_regular(git_odb *odb, const struct repo_file *f, git_oid *ret, struct err *e)
{
	AUTO_FD fd = open_content(f);
	git_odb_stream *out = NULL;
	git_object_size_t left = (git_object_size_t)f->st.st_size;
	char chunk[65536];
	int rc;

	if (fd < 0)
		return err_errno(e, -fd, "cannot read it");
	rc = git_odb_open_wstream(&out, odb, left, GIT_OBJECT_BLOB);
	while (rc == 0 && left > 0) {
		ssize_t n = read(fd, chunk, left < sizeof(chunk) ? (size_t)left : sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			git_odb_stream_free(out);
			return err_errno(e, n < 0 ? errno : ESTALE, "it changed while it was read");
		}
		rc = git_odb_stream_write(out, chunk, (size_t)n);
		left -= (git_object_size_t)n;
	}
	if (rc == 0)
		rc = git_odb_stream_finalize_write(ret, out);
	git_odb_stream_free(out);
	return rc == 0 ? 0 : repo_git_error(e, rc, 0, "cannot store it");
}

int repo_file_store(struct repo *r, const struct repo_file *f, const char *path, git_oid *ret, struct err *e)
{
	REPO_AUTO(odb, odb) = NULL;
	char target[PATH_MAX];
	size_t n;
	int rc = git_repository_odb(&odb, r->git);

	if (rc != 0)
		return repo_git_error(e, rc, STOP_RECORD, "cannot open the object database");
	if (f->mode != GIT_FILEMODE_LINK) {
		rc = store_regular(odb, f, ret, e);
		if (rc != 0)
			err_wrap(e, "%s", repo_show(path).s);
		return rc;
	}
	rc = read_link(f, target, &n);
	if (rc != 0)
		return err_errno(e, -rc, "cannot read %s", repo_show(path).s);
	rc = git_odb_write(ret, odb, target, n, GIT_OBJECT_BLOB);
	return rc == 0 ? 0 : repo_git_error(e, rc, STOP_RECORD, "cannot store %s", repo_show(path).s);
}

int repo_file_read(const struct repo_file *f, size_t max, char **ret, size_t *ret_len)
{
	char target[PATH_MAX];
	size_t n;
	int rc;

	if (f->mode == GIT_FILEMODE_LINK) {
		rc = read_link(f, target, &n);
		if (rc != 0)
			return rc;
		*ret = strndup(target, n);
		*ret_len = n;
		return *ret == NULL ? -ENOMEM : 0;
	}
	AUTO_FD fd = open_content(f);
	if (fd < 0)
		return fd;
	return fd_read_all(fd, max, ret, ret_len);
}

/* Absent, a folder, or a regular file that can be read: libgit2 takes one that it cannot read for one that is not there, and what
 * it lists would be committed. */
static int check_ignore_file(struct repo *r, const char *path, struct err *e)
{
	AUTO_FD fd = fd_open_beneath(r->root_fd, path, O_PATH | O_NOFOLLOW, 0, false);
	AUTO_FD content = -1;
	struct stat st;
	char byte;

	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (fd < 0 || fstat(fd, &st) != 0)
		return err_errno(e, fd < 0 ? -fd : errno, "cannot read %s, which may say what not to commit", repo_show(path).s);
	if (S_ISDIR(st.st_mode))
		return 0;
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "%s is no regular file: git would not read it either: remove it", repo_show(path).s);
	if (st.st_size > IGNORE_BYTES)
		return err_set(e, EFBIG, "%s is larger than 1 MiB: make its patterns fewer", repo_show(path).s);
	content = fd_open_beneath(r->root_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, false);
	if (content < 0 || read(content, &byte, 1) < 0)
		return err_errno(e, content < 0 ? -content : errno, "cannot read %s, which may say what not to commit",
		                 repo_show(path).s);
	return 0;
}

static int check_ignore_files(struct repo *r, const char *path, struct err *e)
{
	char dir[PATH_MAX];
	size_t n = 0;
	int rc;

	for (;;) {
		if (n + sizeof("/.gitignore") > sizeof(dir))
			return err_errno(e, ENAMETOOLONG, "%s", repo_show(path).s);
		memcpy(dir, path, n);
		memcpy(dir + n, n == 0 ? ".gitignore" : "/.gitignore", sizeof("/.gitignore") - (n == 0 ? 1 : 0));
		rc = check_ignore_file(r, dir, e);
		if (rc != 0)
			return rc;
		n += strcspn(path + n + (n > 0), "/") + (n > 0);
		if (path[n] == '\0')
			return 0;
	}
}

/* libgit2, as git, takes exponential time over some patterns, and an agent may write them: whoever looks at a path under such
 * a .gitignore is ended, because nothing else ends it. */
static char late_message[640];

static void on_late(int sig)
{
	(void)sig;
	(void)!write(STDERR_FILENO, late_message, strlen(late_message));
	_exit(STOP_RECORD);
}

static uint64_t processor_ms(void)
{
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void watch_time(const char *path, unsigned int seconds)
{
	struct sigaction a = {.sa_handler = on_late};

	if (seconds > 0) {
		(void)snprintf(late_message, sizeof(late_message), "stint: " LATE "\n", repo_show(path).s);
		(void)sigaction(SIGALRM, &a, NULL);
	}
	(void)alarm(seconds);
}

int repo_ignored(struct repo *r, const char *path, bool is_dir, bool *ret, struct err *e)
{
	AUTO_FREE char *slashed = NULL;
	uint64_t began = processor_ms();
	int ignored = 0;
	int rc = check_ignore_files(r, path, e);

	if (rc != 0)
		return rc;
	if (asprintf(&slashed, "%s%s", path, is_dir ? "/" : "") < 0) {
		slashed = NULL;
		return err_errno(e, ENOMEM, "cannot look at %s", repo_show(path).s);
	}
	watch_time(path, IGNORE_SECONDS);
	/* Twice: a .gitignore that could not be opened for a moment counts as absent, and is looked for again the next time. */
	for (int i = 0; i < 2 && rc == 0 && !ignored; i++)
		rc = git_ignore_path_is_ignored(&ignored, r->git, slashed);
	watch_time(path, 0);
	r->ignore_ms += processor_ms() - began;
	if (rc == 0 && r->ignore_ms > IGNORE_TOTAL_MS)
		return err_set(e, ETIME, LATE, repo_show(path).s);
	if (rc != 0)
		return repo_git_error(e, rc, 0, "cannot tell whether %s is ignored", repo_show(path).s);
	*ret = ignored != 0;
	return 0;
}
