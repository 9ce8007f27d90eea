/* How the end of an agent's turn is read: exit status, structured output, words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "orchestrator/agent.h"
#include "protocol/frames.h"

#define EXITED(n) ((n) << 8)
#define NOW 1700000000

struct row {
	const char *name;
	int wstatus;
	uint32_t flags;
	const char *out;
	const char *err;
	enum agent_outcome outcome;
	uint64_t retry;
	bool structured;
};

static const struct row rows[] = {
	{"plain success", 0, 0, "I am done. All 401 tests pass, no quota left unused.\n", "", AGENT_OK, 0, false},
	{"silent success", 0, 0, "", "", AGENT_OK, 0, false},
	{"plain failure", EXITED(3), 0, "", "oops\n", AGENT_FAILED, 0, false},
	{"crash", 11, 0, "", "", AGENT_CRASH, 0, false},
	{"deadline", 9, EXITED_DEADLINE, "", "", AGENT_DEADLINE, 0, false},
	{"aborted", 9, EXITED_ABORTED, "", "", AGENT_ABORTED, 0, false},
	{"unconfined", EXITED(125), EXITED_UNCONFINED, "", "", AGENT_NOT_STARTED, 0, false},
	{"not found", EXITED(127), 0, "", "", AGENT_NOT_STARTED, 0, false},
	{"not executable", EXITED(126), 0, "", "", AGENT_NOT_STARTED, 0, false},

	{"claude ok", 0, 0, "{\"type\":\"system\"}\n{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"429 done\"}\n",
	 "", AGENT_OK, 0, true},
	{"claude 401", EXITED(1), 0, "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":401,"
	 "\"result\":\"Failed to authenticate\"}\n", "", AGENT_AUTH, 0, true},
	{"claude 429, exit 0", 0, 0, "{\"type\":\"result\",\"is_error\":true,\"api_error_status\":429,\"result\":\"API Error\"}\n", "",
	 AGENT_QUOTA, 0, true},
	{"claude 529", EXITED(1), 0, "{\"type\":\"result\",\"is_error\":true,\"result\":\"API Error: 529 Overloaded\"}", "",
	 AGENT_OVERLOADED, 0, true},
	{"claude limit with reset", EXITED(1), 0,
	 "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":1700003600}}\n"
	 "{\"type\":\"result\",\"is_error\":true,\"result\":\"You've hit your limit \\u00b7 resets 2pm\"}\n", "", AGENT_QUOTA, 3600, true},
	{"claude limit is allowed", 0, 0,
	 "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"allowed\",\"resetsAt\":1700003600}}\n"
	 "{\"type\":\"result\",\"is_error\":false}\n", "", AGENT_OK, 0, true},
	{"claude max turns", 0, 0, "{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":false}\n", "", AGENT_FAILED, 0, true},
	{"claude text, exit 0", 0, 0, "Claude AI usage limit reached|1700000600\n", "", AGENT_QUOTA, 600, false},
	{"claude text mentions an error in passing", 0, 0, "I fixed the API Error: 429 handling.\nDone.\n", "", AGENT_OK, 0, false},

	{"codex ok after reconnect", 0, 0, "{\"type\":\"error\",\"message\":\"Reconnecting... 1/5\"}\n{\"type\":\"turn.completed\"}\n", "",
	 AGENT_OK, 0, true},
	{"codex failed", EXITED(1), 0, "{\"type\":\"turn.started\"}\n{\"type\":\"turn.failed\",\"error\":{\"message\":"
	 "\"unexpected status 401 Unauthorized: no key\"}}\n", "", AGENT_AUTH, 0, true},
	{"codex limit", EXITED(1), 0, "{\"type\":\"turn.failed\",\"error\":{\"message\":\"You've hit your usage limit. Try again in "
	 "3 hours 12 minutes.\"}}\n", "", AGENT_QUOTA, 3 * 3600 + 12 * 60, true},
	{"codex retries used up, exit 0", 0, 0, "{\"type\":\"turn.failed\",\"error\":{\"message\":\"exceeded retry limit, last status: 429 "
	 "Too Many Requests\"}}\n", "", AGENT_QUOTA, 0, true},
	{"codex nested seconds", EXITED(1), 0, "{\"type\":\"error\",\"message\":\"{\\\"error\\\":{\\\"type\\\":\\\"usage_limit_reached\\\","
	 "\\\"resets_in_seconds\\\":120}}\"}\n", "", AGENT_QUOTA, 120, true},
	{"codex offline", EXITED(1), 0, "{\"type\":\"turn.failed\",\"error\":{\"message\":\"stream disconnected before completion\"}}\n", "",
	 AGENT_OVERLOADED, 0, true},
	{"codex item error is no end", 0, 0, "{\"type\":\"item.completed\",\"item\":{\"type\":\"error\",\"message\":\"429\"}}\n", "", AGENT_OK,
	 0, false},

	{"opencode limit, exit 0", 0, 0, "{\"type\":\"error\",\"error\":{\"name\":\"APIError\",\"data\":{\"message\":\"slow down\","
	 "\"statusCode\":429,\"responseHeaders\":{\"retry-after\":\"30\"}}}}\n", "", AGENT_QUOTA, 30, true},
	{"opencode ok", 0, 0, "{\"type\":\"step_finish\",\"part\":{\"reason\":\"stop\"}}\n", "", AGENT_OK, 0, true},
	{"opencode endless header", 0, 0, "{\"type\":\"error\",\"error\":{\"data\":{\"statusCode\":429,\"responseHeaders\":"
	 "{\"retry-after\":\"99999999999\"}}}}\n", "", AGENT_QUOTA, 7 * 86400, true},

	{"gemini document", 0, 0, "{\n  \"response\": \"done, error 429 fixed\",\n  \"stats\": {}\n}\n", "", AGENT_OK, 0, true},
	{"gemini error on stderr after warnings", EXITED(1), 0, "",
	 "Warning: cannot scan tests\n{\n  \"session_id\": \"x\",\n  \"error\": {\n    \"type\": \"Error\",\n    \"message\": "
	 "\"Quota exceeded, your quota will reset after 1h2m3s.\",\n    \"code\": 1\n  }\n}\n", AGENT_QUOTA, 3723, true},
	{"gemini error, exit 0", 0, 0, "{\"error\":{\"type\":\"ApiError\",\"message\":\"busy\",\"code\":503}}", "", AGENT_OVERLOADED, 0, true},
	{"gemini text, exit 0", 0, 0, "[API Error: Resource exhausted. \"retryDelay\": \"17.2s\"]\n", "", AGENT_QUOTA, 18, false},
	{"gemini no auth", EXITED(41), 0, "", "Please set an Auth method in your settings.json\n", AGENT_AUTH, 0, false},
	{"qwen array", EXITED(1), 0, "[{\"type\":\"system\"},{\"type\":\"result\",\"is_error\":true,\"error\":{\"message\":\"401 bad\"}}]", "",
	 AGENT_AUTH, 0, true},

	{"stderr words", EXITED(1), 0, "", "Error: connect ECONNREFUSED 127.0.0.1:9\n", AGENT_OVERLOADED, 0, false},
	{"a number inside another", EXITED(1), 0, "", "read 14290 bytes\n", AGENT_FAILED, 0, false},
	{"success, then exit 1", EXITED(1), 0, "{\"type\":\"turn.completed\"}\n", "", AGENT_FAILED, 0, true},
	{"broken JSON", 0, 0, "{\"type\":\"result\",\"is_error\":tr\n[1,2\n{{{{\n", "", AGENT_OK, 0, false},
	{"a line torn by another event", 0, 0, "{\"type\":\"assistant\",\"text\":\"a{\"type\":\"rate_limit_event\"}\n rest\"}\n"
	 "{\"type\":\"result\",\"is_error\":false}\n", "", AGENT_OK, 0, true},
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		const struct agent_exit x = {.wstatus = r->wstatus, .flags = r->flags, .command = "/opt/bin/agent", .out = r->out,
			.out_len = strlen(r->out), .err = r->err, .err_len = strlen(r->err)};
		struct agent_result got;

		agent_classify(&x, NOW, &got);
		if (got.outcome != r->outcome || got.retry_after_s != r->retry || got.structured != r->structured)
			fail_msg("%s: %s, retry %llu, structured %d: %s", r->name, agent_outcome_name(got.outcome),
			         (unsigned long long)got.retry_after_s, got.structured, got.why);
		assert_true(str_starts(got.why, "agent "));
	}
}

static void test_why_is_one_safe_line(void **state)
{
	char out[4096] = "{\"type\":\"result\",\"is_error\":true,\"result\":\"a\\n\\u001b[31mb";
	struct agent_exit x = {.out = out, .err = ""};
	struct agent_result got;

	(void)state;
	memset(out + strlen(out), 'x', 3000);
	(void)strcat(out, "\"}\n");
	x.out_len = strlen(out);
	agent_classify(&x, NOW, &got);
	assert_int_equal(got.outcome, AGENT_FAILED);
	assert_non_null(strstr(got.why, "a\\x0a\\x1b[31mb"));
	assert_null(strchr(got.why, '\n'));
	assert_true(str_starts(got.why, "the agent failed"));
}

/* Text that is cut ends with a whole character, wherever the cut falls. */
static void test_cut_between_characters(void **state)
{
	static const char out[] = "{\"type\":\"result\",\"is_error\":true,\"result\":\"%.*s%s\"}";
	char words[4 * ERR_MSG_MAX + 1] = "";
	char text[8 * ERR_MSG_MAX];
	struct agent_result got;
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i + 4 < sizeof(words); i += 4)
		memcpy(words + i, "\xf0\x9f\x98\x80", 5);
	for (int lead = 0; lead < 8; lead++) {
		struct agent_exit x = {.out = text, .err = "", .command = "/bin/\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"};

		x.out_len = (size_t)snprintf(text, sizeof(text), out, lead, "xxxxxxxx", words);
		agent_classify(&x, NOW, &got);
		assert_int_equal(str_cut(got.why, strlen(got.why)), strlen(got.why));
		(void)err_set(&e, 1, "%.*s%s", lead, "xxxxxxxx", words);
		assert_int_equal(str_cut(e.msg, strlen(e.msg)), strlen(e.msg));
		assert_true(strlen(e.msg) > ERR_MSG_MAX - 5);
		(void)err_wrap(&e, "\xc3\xa9");
		assert_int_equal(str_cut(e.msg, strlen(e.msg)), strlen(e.msg));
	}
	assert_int_equal(str_cut("a\xf0\x9f\x98\x80", 5), 5);
	assert_int_equal(str_cut("a\xf0\x9f\x98\x80", 4), 1);
	assert_int_equal(str_cut("a\xf0\x9f\x98\x80", 2), 1);
	assert_int_equal(str_cut("\xc3", 1), 0);
	assert_int_equal(str_cut("a\x80\x80\x80\x80", 5), 5);
	assert_int_equal(str_cut("", 0), 0);
}

static void test_idle(void **state)
{
	static const struct {
		const char *out;
		enum agent_outcome want;
	} said[] = {
		{"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"done\"}\n", AGENT_OK},
		{"{\"type\":\"result\",\"is_error\":true,\"result\":\"API Error: 529 overloaded\"}\n", AGENT_OVERLOADED},
		{"{\"type\":\"system\"}\n", AGENT_DEADLINE},
		{"API Error: 529 overloaded\n", AGENT_DEADLINE},
		{"", AGENT_DEADLINE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct agent_exit x = {.wstatus = 9, .flags = EXITED_ABORTED, .idle = true, .out = said[i].out,
		                       .out_len = strlen(said[i].out), .err = ""};
		struct agent_result got;

		agent_classify(&x, NOW, &got);
		assert_int_equal(got.outcome, said[i].want);
	}
}

static void test_deep_json_is_no_danger(void **state)
{
	enum { DEPTH = 200000 };
	char *out = malloc(DEPTH + 1);
	struct agent_exit x = {.out = out, .out_len = DEPTH, .err = ""};
	struct agent_result got;

	(void)state;
	memset(out, '[', DEPTH);
	out[DEPTH] = '\0';
	agent_classify(&x, NOW, &got);
	assert_int_equal(got.outcome, AGENT_OK);
	free(out);
}

static void test_denials(void **state)
{
	const char *text = "cat: tests/a: Permission denied\nfine\nError: EACCES: permission denied, open 'x'\n"
	                   "chmod: Operation not permitted\npermission granted\nEPERM";

	(void)state;
	assert_int_equal(agent_count_denials(text, strlen(text)), 4);
	assert_int_equal(agent_count_denials("", 0), 0);
}

static void test_retry_names(void **state)
{
	(void)state;
	assert_true(agent_outcome_retry(AGENT_QUOTA));
	assert_true(agent_outcome_retry(AGENT_OVERLOADED));
	assert_false(agent_outcome_retry(AGENT_AUTH));
	assert_string_equal(agent_outcome_name(AGENT_NOT_STARTED), "not-started");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows), cmocka_unit_test(test_why_is_one_safe_line),
		cmocka_unit_test(test_cut_between_characters), cmocka_unit_test(test_idle),
		cmocka_unit_test(test_deep_json_is_no_danger), cmocka_unit_test(test_denials), cmocka_unit_test(test_retry_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
