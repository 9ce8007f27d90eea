/* The words and the environment that stint-guard is started with, from the policy. */
#ifndef STINT_SANDBOX_COMMAND_H
#define STINT_SANDBOX_COMMAND_H

#include "base/err.h"
#include "base/str.h"
#include "sandbox/spawn.h"

/* Descriptors of the agent side beside 0, 1 and 2. */
enum command_fd {
	COMMAND_FD_ERROR = 3, COMMAND_FD_PROMPT = 4, COMMAND_FD_PROBE = 5, COMMAND_FD_GUARD = 6,
	COMMAND_FDS
};

struct words {          /* NULL-terminated, all owned */
	char **v;
	size_t n;
	size_t cap;
};

struct command {
	struct words argv;
	struct words env;
};

/* has_prompt: SANDBOX_PROMPT exists in the view. Zones that are absent and need not exist are left out. */
int command_build(struct command *ret, const struct spawn_spec *s, bool has_prompt, struct err *e) MUST_CHECK;
void command_done(struct command *c);

#endif
