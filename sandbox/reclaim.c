/* Takes the tree back after a turn: what an agent owns becomes the owner's, and what differs from the snapshot is listed.
 *
 * Only inodes that an agent owns are changed. In order: set-id bits off, ACLs and mode, owner: what a kill leaves half done is
 * still the agent's, so it is taken again. An entry that stands where an older one stood gets that one's ACL, group and
 * mode; a new one what the owner's umask or the folder's default ACL gives.
 *
 * A repository that an agent made would make the owner's next git run the agent's configuration. Of a new `.git`, a file or link
 * is removed; a folder gets mode 0, and so does every file in it that was the agent's, and its HEAD, which ends git's
 * search there without an error; for a root owner, whom no mode stops, its HEAD goes. Nothing is renamed: under another
 * name it would be harmless only until somebody names it back. A folder of any name is a repository for git too when HEAD
 * stands in it beside objects and refs, or beside commondir: one that became so, or whose configuration changed, loses its
 * HEAD. That is judged by what stands at a path now and did not at the flip, whoever owns it: an agent may move in one turn
 * what became the owner's after an earlier one. */
#include "sandbox/tree_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define OUT_OF_MEMORY(e) err_errno(e, ENOMEM, "cannot list what changed")

int reclaim_begin(struct reclaim *r, struct tree_ids *ids, struct tree_changes *out, int journal_fd,
                  const char *snapshot_name, struct err *e)
{
	int rc = 0;

	*r = (struct reclaim){.ids = ids, .out = out, .snap.fd = -1, .gone.fd = -1};
	r->parent_default = malloc(sizeof(*r->parent_default));
	r->access = malloc(sizeof(*r->access));
	r->def = malloc(sizeof(*r->def));
	if (r->parent_default == NULL || r->access == NULL || r->def == NULL)
		rc = -ENOMEM;
	if (rc == 0 && snapshot_name != NULL)
		rc = snap_open(&r->snap, journal_fd, snapshot_name);
	if (rc == 0 && snapshot_name != NULL && out != NULL)
		rc = snap_open(&r->gone, journal_fd, snapshot_name);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot read the snapshot of the last turn");
}

void reclaim_done(struct reclaim *r)
{
	snap_close(&r->snap);
	snap_close(&r->gone);
	buf_done(&r->gone_stack);
	free(r->parent_default);
	free(r->access);
	free(r->def);
	*r = (struct reclaim){.snap.fd = -1, .gone.fd = -1};
}

int reclaim_enter(struct reclaim *r, const struct walk_dir *d, struct err *e)
{
	uint64_t ino = d->cookie.ino;
	int rc;

	r->parts = 0;
	r->chained = (d->cookie.bits & RECLAIM_CHAINED) != 0;
	r->default_known = false;
	if (!r->chained && r->snap.open && snap_has(&r->snap, d->ino)) {
		r->chained = true;
		ino = d->ino;
	}
	rc = snap_load(&r->snap, r->chained ? ino : 0);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot read the snapshot of the last turn");
}

const struct snap_rec *reclaim_lookup(struct reclaim *r, struct walk_entry *en)
{
	const struct snap_rec *rec = r->chained ? snap_find(&r->snap, en->name) : NULL;

	if (r->chained) {
		en->child.bits |= RECLAIM_CHAINED;
		en->child.ino = rec != NULL && S_ISDIR(rec->mode) ? rec->ino : 0;
	}
	return rec;
}

/* The permission bits of what an agent made: its own for the owner, no more for others than those and the owner's umask leave.
 * The owner can always read, and enter a folder: what cannot be read would stop the owner's next git. */
static mode_t new_mode(const struct reclaim *r, const struct acl *cur, mode_t type)
{
	mode_t mode = acl_plain_mode(cur);
	mode_t user = (mode & 0700u) | (S_ISDIR(type) ? 0700u : 0400u);

	return user | (mode & ~r->ids->who.umask & (user >> 3 | user >> 6));
}

/* The folder's default ACL without us, read once a folder. */
static int parent_default(struct reclaim *r, int dir_fd)
{
	int rc;

	if (r->default_known)
		return 0;
	rc = inode_read_default(r->ids->work, dir_fd, &r->ids->who);
	if (rc != 0)
		return rc;
	acl_copy(r->parent_default, &r->ids->work->base_default);
	r->default_known = true;
	return 0;
}

/* What the entry is to have: as in its record. */
static int wanted_as_before(struct reclaim *r, const struct snap_rec *rec)
{
	int rc = 0;

	if (rec->access_len == 0)
		acl_of_mode(r->access, rec->base_mode & 0777u);
	else
		rc = acl_decode(r->access, snap_access(rec), rec->access_len);
	r->def->n = 0;
	if (rc == 0 && rec->default_len != 0)
		rc = acl_decode(r->def, snap_default(rec), rec->default_len);
	return rc;
}

/* What the entry is to have: as if the owner had made it. */
static int wanted_as_new(struct reclaim *r, const struct walk_entry *en)
{
	int rc = parent_default(r, en->dir_fd);

	if (rc == 0)
		rc = inode_read_access(r->ids->work, en->fd, &en->st);
	if (rc != 0)
		return rc;
	r->def->n = 0;
	if (r->parent_default->n == 0) {
		acl_of_mode(r->access, new_mode(r, &r->ids->work->cur, en->st.st_mode));
		return 0;
	}
	acl_inherit(r->access, r->parent_default, en->st.st_mode | (S_ISDIR(en->st.st_mode) ? 0700u : 0400u));
	if (S_ISDIR(en->st.st_mode))
		acl_copy(r->def, r->parent_default);
	return 0;
}

static int take_ordinary(struct reclaim *r, struct walk_entry *en, const struct snap_rec *rec)
{
	bool same = rec != NULL && (rec->mode & S_IFMT) == (en->st.st_mode & S_IFMT);
	struct stat folder = {0};
	int rc = fstat(en->dir_fd, &folder) != 0 ? -errno : inode_plain_bits(en->fd, &en->st);
	bool shared = (folder.st_mode & S_ISGID) != 0;
	gid_t gid = same ? rec->gid : shared ? folder.st_gid : r->ids->owner_gid;
	mode_t extra = !S_ISDIR(en->st.st_mode) ? 0 : same ? rec->base_mode & (S_ISGID | S_ISVTX) : shared ? S_ISGID : 0;

	if (rc == 0)
		rc = same ? wanted_as_before(r, rec) : wanted_as_new(r, en);
	if (rc == 0)
		rc = inode_settle(r->ids->work, en->fd, &en->st, r->access, r->def);
	if (rc == 1)
		rc = changes_note(r->out, en->dir, en->name, "has more user.* attributes than the kernel can list: they stay, "
		                  "look into it");
	/* What names the agent now is the folder's or the older file's: a person's. */
	if (rc == 0 && (acl_names(r->access, &r->ids->who) || acl_names(r->def, &r->ids->who)))
		rc = inode_pin(r->ids->work, en->fd, &r->ids->who, 0);
	if (rc == 0 && extra != 0)
		rc = xattr_chmod(en->fd, extra | acl_to_mode(r->access));
	return rc != 0 ? rc : inode_chown(en->fd, r->ids->owner, gid);
}

static int take_owner(struct reclaim *r, struct walk_entry *en)
{
	int rc = inode_plain_bits(en->fd, &en->st);

	return rc != 0 ? rc : inode_chown(en->fd, r->ids->owner, r->ids->owner_gid);
}

static int take_and_disable(struct reclaim *r, struct walk_entry *en)
{
	int rc = S_ISLNK(en->st.st_mode) ? 0 : inode_disable(r->ids->work, en->fd);

	return rc != 0 ? rc : inode_chown(en->fd, r->ids->owner, r->ids->owner_gid);
}

static int remove_entry(struct reclaim *r, struct walk_entry *en, const char *why)
{
	if (unlinkat(en->dir_fd, en->name, 0) != 0 && errno != ENOENT)
		return -errno;
	return changes_note(r->out, en->dir, en->name, why);
}

static bool is_head(const struct walk_entry *en)
{
	return strcasecmp(en->name, "HEAD") == 0 && !S_ISDIR(en->st.st_mode);
}

int reclaim_dot_git(struct reclaim *r, struct walk_entry *en)
{
	bool top = (en->cookie.bits & RECLAIM_DOT_GIT) == 0;
	bool agents = ids_is_agent(r->ids, en->st.st_uid);
	int rc;

	if (!agents && en->st.st_uid != r->ids->owner)
		return top ? changes_note(r->out, en->dir, en->name, "a repository of somebody else: look into it") : 0;
	if (top && !S_ISDIR(en->st.st_mode))
		return remove_entry(r, en, "appeared during the turn, and git would follow it: removed");
	if (r->ids->owner == 0 && is_head(en))
		return remove_entry(r, en, "appeared during the turn in a .git: removed, because no mode stops a root owner's git");
	if (!agents && !top && !is_head(en))
		return 0;
	rc = walk_open(en);
	if (rc == 0)
		rc = take_and_disable(r, en);
	if (rc == 0 && top)
		rc = changes_note(r->out, en->dir, en->name, "a repository that appeared during the turn: made unusable (mode 0), look "
		                  "into it and delete it; if it is yours, chmod it and its HEAD");
	return rc == -ENOENT ? 0 : rc;
}

/* What git looks for in a folder, and what it obeys there. */
enum {
	PART_HEAD = 1 << 0,
	PART_OBJECTS = 1 << 1,
	PART_REFS = 1 << 2,
	PART_COMMONDIR = 1 << 3,
	PART_CONFIG = 1 << 4,
	PART_TOUCHED = 1 << 5,
};

static const struct part {
	const char *name;
	unsigned int bit;
} parts[] = {
	{"HEAD", PART_HEAD},           {"objects", PART_OBJECTS}, {"refs", PART_REFS},
	{"commondir", PART_COMMONDIR}, {"config", PART_CONFIG},   {"config.worktree", PART_CONFIG},
};

void reclaim_look(struct reclaim *r, const struct walk_entry *en, bool touched)
{
	if ((en->cookie.bits & (RECLAIM_PLAIN | RECLAIM_DOT_GIT)) != 0)
		return;
	/* Of whatever type: git asks of objects and refs only whether they may be searched. */
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcasecmp(en->name, parts[i].name) == 0)
			r->parts |= parts[i].bit | (touched ? PART_TOUCHED : 0);
}

int reclaim_listed(struct reclaim *r, const struct walk_dir *d, struct err *e)
{
	static const unsigned int whole = PART_HEAD | PART_OBJECTS | PART_REFS;
	static const unsigned int linked = PART_HEAD | PART_COMMONDIR;
	int rc = 0;

	if ((r->parts & PART_TOUCHED) == 0 || ((r->parts & whole) != whole && (r->parts & linked) != linked))
		return 0;
	/* In this spelling: git asks for no other, and a folder that folds case finds any by it. A folder is no HEAD. */
	if (unlinkat(d->fd, "HEAD", 0) == 0)
		rc = changes_note(r->out, d->path, "HEAD", "removed: with it the folder was a repository to git, whose configuration "
		                  "the agent made or changed");
	else if (errno != ENOENT && errno != EISDIR)
		rc = -errno;
	return rc == 0 ? 0 : tree_entry_fail("cannot remove", d->path, "HEAD", rc, e);
}

static int take(struct reclaim *r, struct walk_entry *en, const struct snap_rec *rec)
{
	int rc;

	if ((en->cookie.bits & RECLAIM_PLAIN) != 0)
		return take_owner(r, en);
	if ((en->cookie.bits & RECLAIM_DOT_GIT) != 0 || tree_is_dot_git(en->name))
		return reclaim_dot_git(r, en);
	switch (en->st.st_mode & S_IFMT) {
	case S_IFLNK:
		return take_owner(r, en);
	case S_IFREG:
	case S_IFDIR:
		return take_ordinary(r, en, rec);
	default:
		rc = take_and_disable(r, en);
		return rc != 0 ? rc : changes_note(r->out, en->dir, en->name, "a pipe, socket or device made by the agent: made "
		                                   "unusable (mode 0)");
	}
}

int reclaim_take(struct reclaim *r, struct walk_entry *en, const struct snap_rec *rec, struct err *e)
{
	int rc = walk_open(en);

	if (rc == -ENOENT)
		return WALK_SKIP;
	if (rc == 0)
		rc = take(r, en, rec);
	if (rc != 0)
		return tree_entry_fail("cannot take back", en->dir, en->name, rc, e);
	r->taken++;
	if (tree_is_dot_git(en->name))
		en->child.bits |= RECLAIM_DOT_GIT;
	return S_ISDIR(en->st.st_mode) ? WALK_DESCEND : WALK_SKIP;
}
