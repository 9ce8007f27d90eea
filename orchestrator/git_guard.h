/* Where a repository's history could be read around the table: .git in a zone, and a .git at the root that is
 * not the whole repository. */
#ifndef STINT_ORCHESTRATOR_GIT_GUARD_H
#define STINT_ORCHESTRATOR_GIT_GUARD_H

#include "base/err.h"
#include "base/str.h"

/* Looks for an entry named .git, of any type but a folder of mode 0, below the folder dir_fd (borrowed), on its mount, without
 * following links. 1 and its path relative to the folder, escaped, in where; 0 when there is none; or a negative errno.
 * Memory grows with the widest path, not with the tree; at most two descriptors are open.
 * Folders that only others may read are passed over: the warden does not open those either. */
int git_find_below(int dir_fd, struct buf *where, struct err *e) MUST_CHECK;

/* The root's .git is absent, or a folder that holds its own objects. */
int git_check_root(int root_fd, struct err *e) MUST_CHECK;

#endif
