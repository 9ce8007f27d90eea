/* Private to verdict*.c: lines, and what TAP's lines are. */
#ifndef STINT_ORCHESTRATOR_VERDICT_IMPL_H
#define STINT_ORCHESTRATOR_VERDICT_IMPL_H

#include "orchestrator/verdict.h"

#define VERDICT_NAME_MAX 200u    /* bytes of one failing test's name */

/* The next line without its end (LF or CRLF); false when none is left. */
bool verdict_line(const char **p, size_t *left, const char **ret, size_t *ret_len);

/* "exit 2", "killed by signal 9", "deadline". */
int verdict_how_it_ended(struct buf *b, const struct suite_run *run) MUST_CHECK;
bool verdict_ended_well(const struct suite_run *run);
/* Moves a buffer's bytes out as a C string. */
int verdict_take(char **ret, struct buf *b) MUST_CHECK;

enum tap_kind { TAP_OTHER, TAP_PLAN, TAP_TEST, TAP_BAIL };
struct tap_line {
	enum tap_kind kind;
	bool ok;
	bool skip;           /* directive; on a plan: the whole is skipped */
	bool todo;
	unsigned long number; /* of a test: 0 when not given; of a plan: how many */
	const char *name;    /* description, or the reason of a bail out; points into the line */
	size_t name_len;
};
/* Reads one line. Indented lines are TAP_OTHER: subtests and YAML belong to the test that follows or precedes. */
struct tap_line tap_parse(const char *line, size_t n);

/* Does this line look as if it quoted source? (verdict_source.c) */
bool verdict_quotes_source(const char *line, size_t n);

#endif
