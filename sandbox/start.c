/* What a run finds before it has set anything: takes back what the agent user still owns, pins ACLs in which a person already
 * named the agent user (from then on every unsaved entry of the agent is ours), and refuses a repository in an open zone. */
#include "sandbox/tree_private.h"

#include <errno.h>
#include <fcntl.h>

#include "base/exit.h"
#include "base/fd.h"

struct start {
	struct tree *t;
	struct reclaim reclaim;
};

/* Where the entry is in the table: its own node, the zone around it, or nowhere. */
static int zone_below(const struct zones *z, int around, const char *name)
{
	if (around == ZONES_NONE || z->v[around].kind != ZONE_PASS)
		return around;
	return zones_child(z, around, name);
}

/* A folder without any permission is one that an earlier turn's reclaim made unusable. */
static int check_dot_git(const struct start *s, const struct walk_entry *en, struct err *e)
{
	int at = en->cookie.zone;
	char shown[ERR_MSG_MAX / 2];

	if (at == ZONES_NONE || s->t->zones.v[at].kind != ZONE_DIR ||
	    zone_most(&s->t->zones.v[at], s->t->policy->n_roles) == LEVEL_NONE)
		return 0;
	if (S_ISDIR(en->st.st_mode) && (en->st.st_mode & 0700) == 0)
		return 0;
	walk_name(shown, sizeof(shown), en->dir, en->name);
	return err_stop(e, STOP_USAGE,
	                err_set(e, EPERM, "%s is a repository inside a zone that a role may enter: its history would show what the "
	                        "table hides: move it out, or make its folder a zone that is none for every role", shown));
}

static int pin(struct start *s, struct walk_entry *en, struct err *e)
{
	int has = inode_list(s->t->ids.work, walk_at(en));
	int rc = has < 0 ? has : 0;

	if (has > 0 && (has & (INODE_ACCESS | INODE_DEFAULT)) != 0) {
		rc = walk_open(en);
		if (rc == 0)
			rc = inode_pin(s->t->ids.work, en->fd, &s->t->ids.who, ids_how(&s->t->ids, &en->st));
	}
	return rc == 0 || rc == -ENOENT ? 0 : tree_entry_fail("cannot save the ACL of", en->dir, en->name, rc, e);
}

/* The walk visits what is in a folder, not the folder. */
static int pin_root(struct tree *t, struct err *e)
{
	AUTO_FD fd = openat(t->root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct buf none = {0};
	int rc = fd < 0 ? -errno : inode_pin(t->ids.work, fd, &t->ids.who, 0);

	return rc == 0 ? 0 : tree_entry_fail("cannot save the ACL of", &none, "", rc, e);
}

static int visit(void *ctx, struct walk_entry *en, struct err *e)
{
	struct start *s = ctx;
	int rc = 0;

	if (en->mount)
		return WALK_SKIP;
	en->child.zone = zone_below(&s->t->zones, en->cookie.zone, en->name);
	if (en->dir->len == 0 && (str_eq(en->name, ".git") || str_eq(en->name, ".stint")))
		en->child.bits |= RECLAIM_PLAIN;
	reclaim_look(&s->reclaim, en, ids_is_agent(&s->t->ids, en->st.st_uid));
	if (ids_is_agent(&s->t->ids, en->st.st_uid))
		return reclaim_take(&s->reclaim, en, NULL, e);
	if (tree_is_dot_git(en->name) && (en->cookie.bits & (RECLAIM_PLAIN | RECLAIM_DOT_GIT)) == 0)
		rc = check_dot_git(s, en, e);
	if (rc == 0 && !S_ISLNK(en->st.st_mode))
		rc = pin(s, en, e);
	return rc == 0 ? WALK_DESCEND : rc;
}

static int enter(void *ctx, const struct walk_dir *d, struct err *e)
{
	struct start *s = ctx;

	return reclaim_enter(&s->reclaim, d, e);
}

static int listed(void *ctx, const struct walk_dir *d, struct err *e)
{
	struct start *s = ctx;

	return reclaim_listed(&s->reclaim, d, e);
}

int start_walk(struct tree *t, struct err *e)
{
	static const struct walk_ops ops = {.visit = visit, .enter = enter, .listed = listed};
	const struct walk_cookie cookie = {0, 0, ZONES_ROOT};
	struct start s = {.t = t};
	int rc = reclaim_begin(&s.reclaim, &t->ids, NULL, -1, NULL, e);

	if (rc == 0)
		rc = pin_root(t, e);
	if (rc == 0)
		rc = walk_tree(t->root_fd, "", cookie, &ops, &s, e);
	reclaim_done(&s.reclaim);
	return rc;
}
