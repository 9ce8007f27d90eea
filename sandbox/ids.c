/* Whose files a tree holds, and how a failure on one of them is told. */
#include "sandbox/tree_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/exit.h"

int ids_init(struct tree_ids *ids, uid_t owner, gid_t owner_gid, mode_t umask, struct err *e)
{
	*ids = (struct tree_ids){.owner = owner, .owner_gid = owner_gid};
	ids->who = (struct acl_who){.agents = ids->agents, .owner = owner, .umask = umask & (0777 | ACL_UMASK_GUESSED)};
	ids->work = calloc(1, sizeof(*ids->work));
	return ids->work == NULL ? err_errno(e, ENOMEM, "cannot prepare the project's ACLs") : 0;
}

void ids_add(struct tree_ids *ids, const struct acl_agent *agent)
{
	if (!ids_is_agent(ids, agent->uid) && ids->who.n_agents < USERS_MAX + 1)
		ids->agents[ids->who.n_agents++] = *agent;
}

bool ids_is_agent(const struct tree_ids *ids, uid_t uid)
{
	for (unsigned int i = 0; i < ids->who.n_agents; i++)
		if (ids->agents[i].uid == uid)
			return true;
	return false;
}

int ids_how(const struct tree_ids *ids, const struct stat *st)
{
	return st->st_uid == ids->owner || ids_is_agent(ids, st->st_uid) ? 0 : INODE_STRANGER;
}

void ids_done(struct tree_ids *ids)
{
	if (ids->work != NULL)
		xattr_kernel_done(&ids->work->kernel);
	free(ids->work);
	*ids = (struct tree_ids){0};
}

bool tree_is_dot_git(const char *name)
{
	return strcasecmp(name, ".git") == 0;
}

static bool has(int dir_fd, const char *name, const char *part)
{
	char path[NAME_MAX + sizeof("/commondir")];
	struct stat st;

	return snprintf(path, sizeof(path), "%s/%s", name, part) < (int)sizeof(path) &&
	       fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool tree_is_bare(int dir_fd, const char *name)
{
	return has(dir_fd, name, "HEAD") &&
	       (has(dir_fd, name, "commondir") || (has(dir_fd, name, "objects") && has(dir_fd, name, "refs")));
}

struct xattr_at walk_at(const struct walk_entry *en)
{
	return (struct xattr_at){.fd = -1, .dir_fd = en->dir_fd, .name = en->name};
}

static const char *remedy(int rc)
{
	switch (rc) {
	case -EPERM:
		return ": it may be immutable (lsattr shows it; chattr -i)";
	case -EOPNOTSUPP:
		return ": this file system keeps no ACLs: move the project to one that does (ext4, xfs, btrfs), or mount it with acl";
	case -ENOSPC:
	case -EDQUOT:
		return ": free some space";
	case -EROFS:
		return ": mount it writable";
	case -EXDEV:
		return ": it is a mount point: unmount it, or put it in a zone that is none for every role";
	default:
		return "";
	}
}

int tree_entry_fail(const char *what, const struct buf *dir, const char *name, int rc, struct err *e)
{
	char shown[ERR_MSG_MAX / 2];

	walk_name(shown, sizeof(shown), dir, name);
	(void)err_set(e, -rc, "%s %s: %s%s", what, shown[0] == '\0' ? "the project's folder" : shown, strerror(-rc), remedy(rc));
	return err_stop(e, STOP_CONFINE, rc);
}
