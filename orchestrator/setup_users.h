/* The record of agent accounts: /var/lib/stint/users, root's own, one line "NAME UID GID WRITERS" for each account that
 * `stint setup` made; the last is missing in those of older versions. The warden takes no account that is not in it.
 * Source: design of the state directory in docs/architecture.md, "Files". */
#ifndef STINT_ORCHESTRATOR_SETUP_USERS_H
#define STINT_ORCHESTRATOR_SETUP_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

#define SETUP_STATE_DIR "/var/lib/stint"
#define SETUP_HOME SETUP_STATE_DIR "/home"
#define SETUP_USERS_FILE "users"
#define SETUP_NAME_MAX 32     /* bytes with NUL; useradd's own limit */
#define SETUP_USERS_MAX 64u   /* accounts on one machine */

struct setup_user {
	char name[SETUP_NAME_MAX];
	uid_t uid;
	gid_t gid;
	gid_t writers; /* the group that a turn has beside gid where its role may write; 0: none was made */
};

struct setup_users {
	struct setup_user v[SETUP_USERS_MAX];
	size_t n;
};

/* [a-z][a-z0-9_-]*, at most 31 bytes: what every useradd takes and what needs no quoting anywhere. */
bool setup_name_ok(const char *name);

/* Reads the record beneath the state directory; a missing file is an empty record. -EPERM when it is not a plain file
 * of root's that only root can write, -EINVAL with the line when one does not read. */
int setup_users_read(int state_fd, struct setup_users *ret, struct err *e) MUST_CHECK;

/* Replaces the record in one step. The caller holds the lock on the state directory. */
int setup_users_write(int state_fd, const struct setup_users *u, struct err *e) MUST_CHECK;

/* The row of this name, or NULL. */
struct setup_user *setup_users_find(struct setup_users *u, const char *name);

/* Adds the row, or sets the ids of the one with this name. -E2BIG when the record is full. */
int setup_users_set(struct setup_users *u, const struct setup_user *row, struct err *e) MUST_CHECK;

void setup_users_drop(struct setup_users *u, const char *name);

#endif
