/* What a scorer makes of an output. The differential test (tests/e2e/score.sh) asks others; here are the edges. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/exit.h"
#include "orchestrator/scorer.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct score score_of(const char *name, const char *target, const char *output, size_t n, bool cut, int exit)
{
	const struct scored in = {.output = output, .len = n, .cut = cut, .exit = exit};
	struct scorer s;
	struct score ret;
	struct err e = {0};

	if (scorer_from_word(&s, "task t", name, target, target != NULL ? strlen(target) : 0, &e) != 0)
		fail_msg("%s", e.msg);
	assert_int_equal(scorer_score(&ret, &s, &in, &e), 0);
	scorer_done(&s);
	return ret;
}

struct row {
	const char *scorer;
	const char *target;
	const char *output;
	bool cut;
	enum score_status want;
};

static const struct row rows[] = {
	/* line ends at the very end do not count, everything else does */
	{"exact_match", "yes", "yes", false, SCORE_PASS},
	{"exact_match", "yes", "yes\n", false, SCORE_PASS},
	{"exact_match", "yes\n", "yes", false, SCORE_PASS},
	{"exact_match", "yes\r\n\n", "yes\n\r\n", false, SCORE_PASS},
	{"exact_match", "a\nb", "a\nb\n", false, SCORE_PASS},
	{"exact_match", "a\nb", "a\r\nb", false, SCORE_FAIL},
	{"exact_match", "yes", "yes ", false, SCORE_FAIL},
	{"exact_match", "yes", " yes", false, SCORE_FAIL},
	{"exact_match", "yes", "\nyes", false, SCORE_FAIL},
	{"exact_match", "yes", "Yes", false, SCORE_FAIL},
	{"exact_match", "yes", "", false, SCORE_FAIL},
	{"exact_match", "", "", false, SCORE_PASS},
	{"exact_match", "", "\n", false, SCORE_PASS},
	{"exact_match", "", "x", false, SCORE_FAIL},
	{"exact_match", "\xc3\xa9", "e\xcc\x81", false, SCORE_FAIL},
	/* what was cut */
	{"exact_match", "yes", "no way", true, SCORE_FAIL},
	{"exact_match", "yes", "yes\n", true, SCORE_ERROR},
	{"exact_match", "yes", "yes sir", true, SCORE_FAIL},
	{"exact_match", "yes", "yes\nsir", true, SCORE_FAIL},
	{"exact_match", "yes sir", "yes", true, SCORE_ERROR},
	{"exact_match", "yes sir", "yes\n", true, SCORE_FAIL},
	{"exact_match", "yes\nsir", "yes\n", true, SCORE_ERROR},
	{"exact_match", "", "", true, SCORE_ERROR},

	{"contains", "b", "abc", false, SCORE_PASS},
	{"contains", "b\n", "abc", false, SCORE_PASS},
	{"contains", "B", "abc", false, SCORE_FAIL},
	{"contains", "a\nb", "xa\nbx", false, SCORE_PASS},
	{"contains", "abcd", "abc", false, SCORE_FAIL},
	{"contains", "b", "", false, SCORE_FAIL},
	{"contains", "b", "abc", true, SCORE_PASS},
	{"contains", "d", "abc", true, SCORE_ERROR},

	{"regex", "^b$", "b\n\n", false, SCORE_PASS},
	{"regex", "\\Ab\\z", "b\n", false, SCORE_PASS},
	{"regex", "^b$\n", "b", false, SCORE_PASS},
	{"regex", "^b$", "a\nb\nc", false, SCORE_FAIL},
	{"regex", "(?m)^b$", "a\nb\nc", false, SCORE_PASS},
	{"regex", "a.c", "a\nc", false, SCORE_FAIL},
	{"regex", "(?s)a.c", "a\nc", false, SCORE_PASS},
	{"regex", "(?i)\xc3\x89", "\xc3\xa9", false, SCORE_PASS},
	{"regex", "^.$", "\xc3\xa9", false, SCORE_PASS},
	{"regex", "\\w", "\xc3\xa9", false, SCORE_FAIL},
	{"regex", "(*UCP)\\w", "\xc3\xa9", false, SCORE_PASS},
	{"regex", "^.$", "\xff", false, SCORE_FAIL},
	{"regex", "[^a]", "\xff", false, SCORE_FAIL},
	{"regex", "b", "\xff" "b", false, SCORE_PASS},
	{"regex", "", "", false, SCORE_PASS},
	/* of what was cut: a match that did not look at the end, or an anchored pattern that failed before it */
	{"regex", "b", "abc", true, SCORE_PASS},
	{"regex", "b+", "abbc", true, SCORE_PASS},
	{"regex", "b+", "abb", true, SCORE_ERROR},
	{"regex", "c", "abb", true, SCORE_ERROR},
	{"regex", "b$", "ab", true, SCORE_ERROR},
	{"regex", "b\\b", "ab", true, SCORE_ERROR},
	{"regex", "b(?!c)", "ab", true, SCORE_ERROR},
	{"regex", "b(?!c)", "abd", true, SCORE_PASS},
	{"regex", "^b", "abc", true, SCORE_FAIL},
	{"regex", "\\Aabcd", "abc", true, SCORE_ERROR},
	{"regex", "^abd", "abc", true, SCORE_FAIL},
	{"regex", "(?m)^b", "abc", true, SCORE_ERROR},
	{"regex", "^(?s:.*)x", "abc", true, SCORE_ERROR},
	/* work without end */
	{"regex", "^(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false, SCORE_ERROR},

	{"json", "{\"a\":1,\"b\":[true,null]}", " {\"b\": [true, null], \"a\": 1.0}\n", false, SCORE_PASS},
	{"json", "1", "1.0", false, SCORE_PASS},
	{"json", "1", "1e0", false, SCORE_PASS},
	{"json", "100", "1E2", false, SCORE_PASS},
	{"json", "0", "-0.0", false, SCORE_PASS},
	{"json", "1", "\"1\"", false, SCORE_FAIL},
	{"json", "1", "true", false, SCORE_FAIL},
	{"json", "0.1", "0.1", false, SCORE_PASS},
	{"json", "0.1", "0.10000000000000002", false, SCORE_FAIL},
	{"json", "9007199254740993", "9007199254740992.0", false, SCORE_FAIL},
	{"json", "9007199254740992", "9007199254740992.0", false, SCORE_PASS},
	{"json", "9223372036854775807", "9223372036854775808.0", false, SCORE_FAIL},
	{"json", "-9223372036854775808", "-9223372036854775808.0", false, SCORE_PASS},
	{"json", "1e30", "1000000000000000000000000000000", false, SCORE_FAIL},
	{"json", "[1,2]", "[2,1]", false, SCORE_FAIL},
	{"json", "[1,2]", "[1,2,3]", false, SCORE_FAIL},
	{"json", "[]", "{}", false, SCORE_FAIL},
	{"json", "{\"a\":null}", "{}", false, SCORE_FAIL},
	{"json", "{}", "{\"a\":null}", false, SCORE_FAIL},
	{"json", "\"\\u00e9\"", "\"\xc3\xa9\"", false, SCORE_PASS},
	{"json", "\"a\\u0000b\"", "\"a\\u0000c\"", false, SCORE_FAIL},
	{"json", "\"a\\u0000b\"", "\"a\\u0000b\"", false, SCORE_PASS},
	{"json", "{\"a\":1}", "{\"a\":1,\"a\":1}", false, SCORE_FAIL},
	{"json", "{}", "{} {}", false, SCORE_FAIL},
	{"json", "{}", "here: {}", false, SCORE_FAIL},
	{"json", "null", "", false, SCORE_FAIL},
	{"json", "null", "NaN", false, SCORE_FAIL},
	{"json", "\"a\"", "\"\xff\"", false, SCORE_FAIL},
	{"json", "{}", "{}", true, SCORE_ERROR},
};

static void test_rows(void **state)
{
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct row *r = &rows[i];
		struct score s = score_of(r->scorer, r->target, r->output, strlen(r->output), r->cut, 0);

		if (s.status != r->want || (s.status == SCORE_PASS) != (s.value > 0.5) || (s.status == SCORE_PASS) != (s.words[0] == '\0')) {
			print_error("row %zu: %s of \"%s\" on \"%s\": %s, %g: %s\n", i, r->scorer, r->target, r->output,
			            scorer_status_names[s.status], s.value, s.words);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

static void test_bytes(void **state)
{
	(void)state;
	assert_int_equal(score_of("exact_match", "a", "a\0b", 3, false, 0).status, SCORE_FAIL);
	assert_int_equal(score_of("contains", "b", "a\0b", 3, false, 0).status, SCORE_PASS);
	assert_int_equal(score_of("regex", "^a\\x00b$", "a\0b", 3, false, 0).status, SCORE_PASS);
	assert_int_equal(score_of("json", "1", "1\0", 2, false, 0).status, SCORE_FAIL);
}

static void test_exit_status(void **state)
{
	(void)state;
	assert_int_equal(score_of("exit_status", NULL, "", 0, false, 0).status, SCORE_PASS);
	assert_int_equal(score_of("exit_status", NULL, "x", 1, true, 0).status, SCORE_PASS);
	assert_int_equal(score_of("exit_status", NULL, "", 0, false, 1).status, SCORE_FAIL);
	assert_int_equal(score_of("exit_status", "3", "", 0, false, 3).status, SCORE_PASS);
	assert_int_equal(score_of("exit_status", "137", "", 0, false, 137).status, SCORE_PASS);
}

/* An output chosen so that each place where a match could start is cheap and all of them are not. */
static void test_time(void **state)
{
	enum { N = 1 << 20 };
	char *output = malloc(N);
	struct timespec t0;
	struct timespec t1;
	struct score s;

	(void)state;
	assert_non_null(output);
	memset(output, 'a', N);
	(void)clock_gettime(CLOCK_MONOTONIC, &t0);
	s = score_of("regex", "a.{0,50000}[xy][xz]", output, N, false, 0);
	(void)clock_gettime(CLOCK_MONOTONIC, &t1);
	free(output);
	assert_int_equal(s.status, SCORE_ERROR);
	assert_non_null(strstr(s.words, "takes too long"));
	assert_true(t1.tv_sec - t0.tv_sec < 20);
}

/* What is decided of a beginning is what the whole comes to, for every short text and every place to cut it. */
static void test_cut(void **state)
{
	static const struct {
		const char *scorer;
		const char *target;
	} asked[] = {
		{"exact_match", ""}, {"exact_match", "a"}, {"exact_match", "ab"}, {"exact_match", "a\nb"}, {"exact_match", "\nb\n"},
		{"contains", "a"}, {"contains", "ab"}, {"contains", "a\nb"}, {"contains", "aa"},
		{"json", "1"}, {"exit_status", "0"}, {"exit_status", "1"},
		{"regex", "a"}, {"regex", "^a"}, {"regex", "a$"}, {"regex", "^a$"}, {"regex", "a\\z"}, {"regex", "a\\Z"}, {"regex", "(?m)a$"},
		{"regex", "(?m)^b"}, {"regex", "a\\b"}, {"regex", "a\\B"}, {"regex", "a(?=b)"}, {"regex", "a(?!b)"}, {"regex", "(?<=a)b"},
		{"regex", "(?<!a)b"}, {"regex", "a*+b"}, {"regex", "^a*$"}, {"regex", "ab?"}, {"regex", "^(?:a|ab)$"}, {"regex", "a{2,}"},
		{"regex", "^(?!.*b)"}, {"regex", "^[^b]*$"}, {"regex", ""}, {"regex", "$"}, {"regex", "\\R"}, {"regex", "(?s).+b"}, {"regex", "^.*b"},
		{"regex", "\\A(?s:.)\\z"}, {"regex", "(a|b)\\1"}, {"regex", "^(?>a*)b"}, {"regex", "a(*SKIP)(*FAIL)|b"}, {"regex", "\\Ab|\\Aa"},
	};
	enum { LONGEST = 3, TEXTS = 1 + 3 + 9 + 27 };
	size_t decided = 0;
	size_t cases = 0;

	(void)state;
	for (size_t k = 0; k < COUNT(asked); k++)
		for (unsigned int t = 0; t < TEXTS; t++) {
			char text[LONGEST] = "";
			size_t n = t < 1 ? 0 : t < 4 ? 1 : t < 13 ? 2 : 3;
			unsigned int number = t - (n == 0 ? 0 : n == 1 ? 1 : n == 2 ? 4 : 13);
			struct score whole;

			for (size_t i = 0; i < n; i++, number /= 3)
				text[i] = "ab\n"[number % 3];
			whole = score_of(asked[k].scorer, asked[k].target, text, n, false, 0);
			for (size_t cut = 0; cut < n; cut++) {
				struct score part = score_of(asked[k].scorer, asked[k].target, text, cut, true, 0);

				cases++;
				decided += part.status != SCORE_ERROR;
				if (part.status != SCORE_ERROR && part.status != whole.status)
					fail_msg("%s of \"%s\" on %zu of %zu bytes of \"%.*s\": %s, not %s", asked[k].scorer, asked[k].target, cut, n, (int)n,
					         text, scorer_status_names[part.status], scorer_status_names[whole.status]);
			}
		}
	assert_in_range(decided, cases / 10, cases - cases / 10);
}

/* ---- from a suite */

struct yaml_row {
	const char *text;
	const char *message; /* "": it is taken */
	const char *target;
};

static const struct yaml_row yaml_rows[] = {
	{"scorer: regex\ntarget: '^a+$'\n", "", "^a+$"},
	{"target: yes\n", "", "yes"},
	{"scorer: json\ntarget: {\"a\": [1, 1.5, true, null, x, \"1\"]}\n", "", "{\"a\":[1,1.5,true,null,\"x\",\"1\"]}"},
	{"scorer: json\ntarget: '{\"a\": 1}'\n", "", "{\"a\": 1}"},
	{"scorer: exit_status\n", "", NULL},
	{"scorer: exit_status\ntarget: 3\n", "", "3"},
	{"scorer: {command: ./judge, timeout_s: 5}\n", "", NULL},
	{"scorer: regexp\ntarget: a\n", "s.yaml:1:9: unknown scorer: regexp: did you mean regex?", NULL},
	{"scorer: levenshtein\ntarget: a\n", "s.yaml:1:9: unknown scorer: levenshtein: it is one of exact_match, contains", NULL},
	{"scorer: [regex]\ntarget: a\n", "s.yaml:1:9: unknown scorer: a list: ", NULL},
	{"scorer: command\n", "s.yaml:1:9: scorer: which command?", NULL},
	{"scorer: {comand: x}\n", "s.yaml:1:10: unknown key in a scorer: comand: did you mean command?", NULL},
	{"scorer: {timeout_s: 5}\n", "s.yaml:1:9: scorer: a map names a command", NULL},
	{"scorer: {command: x, timeout_s: 0}\n", "s.yaml:1:33: timeout_s: a whole number of seconds", NULL},
	{"scorer: {command: ''}\n", "s.yaml:1:19: command: a line for /bin/sh", NULL},
	{"scorer: regex\n", "s.yaml:1:1: regex needs a target: add one", NULL},
	{"scorer: contains\ntarget: ''\n", "s.yaml:2:9: target: it is empty", NULL},
	{"scorer: contains\ntarget: [a, b]\n", "s.yaml:2:9: target: contains wants text, not a list", NULL},
	{"scorer: regex\ntarget: 'a(b'\n", "s.yaml:2:9: target: no regular expression: missing closing parenthesis, at byte 3 of it", NULL},
	{"scorer: regex\ntarget: 'a\\C'\n", "s.yaml:2:9: target: no regular expression: ", NULL},
	{"scorer: regex\ntarget: '((a{1,999}){1,999}){1,999}'\n", "s.yaml:2:9: target: no regular expression: regular expression is too large", NULL},
	{"scorer: json\ntarget: '{a: 1}'\n", "s.yaml:2:9: no JSON: line 1, column 2: ", NULL},
	{"scorer: json\ntarget: 99999999999999999999\n", "s.yaml:2:9: no JSON: ", NULL},
	{"scorer: exit_status\ntarget: 256\n", "s.yaml:2:9: target: an exit status is a number from 0 to 255", NULL},
	{"scorer: exit_status\ntarget: -1\n", "s.yaml:2:9: target: an exit status is a number from 0 to 255", NULL},
};

struct found {
	yaml_node_t *scorer;
	yaml_node_t *target;
};

static int find(void *cookie, yaml_node_t *key, yaml_node_t *value, struct err *e)
{
	struct found *f = cookie;

	(void)e;
	*(strcmp(yaml_word(key), "scorer") == 0 ? &f->scorer : &f->target) = value;
	return 0;
}

static void test_yaml(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(yaml_rows); i++) {
		const struct yaml_row *r = &yaml_rows[i];
		struct found f = {0};
		struct yaml_file y = {0};
		struct scorer s = {0};
		struct err e = {0};
		int rc;

		assert_int_equal(yaml_file_load(&y, "s.yaml", r->text, strlen(r->text), &e), 0);
		assert_int_equal(yaml_each_pair(&y, y.root, "task", find, &f, &e), 0);
		rc = scorer_parse(&s, &y, y.root, f.scorer, f.target, &e);
		if ((rc != 0) != (r->message[0] != '\0') || strncmp(e.msg, r->message, strlen(r->message)) != 0 ||
		    (rc != 0 && (e.exit != STOP_USAGE || !e.located)))
			fail_msg("row %zu: %s: %d: %s", i, r->text, rc, e.msg);
		if (rc == 0 && (r->target != NULL ? s.target == NULL || strcmp(s.target, r->target) != 0 : s.target != NULL))
			fail_msg("row %zu: %s: target %s", i, r->text, s.target);
		scorer_done(&s);
		yaml_file_done(&y);
	}
}

/* What a record keeps of a scorer gives the scorer again. */
static void test_record(void **state)
{
	static const char *const good[] = {"\"regex\"", "\"json\"", "\"exit_status\"", "{\"command\":\"./judge -v\",\"timeout_s\":7}"};
	static const char *const bad[] = {"\"regexp\"", "\"command\"", "null", "7", "{}", "{\"command\":\"\"}", "{\"command\":\"x\",\"timeout_s\":-1}"};
	struct err e = {0};
	struct scorer s;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		json_t *scorer = json_loads(good[i], JSON_DECODE_ANY, NULL);
		json_t *target = json_string("1");
		json_t *again;

		if (scorer_from_json(&s, "task t", scorer, target, &e) != 0)
			fail_msg("%s: %s", good[i], e.msg);
		again = scorer_to_json(&s);
		assert_true(json_equal(scorer, again));
		assert_string_equal(s.target, "1");
		json_decref(scorer);
		json_decref(target);
		json_decref(again);
		scorer_done(&s);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		json_t *scorer = json_loads(bad[i], JSON_DECODE_ANY, NULL);

		e = (struct err){0};
		assert_int_equal(scorer_from_json(&s, "task t", scorer, NULL, &e), -EINVAL);
		assert_int_equal(e.exit, STOP_USAGE);
		assert_int_equal(strncmp(e.msg, "task t: ", 8), 0);
		json_decref(scorer);
	}
}

/* ---- command */

static void test_command_input(void **state)
{
	static const char want[] = "{\"id\":\"t\",\"input\":\"say \\\"a\\\"\",\"target\":null,\"output\":\"a\\u0000\xef\xbf\xbd\",\"exit\":3}\n";
	const struct scored in = {.output = "a\0\xff", .len = 3, .exit = 3};
	struct scorer s = {.kind = SCORER_COMMAND};
	struct err e = {0};
	AUTO_BUF struct buf b = {0};

	(void)state;
	assert_int_equal(scorer_command_input(&b, &s, &in, "t", "say \"a\"", &e), 0);
	assert_string_equal(buf_str(&b), want);
}

static void test_command_answer(void **state)
{
	static const struct {
		const char *answer;
		int exit;
		enum score_status want;
		double value;
		const char *words;
	} answers[] = {
		{"{\"pass\": true}\n", 0, SCORE_PASS, 1, ""},
		{"{\"pass\": false}", 0, SCORE_FAIL, 0, ""},
		{"{\"pass\": false, \"score\": 0.25, \"reason\": \"a\\nb\"}", 0, SCORE_FAIL, 0.25, "a b"},
		{"{\"pass\": false, \"reason\": \"\\u001b[31m\\u007f\"}", 0, SCORE_FAIL, 0, " [31m "},
		{"{\"pass\": true, \"score\": 1, \"more\": []}", 0, SCORE_PASS, 1, ""},
		{"{\"pass\": true}", 1, SCORE_ERROR, 0, "the scorer's command ended with exit 1"},
		{"{\"pass\": true}", -1, SCORE_ERROR, 0, "the scorer's command did not end in its time"},
		{"", 0, SCORE_ERROR, 0, "the scorer's answer is empty"},
		{"yes", 0, SCORE_ERROR, 0, "the scorer's answer is no JSON: "},
		{"[]", 0, SCORE_ERROR, 0, "the scorer's answer has no \"pass\""},
		{"{\"pass\": 1}", 0, SCORE_ERROR, 0, "the scorer's answer has no \"pass\""},
		{"{\"pass\": true, \"score\": 2}", 0, SCORE_ERROR, 0, "the scorer's \"score\""},
		{"{\"pass\": true, \"score\": \"1\"}", 0, SCORE_ERROR, 0, "the scorer's \"score\""},
		{"{\"pass\": true, \"reason\": 1}", 0, SCORE_ERROR, 0, "the scorer's \"reason\""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(answers); i++) {
		struct score s = {0};

		scorer_command_answer(&s, answers[i].answer, strlen(answers[i].answer), false, answers[i].exit);
		if (s.status != answers[i].want || s.value < answers[i].value || s.value > answers[i].value ||
		    strncmp(s.words, answers[i].words, strlen(answers[i].words)) != 0)
			fail_msg("answer %zu: %s, %g: %s", i, scorer_status_names[s.status], s.value, s.words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows), cmocka_unit_test(test_bytes), cmocka_unit_test(test_exit_status), cmocka_unit_test(test_time), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_yaml), cmocka_unit_test(test_record), cmocka_unit_test(test_command_input),
		cmocka_unit_test(test_command_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
