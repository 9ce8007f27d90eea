/* Which projects are not yet as they were: one file each in the state folder's journal/ (0700), so that `stint restore` needs
 * no stint.yaml. Beside it lie the snapshots of the writable zones.
 *
 * A file is a run of "key=value" strings, each with its NUL, and replaced as a whole.
 * Source: docs/threat-model.md, rule 6. */
#ifndef STINT_SANDBOX_JOURNAL_H
#define STINT_SANDBOX_JOURNAL_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/acl.h"
#include "sandbox/snapshot.h"

#define JOURNAL_BYTES_MAX 16384u

struct journal {
	dev_t dev;           /* the root's; with ino the project's identity */
	ino_t ino;
	uid_t owner;
	gid_t owner_gid;
	struct acl_agent agent;
	mode_t umask;
	bool flipping;       /* false while a run only looks and pins: every entry of the agent is a person's then */
	char path[PATH_MAX]; /* for people, and after a reboot that gave the device another number */
};

/* The journal folder beneath the state folder, made when it is not there. A descriptor, or a negative errno. */
int journal_dir(int state_fd, struct err *e) MUST_CHECK;

int journal_write(int dir_fd, const struct journal *j, struct err *e) MUST_CHECK;

/* The entry of the project with this identity, or else of this inode number at this path. 0, 1 when there is none, or an error. */
int journal_find(int dir_fd, dev_t dev, ino_t ino, const char *path, struct journal *ret, struct err *e) MUST_CHECK;

/* Removes the entry and its snapshot, and what a kill left of writing them. Needs only dev and ino, and no entry. */
int journal_remove(int dir_fd, const struct journal *j, struct err *e) MUST_CHECK;

void journal_snapshot_name(const struct journal *j, char ret[SNAP_NAME_MAX]);
/* The snapshot of the role's turn before: beside the other, and removed with it. */
void journal_last_name(const struct journal *j, unsigned int role, char ret[SNAP_NAME_MAX]);

#endif
