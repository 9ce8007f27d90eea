/* Identity: what the command is when the guard starts, proved not to come back. */
#ifndef STINT_SANDBOX_IDENTITY_H
#define STINT_SANDBOX_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Judges paths as uid:gid for a while: file-system identity changed and no capability in the effective set. Caller:
 * root, without supplementary groups. leave() puts both back. 0 or a negative errno: then exit.
 * The kernel forgets PR_SET_PDEATHSIG at each change. */
int identity_fs_enter(uid_t uid, gid_t gid, struct err *e) MUST_CHECK;
int identity_fs_leave(struct err *e) MUST_CHECK;

/* All capabilities out of every set including the bounding one, for good; the ids stay. Proved afterwards. */
int identity_drop_caps(struct err *e) MUST_CHECK;

/* No groups but beside (0: none), then gid and uid (real, effective, saved), then identity_drop_caps(), no_new_privs. Proved: an
 * id or a capability cannot be got back. uid may be 0: securebits keep root from regaining capabilities by execve. */
int identity_drop(uid_t uid, gid_t gid, gid_t beside, struct err *e) MUST_CHECK;

struct identity_limits {
	uint64_t data;        /* bytes, 0: none */
	uint64_t file;        /* bytes, 0: none */
	uint64_t processes;   /* of the uid, 0: none */
	uint64_t open_files;  /* 0: none */
};
/* Soft and hard limits, never above the present hard ones; no core files. */
int identity_limit(const struct identity_limits *l, struct err *e) MUST_CHECK;

#endif
