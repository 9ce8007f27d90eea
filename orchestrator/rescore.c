/* Scoring again: see rescore.h. */
#include "orchestrator/rescore.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/exit.h"
#include "base/str.h"
#include "orchestrator/show.h"

static int hex(char c)
{
	const char *digits = "0123456789abcdef";
	const char *at = c != '\0' ? strchr(digits, c) : NULL;

	return at != NULL ? (int)(at - digits) : -1;
}

/* Bytes that are no text stand in a record as \xHH, the backslash among them, so that they can be had again. */
static int unescape(struct buf *ret, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int high = i + 3 < n && p[i + 1] == 'x' ? hex(p[i + 2]) : -1;
		int low = high >= 0 ? hex(p[i + 3]) : -1;
		char byte = p[i];

		if (byte == '\\' && low < 0)
			return -EBADMSG;
		if (byte == '\\') {
			byte = (char)(high << 4 | low);
			i += 3;
		}
		if (buf_add(ret, &byte, 1) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* The task's own scorer, or the one that was asked for. */
static int make_scorer(struct scorer *ret, const json_t *task, const struct rescore *how, struct err *e)
{
	const json_t *target = json_object_get(task, "target");
	char what[128];

	(void)snprintf(what, sizeof(what), "task %.100s", show_str(task, "id"));
	if (how->name != NULL)
		return scorer_from_word(ret, what, how->name, json_string_value(target), json_string_length(target), e);
	return scorer_from_json(ret, what, json_object_get(task, "scorer"), target, e);
}

static int set(json_t *task, const struct scorer *s, const struct score *score, struct err *e)
{
	int bad = json_object_set_new(task, "scorer", scorer_to_json(s));

	bad |= json_object_set_new(task, "status", json_string(scorer_status_names[score->status]));
	bad |= json_object_set_new(task, "score", score->status == SCORE_ERROR ? json_null() : json_real(score->value));
	bad |= json_object_set_new(task, "reason", score->words[0] == '\0' ? json_null() : json_string(score->words));
	return bad == 0 ? 0 : err_set(e, ENOMEM, "cannot score: out of memory");
}

int rescore_task(json_t *task, struct rescore *how, enum rescored *ret, struct err *e)
{
	const json_t *output = json_object_get(task, "output");
	const json_t *text = json_object_get(output, "text");
	struct scored in = {.output = json_string_value(text), .len = json_string_length(text),
	                    .cut = json_is_true(json_object_get(output, "cut")), .exit = (int)show_int(task, "exit")};
	AUTO_BUF struct buf bytes = {0};
	struct scorer s;
	struct score score;
	int rc;

	if (!json_is_true(json_object_get(task, "scored")) || !json_is_string(text)) {
		*ret = RESCORE_NOT_SCORED;
		return 0;
	}
	if (json_is_true(json_object_get(output, "escaped"))) {
		rc = unescape(&bytes, in.output, in.len);
		if (rc != 0)
			return err_stop(e, STOP_USAGE, err_errno(e, -rc, "task %.100s: its output is not as a record has it",
			                                         show_str(task, "id")));
		in.output = bytes.data != NULL ? bytes.data : "";
		in.len = bytes.len;
	}
	rc = make_scorer(&s, task, how, e);
	if (rc != 0)
		return rc;
	*ret = s.kind == SCORER_COMMAND ? RESCORE_COMMAND : RESCORE_DONE;
	if (*ret == RESCORE_DONE)
		rc = scorer_score(&score, &s, &in, e);
	if (rc == 0 && *ret == RESCORE_DONE)
		rc = set(task, &s, &score, e);
	scorer_done(&s);
	return rc;
}
