/* The record of a skill or an eval: one JSON object in a file that the user names. It is there from the start with state "running",
 * and replaced as a whole at every step. While it is being written FILE.part is there and locked: a record that says "running" when
 * nobody holds that lock was broken off. All errors carry STOP_RECORD. Source: docs/run-record.md. */
#ifndef STINT_PROTOCOL_RECORD_FILE_H
#define STINT_PROTOCOL_RECORD_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RECORD_FILE_NAME_MAX 4096

struct record_file {
	json_t *run;       /* owned */
	int dir_fd;        /* owned: the file's folder */
	int lock_fd;       /* owned: FILE.part */
	char path[RECORD_FILE_NAME_MAX];
	const char *name;  /* in it, without the folder */
};

struct record_file_info {
	const char *kind;            /* "skill" or "eval" */
	const char *suite_name;
	const char *suite_hash;      /* "sha256:…" of what was read */
	const char *const *layers;   /* NULL-terminated, in force */
	int landlock_abi;
};

struct record_result {
	const char *id;
	const char *input;
	int64_t target;
	const char *scorer;
	const char *status;          /* pass, fail, error, timeout, limit, declined */
	const char *reason;          /* NULL: nothing to say */
	bool ran;                    /* the members below are known */
	int exit;
	const char *output;          /* what is kept of it */
	size_t n_output;
	uint64_t total;              /* bytes that were written */
	const char *hash;            /* of all of them */
	uint64_t wall_ms;
	const char *const *refusals; /* NULL-terminated */
};

/* path NULL: NAME-YYYYMMDD-HHMMSS.json in the working folder. A file that is there already is an error. */
int record_file_begin(struct record_file *ret, const char *path, const struct record_file_info *info, struct err *e) MUST_CHECK;
int record_file_add(struct record_file *r, const struct record_result *result, struct err *e) MUST_CHECK;
/* stop: the exit status; reason: a sentence or NULL. */
int record_file_end(struct record_file *r, int stop, const char *reason, struct err *e) MUST_CHECK;
/* Without record_file_end() before, the record stays as one that was broken off. */
void record_file_done(struct record_file *r);

#endif
