/* Walks a directory tree that somebody hostile may have built: iterative, at most WALK_FDS directories open, by descriptors
 * alone, never following a link, never opening anything but directories, never leaving the mount it began on.
 *
 * Order: a folder's entries are all visited before any subfolder is entered. On the way back up a folder that was
 * closed meanwhile is reopened as `..` of the one below and checked by device and inode.
 * Source: docs/threat-model.md, rule 2. */
#ifndef STINT_SANDBOX_WALK_H
#define STINT_SANDBOX_WALK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/str.h"

#define WALK_FDS 8
#define WALK_DEPTH_MAX 1000000u

enum walk_next { WALK_SKIP = 0, WALK_DESCEND = 1 };

/* What a caller wants to know about a folder while its entries are visited. */
struct walk_cookie {
	uint64_t ino;
	uint32_t bits;
	int zone;
};

struct walk_entry {
	int dir_fd;            /* the folder, borrowed */
	const char *name;      /* raw bytes, no slash */
	struct stat st;        /* of the entry itself, not of a link's target: device, inode, mode, links, owner, size, ctime */
	bool mount;            /* a mount point, of this or another device: st is of what is mounted */
	int fd;                /* O_PATH of it after walk_open(), else -1; closed by the walk */
	const struct buf *dir; /* the folder's path, raw; empty for "." */
	struct walk_cookie cookie; /* of the folder */
	struct walk_cookie child;  /* out: for the entry when it is descended into; preset to cookie */
};

struct walk_dir {
	int fd;                /* open for reading, borrowed */
	ino_t ino;
	const struct buf *path;
	struct walk_cookie cookie;
};

struct walk_ops {
	/* An entry: enum walk_next, or a negative errno, which ends the walk. */
	int (*visit)(void *ctx, struct walk_entry *en, struct err *e);
	/* A folder, before and after its own entries are visited. May be NULL. */
	int (*enter)(void *ctx, const struct walk_dir *d, struct err *e);
	int (*listed)(void *ctx, const struct walk_dir *d, struct err *e);
	/* A folder that cannot be entered, and why: 0 to go on with the others. NULL: the walk ends. */
	int (*shut)(void *ctx, int rc, const struct err *why);
	/* A folder below top_fd and everything in it is done: dir_fd is its parent. May be NULL. */
	int (*leave)(void *ctx, int dir_fd, const char *name, struct err *e);
};

/* Walks everything below top_fd (any descriptor of a directory, borrowed; not visited itself). path: its path for
 * names in records and messages. */
int walk_tree(int top_fd, const char *path, struct walk_cookie cookie, const struct walk_ops *ops, void *ctx,
              struct err *e) MUST_CHECK;

/* Opens the entry as O_PATH into en->fd and proves that it is still the inode of en->st. 0, -ENOENT when it is gone or another one
 * by now, or a negative errno. */
int walk_open(struct walk_entry *en) MUST_CHECK;

/* Appends the entry's path, raw bytes. */
int walk_path(struct buf *to, const struct buf *dir, const char *name) MUST_CHECK;

/* The same, safe to print and cut to fit a message. */
void walk_name(char *ret, size_t size, const struct buf *dir, const char *name);

#endif
