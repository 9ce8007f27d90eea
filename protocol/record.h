/* Writing a run's record: .stint/runs/ID/run.json (replaced as a whole at every step), events.jsonl (appended) and
 * turn-N/ (prompt, stdout, stderr, suite.log, diff, changes). Folders 0700, files 0600.
 *
 * Order of calls:
 *   record_create [ record_task_begin
 *                     [ record_iteration_begin
 *                         [ record_turn_begin (record_turn_file | record_turn_open)* record_turn_end ]*
 *                       record_iteration_end ]*
 *                   record_commit_step* record_task_end ]*  record_end → record_free
 * Strings may hold any bytes: what is not UTF-8 is stored as \xHH. A run that is killed is left with state "running" and
 * nobody holding the lock on events.jsonl: readers call that "interrupted".
 * All errors carry STOP_RECORD. Reading: protocol/record_read.h. Source: docs/run-record.md. */
#ifndef STINT_PROTOCOL_RECORD_H
#define STINT_PROTOCOL_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RECORD_SCHEMA 1
#define RECORD_RUNS_DIR ".stint/runs"
#define RECORD_ID_MAX 24               /* YYYYMMDD-HHMMSS-xxxx and NUL */
#define RECORD_MAX_BYTES (16u << 20)   /* of run.json */
#define RECORD_MAX_LIST 200u           /* entries kept of a turn's changes, denials, failing tests, notes */
#define RECORD_MAX_STRING 4096u        /* bytes kept of one string */

struct record;

struct record_info {
	const char *kind;                   /* "loop" or "turn" */
	const char *project;                /* absolute path */
	const char *agent_user;
	const char *const *layers;          /* NULL-terminated: "acl", "landlock", "seccomp" in force */
	unsigned int landlock_abi;          /* 0: unknown */
	const char *const *suite_command;   /* NULL-terminated, or NULL */
	const char *suite_format;           /* "tap", "exit", or NULL */
};

/* Creates the run's folder beneath root_fd (kept as a duplicate), writes run.json, locks events.jsonl. */
int record_create(struct record **ret, int root_fd, const struct record_info *info, struct err *e) MUST_CHECK;
const char *record_id(const struct record *r);
/* Path relative to the project root of the run's folder: ".stint/runs/ID". */
const char *record_dir(const struct record *r);
/* Known only after the first READY. Saved with the next step. */
void record_set_landlock_abi(struct record *r, unsigned int abi);

int record_task_begin(struct record *r, const char *title, unsigned int line, struct err *e) MUST_CHECK;
/* n counts from 1 within the task (and goes on from an earlier run when it resumes). */
int record_iteration_begin(struct record *r, unsigned int n, struct err *e) MUST_CHECK;

/* Creates turn-N/; N counts from 1 within the run. Outside of an iteration (kind "turn") the turn belongs to the run
 * itself. */
int record_turn_begin(struct record *r, const char *role, unsigned int *ret_n, struct err *e) MUST_CHECK;
/* The current turn's folder, relative to the project root: ".stint/runs/ID/turn-N". */
const char *record_turn_dir(const struct record *r);
/* Writes a file of the current turn, all of it or nothing (a later run may read it after a kill); name is one plain
 * component. */
int record_turn_file(struct record *r, const char *name, const void *bytes, size_t n, struct err *e) MUST_CHECK;
/* Creates a file of the current turn for streaming: a descriptor (O_RDWR) that the caller owns, or a negative errno. */
int record_turn_open(struct record *r, const char *name, struct err *e) MUST_CHECK;

/* Replaces a file of the run's folder as a whole. STOP_RECORD. */
int record_file(struct record *r, const char *name, const void *bytes, size_t n, struct err *e) MUST_CHECK;

struct record_suite {                       /* of a suite's turn */
	const char *format;                 /* "tap" or "exit" */
	bool verified;                      /* the count comes from a complete plan */
	unsigned int planned, passed, failed;
	const char *const *failing;         /* NULL-terminated names, or NULL */
};

struct record_turn {
	const char *status;                 /* "ok", "failed", "deadline", "aborted", "unconfined" */
	int exit;                           /* as a shell says it: 128+N for signal N */
	uint64_t wall_ms, user_ms, sys_ms;
	uint64_t max_rss;                   /* bytes */
	const void *changes;                /* change list, record format of protocol/frames.h; kept whole in turn-N/changes */
	size_t n_changes_bytes;
	uint64_t stdout_bytes, stderr_bytes; /* written by the command, before capping */
	const char *const *denials;         /* NULL-terminated sentences, or NULL */
	const char *const *notes;           /* the same */
	const char *verdict;                /* "pass", "fail", or NULL */
	const struct record_suite *suite;   /* or NULL */
};
/* Ends the turn: fields into run.json, an event, and both fsynced. */
int record_turn_end(struct record *r, const struct record_turn *t, struct err *e) MUST_CHECK;

/* reason: NULL or a sentence ("3 tests failed", "2 open findings"). */
int record_iteration_end(struct record *r, bool passed, const char *reason, struct err *e) MUST_CHECK;

/* The commit sequence of a task: what is already true on disk. */
enum record_commit {
	RECORD_COMMIT_NONE = 0,
	RECORD_COMMIT_BUILT,   /* the object exists, HEAD does not point to it yet */
	RECORD_COMMIT_HEAD,    /* HEAD points to it; TASKS.md on disk not ticked yet */
	RECORD_COMMIT_TICKED,  /* TASKS.md ticked; the user's index not refreshed yet */
	RECORD_COMMIT_DONE
};
const char *record_commit_name(enum record_commit c); /* "none", "built", "head", "ticked", "done" */
/* Durable before it returns. oid: hex. */
int record_commit_step(struct record *r, enum record_commit step, const char *oid, struct err *e) MUST_CHECK;

/* status: "pass", "fail", or "open" (the run stopped before an answer). */
int record_task_end(struct record *r, const char *status, struct err *e) MUST_CHECK;

/* A line of events.jsonl: {"t":…,"event":type, …fields}. fields: an object whose reference is taken, or NULL. */
int record_event(struct record *r, const char *type, json_t *fields, struct err *e) MUST_CHECK;

/* The end: state "ended", exit status, reason (NULL or a sentence). What is still open stays visible as such. */
int record_end(struct record *r, int stop, const char *reason, struct err *e) MUST_CHECK;
/* Releases r and its lock; a run without record_end() is then "interrupted". */
void record_free(struct record *r);

#endif
