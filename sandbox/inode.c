/* One inode's ACLs: see inode.h. */
#include "sandbox/inode.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

#define X_CREATED "trusted.stint.created"

/* The two ACLs of an inode, handled alike. */
enum kind { ACCESS, DEFAULT };

static const struct {
	const char *name;
	const char *saved_name;
	int bit;
	int saved_bit;
} kinds[] = {
	[ACCESS] = {"system.posix_acl_access", "trusted.stint.access", INODE_ACCESS, INODE_SAVED_ACCESS},
	[DEFAULT] = {"system.posix_acl_default", "trusted.stint.default", INODE_DEFAULT, INODE_SAVED_DEFAULT},
};

static struct xattr_at by_fd(int fd)
{
	return (struct xattr_at){.fd = fd, .dir_fd = -1};
}

/* FNV-1a: enough to see that the set of names changed. */
static uint32_t hash_name(uint32_t h, const char *s)
{
	do
		h = (h ^ (unsigned char)*s) * 16777619u;
	while (*s++ != '\0');
	return h == 0 ? 1 : h;
}

static int name_bit(const char *name)
{
	for (int k = ACCESS; k <= DEFAULT; k++) {
		if (str_eq(name, kinds[k].name))
			return kinds[k].bit;
		if (str_eq(name, kinds[k].saved_name))
			return kinds[k].saved_bit;
	}
	if (str_eq(name, X_CREATED))
		return INODE_CREATED;
	return str_starts(name, "user.") ? INODE_USER : 0;
}

/* For an inode with more names than the kernel lists (64 KiB; tmpfs lets a user set as many): ours are asked for one by one. */
static int ask_each(struct inode_work *w, struct xattr_at at)
{
	const char *const names[] = {kinds[ACCESS].name, kinds[ACCESS].saved_name, kinds[DEFAULT].name, kinds[DEFAULT].saved_name,
	                             X_CREATED};
	int has = INODE_USER | INODE_UNLISTED;

	w->user_hash = hash_name(2166136261u, "");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ssize_t n = xattr_get(&w->kernel, at, names[i], w->raw, sizeof(w->raw));

		if (n >= 0)
			has |= name_bit(names[i]);
		else if (n != -ENODATA && n != -EOPNOTSUPP)
			return (int)n;
	}
	return has;
}

int inode_list(struct inode_work *w, struct xattr_at at)
{
	ssize_t n = xattr_list(&w->kernel, at, w->names, sizeof(w->names));
	int has = 0;

	w->names_len = 0;
	w->user_hash = 0;
	if (n == -E2BIG)
		return ask_each(w, at);
	if (n < 0)
		return n == -EOPNOTSUPP ? 0 : (int)n;
	w->names_len = (size_t)n;
	for (size_t i = 0; i < w->names_len; i += strlen(w->names + i) + 1) {
		int bit = name_bit(w->names + i);

		if (bit == INODE_USER)
			w->user_hash = hash_name(w->user_hash == 0 ? 2166136261u : w->user_hash, w->names + i);
		has |= bit;
	}
	return has;
}

/* Reads one ACL; none when the xattr is not there (any more). */
static int get(struct inode_work *w, struct acl *ret, struct xattr_at at, const char *name)
{
	ssize_t n = xattr_get(&w->kernel, at, name, w->raw, sizeof(w->raw));

	ret->n = 0;
	if (n < 0)
		return n == -ENODATA ? 0 : (int)n;
	return acl_decode(ret, w->raw, (size_t)n);
}

static int set(struct inode_work *w, const struct acl *a, int fd, const char *name)
{
	w->writes++;
	return xattr_set(&w->kernel, fd, name, w->raw, acl_encode(a, w->raw));
}

static int drop(struct inode_work *w, int fd, const char *name)
{
	w->writes++;
	return xattr_remove(fd, name);
}

/* The current and the saved ACL of one kind into cur and saved. An access ACL that is not there is the mode. */
static int read_pair(struct inode_work *w, struct xattr_at at, int has, enum kind k, mode_t mode)
{
	int rc = 0;

	w->cur.n = 0;
	w->saved.n = 0;
	if ((has & kinds[k].bit) != 0)
		rc = get(w, &w->cur, at, kinds[k].name);
	if (rc == 0 && (has & kinds[k].saved_bit) != 0)
		rc = get(w, &w->saved, at, kinds[k].saved_name);
	if (rc == 0 && k == ACCESS && w->cur.n == 0)
		acl_of_mode(&w->cur, mode);
	return rc;
}

/* Rule 6: base is what must come back. An access ACL that is a mode alone needs no saving, a default ACL of that form does; what is
 * saved and no longer true goes first, so that a kill in between never brings it back. */
static enum inode_todo plan(const struct inode_work *w, const struct acl *want, const struct acl *base, enum kind k)
{
	if (acl_same(want, &w->cur))
		return INODE_NOTHING;
	if (base->n == 0 || (k == ACCESS && acl_is_mode(base)))
		return w->saved.n == 0 ? INODE_SET : INODE_UNSAVE_AND_SET;
	return w->saved.n != 0 && acl_same(base, &w->saved) ? INODE_SET : INODE_SAVE_AND_SET;
}

static int plan_access(struct inode_work *w, struct xattr_at at, int has, mode_t mode, const struct acl_who *who,
                       unsigned int perm)
{
	int rc = read_pair(w, at, has, ACCESS, mode);

	if (rc == 0)
		rc = acl_base(&w->base, &w->cur, &w->saved, who, &w->scratch);
	if (rc == 0)
		rc = acl_grant(&w->want, &w->base, &who->agents[0], perm);
	if (rc == 0)
		w->todo = plan(w, &w->want, &w->base, ACCESS);
	return rc;
}

static int plan_default(struct inode_work *w, struct xattr_at at, int has, const struct acl_who *who, unsigned int perm)
{
	int rc = read_pair(w, at, has, DEFAULT, 0);

	if (rc == 0)
		rc = acl_base_default(&w->base_default, &w->cur, &w->saved, who, &w->scratch);
	if (rc == 0)
		rc = acl_grant_default(&w->want_default, &w->base_default, who, &who->agents[0], perm);
	if (rc == 0)
		w->todo_default = plan(w, &w->want_default, &w->base_default, DEFAULT);
	return rc;
}

int inode_plan(struct inode_work *w, struct xattr_at at, const struct stat *st, const struct acl_who *who, unsigned int perm,
               int default_perm)
{
	int has = inode_list(w, at);
	int rc;

	w->todo = INODE_NOTHING;
	w->todo_default = INODE_NOTHING;
	w->base_default.n = 0;
	if (has < 0)
		return has;
	rc = plan_access(w, at, has, st->st_mode, who, perm);
	if (rc == 0 && default_perm != INODE_NO_DEFAULT)
		rc = plan_default(w, at, has, who, (unsigned int)default_perm);
	return rc != 0 ? rc : w->todo != INODE_NOTHING || w->todo_default != INODE_NOTHING;
}

static int apply(struct inode_work *w, int fd, enum inode_todo todo, enum kind k)
{
	int rc = 0;

	if (todo == INODE_SAVE_AND_SET)
		rc = set(w, k == ACCESS ? &w->base : &w->base_default, fd, kinds[k].saved_name);
	else if (todo == INODE_UNSAVE_AND_SET)
		rc = drop(w, fd, kinds[k].saved_name);
	if (rc == 0 && todo != INODE_NOTHING)
		rc = set(w, k == ACCESS ? &w->want : &w->want_default, fd, kinds[k].name);
	return rc;
}

int inode_apply(struct inode_work *w, int fd, struct stat *st)
{
	int rc = apply(w, fd, w->todo, ACCESS);

	if (rc == 0)
		rc = apply(w, fd, w->todo_default, DEFAULT);
	if (rc == 0 && st != NULL && fstat(fd, st) != 0)
		rc = -errno;
	return rc;
}

int inode_grant(struct inode_work *w, int fd, struct stat *st, const struct acl_who *who, unsigned int perm,
                int default_perm)
{
	int rc = inode_plan(w, by_fd(fd), st, who, perm, default_perm);

	return rc == 1 ? inode_apply(w, fd, st) : rc;
}

/* What is not saved and may be a person's: see enum inode_how. */
static bool not_ours(const struct inode_work *w, const struct acl_who *who, int how)
{
	return w->saved.n == 0 && ((how & INODE_SAVED_ONLY) != 0 ||
	                           ((how & INODE_STRANGER) != 0 && !acl_is_granted_default(&w->cur, who)));
}

static int unsave(struct inode_work *w, int fd, const struct acl *base, enum kind k, const struct acl_who *who, int how)
{
	if (acl_names(base, who) && (how & INODE_SAVED_ONLY) == 0) {
		w->kept = true;
		return 0;
	}
	return drop(w, fd, kinds[k].saved_name);
}

static int restore_access(struct inode_work *w, int fd, int has, mode_t mode, const struct acl_who *who, int how)
{
	int rc = read_pair(w, by_fd(fd), has, ACCESS, mode);

	if (rc != 0 || not_ours(w, who, how))
		return rc;
	rc = acl_base(&w->base, &w->cur, &w->saved, who, &w->scratch);
	if (rc == 0 && !acl_same(&w->base, &w->cur))
		rc = set(w, &w->base, fd, kinds[ACCESS].name);
	if (rc == 0 && (has & INODE_SAVED_ACCESS) != 0)
		rc = unsave(w, fd, &w->base, ACCESS, who, how);
	return rc;
}

static int restore_default(struct inode_work *w, int fd, int has, const struct acl_who *who, int how)
{
	int rc = read_pair(w, by_fd(fd), has, DEFAULT, 0);

	if (rc != 0 || not_ours(w, who, how))
		return rc;
	rc = acl_base_default(&w->base_default, &w->cur, &w->saved, who, &w->scratch);
	if (rc == 0 && !acl_same(&w->base_default, &w->cur))
		rc = w->base_default.n == 0 ? drop(w, fd, kinds[DEFAULT].name) : set(w, &w->base_default, fd, kinds[DEFAULT].name);
	if (rc == 0 && (has & INODE_SAVED_DEFAULT) != 0)
		rc = unsave(w, fd, &w->base_default, DEFAULT, who, how);
	return rc;
}

int inode_restore(struct inode_work *w, int fd, int has, const struct stat *st, const struct acl_who *who, int how)
{
	int rc = 0;

	if ((has & (INODE_ACCESS | INODE_SAVED_ACCESS)) != 0)
		rc = restore_access(w, fd, has, st->st_mode, who, how);
	if (rc == 0 && (has & (INODE_DEFAULT | INODE_SAVED_DEFAULT)) != 0)
		rc = restore_default(w, fd, has, who, how);
	return rc;
}

int inode_pin(struct inode_work *w, int fd, const struct acl_who *who, int how)
{
	int has = inode_list(w, by_fd(fd));
	int rc = has < 0 ? has : 0;

	for (enum kind k = ACCESS; rc == 0 && k <= DEFAULT; k++) {
		rc = read_pair(w, by_fd(fd), has, k, 0);
		if (rc == 0 && w->saved.n == 0 && acl_names(&w->cur, who) && !not_ours(w, who, how))
			rc = set(w, &w->cur, fd, kinds[k].saved_name);
	}
	return rc;
}

int inode_plain_bits(int fd, const struct stat *st)
{
	return S_ISLNK(st->st_mode) || (st->st_mode & 07000) == 0 ? 0 : xattr_chmod(fd, st->st_mode & 0777);
}

int inode_chown(int fd, uid_t uid, gid_t gid)
{
	return fchownat(fd, "", uid, gid, AT_EMPTY_PATH) == 0 ? 0 : -errno;
}

/* Xattrs that an owner without privilege can have set, and ours, which a copy as root may have carried along. */
static int drop_foreign(struct inode_work *w, int fd)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < w->names_len; i += strlen(w->names + i) + 1)
		if (str_starts(w->names + i, "user.") || str_starts(w->names + i, "trusted.stint."))
			rc = drop(w, fd, w->names + i);
	return rc;
}

int inode_settle(struct inode_work *w, int fd, const struct stat *st, const struct acl *access, const struct acl *def)
{
	int has = inode_list(w, by_fd(fd));
	int rc = has < 0 ? has : drop_foreign(w, fd);

	if (rc == 0)
		rc = read_pair(w, by_fd(fd), has, ACCESS, st->st_mode);
	if (rc == 0 && !acl_same(access, &w->cur))
		rc = set(w, access, fd, kinds[ACCESS].name);
	if (rc == 0 && S_ISDIR(st->st_mode) && def->n != 0)
		rc = set(w, def, fd, kinds[DEFAULT].name);
	if (rc == 0 && (has & INODE_DEFAULT) != 0 && def->n == 0)
		rc = drop(w, fd, kinds[DEFAULT].name);
	return rc != 0 ? rc : (has & INODE_UNLISTED) != 0;
}

bool inode_ctime_tells(int dir_fd)
{
	AUTO_FD fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	struct stat last, now;

	if (fd < 0 || fstat(fd, &last) != 0)
		return false;
	/* More than once: a tick may fall between any two. */
	for (int i = 0; i < 4; i++) {
		if (fchmod(fd, 0600) != 0 || fstat(fd, &now) != 0)
			return false;
		if (now.st_ctim.tv_sec == last.st_ctim.tv_sec && now.st_ctim.tv_nsec == last.st_ctim.tv_nsec)
			return false;
		last = now;
	}
	return true;
}

int inode_disable(struct inode_work *w, int fd)
{
	int has = inode_list(w, by_fd(fd));
	int rc = has < 0 ? has : 0;

	for (enum kind k = ACCESS; rc == 0 && k <= DEFAULT; k++)
		if ((has & kinds[k].bit) != 0)
			rc = drop(w, fd, kinds[k].name);
	return rc != 0 ? rc : xattr_chmod(fd, 0);
}

int inode_read(struct inode_work *w, struct xattr_at at, const struct stat *st)
{
	int has = inode_list(w, at);
	int rc = has < 0 ? has : read_pair(w, at, has & ~(INODE_SAVED_ACCESS | INODE_SAVED_DEFAULT), ACCESS, st->st_mode);

	acl_copy(&w->base, &w->cur);
	if (rc == 0)
		rc = read_pair(w, at, has & INODE_DEFAULT, DEFAULT, 0);
	acl_copy(&w->base_default, &w->cur);
	return rc;
}

int inode_read_access(struct inode_work *w, int fd, const struct stat *st)
{
	return read_pair(w, by_fd(fd), INODE_ACCESS, ACCESS, st->st_mode);
}

int inode_read_default(struct inode_work *w, int fd, const struct acl_who *who)
{
	int rc = read_pair(w, by_fd(fd), INODE_DEFAULT | INODE_SAVED_DEFAULT, DEFAULT, 0);

	return rc != 0 ? rc : acl_base_default(&w->base_default, &w->cur, &w->saved, who, &w->scratch);
}

int inode_is_flipped(struct inode_work *w, int fd, const struct acl_who *who)
{
	int rc = read_pair(w, by_fd(fd), INODE_DEFAULT | INODE_SAVED_DEFAULT, DEFAULT, 0);

	return rc == -EOPNOTSUPP ? 0 : rc != 0 ? rc : w->saved.n != 0 || acl_is_granted_default(&w->cur, who);
}

struct created {
	struct timespec before, after; /* the folder's mtime */
};

int inode_mark_created(int fd, const struct stat *before, const struct stat *after)
{
	struct xattr_kernel kernel = {.no_at = true}; /* once a turn: not worth finding out */
	struct created mark = {0};

	if (before == NULL)
		return xattr_set(&kernel, fd, X_CREATED, "1", 1);
	mark.before = before->st_mtim;
	mark.after = after->st_mtim;
	return xattr_set(&kernel, fd, X_CREATED, &mark, sizeof(mark));
}

int inode_remove_created(int dir_fd, const char *name, int fd)
{
	struct xattr_kernel kernel = {.no_at = true};
	struct created mark;
	struct stat st;
	bool known = xattr_get(&kernel, by_fd(fd), X_CREATED, &mark, sizeof(mark)) == (ssize_t)sizeof(mark) &&
	             fstat(dir_fd, &st) == 0 && st.st_mtim.tv_sec == mark.after.tv_sec && st.st_mtim.tv_nsec == mark.after.tv_nsec;

	if (unlinkat(dir_fd, name, 0) != 0)
		return -errno;
	return known ? xattr_mtime(dir_fd, &mark.before) : 0;
}

int inode_unmark_created(int fd)
{
	return xattr_remove(fd, X_CREATED);
}
