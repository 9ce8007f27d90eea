/* The probe: tries list, read, write, create and delete on given targets from inside a domain, without leaving a
 * trace, and reports errno for each. It runs inside stint-guard after every layer is in force.
 *
 * Tricks (measured on ext4 and tmpfs): write = truncate(f, LLONG_MAX) with RLIMIT_FSIZE 0 and SIGXFSZ ignored
 * (EFBIG: allowed); delete = rmdir(file) (ENOTDIR: allowed) or unlink(dir) (EISDIR: allowed); create = rename(f, f), which only
 * Landlock judges, and faccessat(dir, W_OK|X_OK), which only the ACL judges: allowed when both are.
 * Source: docs/threat-model.md, "Proof before trust". */
#ifndef STINT_SANDBOX_PROBE_H
#define STINT_SANDBOX_PROBE_H

#include <stdint.h>

#include "base/err.h"

#define PROBE_PATH_MAX 512
#define PROBE_MAX_TARGETS 4096

/* The order and names of ops are enum prove_op of protocol/frames.h. */
struct probe_target {
	uint8_t op;
	uint8_t is_dir;                  /* the zone is a folder */
	uint8_t pad[6];
	char dir[PROBE_PATH_MAX];        /* relative to the project root (the probe's cwd): the zone, or a file's parent */
	char sample[PROBE_PATH_MAX];     /* an existing entry of the zone for read, write, create, delete;
	                                  * relative to the root, too */
	uint8_t sample_is_dir;
	uint8_t pad2[7];
};

struct probe_result {
	uint32_t index;
	int32_t err;                     /* errno seen, 0 for success */
	uint8_t allowed;
	uint8_t pad[7];
};

/* Runs every target of the sealed memfd in order and writes one result each to out_fd. cwd is the root. */
int probe_run(int targets_fd, int out_fd, struct err *e) MUST_CHECK;

#endif
