/* Whole folders of a role, HOME and scratch: handed over, or emptied. Nothing about zones or ACLs. */
#include "sandbox/tree_private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sandbox/links.h"

#define EMPTY_PASSES 64

struct hand_over {
	uid_t from;
	uid_t to;
	gid_t to_gid;
	bool counted;
	struct links links;
};

static int hand_over_visit(void *ctx, struct walk_entry *en, struct err *e)
{
	struct hand_over *h = ctx;
	int rc = 0;

	if (en->mount)
		return WALK_SKIP;
	if (en->st.st_uid != h->from)
		return WALK_DESCEND;
	if (!S_ISDIR(en->st.st_mode) && en->st.st_nlink > 1) {
		if (!h->counted)
			return links_add(&h->links, en->st.st_ino) == 0 ? WALK_SKIP : err_errno(e, ENOMEM, "cannot change owners");
		/* Another name of it is outside: it is not this folder's to give away. */
		if (links_seen(&h->links, en->st.st_ino) < en->st.st_nlink)
			return WALK_SKIP;
	}
	rc = walk_open(en);
	if (rc == 0)
		rc = inode_plain_bits(en->fd, &en->st);
	if (rc == 0)
		rc = inode_chown(en->fd, h->to, h->to_gid);
	return rc == 0 || rc == -ENOENT ? WALK_DESCEND : tree_entry_fail("cannot change the owner of", en->dir, en->name, rc, e);
}

int tree_chown_all(int dir_fd, uid_t from, uid_t to, gid_t to_gid, struct err *e)
{
	static const struct walk_ops ops = {.visit = hand_over_visit};
	const struct walk_cookie none = {0, 0, ZONES_NONE};
	struct hand_over h = {.from = from, .to = to, .to_gid = to_gid};
	int rc = walk_tree(dir_fd, "", none, &ops, &h, e);

	if (rc == 0 && h.links.n > 0) {
		h.counted = true;
		rc = walk_tree(dir_fd, "", none, &ops, &h, e);
	}
	links_done(&h.links);
	return rc;
}

struct emptying {
	bool removed; /* anything, in this pass */
	bool left;    /* something is still there, or may be */
};

static int empty_visit(void *ctx, struct walk_entry *en, struct err *e)
{
	struct emptying *m = ctx;
	bool dir = S_ISDIR(en->st.st_mode);

	if (en->mount)
		return tree_entry_fail("cannot remove", en->dir, en->name, -EXDEV, e);
	m->left = true;
	if (unlinkat(en->dir_fd, en->name, dir ? AT_REMOVEDIR : 0) == 0) {
		m->removed = true;
		return WALK_SKIP;
	}
	if (dir && (errno == ENOTEMPTY || errno == EEXIST))
		return WALK_DESCEND;
	return errno == ENOENT ? WALK_SKIP : tree_entry_fail("cannot remove", en->dir, en->name, -errno, e);
}

static int empty_leave(void *ctx, int dir_fd, const char *name, struct err *e)
{
	struct emptying *m = ctx;

	(void)e;
	if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0)
		m->removed = true;
	return 0; /* what is left shows in the next pass */
}

int tree_empty(int dir_fd, struct err *e)
{
	static const struct walk_ops ops = {.visit = empty_visit, .leave = empty_leave};
	const struct walk_cookie none = {0, 0, ZONES_NONE};

	for (int pass = 0; pass < EMPTY_PASSES; pass++) {
		struct emptying m = {false, false};
		int rc = walk_tree(dir_fd, "", none, &ops, &m, e);

		if (rc != 0 || !m.left)
			return rc;
		if (!m.removed)
			break;
	}
	return err_set(e, ENOTEMPTY, "cannot empty a role's folder: something keeps filling it: look for a process that writes there");
}
