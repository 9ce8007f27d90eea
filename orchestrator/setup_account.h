/* The accounts that agents run as: made and removed by the system's own tools, and judged. Nothing here touches the
 * record (setup_users.h) or the state directory.
 *
 * An account is fit when a stranger's process under it could reach nothing but what stint grants: not root, ids that no
 * other account shares, no supplementary groups, nobody can log in to it, and the passwd home is the empty folder that
 * each role's HOME is bound over. `stint setup` makes exactly that, so a fit account may be taken over. */
#ifndef STINT_ORCHESTRATOR_SETUP_ACCOUNT_H
#define STINT_ORCHESTRATOR_SETUP_ACCOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "orchestrator/setup_users.h"

/* 0 and the ids when the account exists and is fit; writers 0: it has no such group yet. -ENOENT: no such account. -EPERM: not
 * fit, e says why, without a remedy. The password field is looked at only as root. */
int account_check(const char *name, struct setup_user *ret, struct err *e) MUST_CHECK;

/* Runs useradd; the account is then there but not yet checked. */
int account_create(const char *name, struct err *e) MUST_CHECK;

/* Runs groupadd for the account's writers: a group of nobody's, called after the uid. */
int account_create_writers(uid_t uid, struct err *e) MUST_CHECK;

/* Runs userdel, and groupdel for what it left of the account's groups. What is gone already is fine. */
int account_delete(const char *name, uid_t uid, struct err *e) MUST_CHECK;

/* A process whose real, effective, saved or file system uid is this one: its pid, 0 for none, or a negative errno. */
pid_t account_process(uid_t uid, struct err *e) MUST_CHECK;

#endif
