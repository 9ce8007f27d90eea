/* Covers: every entry that a role must not know is hidden by a root-owned node without any permission. */
#ifndef STINT_SANDBOX_COVER_H
#define STINT_SANDBOX_COVER_H

#include "base/err.h"
#include "protocol/policy.h"

#define COVER_DIR "/run/stint/sealed/dir"    /* in the view: what is mounted over a folder … */
#define COVER_FILE "/run/stint/sealed/file"  /* … and over everything else */

/* Makes the two nodes (root, mode 0000) in the new root. */
int cover_nodes(struct err *e) MUST_CHECK;

/* Covers the none entries of the role, and every unlisted entry of the root and of traverse-only folders.
 * project_fd: the project's mount in the view. Works by descriptor: no path of agent-controlled names is ever
 * resolved. Links cannot be covered (their targets are judged by themselves); entries that vanish are fine. */
int cover_project(int project_fd, const struct policy *p, unsigned int role, struct err *e) MUST_CHECK;

/* For a command that runs as root without capabilities: covers what only root may read in the system folders
 * (password hashes, host keys, …). */
int cover_root_secrets(struct err *e) MUST_CHECK;

#endif
