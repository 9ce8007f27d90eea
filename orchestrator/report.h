/* What a person sees while the loop runs: one aligned line a turn, updated in place on a terminal, printed once
 * otherwise. Everything goes to stdout; every text from outside is escaped here. */
#ifndef STINT_ORCHESTRATOR_REPORT_H
#define STINT_ORCHESTRATOR_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum report_mark { REPORT_PLAIN, REPORT_GOOD, REPORT_BAD };

struct report {
	bool live;               /* stdout is a terminal: lines are updated in place */
	bool colour;             /* live and NO_COLOR is not set */
	bool line_open;          /* a live line is on the screen */
	unsigned int iteration;
	char role[40];
	uint64_t last_tick_ms;
};

void report_begin(struct report *r);
/* "task 2 of 5  TITLE" */
void report_task(struct report *r, size_t n, size_t of, const char *title);
void report_turn_begin(struct report *r, unsigned int iteration, const char *role);
/* The live line; does nothing without a terminal. */
void report_turn_tick(struct report *r, uint64_t elapsed_ms, unsigned int denials);
/* The turn's line. changed: files, or -1 where it is not counted. verdict: short text, may be "". */
void report_turn_end(struct report *r, uint64_t elapsed_ms, long changed, unsigned int denials, const char *verdict,
                     enum report_mark mark);
/* An indented line below the turn's. */
void report_note(struct report *r, enum report_mark mark, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A line of its own at the margin. */
void report_line(struct report *r, enum report_mark mark, const char *fmt, ...) PRINTF_LIKE(3, 4);
void report_end(struct report *r);

/* "0:07", "12:31", "1:02:03"; static storage is the caller's: at least 16 bytes. */
void report_time(char *ret, size_t size, uint64_t ms);

#endif
