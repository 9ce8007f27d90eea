/* Proof before trust, the warden's side: chooses what the probe tries, and compares with the table. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "sandbox/inode.h"
#include "sandbox/probe.h"
#include "sandbox/warden.h"

#define PROBE_FILE ".stint-probe"    /* the one name that is created, in an empty zone only */
#define SAMPLE_LOOKS 256             /* names looked at for a sample */
#define PROBE_TIMEOUT_MS 60000
#define NO_ENTRY UINT32_MAX

/* What is tried, side by side with what is expected of it. */
struct plan {
	struct buf targets;          /* struct probe_target */
	struct buf cells;            /* struct prove_cell, same index */
	uint32_t role;
	uint32_t layers;
	bool made[POLICY_MAX_ENTRIES]; /* zones in which the proof made a file */
};

struct sample {
	char path[PROBE_PATH_MAX];
	bool is_dir;
	bool found;
};

static int plan_add(struct plan *p, unsigned int op, const char *dir, bool is_dir, const struct sample *s, uint32_t entry,
                    bool expected)
{
	struct probe_target t = {.op = (uint8_t)op, .is_dir = is_dir, .sample_is_dir = s->is_dir};
	struct prove_cell c = {.role = p->role, .layers = p->layers, .entry = entry, .op = (uint8_t)op, .expected = expected};

	if (strlen(dir) >= sizeof(t.dir) || strlen(s->path) >= sizeof(t.sample))
		return -ENAMETOOLONG;
	memcpy(t.dir, dir, strlen(dir));
	memcpy(t.sample, s->path, strlen(s->path));
	(void)snprintf(c.path, sizeof(c.path), "%.250s%s", dir, is_dir ? "/" : "");
	if (buf_add(&p->targets, &t, sizeof(t)) != 0 || buf_add(&p->cells, &c, sizeof(c)) != 0)
		return -ENOMEM;
	return 0;
}

/* A plain file of the owner that nothing else explains: one link, readable and writable by its owner. */
static bool good_file(const struct stat *st, uid_t owner)
{
	return S_ISREG(st->st_mode) && st->st_uid == owner && st->st_nlink == 1 && (st->st_mode & 0600) == 0600;
}

/* Looks for a file (else a folder) directly in the zone. Never opens anything but the zone itself. */
static int find_sample(int root_fd, const char *zone, uid_t owner, struct sample *ret)
{
	AUTO_FD fd = fd_open_beneath(root_fd, zone, O_RDONLY | O_DIRECTORY, 0, true);
	struct dirent *d;
	DIR *dir;

	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (dir == NULL)
		return -errno;
	(void)fd_take(&fd);
	for (int looks = 0; looks < SAMPLE_LOOKS && (d = readdir(dir)) != NULL; looks++) {
		struct stat st;

		if (str_eq(d->d_name, ".") || str_eq(d->d_name, "..") || str_eq(d->d_name, ".git"))
			continue;
		if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (!good_file(&st, owner) && !(S_ISDIR(st.st_mode) && st.st_uid == owner && !ret->found))
			continue;
		if (snprintf(ret->path, sizeof(ret->path), "%s/%s", zone, d->d_name) >= (int)sizeof(ret->path))
			continue;
		ret->found = true;
		ret->is_dir = S_ISDIR(st.st_mode);
		if (!ret->is_dir)
			break;
	}
	(void)closedir(dir);
	return 0;
}

/* A zone with nothing to try on gets one empty file, which inherits the zone's default ACL, for the probe's time. */
static int make_sample(struct warden *w, const char *zone, struct sample *ret)
{
	AUTO_FD dir = fd_open_beneath(w->root_fd, zone, O_RDONLY | O_DIRECTORY, 0, true);
	AUTO_FD fd = -1;
	struct stat before;
	struct stat after;
	int rc;

	if (dir < 0)
		return dir;
	if (fstat(dir, &before) != 0)
		return -errno;
	fd = openat(dir, PROBE_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	ret->found = true;
	rc = fstat(dir, &after) != 0 ? -errno : inode_mark_created(fd, &before, &after);
	if (rc != 0 && rc != -EOPNOTSUPP) /* without the ACL layer any file system does */
		return rc;
	if (fchown(fd, w->who.owner, w->who.owner_gid) != 0)
		return -errno;
	(void)snprintf(ret->path, sizeof(ret->path), "%s/%s", zone, PROBE_FILE);
	ret->is_dir = false;
	return 0;
}

static void remove_samples(struct warden *w, const struct plan *p)
{
	for (uint32_t i = 0; i < w->policy->n_entries; i++) {
		const struct policy_entry *entry = &w->policy->entry[i];
		AUTO_FD dir = -1;
		AUTO_FD fd = -1;

		if (!p->made[i])
			continue;
		dir = fd_open_beneath(w->root_fd, policy_str(w->policy, entry->path), O_RDONLY | O_DIRECTORY, 0, true);
		if (dir >= 0)
			fd = fd_open_beneath(dir, PROBE_FILE, O_PATH | O_NOFOLLOW, 0, true);
		if (fd >= 0)
			(void)!inode_remove_created(dir, PROBE_FILE, fd);
	}
}

static int plan_dir(struct warden *w, struct plan *p, uint32_t i, const char *zone, enum level level)
{
	struct sample s = {.found = false};
	bool r = level >= LEVEL_R;
	bool rw = level == LEVEL_RW;
	int rc = find_sample(w->root_fd, zone, w->who.owner, &s);

	if (rc == 0 && !s.found) {
		rc = make_sample(w, zone, &s);
		p->made[i] = s.found;
	}
	if (rc != 0)
		return rc;
	rc = plan_add(p, OP_LIST, zone, true, &s, i, r);
	if (rc != 0 || !s.found)
		return rc;
	rc = plan_add(p, OP_READ, zone, true, &s, i, r);
	if (rc == 0 && !s.is_dir)
		rc = plan_add(p, OP_WRITE, zone, true, &s, i, rw);
	if (rc == 0)
		rc = plan_add(p, OP_CREATE, zone, true, &s, i, rw);
	if (rc == 0)
		rc = plan_add(p, OP_DELETE, zone, true, &s, i, rw);
	return rc;
}

static int plan_file(struct warden *w, struct plan *p, uint32_t i, const char *path, enum level level)
{
	struct sample s = {.found = true};
	struct stat st;
	int rc;

	if (fstatat(w->root_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (strlen(path) >= sizeof(s.path))
		return -ENAMETOOLONG;
	memcpy(s.path, path, strlen(path) + 1);
	if (!good_file(&st, w->who.owner) && level != LEVEL_NONE)
		return 0; /* several links: the tree reports it and gives no grant */
	rc = plan_add(p, OP_READ, path, false, &s, i, level >= LEVEL_R);
	if (rc == 0)
		rc = plan_add(p, OP_WRITE, path, false, &s, i, level == LEVEL_RW);
	return rc;
}

/* The root is listed by every role and written by none. */
static int plan_root(struct warden *w, struct plan *p)
{
	struct sample s = {.found = false};
	int rc;

	for (uint32_t i = 0; i < w->policy->n_entries && !s.found; i++) {
		const char *path = policy_str(w->policy, w->policy->entry[i].path);
		struct stat st;

		if (strchr(path, '/') == NULL && w->policy->entry[i].kind == POLICY_FILE &&
		    fstatat(w->root_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			(void)snprintf(s.path, sizeof(s.path), "%s", path);
			s.found = true;
		}
	}
	rc = plan_add(p, OP_LIST, ".", true, &s, NO_ENTRY, true);
	if (rc == 0 && s.found)
		rc = plan_add(p, OP_CREATE, ".", true, &s, NO_ENTRY, false);
	if (rc == 0 && s.found)
		rc = plan_add(p, OP_DELETE, ".", true, &s, NO_ENTRY, false);
	return rc;
}

/* What no table can open. */
static int plan_sealed(struct warden *w, struct plan *p, const char *zone, const char *file)
{
	struct sample s = {.found = true};
	struct stat st;
	int rc = 0;

	(void)snprintf(s.path, sizeof(s.path), "%s/%s", zone, file);
	if (fstatat(w->root_fd, zone, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
		return 0;
	for (unsigned int op = 0; rc == 0 && op < OP_COUNT; op++)
		rc = plan_add(p, op, zone, true, &s, NO_ENTRY, false);
	return rc;
}

static int plan_all(struct warden *w, struct plan *p)
{
	int rc = plan_root(w, p);

	if (rc == 0)
		rc = plan_sealed(w, p, ".git", "HEAD");
	if (rc == 0)
		rc = plan_sealed(w, p, ".stint", "runs");
	for (uint32_t i = 0; rc == 0 && i < w->policy->n_entries; i++) {
		const struct policy_entry *entry = &w->policy->entry[i];
		const char *path = policy_str(w->policy, entry->path);
		enum level level = (enum level)entry->level[p->role];

		rc = entry->kind == POLICY_DIR ? plan_dir(w, p, i, path, level) : plan_file(w, p, i, path, level);
	}
	return rc;
}

static int read_results(int fd, struct buf *out, struct err *e)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		char chunk[4096];
		ssize_t n;
		int ready = poll(&p, 1, PROBE_TIMEOUT_MS);

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return err_set(e, ETIMEDOUT, "the probe did not answer within %d s", PROBE_TIMEOUT_MS / 1000);
		n = read(fd, chunk, sizeof(chunk));
		if (n == 0)
			return 0;
		if (n < 0)
			return err_errno(e, errno, "cannot read the probe's answer");
		if (buf_add(out, chunk, (size_t)n) != 0)
			return err_errno(e, ENOMEM, "cannot keep the probe's answer");
	}
}

static int run_probe(struct warden *w, const struct plan *p, struct buf *out, struct err *e)
{
	bool as_agent = (p->layers & LAYER_ACL) != 0;
	struct spawn_spec spec = {
		.policy = w->policy,
		.role = p->role,
		.layers = p->layers,
		.covers = (p->layers & LAYER_LANDLOCK) != 0,
		.root_fd = w->root_fd,
		.root_path = w->root_path,
		.uid = as_agent ? w->who.agent.uid : w->who.owner,
		.gid = as_agent ? w->who.agent.gid : w->who.owner_gid,
		.writers = as_agent ? tree_writers(w->tree, p->role) : 0,
		.owner = w->who.owner,
		.owner_gid = w->who.owner_gid,
		.agent = w->who.agent.uid,
		.guard_fd = w->guard_fd,
		.fds = {-1, -1, -1, -1},
	};
	AUTO_FD targets = fd_sealed_memfd("stint-probe", p->targets.data, p->targets.len);
	AUTO_FD null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	AUTO_FD in = -1;
	AUTO_FD out_fd = -1;
	struct frame_exited gone = {0};
	struct spawn s = {0};
	int pipes[2];
	int rc;

	if (targets < 0 || null < 0 || pipe2(pipes, O_CLOEXEC) != 0)
		return err_errno(e, errno, "cannot prepare the probe");
	in = pipes[0];
	out_fd = pipes[1];
	spec.fds[SPAWN_STDOUT] = out_fd;
	spec.fds[SPAWN_STDERR] = null;
	spec.probe_fd = targets;
	rc = spawn_start(&s, &spec, e);
	if (rc != 0)
		return rc;
	fd_close(&out_fd);
	rc = read_results(in, out, e);
	if (rc != 0)
		spawn_kill(&s);
	if (spawn_wait(&s, &gone, rc == 0 ? e : NULL) != 0)
		return rc != 0 ? rc : -EIO;
	if (rc == 0 && (gone.flags & EXITED_UNCONFINED) != 0)
		return err_set(e, EPERM, "%s", gone.msg);
	return rc;
}

static int compare(const struct plan *p, const struct buf *out, struct buf *cells, uint32_t *n_bad, struct err *e)
{
	const struct probe_result *got = (const struct probe_result *)(const void *)out->data;
	struct prove_cell *c = (struct prove_cell *)(void *)p->cells.data;
	size_t n = p->cells.len / sizeof(*c);

	if (out->len != n * sizeof(*got))
		return err_set(e, EPROTO, "the probe answered %zu of %zu questions", out->len / sizeof(*got), n);
	for (size_t i = 0; i < n; i++) {
		if (got[i].index != i)
			return err_set(e, EPROTO, "the probe's answers are out of order");
		c[i].observed = got[i].allowed != 0;
		c[i].err = got[i].err;
		if (c[i].observed != c[i].expected)
			(*n_bad)++;
	}
	return buf_add(cells, c, n * sizeof(*c)) == 0 ? 0 : err_errno(e, ENOMEM, "cannot keep the proof");
}

int prove_role(struct warden *w, unsigned int role, unsigned int layers, struct buf *cells, uint32_t *n_bad,
               struct err *e)
{
	struct plan p = {.role = role, .layers = layers};
	AUTO_BUF struct buf out = {0};
	int rc = plan_all(w, &p);

	if (rc != 0)
		(void)err_errno(e, -rc, "cannot prepare the proof");
	if (rc == 0 && p.targets.len / sizeof(struct probe_target) > PROBE_MAX_TARGETS)
		rc = err_set(e, E2BIG, "the table has too many zones to prove");
	if (rc == 0)
		rc = run_probe(w, &p, &out, e);
	remove_samples(w, &p);
	if (rc == 0)
		rc = compare(&p, &out, cells, n_bad, e);
	buf_done(&p.targets);
	buf_done(&p.cells);
	return rc == 0 ? 0 : err_stop(e, STOP_CONFINE, err_wrap(e, "proof of %s", w->policy->role[role].name));
}
