/* The project tree as the warden holds it: see tree.h. This file keeps a run's state and checks the table against the
 * file system; the work is in flip.c, compare.c, restore.c and start.c. */
#include "sandbox/tree_private.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"

#define REFUSE(e, code, ...) err_stop(e, STOP_USAGE, err_set(e, code, __VA_ARGS__))

/* Why an entry cannot be a zone, or NULL. */
static const char *unfit(const struct tree *t, const struct zone *z, int rc, const struct stat *st)
{
	if (rc == -ELOOP || (rc == 0 && S_ISLNK(st->st_mode)))
		return "is a symbolic link, or lies behind one: name what it points to";
	if (rc == -EXDEV)
		return "is a mount point, or lies below one: unmount it, or leave it out of the table";
	if (rc == 0 && st->st_uid != t->ids.owner)
		return "does not belong to the project's owner: chown it, or leave it out of the table";
	if (rc == -ENOTDIR || (rc == 0 && z->kind != ZONE_FILE && !S_ISDIR(st->st_mode)))
		return "is not a folder";
	if (rc == 0 && z->kind == ZONE_FILE && !S_ISREG(st->st_mode))
		return "is not a file";
	return NULL;
}

/* What "*" caught and no role may have need not be fit: it stays as it is, and the turn's view covers it. */
static bool may_be_foreign(const struct tree *t, const struct zone *z)
{
	return z->entry != NULL && (z->entry->flags & ENTRY_NAMED) == 0 && zone_most(z, t->policy->n_roles) == LEVEL_NONE;
}

static int check_zone(struct tree *t, struct zone *z, struct err *e)
{
	AUTO_FD fd = fd_open_beneath(t->root_fd, *z->path == '\0' ? "." : z->path, O_PATH | O_NOFOLLOW, 0, true);
	struct stat st = {0};
	const char *why;
	int rc = fd < 0 ? fd : 0;
	bool may_miss = z->kind == ZONE_FILE || (z->entry != NULL && (z->entry->flags & ENTRY_NAMED) == 0);

	if (rc == 0 && fstat(fd, &st) != 0)
		rc = -errno;
	if (rc == -ENOENT && may_miss)
		return 0;
	why = unfit(t, z, rc, &st);
	if (why != NULL && may_be_foreign(t, z)) {
		z->foreign = true;
		return 0;
	}
	if (why != NULL)
		return REFUSE(e, rc == 0 ? EINVAL : -rc, "access: %s %s", z->path, why);
	if (rc != 0)
		return err_stop(e, STOP_USAGE, err_errno(e, -rc, "access: cannot open %s", z->path));
	return 0;
}

static int check_zones(struct tree *t, struct err *e)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < t->zones.n; i++)
		rc = check_zone(t, &t->zones.v[i], e);
	return rc;
}

static int fill_journal(struct journal *j, int root_fd, const char *path, const struct tree_owner *who, struct err *e)
{
	struct stat st;

	if (fstat(root_fd, &st) != 0)
		return err_errno(e, errno, "cannot look at %s", path);
	*j = (struct journal){.dev = st.st_dev, .ino = st.st_ino, .owner = who->owner, .owner_gid = who->owner_gid,
	                      .agent = who->agent, .umask = who->umask & 0777};
	if (snprintf(j->path, sizeof(j->path), "%s", path) >= (int)sizeof(j->path))
		return err_errno(e, ENAMETOOLONG, "cannot hold the project");
	if (st.st_uid != who->owner)
		return err_stop(e, STOP_CONFINE, err_set(e, EPERM, "%s changed its owner while stint started: start again", path));
	return 0;
}

static int build(struct tree *t, int state_fd, const char *path, const struct tree_owner *who, struct err *e)
{
	int rc = ids_init(&t->ids, who->owner, who->owner_gid, who->umask, e);

	if (rc != 0)
		return rc;
	ids_add(&t->ids, &who->agent);
	if (who->agent.uid == 0 || who->agent.uid == who->owner)
		return REFUSE(e, EINVAL, "the agent user must be neither root nor the project's owner");
	rc = fill_journal(&t->journal, t->root_fd, path, who, e);
	if (rc == 0)
		rc = zones_build(&t->zones, t->policy, e);
	if (rc == 0)
		rc = check_zones(t, e);
	if (rc != 0)
		return rc;
	if (who->agent.writers != 0)
		zones_share(&t->zones, t->policy->n_roles);
	t->journal_fd = journal_dir(state_fd, e);
	return t->journal_fd < 0 ? err_stop(e, STOP_CONFINE, t->journal_fd) : 0;
}

int tree_open_at(struct tree **ret, int state_fd, int root_fd, const char *path, const struct policy *p,
                 const struct tree_owner *who, struct err *e)
{
	struct tree *t = calloc(1, sizeof(*t));
	int rc;

	if (t == NULL)
		return err_errno(e, ENOMEM, "cannot hold the project");
	t->root_fd = root_fd;
	t->policy = p;
	t->journal_fd = -1;
	t->role = -1;
	rc = build(t, state_fd, path, who, e);
	if (rc != 0) {
		tree_free(t);
		return rc;
	}
	*ret = t;
	return 0;
}

static int open_state(struct err *e)
{
	int fd;

	if (mkdir(TREE_STATE_DIR, 0711) != 0 && errno != EEXIST)
		return err_errno(e, errno, "cannot make %s", TREE_STATE_DIR);
	fd = open(TREE_STATE_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_errno(e, errno, "cannot open %s", TREE_STATE_DIR) : fd;
}

int tree_open(struct tree **ret, int root_fd, const char *path, const struct policy *p, const struct tree_owner *who,
              struct err *e)
{
	AUTO_FD state = open_state(e);

	return state < 0 ? err_stop(e, STOP_CONFINE, state) : tree_open_at(ret, state, root_fd, path, p, who, e);
}

void tree_free(struct tree *t)
{
	if (t == NULL)
		return;
	fd_close(&t->journal_fd);
	zones_done(&t->zones);
	tree_changes_done(&t->notes);
	ids_done(&t->ids);
	free(t);
}

/* Restores what a killed run left. j: its entry. */
static int restore_earlier(struct tree *t, const struct journal *j, struct err *e)
{
	struct tree_ids ids;
	int rc;

	if (j->agent.uid != t->ids.agents[0].uid)
		return err_stop(e, STOP_CONFINE,
		                err_set(e, EBUSY, "an earlier run here had another agent user (uid %u) and was not restored: run "
		                        "sudo stint restore first", j->agent.uid));
	rc = ids_init(&ids, t->ids.owner, t->ids.owner_gid, j->umask, e);
	if (rc == 0) {
		ids_add(&ids, &j->agent);
		rc = restore_all(&ids, t->root_fd, t->journal_fd, j, NULL, e);
	}
	ids_done(&ids);
	if (rc == 0)
		rc = journal_remove(t->journal_fd, j, e);
	return rc;
}

int tree_repair(struct tree *t, struct err *e)
{
	struct journal j;
	int rc = journal_find(t->journal_fd, t->journal.dev, t->journal.ino, t->journal.path, &j, e);

	if (rc == 0)
		rc = restore_earlier(t, &j, e);
	else if (rc == 1)
		rc = 0;
	t->journal.flipping = false;
	if (rc == 0)
		rc = journal_write(t->journal_fd, &t->journal, e);
	if (rc != 0)
		return err_stop(e, STOP_CONFINE, rc);
	t->journaled = true;
	rc = start_walk(t, e);
	if (rc == 0) {
		t->journal.flipping = true;
		rc = journal_write(t->journal_fd, &t->journal, e);
	}
	if (rc != 0 && tree_restore(t, NULL) != 0)
		return err_stop(e, STOP_CONFINE, rc); /* the journal's entry stays for `stint restore` */
	return err_stop(e, rc == 0 ? 0 : STOP_CONFINE, rc);
}

int tree_flip(struct tree *t, unsigned int role, struct err *e)
{
	int rc;

	if (role >= t->policy->n_roles || !t->journaled)
		return err_set(e, EINVAL, "cannot flip: %s", t->journaled ? "no such role" : "the journal is not written");
	if (t->role >= 0) {
		/* Reclaim before flip, always: what the last role made would otherwise stay the agent's. */
		rc = tree_reclaim(t, &t->notes, e);
		if (rc != 0)
			return rc;
	}
	t->role = (int)role;
	return flip_all(t, role, e);
}

gid_t tree_writers(const struct tree *t, unsigned int role)
{
	for (int i = 0; i < t->zones.n; i++)
		if (t->zones.v[i].shared && zone_level(&t->zones.v[i], role) == LEVEL_RW)
			return t->ids.agents[0].writers;
	return 0;
}

/* Under its own name the snapshot outlives the other roles' turns. Without it the role's next flip only takes longer. */
static void keep_snapshot(struct tree *t, unsigned int role)
{
	char name[SNAP_NAME_MAX];
	char last[SNAP_NAME_MAX];

	journal_snapshot_name(&t->journal, name);
	journal_last_name(&t->journal, role, last);
	t->has_last[role] = (unlinkat(t->journal_fd, last, 0) == 0 || errno == ENOENT) &&
	                    linkat(t->journal_fd, name, t->journal_fd, last, 0) == 0;
}

int tree_reclaim(struct tree *t, struct tree_changes *ret, struct err *e)
{
	int rc = 0;

	if (t->role >= 0)
		rc = reclaim_zones(t, ret, e);
	if (rc != 0)
		return err_stop(e, STOP_CONFINE, rc);
	if (t->role >= 0)
		keep_snapshot(t, (unsigned int)t->role);
	t->role = -1;
	if (ret != &t->notes && changes_move(ret, &t->notes) != 0)
		return err_errno(e, ENOMEM, "cannot list what changed");
	return 0;
}

int tree_restore(struct tree *t, struct err *e)
{
	int rc;

	if (!t->journaled)
		return 0;
	for (int i = 0; i < t->zones.n; i++)
		t->zones.v[i].inside = ZONE_LEVEL_UNKNOWN;
	memset(t->has_last, 0, sizeof(t->has_last));
	rc = restore_all(&t->ids, t->root_fd, t->journal_fd, &t->journal, NULL, e);
	if (rc == 0)
		rc = journal_remove(t->journal_fd, &t->journal, e);
	if (rc == 0)
		t->journaled = false;
	return rc;
}

struct accounts {
	struct tree_ids *ids;
	const uid_t *busy;
	size_t n_busy;
};

static int add_account(const struct acl_agent *agent, void *cookie, struct err *e)
{
	const struct accounts *a = cookie;

	(void)e;
	for (size_t i = 0; i < a->n_busy; i++)
		if (a->busy[i] == agent->uid)
			return 0;
	ids_add(a->ids, agent);
	return 0;
}

/* What the file system says about the project, for want of a journal entry. */
static int look_at(int root_fd, const char *path, struct journal *ret, struct err *e)
{
	struct passwd pw;
	struct passwd *found = NULL;
	char buf[16384];
	struct stat st;

	if (fstat(root_fd, &st) != 0)
		return err_errno(e, errno, "cannot look at %s", path);
	*ret = (struct journal){.dev = st.st_dev, .ino = st.st_ino, .owner = st.st_uid, .owner_gid = st.st_gid,
	                        .umask = 022 | ACL_UMASK_GUESSED};
	if (getpwuid_r(st.st_uid, &pw, buf, sizeof(buf), &found) == 0 && found != NULL)
		ret->owner_gid = pw.pw_gid;
	return 0;
}

/* found: the journal's entry, or NULL. */
static int restore_with(struct accounts *a, const struct journal *found, int state_fd, int root_fd, int journal_fd,
                        uint64_t *ret_restored, struct err *e)
{
	struct tree_ids *ids = a->ids;
	int rc = 0;

	/* The journal knows whose run it was: what names another account is a person's. */
	if (found != NULL)
		ids_add(ids, &found->agent);
	else
		rc = users_each(state_fd, add_account, a, e);
	if (rc != 0 || ids->who.n_agents == 0)
		return rc;
	if (ids_is_agent(ids, ids->owner))
		return err_set(e, EPERM, "the project's folder belongs to an agent account: chown it to its owner first");
	return restore_all(ids, root_fd, journal_fd, found, ret_restored, e);
}

int tree_restore_unattended_at(int state_fd, int root_fd, const char *path, const uid_t *busy, size_t n_busy,
                               uint64_t *ret_restored, struct err *e)
{
	AUTO_FD journal_fd = journal_dir(state_fd, e);
	struct journal here = {0};
	struct journal found = {0};
	struct tree_ids ids = {0};
	struct accounts accounts = {&ids, busy, n_busy};
	bool any;
	int rc;

	*ret_restored = 0;
	if (journal_fd < 0)
		return err_stop(e, STOP_CONFINE, journal_fd);
	rc = look_at(root_fd, path, &here, e);
	if (rc == 0)
		rc = journal_find(journal_fd, here.dev, here.ino, path, &found, e);
	any = rc == 0;
	/* A folder that was given to somebody else meanwhile is that person's now. */
	if (any && found.owner == here.owner)
		here = found;
	if (rc >= 0)
		rc = ids_init(&ids, here.owner, here.owner_gid, here.umask, e);
	if (rc == 0)
		rc = restore_with(&accounts, any ? &found : NULL, state_fd, root_fd, journal_fd, ret_restored, e);
	if (rc == 0)
		rc = journal_remove(journal_fd, any ? &found : &here, e);
	ids_done(&ids);
	return err_stop(e, rc == 0 ? 0 : STOP_CONFINE, rc);
}

int tree_restore_unattended(int root_fd, const char *path, const uid_t *busy, size_t n_busy, uint64_t *ret_restored,
                            struct err *e)
{
	AUTO_FD state = open_state(e);

	return state < 0 ? err_stop(e, STOP_CONFINE, state)
	                 : tree_restore_unattended_at(state, root_fd, path, busy, n_busy, ret_restored, e);
}
