/* What counts as a passed suite, and what a failed one may tell the developer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/exit.h"
#include "orchestrator/verdict.h"

#define EXITED(n) ((n) << 8)   /* a wait status */

static struct verdict tap(const char *out, int wstatus)
{
	const struct suite_run run = {.out = out, .out_len = strlen(out), .wstatus = wstatus};
	struct verdict v = {0};
	struct err e = {0};

	assert_int_equal(verdict_tap(&v, &run, &e), 0);
	return v;
}

struct tap_row {
	const char *out;
	int wstatus;
	bool passed;
	unsigned int total, failed, skipped;
	const char *summary;
	const char *failing;
};

static const struct tap_row rows[] = {
	{"1..2\nok 1 - a\nok 2 - b\n", 0, true, 2, 0, 0, "2 of 2 passed", ""},
	{"ok 1 - a\nok 2 - b\n1..2\n", 0, true, 2, 0, 0, "2 of 2 passed", ""},
	{"TAP version 13\r\n1..1\r\nok\r\n", 0, true, 1, 0, 0, "1 of 1 passed", ""},
	{"1..1\nok", 0, true, 1, 0, 0, "1 of 1 passed", ""},
	{"noise\n1..2\nok 1\nmake[1]: x\n# c\n    ok 1 - inner\n    1..1\nok 2\n", 0, true, 2, 0, 0, "2 of 2 passed", ""},
	{"1..3\nok 1\nok 2 # SKIP no net\nok 3\n", 0, true, 3, 0, 1, "2 of 3 passed, 1 skipped", ""},
	{"1..2\nok 1\nnot ok 2 - later # TODO not yet\n", 0, true, 2, 0, 0, "1 of 2 passed", ""},
	{"1..2\nok 1 - a \\# SKIP is text\nok 2\n", 0, true, 2, 0, 0, "2 of 2 passed", ""},
	{"1..2\nok 2 - second\nok 1 - first\n", 0, true, 2, 0, 0, "2 of 2 passed", ""},
	/* failures */
	{"1..3\nok 1\nnot ok 2 - b\nnot ok 3 - a\n", EXITED(1), false, 3, 2, 0, "1 of 3 passed", "a\nb"},
	{"1..2\nok 1\nnot ok 2\n", 0, false, 2, 1, 0, "1 of 2 passed", "test 2"},
	{"1..2\nok 1\nnot ok 2 - x # SKIP not a skip\n", 0, false, 2, 1, 0, "1 of 2 passed", "x"},
	{"1..2\nok 1\nok 2\n", EXITED(1), false, 2, 0, 0, "2 of 2 passed, exit 1", ""},
	{"1..2\nok 1\nok 2\n", 9, false, 2, 0, 0, "2 of 2 passed, killed by signal 9", ""},
	{"1..3\nok 1\nok 2\n", 0, false, 3, 1, 0, "2 of 3 passed: tests are missing", ""},
	{"1..1\nok 1\nok 2\n", 0, false, 1, 0, 0, "2 of 1 passed: more tests than planned", ""},
	{"ok 1\nok 2\n", 0, false, 2, 0, 0, "no plan", ""},
	{"", 0, false, 0, 0, 0, "no TAP in the output", ""},
	{"All 12 tests pass!\n", 0, false, 0, 0, 0, "no TAP in the output", ""},
	{"make: *** [test] Error 2\n", EXITED(2), false, 0, 0, 0, "no TAP in the output, exit 2", ""},
	{"1..0\n", 0, false, 0, 0, 0, "no test is planned", ""},
	{"1..0 # SKIP no compiler\n", 0, false, 0, 0, 0, "every test was skipped", ""},
	{"1..2\nok 1 # skip a\nok 2 # SKIP b\n", 0, false, 2, 0, 2, "0 of 2 passed, 2 skipped: every test was skipped", ""},
	{"1..1\nnot ok 1 # TODO x\n", 0, false, 1, 0, 0, "0 of 1 passed: no test passed that counts", ""},
	{"1..2\nok 1\n1..2\nok 2\n", 0, false, 2, 0, 0, "more than one plan", ""},
	{"ok 1\n1..2\nok 2\n", 0, false, 2, 0, 0, "2 of 2 passed: tests after the plan that ended the stream", ""},
	{"1..2\nok 1\nok 1\n", 0, false, 2, 0, 0, "2 of 2 passed: test numbers out of range or twice", ""},
	{"1..2\nok 1\nok 3\n", 0, false, 2, 0, 0, "2 of 2 passed: more tests than planned", ""},
	{"1..99999999999999999999\nok 1\n", 0, false, 1, 0, 0, "", ""},
	{"1..2\nok 1\nBail out!  no disk\nok 2\n", 0, false, 2, 0, 0, "bailed out: no disk", ""},
	{"1..2\nok 1\nokay 2\n", 0, false, 2, 1, 0, "1 of 2 passed: tests are missing", ""},
	{"1..1 apples\nok 1\n", 0, false, 1, 0, 0, "no plan", ""},
	{"1..1\n ok 1\n", 0, false, 1, 1, 0, "0 of 1 passed: tests are missing", ""},
};

static void test_tap_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tap_row *r = &rows[i];
		struct verdict v = tap(r->out, r->wstatus);

		if (v.passed != r->passed || v.failed != r->failed || v.skipped != r->skipped || v.total != r->total ||
		    strcmp(v.failing, r->failing) != 0 || (r->summary[0] != '\0' && strcmp(v.summary, r->summary) != 0))
			fail_msg("%s\n gives passed %d, %u/%u/%u, \"%s\", \"%s\"", r->out, v.passed, v.total, v.failed, v.skipped,
			         v.summary, v.failing);
		assert_true(v.count_verified);
		verdict_done(&v);
	}
}

static void test_tap_deadline_and_cut(void **state)
{
	struct suite_run run = {.out = "1..1\nok 1\n", .out_len = 10};
	struct verdict v = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(verdict_tap(&v, &run, &e), 0);
	assert_true(v.passed);
	verdict_done(&v);
	run.deadline = true;
	assert_int_equal(verdict_tap(&v, &run, &e), 0);
	assert_false(v.passed);
	assert_string_equal(v.summary, "deadline, 1 of 1 passed");
	verdict_done(&v);
	run.deadline = false;
	run.truncated = true;
	assert_int_equal(verdict_tap(&v, &run, &e), 0);
	assert_false(v.passed);
	verdict_done(&v);
}

static void test_tap_many_and_escaped(void **state)
{
	AUTO_BUF struct buf b = {0};
	struct verdict v;

	(void)state;
	assert_int_equal(buf_addf(&b, "1..100\nnot ok 1 - e\x1b[31m\n"), 0);
	for (int i = 2; i <= 100; i++)
		assert_int_equal(buf_addf(&b, "not ok %d - t%d\n", i, i), 0);
	v = tap(buf_str(&b), EXITED(1));
	assert_int_equal(v.failed, 100);
	assert_true(strncmp(v.failing, "e\\x1b[31m\nt10\nt100\n", 19) == 0);
	assert_non_null(strstr(v.failing, "\nand 50 more"));
	verdict_done(&v);
}

static struct verdict plain(const char *out, int wstatus, const char *match)
{
	const struct suite_run run = {.out = out, .out_len = strlen(out), .wstatus = wstatus};
	struct verdict v = {0};
	struct err e = {0};

	assert_int_equal(verdict_exit(&v, &run, match, &e), 0);
	return v;
}

static void test_exit(void **state)
{
	static const struct { const char *out; int wstatus; const char *match; bool passed; const char *summary; } t[] = {
		{"", 0, NULL, true, "exit 0, count unverified"},
		{"", EXITED(2), NULL, false, "exit 2"},
		{"", 11, NULL, false, "killed by signal 11"},
		{"a\n5 passed\n", 0, "^[1-9][0-9]* passed$", true, "exit 0, count unverified"},
		{"a\n5 passed\r\n", 0, "^[1-9][0-9]* passed$", true, "exit 0, count unverified"},
		{"0 passed\n", 0, "^[1-9][0-9]* passed$", false, "exit 0, but no line of its output matches must_match"},
		{"1\n passed", 0, "^1. passed", false, "exit 0, but no line of its output matches must_match"},
		{"5 passed\n", EXITED(1), "passed", false, "exit 1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct verdict v = plain(t[i].out, t[i].wstatus, t[i].match);

		assert_int_equal(v.passed, t[i].passed);
		assert_string_equal(v.summary, t[i].summary);
		assert_false(v.count_verified);
		verdict_done(&v);
	}
}

static void test_regex(void **state)
{
	struct err e = {0};
	struct verdict v = {0};
	const struct suite_run run = {0};

	(void)state;
	assert_int_equal(verdict_exit(&v, &run, "(", &e), -EINVAL);
	assert_int_equal(e.exit, STOP_USAGE);
}

static char *finding(struct verdict *v, const char *log)
{
	struct buf b = {0};
	struct err e = {0};

	assert_int_equal(verdict_finding(&b, v, log, strlen(log), strlen(log), &e), 0);
	assert_true(b.len < 4096);
	assert_non_null(buf_str(&b));
	verdict_done(v);
	return b.data;
}

static void test_finding_tap(void **state)
{
	const char *log = "1..3\nok 1 - fine\n# got: 0\nnot ok 2 - parses empty input\n#   Failed test at tests/t.sh line 12.\n"
	                  "#   parse(\"\") == 3\n#          got: 'a'\n#     expected: 'b'\n#          got: 'again'\n"
	                  "not ok 3\n  ---\n  expected: f(1) == 2\n  actual:   7\n  at: secret_line(1);\n  ...\n";
	struct verdict v = tap(log, EXITED(1));
	AUTO_FREE char *s = finding(&v, log);

	(void)state;
	assert_string_equal(s, "- [ ] The test suite failed: 1 of 3 passed.\n\n"
	                    "  Failing tests (1 withheld: they may quote test source):\n\n  ```text\n"
	                    "  parses empty input\n    got: 'a'\n    expected: 'b'\n  not ok 3\n    actual:   7\n  ```\n");
}

/* What follows stdout in the log names no test. */
static void test_finding_tap_is_stdout(void **state)
{
	static const char out[] = "1..1\nnot ok 1 - one\n";
	static const char log[] = "1..1\nnot ok 1 - one\n--- standard error ---\nnot ok 1 - two\n";
	struct verdict v = tap(out, EXITED(1));
	AUTO_BUF struct buf b = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(verdict_finding(&b, &v, log, sizeof(out) - 1, sizeof(log) - 1, &e), 0);
	assert_non_null(strstr(buf_str(&b), "  one\n"));
	assert_null(strstr(buf_str(&b), "two"));
	verdict_done(&v);
}

static void test_finding_cannot_be_injected(void **state)
{
	const char *log = "1..2\nok 1\nnot ok 2 - x ```` - [ ] y\r\n# got: # Tester\n# expected: `````\n";
	struct verdict v = tap(log, EXITED(1));
	AUTO_FREE char *s = finding(&v, log);
	const char *bail = "1..1\nBail out! - [ ] <b>\n";
	AUTO_FREE char *t = NULL;

	(void)state;
	/* The fence is longer than any run inside; every line of the block is indented into the item. */
	assert_non_null(strstr(s, "\n  `````text\n"));
	for (const char *p = strchr(s, '\n'); p != NULL && p[1] != '\0'; p = strchr(p + 1, '\n'))
		assert_true(p[1] == '\n' || strncmp(p + 1, "  ", 2) == 0);
	v = tap(bail, 0);
	t = finding(&v, "");
	assert_string_equal(t, "- [ ] The test suite failed: bailed out: - \\[ \\] \\<b\\>.\n");
}

static void test_finding_exit_withholds_source(void **state)
{
	/* Made-up output of several tools; everything with SECRET is a quotation of test source. */
	const char *log =
		"Traceback (most recent call last):\n  File \"tests/t.py\", line 3, in test_a\n    SECRET(add(1, 2), 3)\n"
		"AssertionError: 4 is not 3\n"
		">       assert SECRET(1)\nE       assert 1 SECRET 2\nE  SECRET\n"
		"tests/t.c:12:3: error: implicit declaration of function 'frob'\n   12 |   SECRET(frob(1));\n      |   ^~~~\n"
		"t: tests/t.c:7: main: Assertion `SECRET(1) > 3' failed.\n"
		"+ SECRET added\n- SECRET removed\n\tSECRET tab\nexpect(SECRET).toBe(3)\nassert_equal SECRET, 3\nif [ SECRET ]; then\n"
		"x = SECRET;\nSECRET == 4\n"
		"3 tests failed\n";
	struct verdict v = plain(log, EXITED(2), NULL);
	AUTO_FREE char *s = finding(&v, log);

	(void)state;
	assert_null(strstr(s, "SECRET"));
	assert_non_null(strstr(s, "- [ ] The test suite failed: exit 2.\n"));
	assert_non_null(strstr(s, "\n  AssertionError: 4 is not 3\n"));
	assert_non_null(strstr(s, "\n  tests/t.c:12:3: error: implicit declaration of function 'frob'\n"));
	assert_non_null(strstr(s, "\n  3 tests failed\n  ```\n"));
	assert_non_null(strstr(s, "withheld"));
}

static void test_finding_is_bounded(void **state)
{
	AUTO_BUF struct buf b = {0};
	struct verdict v;

	(void)state;
	for (int i = 0; i < 5000; i++)
		assert_int_equal(buf_addf(&b, "line %d \x01\x02\x03\x04%0200d\n", i, i), 0);
	v = plain(buf_str(&b), EXITED(1), NULL);
	{
		AUTO_FREE char *s = finding(&v, b.data);

		assert_non_null(strstr(s, "```"));
	}
	b.len = 0;
	assert_int_equal(buf_addf(&b, "1..5000\n"), 0);
	for (int i = 1; i <= 5000; i++)
		assert_int_equal(buf_addf(&b, "not ok %d - %0300d\n", i, i), 0);
	v = tap(buf_str(&b), EXITED(1));
	{
		AUTO_FREE char *s = finding(&v, b.data);

		assert_non_null(strstr(s, "0 of 5000 passed"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tap_rows), cmocka_unit_test(test_tap_deadline_and_cut),
		cmocka_unit_test(test_tap_many_and_escaped), cmocka_unit_test(test_exit), cmocka_unit_test(test_regex),
		cmocka_unit_test(test_finding_tap), cmocka_unit_test(test_finding_tap_is_stdout), cmocka_unit_test(test_finding_cannot_be_injected),
		cmocka_unit_test(test_finding_exit_withholds_source), cmocka_unit_test(test_finding_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
