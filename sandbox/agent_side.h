/* The agent side: the last steps before stint-guard, in the process that becomes it. */
#ifndef STINT_SANDBOX_AGENT_SIDE_H
#define STINT_SANDBOX_AGENT_SIDE_H

#include "sandbox/command.h"
#include "sandbox/identity.h"
#include "sandbox/spawn.h"

/* Descriptors, session, signals, limits, identity, execveat; the view is up. Why it failed goes to error_fd:
 * exit 125 then. */
_Noreturn void agent_side(const struct spawn_spec *s, const struct command *c, const struct identity_limits *limits,
                          bool has_prompt, int error_fd);

#endif
