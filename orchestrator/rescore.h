/* Scoring a task of a record again, from what the record keeps of its output. Nothing runs.
 * Source: docs/scorers.md, docs/run-record.md. */
#ifndef STINT_ORCHESTRATOR_RESCORE_H
#define STINT_ORCHESTRATOR_RESCORE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "orchestrator/scorer.h"

struct rescore {
	const char *name;       /* one of scorer_names[] in place of each task's own; NULL: each task's own */
};

enum rescored {
	RESCORE_DONE,           /* the task has its status, score and reason of the scorer */
	RESCORE_NOT_SCORED,     /* no scorer decided it (a crash, a deadline, a no): it stays as it is */
	RESCORE_COMMAND,        /* its scorer is a command: it stays as it is */
};

/* task: of a checked record; changed in place. */
int rescore_task(json_t *task, struct rescore *how, enum rescored *ret, struct err *e) MUST_CHECK;

/* A record of tasks with outputs, checked as far as rescore_task() reads it. New reference. STOP_USAGE. */
int rescore_read(const char *path, json_t **ret, struct err *e) MUST_CHECK;
/* Replaces the file as a whole. STOP_RECORD. */
int rescore_write(const char *path, const json_t *record, struct err *e) MUST_CHECK;

#endif
