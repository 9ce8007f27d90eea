/* What a turn takes from the project as mounts: the tree itself, the role's HOME and scratch folders. */
#ifndef STINT_SANDBOX_TURN_DIRS_H
#define STINT_SANDBOX_TURN_DIRS_H

#include "base/err.h"
#include "protocol/policy.h"
#include "sandbox/spawn.h"

struct turn_dirs {                      /* detached mounts, owned; -1: none */
	int project;
	int home;
	int scratch[POLICY_MAX_LIST];
};

/* Clones the project, and makes .stint/home/ROLE and .stint/scratch/ROLE/N beneath the root when missing, hands
 * their content to the command's uid, empties them for ROLE_FRESH_HOME, and clones them. A probe gets the
 * project only. Runs in the caller's mount namespace, which root_fd belongs to. */
int turn_dirs_prepare(struct turn_dirs *ret, const struct spawn_spec *s, struct err *e) MUST_CHECK;
void turn_dirs_done(struct turn_dirs *d);

#endif
