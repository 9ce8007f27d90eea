/* Sets the ACLs for one role: opens its zones, seals the others at their top, and the rest of the root and of the folders on
 * the way one entry at a time.
 *
 * Grants by level, on folders and on files (x on a file only where its owner has x). Sealed is a named entry
 * without rights, which counts before the mode's bits for others do. */
#include "sandbox/tree_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "sandbox/links.h"

static const struct grant {
	unsigned int dir;
	unsigned int file;
} grants[] = {
	[LEVEL_NONE] = {0, 0},
	[LEVEL_R] = {5, 4},
	[LEVEL_RW] = {7, 6},
};

#define IN_REPOSITORY 1u  /* of a walk's cookie: at or below a repository that is not called .git */
#define GRANTED (1u << 31) /* of a snapshot's record: this file set the inode's ACLs, to what the other bits say */
#define GRANT_LIST 5u     /* the root: may be listed */
#define GRANT_TRAVERSE 1u /* a folder on the way */

struct flip {
	struct tree *t;
	unsigned int role;
	struct snap_writer snap;  /* of the writable zones; name[0] == 0 when there are none */
	struct snap_reader last;  /* of the role's turn before, where ctime tells of every change since */
	/* The zone that is being walked: */
	enum level level;         /* the role's */
	enum level inside;        /* what is set in it: of a shared zone what its writers may */
	unsigned int form;        /* ACL_BY_GROUPS of a shared zone, or 0 */
	bool counted;             /* links holds every name of every hard-linked inode in the zone */
	struct links links;
};

unsigned int flip_perm(enum level level, const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFDIR:
		return grants[level].dir;
	case S_IFREG:
		return level == LEVEL_NONE ? 0 : grants[level].file | ((st->st_mode & S_IXUSR) != 0 ? 1u : 0);
	default:
		return 0; /* a pipe, socket or device leads to a process or a driver, not to a file */
	}
}

static int note(struct flip *f, const struct buf *dir, const char *name, const char *why)
{
	struct tree_changes *notes = &f->t->notes;

	if (notes->n_anomalies > TREE_NOTES_MAX)
		return 0;
	if (notes->n_anomalies == TREE_NOTES_MAX)
		return changes_note(notes, dir, name, "and more like these");
	return changes_note(notes, dir, name, why);
}

/* Whether the snapshot holds the zone that is being walked. */
static bool records(const struct flip *f)
{
	return f->snap.name[0] != '\0' && f->level == LEVEL_RW;
}

/* granted: what was set, or 0 for what is left as it is. */
static int record(struct flip *f, const struct walk_entry *en, uint32_t granted)
{
	const struct inode_work *w = f->t->ids.work;
	bool link = S_ISLNK(en->st.st_mode);

	if (!records(f))
		return 0;
	return snap_entry(&f->snap, en->name, &en->st, link ? NULL : &w->base, link ? NULL : &w->base_default,
	                  link ? 0 : w->user_hash, granted);
}

/* The entry's record in the snapshot of the role's turn before, when nothing has changed the inode since and the same was set then:
 * its ACLs are as they were. NULL otherwise. */
static const struct snap_rec *as_before(struct flip *f, const struct walk_entry *en, uint32_t granted)
{
	const struct snap_rec *rec = records(f) ? snap_find(&f->last, en->name) : NULL;

	return rec != NULL && rec->granted == granted && !snap_differs(rec, &en->st) ? rec : NULL;
}

/* 1 when the inode has names outside the zone, 0 when not, 2 when that is not known yet. */
static int has_other_names(struct flip *f, const struct stat *st)
{
	if (S_ISDIR(st->st_mode) || st->st_nlink == 1)
		return 0;
	if (!f->counted) {
		int rc = links_add(&f->links, st->st_ino);

		return rc != 0 ? rc : 2;
	}
	return links_seen(&f->links, st->st_ino) < st->st_nlink;
}

/* Looks by name, because most entries are right already; opens what is to be written. An inode with the same ctime as was looked at
 * has the same ACLs. 0, -ENOENT when it is gone by now, or a negative errno. */
static int set_entry(struct flip *f, struct walk_entry *en, unsigned int perm, int def)
{
	struct inode_work *w = f->t->ids.work;
	struct timespec looked = en->st.st_ctim;
	int rc = inode_plan(w, walk_at(en), &en->st, &f->t->ids.who, perm, def);

	if (rc != 1)
		return rc;
	rc = walk_open(en);
	if (rc != 0)
		return rc;
	if (looked.tv_sec == en->st.st_ctim.tv_sec && looked.tv_nsec == en->st.st_ctim.tv_nsec)
		return inode_apply(w, en->fd, records(f) ? &en->st : NULL);
	return inode_grant(w, en->fd, &en->st, &f->t->ids.who, perm, def);
}

static int grant_entry(struct flip *f, struct walk_entry *en, enum level level)
{
	unsigned int perm = flip_perm(level, &en->st);
	unsigned int form = perm != 0 ? f->form : 0; /* closed: to whichever groups the command has */
	int def = S_ISDIR(en->st.st_mode) && level != LEVEL_NONE ? (int)(grants[level].dir | form) : INODE_NO_DEFAULT;
	uint32_t granted = GRANTED | (uint32_t)(def + 1) << 8 | perm | form;
	const struct snap_rec *rec = as_before(f, en, granted);
	int rc;

	if (rec != NULL)
		return snap_copy(&f->snap, rec);
	rc = set_entry(f, en, perm | form, def);
	return rc != 0 ? rc : record(f, en, granted);
}

/* Granted to groups, its owning group's permissions would be the agent's as well. */
static bool is_of_agents_group(const struct flip *f, const struct stat *st)
{
	const struct acl_agent *agent = &f->t->ids.agents[0];

	return st->st_gid == agent->gid || st->st_gid == agent->writers;
}

/* An inode that neither owner nor agent owns is left alone: its mode says what others may. A link has no ACL. */
static int pass_over(struct flip *f, struct walk_entry *en)
{
	bool link = S_ISLNK(en->st.st_mode);
	int rc = link ? 0 : note(f, en->dir, en->name, "belongs to somebody else: left as it is");

	if (rc == 0 && !link)
		rc = inode_read(f->t->ids.work, walk_at(en), &en->st);
	return rc == -ENOENT ? 0 : rc != 0 ? rc : record(f, en, 0);
}

/* One entry of an open zone: enum walk_next or a negative errno. */
static int flip_entry(struct flip *f, struct walk_entry *en)
{
	enum level level = f->inside;
	int other;
	int rc;

	if (en->mount)
		return -EXDEV;
	/* Its configuration and hooks are programs that the owner's git runs there. */
	if (level == LEVEL_RW && S_ISDIR(en->st.st_mode) && tree_is_bare(en->dir_fd, en->name))
		en->child.bits |= IN_REPOSITORY;
	if ((en->child.bits & IN_REPOSITORY) != 0)
		level = LEVEL_R;
	if (S_ISLNK(en->st.st_mode) || en->st.st_uid != f->t->ids.owner) {
		rc = pass_over(f, en);
		return rc != 0 ? rc : tree_is_dot_git(en->name) ? WALK_SKIP : WALK_DESCEND;
	}
	other = has_other_names(f, &en->st);
	if (other < 0 || other == 2)
		return other < 0 ? other : WALK_SKIP;
	if (other == 1 && note(f, en->dir, en->name, "has other names outside its zone: closed to the agent") != 0)
		return -ENOMEM;
	if (other == 0 && f->form != 0 && is_of_agents_group(f, &en->st)) {
		other = 1;
		if (note(f, en->dir, en->name, "belongs to the agent user's own group: closed to the agent, chgrp it") != 0)
			return -ENOMEM;
	}
	if (other == 1 || tree_is_dot_git(en->name))
		level = LEVEL_NONE;
	rc = grant_entry(f, en, level);
	if (rc == -ENOENT)
		return WALK_SKIP;
	return rc != 0 ? rc : level == LEVEL_NONE ? WALK_SKIP : WALK_DESCEND;
}

static int visit(void *ctx, struct walk_entry *en, struct err *e)
{
	struct flip *f = ctx;
	int rc = 0;

	/* Left over although every turn ends with a reclaim: a named entry would not bind its owner. */
	if (ids_is_agent(&f->t->ids, en->st.st_uid) && !en->mount) {
		struct reclaim r;

		rc = reclaim_begin(&r, &f->t->ids, &f->t->notes, -1, NULL, e);
		if (rc == 0)
			rc = reclaim_take(&r, en, NULL, e);
		reclaim_done(&r);
		if (rc < 0)
			return rc;
		if (fstatat(en->dir_fd, en->name, &en->st, AT_SYMLINK_NOFOLLOW) != 0)
			return WALK_SKIP;
	}
	if (f->level != LEVEL_NONE && !en->mount && en->st.st_uid != f->t->ids.owner && tree_is_door(&en->st))
		return tree_refuse_door(en, e);
	rc = flip_entry(f, en);
	return rc < 0 ? tree_entry_fail("cannot set the ACL of", en->dir, en->name, rc, e) : rc;
}

static int enter(void *ctx, const struct walk_dir *d, struct err *e)
{
	struct flip *f = ctx;
	int rc;

	if (!records(f))
		return 0;
	rc = snap_load(&f->last, d->ino);
	if (rc == 0)
		rc = snap_folder(&f->snap, d->ino);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot take the snapshot");
}

static int listed(void *ctx, const struct walk_dir *d, struct err *e)
{
	struct flip *f = ctx;
	int rc = 0;

	(void)d;
	if (records(f))
		rc = snap_folder_end(&f->snap);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot take the snapshot");
}

/* Walks an open zone; twice when it has hard links, because the first walk must have counted all of them. */
static int walk_zone(struct flip *f, int fd, const struct zone *z, struct err *e)
{
	static const struct walk_ops ops = {.visit = visit, .enter = enter, .listed = listed};
	const struct walk_cookie none = {0, 0, ZONES_NONE};
	struct snap_mark mark = {0};
	bool writes = f->level == LEVEL_RW;
	int rc = 0;

	f->counted = false;
	if (writes)
		rc = snap_mark(&f->snap, &mark);
	if (rc == 0)
		rc = walk_tree(fd, z->path, none, &ops, f, e);
	else
		rc = err_errno(e, -rc, "cannot take the snapshot");
	if (rc == 0 && f->links.n > 0) {
		f->counted = true;
		if (writes && snap_rewind(&f->snap, &mark) != 0)
			rc = err_errno(e, EIO, "cannot take the snapshot");
		if (rc == 0)
			rc = walk_tree(fd, z->path, none, &ops, f, e);
	}
	links_done(&f->links);
	return rc;
}

/* The zone's own folder. It must still be what tree_open() found. */
static int flip_folder(struct flip *f, struct zone *z, struct err *e)
{
	enum level level = zone_level(z, f->role);
	AUTO_FD fd = fd_open_beneath(f->t->root_fd, z->path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, true);
	bool shared = z->shared && level != LEVEL_NONE;
	enum level inside = shared ? LEVEL_RW : level;
	unsigned int form = shared ? ACL_BY_GROUPS : 0;
	int def = level == LEVEL_NONE ? INODE_NO_DEFAULT : (int)(grants[inside].dir | form);
	const struct buf none = {0};
	int rc;

	if (fd == -ENOENT && level == LEVEL_NONE)
		return 0;
	if (fd < 0)
		return tree_entry_fail("cannot open the zone", &none, z->path, fd, e);
	if (fstat(fd, &z->stat) != 0)
		return tree_entry_fail("cannot open the zone", &none, z->path, -errno, e);
	if (z->stat.st_uid != f->t->ids.owner)
		return tree_entry_fail("the zone does not belong to the project's owner any more:", &none, z->path, -EPERM, e);
	if (level == LEVEL_RW && tree_is_bare(fd, "."))
		return err_set(e, EPERM, "%s is a repository to git (HEAD beside objects and refs), and a role may write it, with what "
		               "git runs there: move it into a folder of its own", z->path);
	if (shared && is_of_agents_group(f, &z->stat))
		return err_stop(e, STOP_CONFINE, err_set(e, EPERM, "%s belongs to the agent user's own group: chgrp it", z->path));
	rc = inode_grant(f->t->ids.work, fd, &z->stat, &f->t->ids.who, grants[inside].dir | form, def);
	if (rc != 0)
		return tree_entry_fail("cannot set the ACL of", &none, z->path, rc, e);
	z->seen = level == LEVEL_RW;
	/* Since it was walked, or its last writer's turn was taken back, nobody had it for writing; what a person adds there gets
	 * its rights by default. */
	if (level == LEVEL_NONE || (level == LEVEL_R && z->inside == (shared ? ZONE_LEVEL_SHARED : LEVEL_R)))
		return 0;
	z->inside = ZONE_LEVEL_UNKNOWN;
	f->level = level;
	f->inside = inside;
	f->form = form;
	rc = walk_zone(f, fd, z, e);
	if (rc == 0 && level == LEVEL_R)
		z->inside = shared ? ZONE_LEVEL_SHARED : LEVEL_R;
	return rc;
}

/* Makes the file that the role may write, with its mark from the first moment: a file with the mark and without content
 * is nobody's work and goes again, after a kill too. */
static int create_file(struct flip *f, int dir_fd, struct zone *z)
{
	/* As the owner would make it: by the folder's default ACL, or else by the umask. */
	mode_t was = umask(f->t->ids.who.umask & 0777);
	AUTO_FD fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	struct stat before;
	struct stat after;
	char proc[64];
	int rc;

	(void)umask(was);
	if (fd < 0)
		return -errno;
	if (fchown(fd, f->t->ids.owner, f->t->ids.owner_gid) != 0)
		return -errno;
	rc = inode_mark_created(fd, NULL, NULL);
	if (rc != 0 || fstat(dir_fd, &before) != 0)
		return rc != 0 ? rc : -errno;
	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, proc, dir_fd, z->name, AT_SYMLINK_FOLLOW) != 0)
		return -errno;
	z->created = true;
	return fstat(dir_fd, &after) == 0 ? inode_mark_created(fd, &before, &after) : -errno;
}

static int open_file_zone(struct flip *f, struct zone *z, enum level level)
{
	const char *parent = f->t->zones.v[z->parent].path;
	AUTO_FD dir = fd_open_beneath(f->t->root_fd, *parent == '\0' ? "." : parent, O_RDONLY | O_DIRECTORY, 0, true);
	int fd;
	int rc;

	if (dir < 0)
		return dir;
	fd = fd_open_beneath(dir, z->name, O_PATH | O_NOFOLLOW, 0, true);
	if (fd != -ENOENT || level != LEVEL_RW)
		return fd;
	rc = create_file(f, dir, z);
	return rc != 0 && rc != -EEXIST ? rc : fd_open_beneath(dir, z->name, O_PATH | O_NOFOLLOW, 0, true);
}

static int flip_file(struct flip *f, struct zone *z, struct err *e)
{
	enum level level = zone_level(z, f->role);
	const struct buf none = {0};
	AUTO_FD fd = open_file_zone(f, z, level);
	struct stat st;
	int rc = 0;

	if (fd == -ENOENT && level != LEVEL_RW)
		return 0;
	if (fd < 0)
		return tree_entry_fail("cannot open", &none, z->path, fd, e);
	if (fstat(fd, &st) != 0)
		return tree_entry_fail("cannot open", &none, z->path, -errno, e);
	if (!S_ISREG(st.st_mode) || st.st_uid != f->t->ids.owner)
		return tree_entry_fail("no longer a file of the project's owner:", &none, z->path, -EPERM, e);
	if (st.st_nlink > 1 && level != LEVEL_NONE) {
		level = LEVEL_NONE;
		rc = note(f, &none, z->path, "has other names outside its zone: closed to the agent");
	}
	if (rc == 0)
		rc = inode_grant(f->t->ids.work, fd, &st, &f->t->ids.who, flip_perm(level, &st), INODE_NO_DEFAULT);
	if (rc != 0)
		return tree_entry_fail("cannot set the ACL of", &none, z->path, rc, e);
	z->stat = st;
	z->seen = level == LEVEL_RW;
	return 0;
}

/* An entry of the root or of a folder on the way: the table's own are done apart, every other is sealed. */
static int seal_entry(void *ctx, struct walk_entry *en, struct err *e)
{
	struct flip *f = ctx;
	int rc = 0;

	if (zones_child(&f->t->zones, en->cookie.zone, en->name) != ZONES_NONE || S_ISLNK(en->st.st_mode))
		return WALK_SKIP;
	if (en->mount)
		rc = note(f, en->dir, en->name, "a mount point: left as it is, only the turn's view hides it");
	else if (en->st.st_uid != f->t->ids.owner && !ids_is_agent(&f->t->ids, en->st.st_uid))
		rc = note(f, en->dir, en->name, "belongs to somebody else: left as it is, only the turn's view hides it");
	else
		rc = set_entry(f, en, 0, INODE_NO_DEFAULT);
	return rc == 0 || rc == -ENOENT ? WALK_SKIP : tree_entry_fail("cannot set the ACL of", en->dir, en->name, rc, e);
}

static int flip_pass(struct flip *f, int index, struct err *e)
{
	static const struct walk_ops ops = {.visit = seal_entry};
	const struct zone *z = &f->t->zones.v[index];
	const char *path = index == ZONES_ROOT ? "." : z->path;
	AUTO_FD fd = fd_open_beneath(f->t->root_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, true);
	const struct walk_cookie cookie = {0, 0, index};
	const struct buf none = {0};
	struct stat st;
	int rc;

	if (fd < 0)
		return tree_entry_fail("cannot open", &none, z->path, fd, e);
	if (fstat(fd, &st) != 0)
		return tree_entry_fail("cannot open", &none, z->path, -errno, e);
	if (st.st_uid != f->t->ids.owner)
		return tree_entry_fail("a folder on the way to a zone does not belong to the project's owner:", &none, z->path, -EPERM, e);
	rc = inode_grant(f->t->ids.work, fd, &st, &f->t->ids.who, index == ZONES_ROOT ? GRANT_LIST : GRANT_TRAVERSE, 0);
	if (rc != 0)
		return tree_entry_fail("cannot set the ACL of", &none, z->path, rc, e);
	return walk_tree(fd, z->path, cookie, &ops, f, e);
}

static int flip_zones(struct flip *f, struct err *e)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < f->t->zones.n; i++) {
		struct zone *z = &f->t->zones.v[i];

		z->seen = false;
		if (z->kind == ZONE_PASS)
			rc = flip_pass(f, i, e);
		else if (z->foreign)
			continue;
		else
			rc = z->kind == ZONE_DIR ? flip_folder(f, z, e) : flip_file(f, z, e);
	}
	return rc;
}

static bool writes_folders(const struct tree *t, unsigned int role)
{
	for (int i = 0; i < t->zones.n; i++)
		if (t->zones.v[i].kind == ZONE_DIR && zone_level(&t->zones.v[i], role) == LEVEL_RW)
			return true;
	return false;
}

static int begin_snapshots(struct flip *f, const char *name)
{
	const struct tree *t = f->t;
	char last[SNAP_NAME_MAX];

	journal_last_name(&t->journal, f->role, last);
	/* Without it, or where ctime tells less, every inode is looked at. */
	if (t->has_last[f->role] && inode_ctime_tells(t->root_fd) && snap_open(&f->last, t->journal_fd, last) != 0)
		snap_close(&f->last);
	return snap_begin(&f->snap, t->journal_fd, name);
}

int flip_all(struct tree *t, unsigned int role, struct err *e)
{
	struct flip f = {.t = t, .role = role, .snap = {.fd = -1}, .last = {.fd = -1}};
	bool snapshot = writes_folders(t, role);
	char name[SNAP_NAME_MAX];
	int rc = 0;

	journal_snapshot_name(&t->journal, name);
	if (snapshot)
		rc = begin_snapshots(&f, name);
	else if (unlinkat(t->journal_fd, name, 0) != 0 && errno != ENOENT)
		rc = -errno;
	if (rc != 0)
		rc = err_errno(e, -rc, "cannot write the snapshot");
	if (rc == 0)
		rc = flip_zones(&f, e);
	if (rc == 0 && snapshot) {
		rc = snap_commit(&f.snap);
		if (rc != 0)
			rc = err_errno(e, -rc, "cannot write the snapshot");
	}
	snap_writer_done(&f.snap);
	snap_close(&f.last);
	return err_stop(e, rc == 0 ? 0 : STOP_CONFINE, rc);
}
