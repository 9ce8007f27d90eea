/* What the reading commands (tasks, status, log, view) share: output that is checked, bytes from outside that are escaped. */
#ifndef STINT_ORCHESTRATOR_SHOW_H
#define STINT_ORCHESTRATOR_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Text being built. The first failure sticks, and what follows is dropped: only show_text() needs to look. Zeroed is empty. */
struct show {
	struct buf b;
	int rc;
};
void show_f(struct show *s, const char *fmt, ...) PRINTF_LIKE(2, 3); /* fmt's own words, numbers, checked words */
/* Text from outside on one line, escaped ("-" for NULL and ""); at most max characters, the cut shown by "…" (0: all). */
void show_add(struct show *s, const char *text, size_t max);
/* The same, filled up with blanks to max characters: a column. */
void show_column(struct show *s, const char *text, size_t max);
/* Bytes from outside with their newlines, escaped; ends with a newline. */
void show_block(struct show *s, const void *bytes, size_t n);
/* A time as in report_time(), right-aligned in width; "-" when negative. */
void show_time(struct show *s, int width, int64_t ms);

/* Writes the text and releases it, or one JSON value (its reference is taken) and a newline, to stdout. Returns STOP_DONE, or
 * STOP_RECORD after a message when stdout cannot be written or memory ran out (o is then NULL). */
int show_text(struct show *s);
int show_json(json_t *o);

/* Says that getopt_long() refused the last word; opterr is to be 0. Returns STOP_USAGE. */
int show_bad_option(char **argv);
/* -C DIR and --json, for commands that take nothing else. STOP_DONE, or STOP_USAGE after a message. */
int show_options(int argc, char **argv, const char *usage, const char **ret_dir, bool *ret_json);

/* Members of a checked record: "" and 0 where absent or null. */
const char *show_str(const json_t *o, const char *key);
int64_t show_int(const json_t *o, const char *key);

/* Milliseconds from one ISO 8601 time to another; to "": until now. Negative when either cannot be read. */
int64_t show_span(const char *from, const char *to);

/* Calls each for every turn of a run in order; task and iteration are NULL for a turn of the run itself. Stops when each
 * returns anything but 0, and returns that. */
typedef int show_turn_fn(void *cookie, const json_t *task, const json_t *iteration, const json_t *turn);
int show_each_turn(const json_t *run, show_turn_fn *each, void *cookie);

#endif
