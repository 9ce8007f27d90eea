/* From configuration and tree to the compiled policy: expands "*", checks zones against the file system as the
 * owner sees it, fills in environment values. */
#ifndef STINT_ORCHESTRATOR_COMPILE_H
#define STINT_ORCHESTRATOR_COMPILE_H

#include "base/str.h"
#include "orchestrator/config.h"

enum compile_for {
	COMPILE_LOOP = -1,              /* developer, tester, reviewer and runner */
	COMPILE_NOBODY = -2,            /* the table alone (stint matrix) */
};

struct compile_options {
	unsigned int layers;            /* enum layer bits */
	int role;                       /* whose command and environment must be there: a role number (stint turn), or one
	                                 * of enum compile_for. The others get what there is */
	char *const *command;           /* replaces that role's argv, or NULL; then its environment is not required */
};

/* Returns a sealed memfd with the policy, or a negative errno with STOP_USAGE. notes: one line, escaped, for each thing that
 * was left out: what "*" caught and that became none (a link, a mount point, a stranger's, .env*), a named file that is
 * not there, a row for .git or .stint. Refuses, with the remedy: a `.git` below a zone that is not none for all; a zone
 * that is a symlink, a mount point, missing (a folder), or of the other kind; a missing command or environment name.
 * An unknown agent user is the warden's to refuse. */
int policy_compile(const struct config *c, int root_fd, const struct compile_options *o, struct buf *notes,
                   struct err *e) MUST_CHECK;

#endif
