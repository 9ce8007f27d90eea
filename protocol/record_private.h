/* Private to record*.c: the run being written, and safe JSON strings. */
#ifndef STINT_PROTOCOL_RECORD_PRIVATE_H
#define STINT_PROTOCOL_RECORD_PRIVATE_H

#include "protocol/record.h"

#define RECORD_FILE "run.json"
#define RECORD_EVENTS "events.jsonl"
#define RECORD_CHANGES "changes"
#define RECORD_TIME_MAX 32
#define RECORD_DIR_MAX 64

struct record {
	json_t *run;             /* the whole of run.json, owned; the rest point into it */
	json_t *task;
	json_t *iteration;
	json_t *turn;
	unsigned int n_turns;
	int dir_fd;              /* the run's folder */
	int events_fd;           /* O_APPEND; holds the exclusive flock that says "running" */
	int turn_fd;             /* turn-N/ while a turn is open */
	char id[RECORD_ID_MAX];
	char dir[RECORD_DIR_MAX];
	char turn_dir[RECORD_DIR_MAX + 24];
};

/* Has the name a run's shape? (record_read.c) */
bool record_is_id(const char *s);

/* Now as ISO 8601 in UTC, with or without milliseconds. */
void record_now(char ret[RECORD_TIME_MAX], bool millis);

/* A JSON string of at most n bytes of s (RECORD_MAX_STRING at most): UTF-8 as it is, anything else escaped. NULL gives
 * null. NULL when out of memory. */
json_t *record_str_n(const char *s, size_t n);
json_t *record_str(const char *s);
/* {"total":…,"list":[…]} of a NULL-terminated vector (or NULL), RECORD_MAX_LIST kept. */
json_t *record_strv(const char *const *v);
/* Appends a string to such a list and counts it. 0 or -ENOMEM. */
int record_list_add(json_t *list, json_t *value) MUST_CHECK;

/* object[key] = value, whose reference is taken; 0, or -ENOMEM also when value is NULL (so that calls can be chained by |=). */
int record_put(json_t *object, const char *key, json_t *value);

/* Replaces run.json. */
int record_save(struct record *r, struct err *e) MUST_CHECK;
/* An event, then run.json: the two places where a step is told. rc: of the step itself, passed on when not 0. */
int record_tell(struct record *r, int rc, const char *type, json_t *fields, struct err *e) MUST_CHECK;

/* The shape of a run.json that was read, down to the members of turns. path is for messages. */
int record_check(const json_t *run, const char *path, struct err *e) MUST_CHECK;

#endif
