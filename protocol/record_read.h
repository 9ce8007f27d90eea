/* Reading runs' records: bounded, tolerant of damage, never a change on disk.
 * Source: docs/run-record.md. */
#ifndef STINT_PROTOCOL_RECORD_READ_H
#define STINT_PROTOCOL_RECORD_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "protocol/record.h"

#define RECORD_MAX_RUNS 100000u

struct record_ids {
	char (*v)[RECORD_ID_MAX];           /* newest first */
	size_t n;
};
/* Every run's id beneath root_fd; none is no error. */
int record_list(int root_fd, struct record_ids *ret, struct err *e) MUST_CHECK;
void record_ids_done(struct record_ids *ids);

/* which: "latest" (or NULL), an id, or the unambiguous start of one. -ENOENT with the remedy, STOP_USAGE. */
int record_find(int root_fd, const char *which, char ret_id[RECORD_ID_MAX], struct err *e) MUST_CHECK;

/* run.json as a checked object: schema, kind, id, state and the types of tasks, iterations and turns are as documented,
 * so that a caller may read members without looking at types again. New reference. -EBADMSG for a damaged file, with what
 * is wrong, -EPROTONOSUPPORT for a newer schema. STOP_USAGE. */
int record_read(int root_fd, const char *id, json_t **ret, struct err *e) MUST_CHECK;

/* "running", "ended", or "interrupted": state "running" and nobody holds the run's lock. */
const char *record_liveness(int root_fd, const char *id, const json_t *run);

/* A file of a turn, at most max bytes: malloc'ed with a NUL after it. turn counts from 1; 0: a file of the run itself. -ENOENT when
 * there is none. */
int record_turn_read(int root_fd, const char *id, unsigned int turn, const char *name, size_t max, char **ret, size_t *ret_n,
                     struct err *e) MUST_CHECK;

/* What the newest loop run that began a task left behind. */
struct record_resume {
	bool unfinished;                    /* its last task has no pass, or its commit sequence is cut */
	bool running;                       /* it is still running: somebody holds its lock */
	char id[RECORD_ID_MAX];
	char *title;                        /* of its last task; NULL when there is no such run */
	unsigned int line;
	unsigned int iteration;             /* last one begun, 0 when none */
	bool iteration_ended;
	unsigned int turn;                  /* last one begun in an iteration that has not ended, else 0 */
	enum record_commit step;
	bool push_due;                      /* all of it was done, and then the run broke off: its push may have failed */
	char *commit;                       /* hex, or NULL */
	struct buf done;                    /* the commits, in hex each with NUL, of tasks that those runs finished before */
	struct buf runs;                    /* when unfinished: the ids, each with NUL, of this run and the unbroken ones
	                                     * before it that worked on the same task; newest first */
};
/* 0 also when there is none (zeroed). A damaged newest record is an error: guessing would hide work. */
int record_resume(int root_fd, struct record_resume *ret, struct err *e) MUST_CHECK;
void record_resume_done(struct record_resume *r);

#endif
