/* A compiled profile as the guard reads it: a sealed memfd in the form of sandbox/filter_file.h. */
#ifndef STINT_ORCHESTRATOR_PROFILE_MEMFD_H
#define STINT_ORCHESTRATOR_PROFILE_MEMFD_H

#include <stdbool.h>

#include "base/err.h"

/* Loads and compiles the profile of that name or file (profile_file.h). Returns a descriptor or a negative errno. */
int profile_memfd(const char *word, bool net, struct err *e) MUST_CHECK;

#endif
