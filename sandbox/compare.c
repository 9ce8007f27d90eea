/* Lists what changed in the writable zones since the flip, and has taken back what agents own there: one walk a zone.
 *
 * Compared is by path: a folder that stands where another stood is compared with that other's entries, so a file that was copied
 * over its old self is one modification, and a renamed one an addition and a deletion, with both names. Folders
 * themselves are not listed: they show through what is in them. Nothing in a .git is listed. */
#include "sandbox/tree_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"

#define NO_MEMORY(e) err_errno(e, ENOMEM, "cannot list what changed")

/* A folder of the snapshot that is no longer at its path: its inode, then its path with NUL, on a stack. */
struct gone {
	uint64_t ino;
	uint32_t path_len;
	uint32_t pad;
};

static int push_gone(struct reclaim *r, uint64_t ino, const struct buf *dir, const char *name)
{
	struct gone g = {ino, 0, 0};
	size_t start = r->gone_stack.len;
	int rc = walk_path(&r->gone_stack, dir, name);

	g.path_len = (uint32_t)(r->gone_stack.len - start);
	return rc != 0 ? rc : buf_add(&r->gone_stack, &g, sizeof(g));
}

static int list_gone_folder(struct reclaim *r, uint64_t ino, const struct buf *path)
{
	int rc = snap_load(&r->gone, ino);

	for (const struct snap_rec *rec = snap_next(&r->gone, NULL); rc == 0 && rec != NULL; rec = snap_next(&r->gone, rec)) {
		if (S_ISDIR(rec->mode))
			rc = push_gone(r, rec->ino, path, rec->name);
		else if (!tree_is_dot_git(rec->name))
			rc = changes_add(r->out, 'D', path, rec->name);
	}
	return rc;
}

/* Lists every file below the folders on the stack as deleted. */
static int list_gone(struct reclaim *r)
{
	int rc = 0;

	while (rc == 0 && r->gone_stack.len > 0) {
		AUTO_BUF struct buf path = {0};
		struct gone g;

		r->gone_stack.len -= sizeof(g);
		memcpy(&g, r->gone_stack.data + r->gone_stack.len, sizeof(g));
		r->gone_stack.len -= g.path_len;
		rc = buf_add(&path, r->gone_stack.data + r->gone_stack.len, g.path_len);
		if (rc == 0)
			rc = list_gone_folder(r, g.ino, &path);
	}
	return rc;
}

static int list_entry(struct reclaim *r, const struct walk_entry *en, const struct snap_rec *rec)
{
	bool was_dir = rec != NULL && S_ISDIR(rec->mode);
	int rc = 0;

	if (was_dir && !S_ISDIR(en->st.st_mode))
		rc = push_gone(r, rec->ino, en->dir, en->name);
	if (rc == 0 && rec != NULL && !was_dir && S_ISDIR(en->st.st_mode))
		rc = changes_add(r->out, 'D', en->dir, en->name);
	if (rc != 0 || S_ISDIR(en->st.st_mode))
		return rc;
	if (rec == NULL || was_dir)
		return changes_add(r->out, 'A', en->dir, en->name);
	return snap_differs(rec, &en->st) ? changes_add(r->out, 'M', en->dir, en->name) : 0;
}

/* user.* xattrs are the one thing that an agent can leave on a file of the owner's beside content. */
static int note_xattrs(struct reclaim *r, const struct walk_entry *en, const struct snap_rec *rec)
{
	int has;

	if (S_ISLNK(en->st.st_mode) || (rec != NULL && !snap_differs(rec, &en->st)))
		return 0;
	has = inode_list(r->ids->work, walk_at(en));
	if (has < 0)
		return has == -ENOENT ? 0 : has;
	if (r->ids->work->user_hash == 0 || (rec != NULL && rec->user_hash == r->ids->work->user_hash))
		return 0;
	return changes_note(r->out, en->dir, en->name, "has user.* attributes that it did not have before the turn (getfattr "
	                    "shows them)");
}

/* What stood there at the flip, which sealed it, is left alone. */
static int visit_dot_git(struct reclaim *r, struct walk_entry *en, const struct snap_rec *rec, struct err *e)
{
	bool top = (en->cookie.bits & RECLAIM_DOT_GIT) == 0;
	int rc;

	en->child.bits |= RECLAIM_DOT_GIT;
	if (ids_is_agent(r->ids, en->st.st_uid))
		return reclaim_take(r, en, rec, e);
	if (top && rec != NULL && rec->ino == en->st.st_ino && (rec->mode & S_IFMT) == (en->st.st_mode & S_IFMT))
		return WALK_SKIP;
	rc = reclaim_dot_git(r, en);
	return rc == 0 ? WALK_DESCEND : tree_entry_fail("cannot make useless", en->dir, en->name, rc, e);
}

static bool touched(const struct reclaim *r, const struct walk_entry *en, const struct snap_rec *rec)
{
	if (rec == NULL || ids_is_agent(r->ids, en->st.st_uid))
		return true;
	return S_ISDIR(en->st.st_mode) ? rec->ino != en->st.st_ino : snap_differs(rec, &en->st);
}

/* Grants again what the flip grants in a shared zone, so that the readers' flips need not walk it. What takes more than the entry
 * to judge is left to a walk. */
static int open_again(struct reclaim *r, struct walk_entry *en)
{
	const struct acl_agent *agent = &r->ids->agents[0];
	bool dir = S_ISDIR(en->st.st_mode);
	unsigned int perm;
	int rc;

	if (S_ISLNK(en->st.st_mode))
		return 0;
	rc = walk_open(en);
	if (rc != 0)
		return rc == -ENOENT ? 0 : rc;
	if (fstat(en->fd, &en->st) != 0)
		return -errno;
	if (en->st.st_uid != r->ids->owner || en->st.st_gid == agent->gid || en->st.st_gid == agent->writers ||
	    (!dir && (!S_ISREG(en->st.st_mode) || en->st.st_nlink != 1))) {
		r->missed = true;
		return 0;
	}
	perm = flip_perm(LEVEL_RW, &en->st) | ACL_BY_GROUPS;
	return inode_grant(r->ids->work, en->fd, &en->st, &r->ids->who, perm, dir ? (int)perm : INODE_NO_DEFAULT);
}

static int visit_entry(struct reclaim *r, struct walk_entry *en, const struct snap_rec *rec, struct err *e)
{
	int rc;

	if (ids_is_agent(r->ids, en->st.st_uid))
		return reclaim_take(r, en, rec, e);
	rc = note_xattrs(r, en, rec);
	return rc == 0 ? WALK_DESCEND : tree_entry_fail("cannot read the attributes of", en->dir, en->name, rc, e);
}

static int visit(void *ctx, struct walk_entry *en, struct err *e)
{
	struct reclaim *r = ctx;
	const struct snap_rec *rec = reclaim_lookup(r, en);
	bool changed;
	int next;
	int rc;

	if (en->mount) {
		r->missed = true;
		return changes_note(r->out, en->dir, en->name, "a mount point: not looked into") == 0 ? WALK_SKIP : NO_MEMORY(e);
	}
	if ((en->cookie.bits & RECLAIM_DOT_GIT) != 0 || tree_is_dot_git(en->name)) {
		r->missed = true;
		return visit_dot_git(r, en, rec, e);
	}
	if (list_entry(r, en, rec) != 0)
		return NO_MEMORY(e);
	changed = touched(r, en, rec);
	reclaim_look(r, en, changed);
	next = visit_entry(r, en, rec, e);
	if (next < 0 || !r->grants || !changed || r->missed)
		return next;
	rc = open_again(r, en);
	return rc == 0 ? next : tree_entry_fail("cannot set the ACL of", en->dir, en->name, rc, e);
}

static int enter(void *ctx, const struct walk_dir *d, struct err *e)
{
	return reclaim_enter(ctx, d, e);
}

/* Everything in the folder has been visited: what was not seen is gone. */
static int listed(void *ctx, const struct walk_dir *d, struct err *e)
{
	struct reclaim *r = ctx;
	int rc = 0;

	for (const struct snap_rec *rec = snap_next(&r->snap, NULL); rc == 0 && rec != NULL; rec = snap_next(&r->snap, rec)) {
		if (snap_seen(&r->snap, rec) || tree_is_dot_git(rec->name))
			continue;
		if (S_ISDIR(rec->mode))
			rc = push_gone(r, rec->ino, d->path, rec->name);
		else
			rc = changes_add(r->out, 'D', d->path, rec->name);
	}
	if (rc == 0)
		rc = list_gone(r);
	return rc == 0 ? reclaim_listed(r, d, e) : NO_MEMORY(e);
}

static int reclaim_folder(struct tree *t, struct reclaim *r, const struct zone *z, struct err *e)
{
	static const struct walk_ops ops = {.visit = visit, .enter = enter, .listed = listed};
	AUTO_FD fd = fd_open_beneath(t->root_fd, z->path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, true);
	struct walk_cookie cookie = {z->stat.st_ino, RECLAIM_CHAINED, ZONES_NONE};
	const struct buf none = {0};

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return push_gone(r, z->stat.st_ino, &none, z->path) != 0 || list_gone(r) != 0 ? NO_MEMORY(e) : 0;
	if (fd < 0)
		return tree_entry_fail("cannot take back", &none, z->path, fd, e);
	return walk_tree(fd, z->path, cookie, &ops, r, e);
}

/* The warden made it: it goes again if nothing was written to it. */
static int settle_created(struct zone *z, int dir_fd, const struct stat *st, struct tree_changes *out, struct err *e)
{
	const struct buf none = {0};
	AUTO_FD fd = -1;

	z->created = false;
	if (st->st_ino != z->stat.st_ino)
		return changes_add(out, 'A', &none, z->path) == 0 ? 0 : NO_MEMORY(e);
	fd = openat(dir_fd, z->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && st->st_size == 0 && S_ISREG(st->st_mode)) {
		int rc = inode_remove_created(dir_fd, z->name, fd);

		return rc == 0 ? 0 : tree_entry_fail("cannot remove", &none, z->path, rc, e);
	}
	if (fd < 0 || inode_unmark_created(fd) != 0)
		return tree_entry_fail("cannot keep", &none, z->path, -errno, e);
	return changes_add(out, 'A', &none, z->path) == 0 ? 0 : NO_MEMORY(e);
}

static int compare_file(struct tree *t, struct zone *z, struct tree_changes *out, struct err *e)
{
	const struct snap_rec was = {.mode = z->stat.st_mode, .ino = z->stat.st_ino, .size = (uint64_t)z->stat.st_size,
	                             .ctime_s = z->stat.st_ctim.tv_sec, .ctime_ns = (uint32_t)z->stat.st_ctim.tv_nsec};
	const char *parent = t->zones.v[z->parent].path;
	AUTO_FD dir = fd_open_beneath(t->root_fd, *parent == '\0' ? "." : parent, O_PATH | O_DIRECTORY, 0, true);
	const struct buf none = {0};
	struct stat st;

	z->seen = false;
	if (dir < 0 || fstatat(dir, z->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		bool made = z->created;

		z->created = false;
		return made || changes_add(out, 'D', &none, z->path) == 0 ? 0 : NO_MEMORY(e);
	}
	if (z->created)
		return settle_created(z, dir, &st, out, e);
	if (!snap_differs(&was, &st))
		return 0;
	return changes_add(out, 'M', &none, z->path) == 0 ? 0 : NO_MEMORY(e);
}

int reclaim_zones(struct tree *t, struct tree_changes *out, struct err *e)
{
	char name[SNAP_NAME_MAX];
	struct reclaim r;
	int rc;

	journal_snapshot_name(&t->journal, name);
	rc = reclaim_begin(&r, &t->ids, out, t->journal_fd, name, e);
	for (int i = 0; rc == 0 && i < t->zones.n; i++) {
		struct zone *z = &t->zones.v[i];

		if (!z->seen)
			continue;
		r.grants = z->shared;
		r.missed = !z->shared;
		rc = z->kind == ZONE_DIR ? reclaim_folder(t, &r, z, e) : compare_file(t, z, out, e);
		if (rc == 0 && !r.missed)
			z->inside = ZONE_LEVEL_SHARED;
	}
	reclaim_done(&r);
	return rc;
}
