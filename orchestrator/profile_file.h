/* A syscall profile in a file, or a built-in one by name: read, checked, flattened. Errors are `FILE:LINE:COL: …` with the
 * nearest known word and STOP_USAGE. Source: man/stint-profile.5. */
#ifndef STINT_ORCHESTRATOR_PROFILE_FILE_H
#define STINT_ORCHESTRATOR_PROFILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sandbox/profile.h"

#define PROFILE_FILE_MAX (1u << 20)

/* True when the word means a file (a slash or a dot in it), not a built-in profile. */
bool profile_is_file(const char *word);

/* The profile of that name or file. net: built-in ones, and what a file extends, have their inet sockets; a file that names
 * @socket-inet itself has them anyway. Release with profile_done(). */
int profile_load(struct profile *ret, const char *word, bool net, struct err *e) MUST_CHECK;
/* profile_hash() of the profile that a word means, with its inet sockets: what results of checks are kept under. */
int profile_content(const char *word, uint64_t *ret, struct err *e) MUST_CHECK;
/* A file's profile from bytes (tests, fuzzing). */
int profile_parse(struct profile *ret, const char *file, const char *bytes, size_t n, bool net, struct err *e) MUST_CHECK;

/* Number of an errno's name, 0 for none. */
int profile_errno(const char *name);

#endif
