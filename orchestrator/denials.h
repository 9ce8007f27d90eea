/* The lines of a command's output that speak of a refused access, for the record. What an agent prints is its own
 * word: a hint for people, never a verdict. */
#ifndef STINT_ORCHESTRATOR_DENIALS_H
#define STINT_ORCHESTRATOR_DENIALS_H

#include <stddef.h>

#include "base/err.h"

#define DENIALS_MAX 200      /* lines kept */
#define DENIALS_LINE_MAX 400 /* bytes kept of one */

struct denials {                     /* zeroed is empty */
	char *line[DENIALS_MAX + 1]; /* NULL-terminated, escaped */
	size_t n;
};

/* Adds the lines of bytes that agent_count_denials() counts. 0 or -ENOMEM. */
int denials_add(struct denials *d, const char *bytes, size_t n) MUST_CHECK;
void denials_done(struct denials *d);

#endif
