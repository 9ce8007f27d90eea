/* The probe: see probe.h. Nothing here changes the tree: every trick fails after the kernel has judged it. */
#include "sandbox/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "protocol/frames.h"

/* Each op returns the errno that it saw (0: none); `allowed` of its row says which errno means yes. */
static int try_list(const struct probe_target *t)
{
	DIR *d = opendir(t->dir);
	int seen;

	if (d == NULL)
		return errno;
	errno = 0;
	seen = readdir(d) == NULL ? errno : 0;
	(void)closedir(d);
	return seen;
}

static int try_read(const struct probe_target *t)
{
	/* NONBLOCK: a FIFO in a sample's place must not stop the proof. */
	int flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
	AUTO_FD fd = open(t->sample, t->sample_is_dir ? flags | O_DIRECTORY : flags);
	char byte;

	if (fd < 0)
		return errno;
	if (t->sample_is_dir)
		return 0;
	return read(fd, &byte, 1) < 0 ? errno : 0;
}

static int try_write(const struct probe_target *t)
{
	struct rlimit old;
	struct rlimit none;
	int seen;

	if (getrlimit(RLIMIT_FSIZE, &old) != 0)
		return errno;
	none = (struct rlimit){0, old.rlim_max};
	if (setrlimit(RLIMIT_FSIZE, &none) != 0)
		return errno;
	seen = truncate(t->sample, LLONG_MAX) == 0 ? 0 : errno;
	if (setrlimit(RLIMIT_FSIZE, &old) != 0)
		return errno;
	return seen;
}

static int try_create(const struct probe_target *t)
{
	if (rename(t->sample, t->sample) != 0) /* Landlock's part */
		return errno;
	return faccessat(AT_FDCWD, t->dir, W_OK | X_OK, 0) == 0 ? 0 : errno; /* the ACL's part */
}

static int try_delete(const struct probe_target *t)
{
	int rc = t->sample_is_dir ? unlink(t->sample) : rmdir(t->sample);

	return rc == 0 ? 0 : errno;
}

static const struct {
	int (*try)(const struct probe_target *t);
	int yes[2]; /* errnos that mean: allowed */
} ops[OP_COUNT] = {
	[OP_LIST] = {try_list, {0, 0}},
	[OP_READ] = {try_read, {0, 0}},
	[OP_WRITE] = {try_write, {EFBIG, EFBIG}},
	[OP_CREATE] = {try_create, {0, 0}},
	[OP_DELETE] = {try_delete, {ENOTDIR, EISDIR}},
};

static struct probe_result probe_one(const struct probe_target *given, uint32_t index)
{
	struct probe_result r = {.index = index};
	struct probe_target t = *given;
	struct stat st;

	/* What is there decides, not what was there when the targets were chosen: rmdir of an empty folder that is
	 * taken for a file would remove it. What cannot be seen cannot be removed either. */
	if (lstat(t.sample, &st) == 0)
		t.sample_is_dir = S_ISDIR(st.st_mode);
	r.err = ops[t.op].try(&t);
	r.allowed = r.err == ops[t.op].yes[0] || r.err == ops[t.op].yes[1];
	return r;
}

/* A relative path that ends within its field and does not climb. */
static bool path_ok(const char *path)
{
	const char *p = path;

	if (memchr(path, '\0', PROBE_PATH_MAX) == NULL || path[0] == '/')
		return false;
	while (*p != '\0') {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			return false;
		p += n;
		p += *p == '/' ? 1 : 0;
	}
	return true;
}

static bool target_ok(const struct probe_target *t)
{
	if (t->op >= OP_COUNT || !path_ok(t->dir) || !path_ok(t->sample) || t->dir[0] == '\0')
		return false;
	return t->op == OP_LIST || t->sample[0] != '\0';
}

static int probe_all(const struct probe_target *t, size_t n, int out_fd, struct err *e)
{
	AUTO_BUF struct buf out = {0};
	int rc;

	for (size_t i = 0; i < n; i++) {
		struct probe_result r;

		if (!target_ok(&t[i]))
			return err_set(e, EINVAL, "probe target %zu is malformed", i);
		r = probe_one(&t[i], (uint32_t)i);
		if (buf_add(&out, &r, sizeof(r)) != 0)
			return err_errno(e, ENOMEM, "cannot keep the probe's results");
	}
	rc = fd_write_all(out_fd, out.data, out.len);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot hand back the probe's results");
}

int probe_run(int targets_fd, int out_fd, struct err *e)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction old;
	struct stat st;
	size_t n;
	void *p;
	int rc;

	if (!fd_is_sealed(targets_fd) || fstat(targets_fd, &st) != 0)
		return err_set(e, EINVAL, "the probe's targets are not a sealed memfd");
	n = (size_t)st.st_size / sizeof(struct probe_target);
	if ((size_t)st.st_size % sizeof(struct probe_target) != 0 || n > PROBE_MAX_TARGETS)
		return err_set(e, EINVAL, "the probe's targets have a wrong size: %lld bytes", (long long)st.st_size);
	if (n == 0)
		return 0;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, targets_fd, 0);
	if (p == MAP_FAILED)
		return err_errno(e, errno, "cannot map the probe's targets");
	if (sigaction(SIGXFSZ, &ignore, &old) != 0) {
		rc = err_errno(e, errno, "cannot ignore SIGXFSZ");
	} else {
		rc = probe_all((const struct probe_target *)p, n, out_fd, e);
		(void)sigaction(SIGXFSZ, &old, NULL);
	}
	(void)munmap(p, (size_t)st.st_size);
	return rc;
}
