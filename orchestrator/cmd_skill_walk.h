/* Walking a skill: each step shown, confirmed, run, recorded. */
#ifndef STINT_ORCHESTRATOR_CMD_SKILL_WALK_H
#define STINT_ORCHESTRATOR_CMD_SKILL_WALK_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "orchestrator/skill.h"
#include "protocol/record_file.h"

struct skill_walk {
	const struct skill *skill;
	size_t from;                  /* the first step that is walked */
	bool yes;                     /* everything was confirmed on the command line */
	bool guarded;
	int terminal_fd;              /* where a y is typed; -1 with yes */
	int signal_fd;                /* a signalfd: ends the walk */
	FILE *out;                    /* for people */
	struct record_file *record;
};

/* *ret_stop: the exit status; reason: why it is not STOP_DONE, "" otherwise. An error is one of the record or of this machine. */
int skill_walk(const struct skill_walk *w, int *ret_stop, char reason[256], struct err *e) MUST_CHECK;

#endif
