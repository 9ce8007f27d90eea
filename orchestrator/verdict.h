/* The suite's verdict: what was observed, never what somebody claims.
 * Source: docs/architecture.md, "The loop"; TAP 12 to 14 (testanything.org). */
#ifndef STINT_ORCHESTRATOR_VERDICT_H
#define STINT_ORCHESTRATOR_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

/* How the suite's process ended and what of its output is at hand. */
struct suite_run {
	const char *out;     /* stdout */
	size_t out_len;
	bool truncated;      /* the output passed its limit: bytes in the middle are missing */
	int wstatus;         /* as wait(2) */
	bool deadline;       /* ended because its time was up */
};

#define VERDICT_NAMES 50u    /* failing tests that are named; a last line counts the rest */

struct verdict {             /* zeroed is valid */
	bool passed;
	bool count_verified; /* tap: numbers below were counted; exit: they are 0 and mean nothing */
	unsigned int total;  /* tests planned */
	unsigned int failed; /* not ok (TODO excepted) and planned ones that never ran */
	unsigned int skipped;
	char *failing;       /* names of failing tests, one a line, escaped, at most 50 of 200 bytes; "" when none.
	                      * Equal strings mean "same failing tests" */
	char *summary;       /* "12 of 14 passed", "exit 2", "deadline", …: one line */
};
void verdict_done(struct verdict *v);

/* tap: passed = exit status 0, within the deadline, one complete plan (first or last), ≥ 1 test that really ran, none
 * failed, no bail out. TODO failures do not count, skipped tests did not run; indented lines (subtests, YAML) are
 * ignored. 0 or -ENOMEM. */
int verdict_tap(struct verdict *ret, const struct suite_run *run, struct err *e) MUST_CHECK;

/* exit: passed = status 0 within the deadline, and some line of stdout matches must_match (POSIX extended; NULL:
 * none asked). -EINVAL for a regex that does not compile, with STOP_USAGE. */
int verdict_exit(struct verdict *ret, const struct suite_run *run, const char *must_match, struct err *e) MUST_CHECK;

/* The one finding for REVIEW.md when the suite failed and the reviewer wrote nothing: `- [ ] …` with the summary and,
 * in a code block that its content cannot close, failing test names with their got/expected values (tap) or the
 * last lines of the log (exit). Lines that look like quoted source are withheld and counted. At most 4 KiB. log: n
 * bytes, of which the first out_len are stdout, where alone tests are named. 0 or -ENOMEM. */
int verdict_finding(struct buf *ret, const struct verdict *v, const char *log, size_t out_len, size_t n, struct err *e) MUST_CHECK;

#endif
