/* For a turn without the ACL layer: the view and Landlock go by paths, so a file in an open zone that has a name outside
 * of it would be a way round the table, and neither of them judges who connects to a socket. */
#include "sandbox/tree_private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "sandbox/links.h"

struct linked {
	struct links links;
	bool counted;        /* every name in the zone is */
};

static int refuse(const struct buf *dir, const char *name, struct err *e)
{
	char shown[ERR_MSG_MAX / 2];

	walk_name(shown, sizeof(shown), dir, name);
	return err_stop(e, STOP_CONFINE,
	                err_set(e, EMLINK, "%s has other names outside its zone, and without the acl layer nothing closes it to the "
	                        "role: copy it in place of the link, or use the acl layer", shown));
}

int tree_refuse_door(const struct walk_entry *en, struct err *e)
{
	char shown[ERR_MSG_MAX / 2];

	walk_name(shown, sizeof(shown), en->dir, en->name);
	return err_stop(e, STOP_CONFINE,
	                err_set(e, EPERM, "%s is a socket or a pipe that cannot be closed to the role, in a zone that is "
	                        "open to it: it leads to a process outside: remove it, or keep it outside the zone", shown));
}

static int visit(void *ctx, struct walk_entry *en, struct err *e)
{
	struct linked *l = ctx;

	if (en->mount || tree_is_dot_git(en->name))
		return WALK_SKIP;
	if (tree_is_door(&en->st))
		return tree_refuse_door(en, e);
	if (S_ISDIR(en->st.st_mode))
		return WALK_DESCEND;
	if (S_ISLNK(en->st.st_mode) || en->st.st_nlink == 1)
		return WALK_SKIP;
	if (!l->counted)
		return links_add(&l->links, en->st.st_ino) == 0 ? WALK_SKIP : err_errno(e, ENOMEM, "cannot count links");
	return links_seen(&l->links, en->st.st_ino) < en->st.st_nlink ? refuse(en->dir, en->name, e) : WALK_SKIP;
}

static int check_zone(const struct tree *t, const struct zone *z, struct err *e)
{
	static const struct walk_ops ops = {.visit = visit};
	const struct walk_cookie cookie = {0, 0, ZONES_NONE};
	AUTO_FD fd = fd_open_beneath(t->root_fd, z->path, O_PATH | O_NOFOLLOW, 0, true);
	const struct buf none = {0};
	struct linked l = {0};
	struct stat st;
	int rc;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) != 0)
		return tree_entry_fail("cannot open", &none, z->path, fd < 0 ? fd : -errno, e);
	if (!S_ISDIR(st.st_mode))
		return st.st_nlink > 1 ? refuse(&none, z->path, e) : 0;
	rc = walk_tree(fd, z->path, cookie, &ops, &l, e);
	l.counted = true;
	if (rc == 0 && l.links.n > 0)
		rc = walk_tree(fd, z->path, cookie, &ops, &l, e);
	links_done(&l.links);
	return err_stop(e, rc == 0 ? 0 : STOP_CONFINE, rc);
}

int tree_refuse_links(const struct tree *t, unsigned int role, struct err *e)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < t->zones.n; i++) {
		const struct zone *z = &t->zones.v[i];

		if (z->kind != ZONE_PASS && !z->foreign && zone_level(z, role) != LEVEL_NONE)
			rc = check_zone(t, z, e);
	}
	return rc;
}
