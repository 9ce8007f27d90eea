/* Private to agent*.c: what structured output said, and what the words of an error mean. */
#ifndef STINT_ORCHESTRATOR_AGENT_IMPL_H
#define STINT_ORCHESTRATOR_AGENT_IMPL_H

#include "orchestrator/agent.h"

#define AGENT_MESSAGE_MAX 512
#define AGENT_RETRY_MAX_S (7u * 24u * 3600u)

/* The last word of the agent's own events. */
struct agent_said {
	bool spoke;                      /* there was an event that ends a turn */
	bool failed;
	long status;                     /* HTTP status, 0: none */
	uint64_t retry_after_s;
	char message[AGENT_MESSAGE_MAX]; /* raw bytes, cut */
};

/* Reads JSON documents and lines; everything else is skipped. (agent_json.c) */
void agent_read_json(struct agent_said *said, const char *bytes, size_t n, int64_t now_s);

/* AGENT_QUOTA, AGENT_AUTH or AGENT_OVERLOADED when words or status say so, else AGENT_FAILED. (agent_words.c) */
enum agent_outcome agent_words(const char *text, size_t n, long status);
/* Seconds until a reset that the text states, 0: none. */
uint64_t agent_words_retry(const char *text, size_t n, int64_t now_s);
/* A point in time (seconds or milliseconds since 1970) as seconds from now; 0 when past. */
uint64_t agent_until(int64_t when, int64_t now_s);

#endif
