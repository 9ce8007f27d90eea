/* How an agent's turn ended: from its exit status and from structured output where there is some, because
 * some agents exit 0 on an API error. What an agent says about its work is not looked at.
 * Source: docs/architecture.md, "The loop"; agent_json.c for the events. */
#ifndef STINT_ORCHESTRATOR_AGENT_H
#define STINT_ORCHESTRATOR_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum agent_outcome {
	AGENT_OK,
	AGENT_FAILED,      /* it ran and said that it failed, or exited non-zero for no known reason */
	AGENT_QUOTA,       /* rate or usage limit: wait retry_after_s (0: not stated) and try again */
	AGENT_OVERLOADED,  /* the service failed (5xx, overloaded, network): back off and try again */
	AGENT_AUTH,        /* no or wrong credentials: no retry helps */
	AGENT_DEADLINE,    /* its time was up, or it printed nothing any more and had not said that it was done */
	AGENT_CRASH,       /* killed by a signal that we did not send */
	AGENT_NOT_STARTED, /* 126, 127, 125, or EXITED_UNCONFINED: the command never ran */
	AGENT_ABORTED,     /* ended because the run ended */
};

struct agent_exit {
	int wstatus;               /* as wait(2) */
	uint32_t flags;            /* enum exited_flag of protocol/frames.h */
	bool idle;                 /* ended by us, because it printed nothing any more */
	const char *command;       /* argv[0] for the sentence, or NULL */
	const char *out;           /* stdout, or its tail */
	size_t out_len;
	const char *err;           /* stderr, or its tail */
	size_t err_len;
};

struct agent_result {
	enum agent_outcome outcome;
	uint64_t retry_after_s;    /* 0: not stated; at most 7 days. Relative to the end of the turn */
	bool structured;           /* the agent's own JSON decided */
	char why[256];             /* for people: one line, escaped */
};

/* now_s: wall clock seconds, for resets that are stated as a point in time. Never fails. */
void agent_classify(const struct agent_exit *x, int64_t now_s, struct agent_result *ret);

const char *agent_outcome_name(enum agent_outcome o);   /* "ok", "failed", "quota", … for records */
bool agent_outcome_retry(enum agent_outcome o);         /* quota and overloaded */

/* Lines that speak of a refused access ("Permission denied", EACCES, "Operation not permitted", EPERM). */
unsigned int agent_count_denials(const char *bytes, size_t n);

#endif
