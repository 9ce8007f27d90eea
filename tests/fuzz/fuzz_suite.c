/* What a suite prints: the verdict from TAP or from the exit status, and the finding that the coordinator writes.
 *
 * Input: one byte of flags, one of exit status, then the log; a line "%%" ends its standard output. Checked, beside memory:
 * - nothing passes with a status, a deadline, a cut output or a test that failed, and in TAP not without a test that ran;
 * - one more failed test never makes a pass; numbers and names are bounded and safe to print;
 * - the finding is at most 4 KiB, safe to print, and read back is one open finding, the developer's, whatever the suite wrote. */
#include "tests/fuzz/fuzz.h"

#include <signal.h>

#include "orchestrator/verdict.h"
#include "protocol/review.h"

#define FINDING_MAX 4096u

enum flag { DEADLINE = 1, TRUNCATED = 2, KILLED = 4, FORMAT_EXIT = 8, PATTERN = 16 };

static const char *const patterns[] = {"passed", "^(OK|PASS)", "[0-9]+ passed, 0 failed$", "(a|b)*c"};

static size_t lines_of(const char *s)
{
	size_t n = s[0] == '\0' ? 0 : 1;

	for (; *s != '\0'; s++)
		n += *s == '\n';
	return n;
}

static void check_bounds(const struct verdict *v)
{
	CHECK(v->summary != NULL && v->failing != NULL);
	CHECK(v->summary[0] != '\0' && fuzz_printable(v->summary, strlen(v->summary), ""));
	CHECK(fuzz_printable(v->failing, strlen(v->failing), "\n") && lines_of(v->failing) <= VERDICT_NAMES + 1);
	CHECK(!v->passed || (v->failing[0] == '\0' && v->failed == 0));
}

static bool has_ok_line(const char *p, size_t n)
{
	return (n >= 2 && memcmp(p, "ok", 2) == 0) || memmem(p, n, "\nok", 3) != NULL;
}

/* The same output with one more line is judged again. */
static bool passes_with(const struct suite_run *run, const char *line)
{
	struct suite_run more = *run;
	struct verdict v;
	struct err e = {0};
	struct buf b = {0};
	bool passed;

	CHECK(buf_add(&b, run->out, run->out_len) == 0 && buf_add(&b, "\n", 1) == 0 && buf_add(&b, line, strlen(line)) == 0);
	more.out = b.data;
	more.out_len = b.len;
	CHECK(verdict_tap(&v, &more, &e) == 0);
	passed = v.passed;
	verdict_done(&v);
	buf_done(&b);
	return passed;
}

static void check_tap(const struct verdict *v, const struct suite_run *run)
{
	CHECK(v->count_verified);
	if (!v->passed)
		return;
	CHECK(run->wstatus == 0 && !run->deadline && !run->truncated);
	CHECK(v->total >= 1 && v->skipped < v->total && has_ok_line(run->out, run->out_len));
	CHECK(!passes_with(run, "not ok - one more\n") && !passes_with(run, "1..1\n") && !passes_with(run, "Bail out!\n"));
}

static void check_exit(const struct verdict *v, const struct suite_run *run)
{
	CHECK(!v->count_verified && v->total == 0 && v->failed == 0);
	CHECK(!v->passed || (run->wstatus == 0 && !run->deadline));
}

static void check_finding(const struct verdict *v, const char *log, size_t out_len, size_t n)
{
	struct buf b = {0};
	struct review r;
	struct err e = {0};

	CHECK(verdict_finding(&b, v, log, out_len, n, &e) == 0);
	CHECK(b.len <= FINDING_MAX && fuzz_printable(b.data, b.len, "\n"));
	CHECK(review_parse(&r, b.data, b.len, &e) == 0);
	CHECK(r.open && r.n_open == 1 && r.n_developer == 1 && r.n_tester == 0 && r.tester_text[0] == '\0');
	review_done(&r);
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct suite_run run = {0};
	const char *p, *log;
	struct verdict v;
	struct err e = {0};
	size_t n_log, out_len;
	char *copy;

	if (n < 2)
		return 0;
	run.deadline = (data[0] & DEADLINE) != 0;
	run.truncated = (data[0] & TRUNCATED) != 0;
	run.wstatus = (data[0] & KILLED) != 0 ? 1 + data[1] % 31 : data[1] << 8;
	n_log = n -= 2;
	/* The sanitizer's regexec() looks for a NUL although REG_STARTEND names the end. */
	copy = calloc(1, n + 1);
	CHECK(copy != NULL);
	memcpy(copy, data + 2, n);
	p = log = (data[0] & FORMAT_EXIT) != 0 ? copy : (const char *)data + 2;
	(void)fuzz_part(&p, &n, &run.out, &run.out_len);
	out_len = run.out_len;
	if ((data[0] & FORMAT_EXIT) == 0) {
		CHECK(verdict_tap(&v, &run, &e) == 0);
		check_tap(&v, &run);
	} else {
		CHECK(verdict_exit(&v, &run, (data[0] & PATTERN) != 0 ? patterns[data[0] >> 5 & 3] : NULL, &e) == 0);
		check_exit(&v, &run);
	}
	check_bounds(&v);
	if (!v.passed)
		check_finding(&v, log, out_len, n_log);
	verdict_done(&v);
	free(copy);
	return 0;
}
