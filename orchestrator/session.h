/* What `run`, `turn` and `matrix --prove` share: the configuration compiled and handed to the warden, signals. */
#ifndef STINT_ORCHESTRATOR_SESSION_H
#define STINT_ORCHESTRATOR_SESSION_H

#include "base/err.h"
#include "base/str.h"
#include "orchestrator/cmd.h"
#include "orchestrator/compile.h"
#include "orchestrator/config.h"
#include "protocol/policy.h"

struct session {
	struct config config;
	int policy_fd;                  /* sealed memfd; owned */
	const struct policy *policy;    /* mapped */
	int interrupt_fd;               /* signalfd of INT and TERM, both blocked; owned */
	struct buf notes;               /* what "*" did not open, one a line */
};

/* Loads stint.yaml and compiles the policy. The command must run under the warden. */
int session_open(struct session *s, const struct cmd *c, const struct compile_options *o, struct err *e) MUST_CHECK;
/* Hands the policy over: from here on the warden holds the agent user's lock. */
int session_start(struct session *s, const struct cmd *c, struct err *e) MUST_CHECK;
void session_done(struct session *s);

/* Prints lines (notes, escaped by who made them) as warnings. */
void session_warn_lines(const char *lines, size_t n);

#endif
