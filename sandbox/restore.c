/* Puts a project back as it was before the first flip: everything in it that has a trace of ours, wherever it is now, because a
 * person may have moved it. Needs no policy: what to do stands on the inodes.
 *
 * Goes on after an entry that fails, and can be cut short and begun again at any point. */
#include "sandbox/tree_private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"

struct restore {
	struct tree_ids *ids;
	struct reclaim reclaim;
	int traces;              /* enum inode_has: what makes an inode one to put back */
	uint64_t restored;
	int first_rc;            /* of the first failure */
	struct err first;
};

/* Keeps the first failure and lets the walk go on. */
static int failed(struct restore *r, int rc, const struct err *e)
{
	if (r->first_rc == 0) {
		r->first_rc = rc;
		r->first = *e;
	}
	return WALK_SKIP;
}

static int shut(void *ctx, int rc, const struct err *why)
{
	(void)failed(ctx, rc, why);
	return 0;
}

/* A role's HOME and scratch, and the root's repository, are the owner's to arrange: only their ownership is ours. */
static void mark_plain(struct walk_entry *en)
{
	if (en->dir->len == 0 && (str_eq(en->name, ".git") || str_eq(en->name, ".stint")))
		en->child.bits |= RECLAIM_PLAIN;
}

/* A file that the warden made for a turn and nobody wrote to. 1 when it is gone now. */
static int drop_created(struct walk_entry *en)
{
	int rc;

	if (!S_ISREG(en->st.st_mode) || en->st.st_size != 0)
		return inode_unmark_created(en->fd);
	rc = inode_remove_created(en->dir_fd, en->name, en->fd);
	return rc == 0 ? 1 : rc;
}

static int how(const struct restore *r, const struct stat *st)
{
	return ids_how(r->ids, st) | ((r->traces & INODE_ACCESS) == 0 ? INODE_SAVED_ONLY : 0);
}

static int put_back(struct restore *r, struct walk_entry *en, int has)
{
	unsigned int before = r->ids->work->writes;
	struct timespec looked = en->st.st_ctim;
	bool was_open = en->fd >= 0; /* by a reclaim, before the listing */
	int rc = walk_open(en);

	/* Listed by name: what has the same ctime has the same attributes. */
	if (rc == 0 && (was_open || looked.tv_sec != en->st.st_ctim.tv_sec || looked.tv_nsec != en->st.st_ctim.tv_nsec)) {
		has = inode_list(r->ids->work, (struct xattr_at){.fd = en->fd, .dir_fd = -1});
		rc = has < 0 ? has : 0;
	}
	if (rc == 0 && (has & INODE_CREATED) != 0)
		rc = drop_created(en);
	if (rc == 0)
		rc = inode_restore(r->ids->work, en->fd, has, &en->st, &r->ids->who, how(r, &en->st));
	if (rc == 1 || r->ids->work->writes != before)
		r->restored++;
	return rc < 0 && rc != -ENOENT ? rc : 0;
}

static int visit(void *ctx, struct walk_entry *en, struct err *e)
{
	struct restore *r = ctx;
	const struct snap_rec *rec = reclaim_lookup(&r->reclaim, en);
	int next = WALK_DESCEND;
	int has;
	int rc;

	(void)e;
	if (en->mount)
		return WALK_SKIP;
	mark_plain(en);
	reclaim_look(&r->reclaim, en, ids_is_agent(r->ids, en->st.st_uid));
	if (ids_is_agent(r->ids, en->st.st_uid)) {
		struct err one = {0};

		next = reclaim_take(&r->reclaim, en, rec, &one);
		if (next < 0)
			return failed(r, next, &one) == WALK_SKIP && S_ISDIR(en->st.st_mode) ? WALK_DESCEND : WALK_SKIP;
	}
	if (S_ISLNK(en->st.st_mode))
		return WALK_SKIP;
	has = inode_list(r->ids->work, walk_at(en));
	rc = has > 0 && (has & r->traces) != 0 ? put_back(r, en, has) : has == -ENOENT || has > 0 ? 0 : has;
	if (rc != 0) {
		struct err one = {0};

		(void)tree_entry_fail("cannot restore", en->dir, en->name, rc, &one);
		(void)failed(r, rc, &one);
	}
	return next;
}

static int enter(void *ctx, const struct walk_dir *d, struct err *e)
{
	struct restore *r = ctx;

	return reclaim_enter(&r->reclaim, d, e);
}

static int listed(void *ctx, const struct walk_dir *d, struct err *e)
{
	struct restore *r = ctx;

	return reclaim_listed(&r->reclaim, d, e);
}

static int restore_root(struct restore *r, int root_fd, struct err *e)
{
	AUTO_FD fd = openat(root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	unsigned int before = r->ids->work->writes;
	const struct buf none = {0};
	struct stat st;
	int rc = 0;

	if (fd < 0 || fstat(fd, &st) != 0)
		rc = -errno;
	if (rc == 0)
		rc = inode_list(r->ids->work, (struct xattr_at){fd, -1, NULL});
	if (rc > 0)
		rc = (rc & r->traces) == 0 ? 0 : inode_restore(r->ids->work, fd, rc, &st, &r->ids->who, how(r, &st));
	if (r->ids->work->writes != before)
		r->restored++;
	return rc == 0 ? 0 : tree_entry_fail("cannot restore", &none, "", rc, e);
}

/* Which traces count. Before the first flip only what is saved is ours (start.c). So it is where nothing is open: without a
 * journal's entry the folder itself, which is flipped first and put back last, says whether a run was cut there. */
static int choose_traces(struct restore *r, int root_fd, const struct journal *j, struct err *e)
{
	int flipped = j != NULL && j->flipping;

	if (j == NULL) {
		AUTO_FD fd = openat(root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

		flipped = fd < 0 ? -errno : inode_is_flipped(r->ids->work, fd, &r->ids->who);
	}
	if (flipped < 0)
		return err_errno(e, -flipped, "cannot read the ACL of the project's folder");
	r->traces = flipped ? INODE_OURS : INODE_SAVED_ACCESS | INODE_SAVED_DEFAULT | INODE_CREATED;
	return 0;
}

static int unpin(void *ctx, struct walk_entry *en, struct err *e)
{
	struct restore *r = ctx;
	int has = en->mount || S_ISLNK(en->st.st_mode) ? 0 : inode_list(r->ids->work, walk_at(en));
	int rc = has > 0 && (has & r->traces) != 0 ? put_back(r, en, has) : 0;

	return rc != 0 ? tree_entry_fail("cannot restore", en->dir, en->name, rc, e) : en->mount ? WALK_SKIP : WALK_DESCEND;
}

/* All is put back: what is still saved is no longer needed. The journal says so first, or a restore after a kill in here would take
 * a person's entries for ours. */
static int unpin_all(struct restore *r, int root_fd, int journal_fd, const struct journal *j, struct err *e)
{
	static const struct walk_ops ops = {.visit = unpin};
	const struct walk_cookie cookie = {0, 0, ZONES_NONE};
	uint64_t restored = r->restored;
	int rc = 0;

	if (j != NULL) {
		struct journal done = *j;

		done.flipping = false;
		rc = journal_write(journal_fd, &done, e);
	}
	r->traces = INODE_SAVED_ACCESS | INODE_SAVED_DEFAULT;
	if (rc == 0)
		rc = walk_tree(root_fd, "", cookie, &ops, r, e);
	if (rc == 0)
		rc = restore_root(r, root_fd, e);
	r->restored = restored; /* they are counted already */
	return rc;
}

int restore_all(struct tree_ids *ids, int root_fd, int journal_fd, const struct journal *j, uint64_t *ret_restored,
                struct err *e)
{
	static const struct walk_ops ops = {.visit = visit, .enter = enter, .listed = listed, .shut = shut};
	const struct walk_cookie cookie = {0, 0, ZONES_NONE};
	struct restore r = {.ids = ids};
	char snapshot[SNAP_NAME_MAX];
	int rc = choose_traces(&r, root_fd, j, e);

	if (rc != 0)
		return err_stop(e, STOP_CONFINE, rc);
	if (j != NULL)
		journal_snapshot_name(j, snapshot);
	rc = reclaim_begin(&r.reclaim, ids, NULL, journal_fd, j != NULL ? snapshot : NULL, e);
	if (rc == 0)
		rc = walk_tree(root_fd, "", cookie, &ops, &r, e);
	if (rc == 0)
		rc = restore_root(&r, root_fd, e);
	if (rc == 0 && r.first_rc != 0) {
		rc = r.first_rc;
		if (e != NULL)
			*e = r.first;
	}
	if (rc == 0 && ids->work->kept)
		rc = unpin_all(&r, root_fd, journal_fd, j, e);
	if (ret_restored != NULL)
		*ret_restored = r.restored + r.reclaim.taken;
	reclaim_done(&r.reclaim);
	return err_stop(e, rc == 0 ? 0 : STOP_CONFINE, rc);
}
