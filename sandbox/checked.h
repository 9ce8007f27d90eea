/* Which profiles were tried here with `stint profile check`: one small file for each profile and kernel below the caller's state
 * folder, a line in it for each C library. Written by the coordinator, looked up by the guard, which links libc only.
 *
 * The guard may be static and then knows nothing of the libc that its commands will load: so a line names the library's file, with
 * its size and time, and holds while that file is as it was. */
#ifndef STINT_SANDBOX_CHECKED_H
#define STINT_SANDBOX_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum checked { CHECKED_NEVER, CHECKED_FAILED, CHECKED_PASSED };

/* $XDG_STATE_HOME/stint/checked, or below ~/.local/state. -ENOENT when neither is set, -ENAMETOOLONG. */
int checked_folder(char *ret, size_t size) MUST_CHECK;

/* What is kept of the profile with this content (profile_hash()) for the running kernel and a libc that is still there. */
enum checked checked_look(const char *name, uint64_t content);

/* Keeps it, atomically; libc: version and file of the library. ret_path: where. */
int checked_keep(const char *name, uint64_t content, bool passed, const char *libc, const char *libc_file, char *ret_path,
                 size_t size, struct err *e) MUST_CHECK;

#endif
