/* Whose the new project will be. */
#ifndef STINT_ORCHESTRATOR_INIT_OWNER_H
#define STINT_ORCHESTRATOR_INIT_OWNER_H

#include "base/err.h"

/* Under root, becomes the user whose project this is going to be, for good: the owner of dir when it exists, otherwise
 * SUDO_UID's user, otherwise root stays. -EPERM when SUDO_UID and the owner differ. Nothing happens for other callers. */
int init_become_owner(const char *dir, struct err *e) MUST_CHECK;

#endif
