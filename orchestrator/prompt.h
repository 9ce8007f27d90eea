/* A role's prompt: its template (stint.yaml's, or the built-in one) with the facts of this turn put in.
 * A prompt holds nothing that its role may not read; the caller passes only what is meant for the role. */
#ifndef STINT_ORCHESTRATOR_PROMPT_H
#define STINT_ORCHESTRATOR_PROMPT_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "orchestrator/config.h"

#define PROMPT_TEMPLATE_MAX (1u << 20)
#define PROMPT_FINDINGS_MAX (32u << 10) /* bytes of findings put in */

struct prompt_facts {
	const char *task;          /* the task's text as in TASKS.md */
	size_t task_len;
	const char *findings;      /* meant for this role; NULL or "" for none */
	const char *suite_result;  /* one sentence, or NULL */
	const char *suite_log;     /* where the log lies, or NULL */
	unsigned int iteration;
};

/* Appends the finished prompt. Placeholders: {{task}} {{findings}} {{table}} {{iteration}} {{suite_result}} {{suite_log}}
 * {{spec_hint}}; values are not looked at again. An unknown placeholder is an error with its name, STOP_USAGE. */
int prompt_build(const struct config *c, unsigned int role, int root_fd, const struct prompt_facts *f, struct buf *ret,
                 struct err *e) MUST_CHECK;

#endif
