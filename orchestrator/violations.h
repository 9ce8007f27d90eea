/* What was refused to a supervised command, each once with how often: for --report, and one line each for people. */
#ifndef STINT_ORCHESTRATOR_VIOLATIONS_H
#define STINT_ORCHESTRATOR_VIOLATIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/access.h"
#include "orchestrator/held.h"
#include "sandbox/landlock.h"

#define VIOLATIONS_MAX 2000u /* different ones; more are counted only */
#define VIOLATIONS_SAID 20u  /* lines for people while the command runs */

struct violation {
	char *key;
	char *line;      /* for people, "" when another one says it */
	json_t *json;
	uint64_t count;
	bool usual;      /* programs do without as on an older kernel: nothing for people */
};

struct violations {          /* zeroed is empty */
	struct violation *v;
	size_t n;
	uint64_t lost;       /* of kinds beyond VIOLATIONS_MAX */
	unsigned int said;
	void (*tell)(void *cookie, const char *line);
	void *cookie;
};
void violations_done(struct violations *v);

/* A refused system call. */
struct refused_call {
	const char *name;
	const char *call;    /* held_describe() */
	const char *action;  /* "EPERM", "kill", … */
	const char *rule;    /* which row of the profile */
	bool usual;
};
int violations_add_call(struct violations *v, const struct held *h, const struct refused_call *r) MUST_CHECK; /* -ENOMEM */
/* Refused by Landlock, as the supervisor saw the call: a violation for each right that lacked, one line. */
int violations_add_access(struct violations *v, const struct held *h, const char *name, const struct access *a,
                          struct landlock_rights lack) MUST_CHECK;
/* Refused by Landlock, in the kernel's own words: a right's name, and the object as `on` of the above, a port, or as the kernel
 * puts it (path and port NULL and 0). */
int violations_add_audit(struct violations *v, const char *right, const char *path, uint16_t port, const char *object) MUST_CHECK;

/* All of them, for the report. */
json_t *violations_json(const struct violations *v);
/* At the end: what was said once and happened more often. */
void violations_say_counts(const struct violations *v);

#endif
