/* The view: the file system that one command sees, in the order of docs/architecture.md, "One turn". */
#ifndef STINT_SANDBOX_VIEW_H
#define STINT_SANDBOX_VIEW_H

#include "base/err.h"
#include "sandbox/spawn.h"
#include "sandbox/turn_dirs.h"

#define VIEW_PROMPT_MAX (1u << 20)
#define VIEW_LOG_MAX (16u << 20)

/* Builds it and moves the calling process into it, cwd = the project. Caller: root, pid 1 of a new pid and mount
 * namespace, single-threaded. After a failure the process is in no known place and must exit. */
int view_enter(const struct spawn_spec *s, const struct turn_dirs *d, struct err *e) MUST_CHECK;

#endif
