/* A compiled profile as the guard reads it: a sealed memfd in the form of sandbox/filter_file.h. */
#ifndef STINT_ORCHESTRATOR_PROFILE_MEMFD_H
#define STINT_ORCHESTRATOR_PROFILE_MEMFD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sandbox/profile.h"

/* Loads and compiles the profile of that name or file (profile_file.h). Returns a descriptor or a negative errno. */
int profile_memfd(const char *word, bool net, struct err *e) MUST_CHECK;

/* The same from what is compiled already. content: profile_content()'s. key: of the listener, see filter_install_listened() in
 * sandbox/seccomp.h; NULL: nobody listens. */
int profile_memfd_of(const struct profile *p, const struct profile_program *made, uint64_t content, const uint64_t key[2],
                     struct err *e) MUST_CHECK;

#endif
