/* Init: pid 1 of a command's namespaces. Builds the view, starts the agent side, reaps, reports, and ends with it: the
 * kernel kills what is left in the pid namespace. */
#ifndef STINT_SANDBOX_INIT_H
#define STINT_SANDBOX_INIT_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/frames.h"
#include "sandbox/command.h"
#include "sandbox/identity.h"
#include "sandbox/spawn.h"
#include "sandbox/turn_dirs.h"

struct spawn_status {       /* what init writes to status_fd, once; smaller than PIPE_BUF */
	int32_t wstatus;
	uint32_t flags;         /* EXITED_UNCONFINED */
	char msg[FRAME_MSG_MAX];
};

struct init_args {
	const struct spawn_spec *spec;
	const struct command *command;
	const struct turn_dirs *dirs;
	struct identity_limits limits;
	bool has_prompt;
	bool own_network;       /* bring loopback up */
	int life_fd;            /* read end: end of file means that the warden is gone or wants the end */
	int status_fd;          /* write end */
};

_Noreturn void init_main(const struct init_args *a);

#endif
