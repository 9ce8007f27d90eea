/* Walks a hostile directory tree: see walk.h. */
#include "sandbox/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"

/* The kernel's record; glibc's struct dirent64 has the same layout. Source: getdents64(2). */
struct kernel_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

/* A folder on the way down. Its subfolders that are still to be entered are the pending ones from first on. */
struct frame {
	dev_t dev;
	ino_t ino;
	struct walk_cookie cookie;
	size_t first;
	size_t path_len;
	int fd; /* -1 while more than WALK_FDS levels are open below */
};

struct pending {
	ino_t ino;
	struct walk_cookie cookie;
	size_t name; /* offset into names */
};

struct walk {
	const struct walk_ops *ops;
	void *ctx;
	dev_t dev;
	struct buf path;
	struct buf frames;  /* struct frame */
	struct buf pending; /* struct pending */
	struct buf names;
	_Alignas(8) char dents[32768];
};

static size_t depth(const struct walk *w)
{
	return w->frames.len / sizeof(struct frame);
}

static struct frame *frame_at(const struct walk *w, size_t i)
{
	return (struct frame *)(void *)w->frames.data + i;
}

static size_t n_pending(const struct walk *w)
{
	return w->pending.len / sizeof(struct pending);
}

int walk_path(struct buf *to, const struct buf *dir, const char *name)
{
	int rc = buf_add(to, dir->data, dir->len);

	if (rc == 0 && dir->len > 0 && *name != '\0')
		rc = buf_add(to, "/", 1);
	return rc != 0 ? rc : buf_add(to, name, strlen(name));
}

void walk_name(char *ret, size_t size, const struct buf *dir, const char *name)
{
	AUTO_BUF struct buf raw = {0};
	AUTO_BUF struct buf shown = {0};
	size_t n;

	ret[0] = '\0';
	if (walk_path(&raw, dir, name) != 0)
		return;
	/* The end of a long path says more than its beginning. */
	n = raw.len < size / 4 ? raw.len : size / 4;
	if (n < raw.len && buf_addf(&shown, "…") != 0)
		return;
	if (buf_add_escaped(&shown, raw.data + (raw.len - n), n, false) != 0 || buf_str(&shown) == NULL)
		return;
	n = shown.len < size ? shown.len : size - 1;
	memcpy(ret, shown.data, n);
	ret[n] = '\0';
}

static int walk_fail(const struct walk *w, const char *name, int rc, struct err *e)
{
	char shown[ERR_MSG_MAX / 2];

	walk_name(shown, sizeof(shown), &w->path, name);
	if (rc == -ELOOP)
		return err_set(e, ELOOP, "cannot walk %s: it is nested more than %u folders deep: remove it (rm -rf)", shown,
		               WALK_DEPTH_MAX);
	return err_errno(e, -rc, "cannot walk %s", shown[0] == '\0' ? "the project" : shown);
}

int walk_open(struct walk_entry *en)
{
	struct stat now;

	if (en->fd >= 0)
		return 0;
	en->fd = fd_open_beneath(en->dir_fd, en->name, O_PATH | O_NOFOLLOW, 0, true);
	if (en->fd < 0)
		return en->fd;
	if (fstat(en->fd, &now) != 0)
		return -errno;
	/* Inode numbers are used again at once: type and owner, on which the visitor decided, must be the same too. */
	if (now.st_dev != en->st.st_dev || now.st_ino != en->st.st_ino || now.st_uid != en->st.st_uid ||
	    (now.st_mode & S_IFMT) != (en->st.st_mode & S_IFMT)) {
		fd_close(&en->fd);
		return -ENOENT;
	}
	en->st = now;
	return 0;
}

static struct stat stat_of(const struct statx *x)
{
	return (struct stat){
		.st_dev = makedev(x->stx_dev_major, x->stx_dev_minor),
		.st_ino = x->stx_ino,
		.st_mode = x->stx_mode,
		.st_nlink = x->stx_nlink,
		.st_uid = x->stx_uid,
		.st_gid = x->stx_gid,
		.st_size = (off_t)x->stx_size,
		.st_ctim = {.tv_sec = x->stx_ctime.tv_sec, .tv_nsec = x->stx_ctime.tv_nsec},
	};
}

/* Fills st and mount. statx and not fstatat, because only it tells a bind mount of the same device. 0, 1 when the entry
 * is gone, or a negative errno. */
static int look(const struct walk *w, struct walk_entry *en)
{
	struct statx x;

	if (statx(en->dir_fd, en->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &x) != 0)
		return errno == ENOENT ? 1 : -errno;
	if ((x.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0) /* libc's replacement, where the call itself is refused */
		return -ENOSYS;
	en->st = stat_of(&x);
	en->mount = en->st.st_dev != w->dev || (x.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
	return 0;
}

static int remember(struct walk *w, const struct walk_entry *en)
{
	struct pending p = {en->st.st_ino, en->child, w->names.len};
	int rc = buf_add(&w->names, en->name, strlen(en->name) + 1);

	return rc != 0 ? rc : buf_add(&w->pending, &p, sizeof(p));
}

static int visit(struct walk *w, const struct frame *f, const char *name, struct err *e)
{
	struct walk_entry en = {.dir_fd = f->fd, .name = name, .fd = -1, .dir = &w->path, .cookie = f->cookie,
	                        .child = f->cookie};
	int rc = look(w, &en);

	if (rc < 0)
		rc = walk_fail(w, name, rc, e);
	else if (rc == 1)
		rc = WALK_SKIP;
	else
		rc = w->ops->visit(w->ctx, &en, e);
	if (rc == WALK_DESCEND && S_ISDIR(en.st.st_mode) && !en.mount) {
		rc = remember(w, &en);
		if (rc != 0)
			rc = walk_fail(w, name, rc, e);
	}
	if (en.fd >= 0)
		fd_close(&en.fd);
	return rc < 0 ? rc : 0;
}

static int visit_all(struct walk *w, const struct frame *f, struct err *e)
{
	for (;;) {
		long n = syscall(SYS_getdents64, f->fd, w->dents, sizeof(w->dents));

		if (n < 0)
			return walk_fail(w, "", -errno, e);
		if (n == 0)
			return 0;
		for (long at = 0; at < n;) {
			const struct kernel_dirent *d = (const void *)(w->dents + at);
			int rc = 0;

			at += d->len;
			if (!str_eq(d->name, ".") && !str_eq(d->name, ".."))
				rc = visit(w, f, d->name, e);
			if (rc != 0)
				return rc;
		}
	}
}

/* Takes fd over as the new deepest folder and visits its entries. The path is already its own. */
static int push(struct walk *w, int fd, const struct stat *st, struct walk_cookie cookie, size_t parent_path_len, struct err *e)
{
	struct frame f = {st->st_dev, st->st_ino, cookie, n_pending(w), parent_path_len, fd};
	struct walk_dir d = {fd, st->st_ino, &w->path, cookie};
	int rc = buf_add(&w->frames, &f, sizeof(f));

	if (rc != 0) {
		fd_close(&fd);
		return walk_fail(w, "", rc, e);
	}
	if (depth(w) > WALK_FDS)
		fd_close(&frame_at(w, depth(w) - 1 - WALK_FDS)->fd);
	rc = w->ops->enter == NULL ? 0 : w->ops->enter(w->ctx, &d, e);
	if (rc == 0)
		rc = visit_all(w, &f, e);
	if (rc == 0 && w->ops->listed != NULL)
		rc = w->ops->listed(w->ctx, &d, e);
	return rc;
}

/* Opens the last pending subfolder of the deepest folder. Returns a descriptor, -1 when it is gone or replaced by now
 * (a person is working here: what it is now was either visited or appeared later), or a negative errno < -1. */
static int open_pending(const struct frame *f, const struct pending *p, const char *name, struct stat *st)
{
	int fd = fd_open_beneath(f->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, true);

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return -1;
	if (fd < 0)
		return fd == -1 ? -EACCES : fd;
	if (fstat(fd, st) != 0 || st->st_ino != p->ino) {
		fd_close(&fd);
		return -1;
	}
	return fd;
}

static int shut(const struct walk *w, const char *name, int rc, struct err *e)
{
	struct err why = {0};

	if (w->ops->shut == NULL)
		return walk_fail(w, name, rc, e);
	(void)walk_fail(w, name, rc, &why);
	return w->ops->shut(w->ctx, rc, &why);
}

static int descend(struct walk *w, struct err *e)
{
	struct frame *f = frame_at(w, depth(w) - 1);
	struct pending p;
	AUTO_FREE char *name = NULL;
	struct stat st;
	size_t path_len = w->path.len;
	int fd;

	w->pending.len -= sizeof(p);
	memcpy(&p, w->pending.data + w->pending.len, sizeof(p));
	name = strdup(w->names.data + p.name);
	w->names.len = p.name;
	if (name == NULL)
		return walk_fail(w, "", -ENOMEM, e);
	if (depth(w) >= WALK_DEPTH_MAX)
		return shut(w, name, -ELOOP, e);
	fd = open_pending(f, &p, name, &st);
	if (fd == -1)
		return 0;
	if (fd < 0)
		return shut(w, name, fd, e);
	if ((path_len > 0 && buf_add(&w->path, "/", 1) != 0) || buf_add(&w->path, name, strlen(name)) != 0) {
		fd_close(&fd);
		return walk_fail(w, "", -ENOMEM, e);
	}
	return push(w, fd, &st, p.cookie, path_len, e);
}

/* The parent's descriptor again, by `..` of the folder that is being left. */
static int reopen_parent(struct frame *parent, int child_fd)
{
	struct stat st;

	if (parent->fd >= 0)
		return 0;
	parent->fd = openat(child_fd, "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (parent->fd < 0)
		return -errno;
	if (fstat(parent->fd, &st) != 0 || st.st_dev != parent->dev || st.st_ino != parent->ino) {
		fd_close(&parent->fd);
		return -ESTALE;
	}
	return 0;
}

static int ascend(struct walk *w, struct err *e)
{
	struct frame f = *frame_at(w, depth(w) - 1);
	struct frame *parent;
	int rc = 0;

	w->frames.len -= sizeof(f);
	if (depth(w) == 0) {
		fd_close(&f.fd);
		return 0;
	}
	parent = frame_at(w, depth(w) - 1);
	rc = reopen_parent(parent, f.fd);
	fd_close(&f.fd);
	if (rc != 0)
		return walk_fail(w, "", rc, e);
	if (w->ops->leave != NULL && buf_str(&w->path) != NULL)
		rc = w->ops->leave(w->ctx, parent->fd, w->path.data + f.path_len + (w->path.data[f.path_len] == '/'), e);
	w->path.len = f.path_len;
	return rc;
}

static void walk_done(struct walk *w)
{
	for (size_t i = 0; i < depth(w); i++)
		if (frame_at(w, i)->fd >= 0)
			fd_close(&frame_at(w, i)->fd);
	buf_done(&w->path);
	buf_done(&w->frames);
	buf_done(&w->pending);
	buf_done(&w->names);
	free(w);
}

static int begin(struct walk *w, int top_fd, const char *path, struct walk_cookie cookie, struct err *e)
{
	AUTO_FD fd = openat(top_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (buf_add(&w->path, path, strlen(path)) != 0)
		return walk_fail(w, "", -ENOMEM, e);
	if (fd < 0 || fstat(fd, &st) != 0)
		return walk_fail(w, "", -errno, e);
	w->dev = st.st_dev;
	return push(w, fd_take(&fd), &st, cookie, w->path.len, e);
}

int walk_tree(int top_fd, const char *path, struct walk_cookie cookie, const struct walk_ops *ops, void *ctx, struct err *e)
{
	struct walk *w = calloc(1, sizeof(*w));
	int rc;

	if (w == NULL)
		return err_errno(e, ENOMEM, "cannot walk the project");
	w->ops = ops;
	w->ctx = ctx;
	rc = begin(w, top_fd, path, cookie, e);
	while (rc == 0 && depth(w) > 0) {
		if (n_pending(w) > frame_at(w, depth(w) - 1)->first)
			rc = descend(w, e);
		else
			rc = ascend(w, e);
	}
	walk_done(w);
	return rc;
}
