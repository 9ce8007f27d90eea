/* What a path in the access table may be. Plain text rules; nothing of the file system is looked at. */
#ifndef STINT_ROLES_PATH_H
#define STINT_ROLES_PATH_H

#include <stdbool.h>

/* Every component is a name: none is empty, "." or "..". So no leading, trailing or double slash either. */
bool path_plain(const char *path);

/* True for a path that no role may have: .stint at the root and what is below it, and .git as any component. */
bool path_private(const char *path);

/* True when path is dir or below it. */
bool path_within(const char *path, const char *dir);

/* True when both are the same path, or one is inside the other. */
bool path_overlap(const char *a, const char *b);

#endif
