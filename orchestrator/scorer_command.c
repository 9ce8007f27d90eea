/* The command scorer: what the author's own judge reads and what its answer means. Running it is the caller's.
 *
 * It reads one line, {"id", "input", "target", "output", "exit"}: id, input and target as the task has them (target null when there
 * is none), output as text, exit as a shell has it. It answers {"pass": true|false} with "score" (0 to 1) and "reason" (one
 * sentence) if it likes; other members are its own affair. Anything else, or an exit status other than 0, is an error. */
#include <errno.h>
#include <string.h>

#include "orchestrator/scorer.h"

bool scorer_command_settled(struct score *ret, const struct scored *in)
{
	if (!in->cut)
		return false;
	*ret = scorer_says(SCORE_ERROR, "the output was cut, and a command is given the whole of it: it cannot be told");
	return true;
}

/* JSON has no other text than UTF-8: what is none becomes U+FFFD. */
static json_t *text(const char *p, size_t n)
{
	AUTO_BUF struct buf b = {0};

	for (size_t i = 0; i < n;) {
		size_t len = str_utf8_len(p + i, n - i);

		if (buf_add(&b, len > 0 ? p + i : "\xef\xbf\xbd", len > 0 ? len : 3) != 0)
			return NULL;
		i += len > 0 ? len : 1;
	}
	return json_stringn(b.data != NULL ? b.data : "", b.len);
}

static int add_bytes(const char *p, size_t n, void *b)
{
	return buf_add(b, p, n);
}

int scorer_command_input(struct buf *ret, const struct scorer *s, const struct scored *in, const char *id, const char *input,
                         struct err *e)
{
	json_t *all = json_pack("{s:o, s:o, s:o, s:o, s:i}", "id", text(id, strlen(id)), "input", text(input, strlen(input)), "target",
	                        s->target != NULL ? text(s->target, s->target_len) : json_null(), "output", text(in->output, in->len),
	                        "exit", in->exit);
	int rc = all == NULL || json_dump_callback(all, add_bytes, ret, JSON_COMPACT) != 0 || buf_add(ret, "\n", 1) != 0;

	json_decref(all);
	return rc == 0 ? 0 : err_set(e, ENOMEM, "cannot write what a scorer reads: out of memory");
}

static struct score said(const json_t *answer)
{
	const json_t *passed = json_object_get(answer, "pass");
	const json_t *value = json_object_get(answer, "score");
	const json_t *reason = json_object_get(answer, "reason");
	struct score s;

	if (!json_is_boolean(passed))
		return scorer_says(SCORE_ERROR, "the scorer's answer has no \"pass\" that is true or false");
	if (value != NULL && (!json_is_number(value) || !(json_number_value(value) >= 0 && json_number_value(value) <= 1)))
		return scorer_says(SCORE_ERROR, "the scorer's \"score\" is no number from 0 to 1");
	if (reason != NULL && !json_is_string(reason))
		return scorer_says(SCORE_ERROR, "the scorer's \"reason\" is no text");
	s = scorer_says(json_is_true(passed) ? SCORE_PASS : SCORE_FAIL, "%s", reason != NULL ? json_string_value(reason) : "");
	if (value != NULL)
		s.value = json_number_value(value);
	return s;
}

void scorer_command_answer(struct score *ret, const char *answer, size_t n, bool cut, int exit)
{
	char why[SCORER_WHY_MAX] = "";
	json_t *value;

	if (exit == -1)
		*ret = scorer_says(SCORE_ERROR, "the scorer's command did not end in its time");
	else if (exit != 0)
		*ret = scorer_says(SCORE_ERROR, "the scorer's command ended with exit %d", exit);
	else if (cut)
		*ret = scorer_says(SCORE_ERROR, "the scorer's answer is longer than %u bytes", SCORER_ANSWER_MAX);
	if (exit != 0 || cut)
		return;
	value = scorer_json_load(answer, n, why);
	if (value == NULL)
		*ret = scorer_says(SCORE_ERROR, "the scorer's answer is %s", n == 0 ? "empty" : why);
	else
		*ret = said(value);
	json_decref(value);
}
