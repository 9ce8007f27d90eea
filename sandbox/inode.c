/* One inode through its O_PATH descriptor: see inode.h. */
#include "sandbox/inode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/str.h"

#define X_ACCESS "system.posix_acl_access"
#define X_DEFAULT "system.posix_acl_default"
#define X_SAVED_ACCESS "trusted.stint.access"
#define X_SAVED_DEFAULT "trusted.stint.default"
#define X_CREATED "trusted.stint.created"

static void proc_of(char ret[INODE_PROC_MAX], int fd)
{
	(void)snprintf(ret, INODE_PROC_MAX, "/proc/self/fd/%d", fd);
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
	static const struct {
		const char *name;
		int bit;
	} known[] = {
		{X_ACCESS, INODE_ACCESS},
		{X_DEFAULT, INODE_DEFAULT},
		{X_SAVED_ACCESS, INODE_SAVED_ACCESS},
		{X_SAVED_DEFAULT, INODE_SAVED_DEFAULT},
		{X_CREATED, INODE_CREATED},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (str_eq(name, known[i].name))
			return known[i].bit;
	return str_starts(name, "user.") ? INODE_USER : 0;
}

/* n: what the list call returned into names. */
static int names_bits(struct inode_work *w, ssize_t n)
{
	int has = 0;

	w->names_len = 0;
	w->user_hash = 0;
	if (n < 0)
		return errno == EOPNOTSUPP ? 0 : -errno;
	w->names_len = (size_t)n;
	for (size_t at = 0; at < w->names_len; at += strlen(w->names + at) + 1) {
		int bit = name_bit(w->names + at);

		if (bit == INODE_USER)
			w->user_hash = hash_name(w->user_hash == 0 ? 2166136261u : w->user_hash, w->names + at);
		has |= bit;
	}
	return has;
}

static int list(struct inode_work *w, const char *proc)
{
	return names_bits(w, listxattr(proc, w->names, sizeof(w->names)));
}

int inode_list(struct inode_work *w, int fd)
{
	char proc[INODE_PROC_MAX];

	proc_of(proc, fd);
	return list(w, proc);
}

int inode_peek(struct inode_work *w, int dir_fd, const char *name)
{
	char proc[INODE_PROC_MAX];

	if (snprintf(proc, sizeof(proc), "/proc/self/fd/%d/%s", dir_fd, name) >= (int)sizeof(proc))
		return -ENAMETOOLONG;
	return names_bits(w, llistxattr(proc, w->names, sizeof(w->names)));
}

/* Reads one ACL; none when the xattr is not there (any more). */
static int get(struct inode_work *w, struct acl *ret, const char *proc, const char *name)
{
	ssize_t n = getxattr(proc, name, w->raw, sizeof(w->raw));

	ret->n = 0;
	if (n < 0)
		return errno == ENODATA ? 0 : -errno;
	return acl_decode(ret, w->raw, (size_t)n);
}

static int set(struct inode_work *w, const struct acl *a, const char *proc, const char *name)
{
	size_t n = acl_encode(a, w->raw);

	w->writes++;
	return setxattr(proc, name, w->raw, n, 0) == 0 ? 0 : -errno;
}

static int drop(struct inode_work *w, const char *proc, const char *name)
{
	w->writes++;
	return removexattr(proc, name) == 0 || errno == ENODATA ? 0 : -errno;
}

/* The current and the saved ACL of one kind into cur and saved. An access ACL that is not there is the mode. */
static int read_pair(struct inode_work *w, const char *proc, int has, bool is_default, mode_t mode)
{
	int rc = 0;

	w->cur.n = 0;
	w->saved.n = 0;
	if ((has & (is_default ? INODE_DEFAULT : INODE_ACCESS)) != 0)
		rc = get(w, &w->cur, proc, is_default ? X_DEFAULT : X_ACCESS);
	if (rc == 0 && (has & (is_default ? INODE_SAVED_DEFAULT : INODE_SAVED_ACCESS)) != 0)
		rc = get(w, &w->saved, proc, is_default ? X_SAVED_DEFAULT : X_SAVED_ACCESS);
	if (rc == 0 && !is_default && w->cur.n == 0)
		acl_of_mode(&w->cur, mode);
	return rc;
}

/* Rule 6: base is what must come back. An access ACL that is a mode alone needs no saving, a default ACL of that form does;
 * what is saved and no longer true goes first, so that a kill in between never brings it back. */
static int save(struct inode_work *w, const struct acl *base, bool is_default, const char *proc, const char *name)
{
	if (base->n == 0 || (!is_default && acl_is_mode(base)))
		return w->saved.n == 0 ? 0 : drop(w, proc, name);
	return w->saved.n != 0 && acl_same(base, &w->saved) ? 0 : set(w, base, proc, name);
}

static int grant_access(struct inode_work *w, const char *proc, int has, mode_t mode, const struct acl_who *who,
                        unsigned int perm)
{
	int rc = read_pair(w, proc, has, false, mode);

	if (rc == 0)
		rc = acl_base(&w->base, &w->cur, &w->saved, who, &w->scratch);
	if (rc == 0)
		rc = acl_grant(&w->want, &w->base, who->agents[0], perm);
	if (rc != 0 || acl_same(&w->want, &w->cur))
		return rc;
	rc = save(w, &w->base, false, proc, X_SAVED_ACCESS);
	return rc != 0 ? rc : set(w, &w->want, proc, X_ACCESS);
}

static int grant_default(struct inode_work *w, const char *proc, int has, const struct acl_who *who, unsigned int perm)
{
	int rc = read_pair(w, proc, has, true, 0);

	if (rc == 0)
		rc = acl_base_default(&w->base_default, &w->cur, &w->saved, who, &w->scratch);
	if (rc == 0)
		rc = acl_grant_default(&w->want, &w->base_default, who, who->agents[0], perm);
	if (rc != 0 || acl_same(&w->want, &w->cur))
		return rc;
	rc = save(w, &w->base_default, true, proc, X_SAVED_DEFAULT);
	return rc != 0 ? rc : set(w, &w->want, proc, X_DEFAULT);
}

int inode_grant(struct inode_work *w, int fd, struct stat *st, const struct acl_who *who, unsigned int perm,
                int default_perm)
{
	char proc[INODE_PROC_MAX];
	unsigned int before = w->writes;
	int has;
	int rc;

	proc_of(proc, fd);
	has = list(w, proc);
	if (has < 0)
		return has;
	w->base_default.n = 0;
	rc = grant_access(w, proc, has, st->st_mode, who, perm);
	if (rc == 0 && default_perm != INODE_NO_DEFAULT)
		rc = grant_default(w, proc, has, who, (unsigned int)default_perm);
	if (rc == 0 && w->writes != before && fstat(fd, st) != 0)
		rc = -errno;
	return rc;
}

static int restore_access(struct inode_work *w, const char *proc, int has, mode_t mode, const struct acl_who *who)
{
	int rc = read_pair(w, proc, has, false, mode);

	if (rc == 0)
		rc = acl_base(&w->base, &w->cur, &w->saved, who, &w->scratch);
	if (rc == 0 && !acl_same(&w->base, &w->cur))
		rc = set(w, &w->base, proc, X_ACCESS);
	if (rc == 0 && (has & INODE_SAVED_ACCESS) != 0)
		rc = drop(w, proc, X_SAVED_ACCESS);
	return rc;
}

static int restore_default(struct inode_work *w, const char *proc, int has, const struct acl_who *who)
{
	int rc = read_pair(w, proc, has, true, 0);

	if (rc == 0)
		rc = acl_base_default(&w->base_default, &w->cur, &w->saved, who, &w->scratch);
	if (rc == 0 && !acl_same(&w->base_default, &w->cur))
		rc = w->base_default.n == 0 ? drop(w, proc, X_DEFAULT) : set(w, &w->base_default, proc, X_DEFAULT);
	if (rc == 0 && (has & INODE_SAVED_DEFAULT) != 0)
		rc = drop(w, proc, X_SAVED_DEFAULT);
	return rc;
}

int inode_restore(struct inode_work *w, int fd, const struct stat *st, const struct acl_who *who)
{
	char proc[INODE_PROC_MAX];
	int has;
	int rc = 0;

	proc_of(proc, fd);
	has = list(w, proc);
	if (has < 0)
		return has;
	if ((has & (INODE_ACCESS | INODE_SAVED_ACCESS)) != 0)
		rc = restore_access(w, proc, has, st->st_mode, who);
	if (rc == 0 && (has & (INODE_DEFAULT | INODE_SAVED_DEFAULT)) != 0)
		rc = restore_default(w, proc, has, who);
	return rc;
}

int inode_pin(struct inode_work *w, int fd, const struct acl_who *who)
{
	char proc[INODE_PROC_MAX];
	int has;
	int rc;

	proc_of(proc, fd);
	has = list(w, proc);
	if (has < 0)
		return has;
	rc = read_pair(w, proc, has, false, 0);
	if (rc == 0 && w->saved.n == 0 && acl_names(&w->cur, who))
		rc = set(w, &w->cur, proc, X_SAVED_ACCESS);
	if (rc == 0)
		rc = read_pair(w, proc, has, true, 0);
	if (rc == 0 && w->saved.n == 0 && acl_names(&w->cur, who))
		rc = set(w, &w->cur, proc, X_SAVED_DEFAULT);
	return rc;
}

int inode_chown(int fd, const struct stat *st, uid_t uid, gid_t gid)
{
	char proc[INODE_PROC_MAX];

	proc_of(proc, fd);
	if (!S_ISLNK(st->st_mode) && (st->st_mode & 07000) != 0 && chmod(proc, st->st_mode & 0777) != 0)
		return -errno;
	return fchownat(fd, "", uid, gid, AT_EMPTY_PATH) == 0 ? 0 : -errno;
}

/* Xattrs that an owner without privilege can have set, and ours, which a copy as root may have carried along. */
static int drop_foreign(struct inode_work *w, const char *proc)
{
	for (size_t at = 0; at < w->names_len; at += strlen(w->names + at) + 1) {
		const char *name = w->names + at;
		int rc;

		if (!str_starts(name, "user.") && !str_starts(name, "trusted.stint."))
			continue;
		rc = drop(w, proc, name);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int inode_settle(struct inode_work *w, int fd, const struct stat *st, const struct acl *access, const struct acl *def)
{
	char proc[INODE_PROC_MAX];
	int has;
	int rc;

	proc_of(proc, fd);
	has = list(w, proc);
	rc = has < 0 ? has : drop_foreign(w, proc);
	if (rc == 0)
		rc = read_pair(w, proc, has, false, st->st_mode);
	if (rc == 0 && !acl_same(access, &w->cur))
		rc = set(w, access, proc, X_ACCESS);
	if (rc == 0 && S_ISDIR(st->st_mode) && def->n != 0)
		rc = set(w, def, proc, X_DEFAULT);
	if (rc == 0 && (has & INODE_DEFAULT) != 0 && def->n == 0)
		rc = drop(w, proc, X_DEFAULT);
	return rc;
}

int inode_disable(struct inode_work *w, int fd)
{
	char proc[INODE_PROC_MAX];
	int has;
	int rc = 0;

	proc_of(proc, fd);
	has = list(w, proc);
	if (has < 0)
		return has;
	if ((has & INODE_ACCESS) != 0)
		rc = drop(w, proc, X_ACCESS);
	if (rc == 0 && (has & INODE_DEFAULT) != 0)
		rc = drop(w, proc, X_DEFAULT);
	if (rc == 0 && chmod(proc, 0) != 0)
		rc = -errno;
	return rc;
}

int inode_chmod(int fd, mode_t mode)
{
	char proc[INODE_PROC_MAX];

	proc_of(proc, fd);
	return chmod(proc, mode) == 0 ? 0 : -errno;
}

int inode_read_access(struct inode_work *w, int fd, const struct stat *st)
{
	char proc[INODE_PROC_MAX];

	proc_of(proc, fd);
	return read_pair(w, proc, INODE_ACCESS, false, st->st_mode);
}

int inode_read_default(struct inode_work *w, int fd, const struct acl_who *who)
{
	char proc[INODE_PROC_MAX];
	int rc;

	proc_of(proc, fd);
	rc = read_pair(w, proc, INODE_DEFAULT | INODE_SAVED_DEFAULT, true, 0);
	return rc != 0 ? rc : acl_base_default(&w->base_default, &w->cur, &w->saved, who, &w->scratch);
}

int inode_mark_created(int fd)
{
	return fsetxattr(fd, X_CREATED, "1", 1, 0) == 0 ? 0 : -errno;
}

int inode_unmark_created(int fd)
{
	char proc[INODE_PROC_MAX];

	proc_of(proc, fd);
	return removexattr(proc, X_CREATED) == 0 || errno == ENODATA ? 0 : -errno;
}
