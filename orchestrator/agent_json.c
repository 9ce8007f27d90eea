/* The events with which agents end a turn, read from JSON lines or one JSON document. The last one counts: an error
 * that was retried is followed by a success.
 *
 *   claude, qwen   {"type":"result","is_error":…,"subtype":…,"api_error_status":…,"result":…}
 *                  {"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":…}}
 *   codex          {"type":"turn.completed"} {"type":"turn.failed","error":{"message":…}} {"type":"error","message":…}
 *   opencode       {"type":"error","error":{"name":…,"data":{"message":…,"statusCode":…,"responseHeaders":…}}}
 *                  {"type":"step_finish","part":{"reason":"stop"}}
 *   gemini         {"response":…} {"error":{"type":…,"message":…,"code":…}}
 *                  {"type":"result","status":"error","error":{…}} */
#include "orchestrator/agent_impl.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define LINE_MAX_BYTES (1u << 20)
#define DOCUMENT_TRIES 4

struct reader {
	struct agent_said *said;
	int64_t now_s;
	uint64_t rejected_s;  /* seconds until the reset of a limit that refused a request */
};

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s == NULL ? "" : s;
}

static long number_of(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_integer(v) ? (long)json_integer_value(v) : json_is_string(v) ? strtol(json_string_value(v), NULL, 10) : 0;
}

static void set_message(struct agent_said *said, const char *s)
{
	if (said->message[0] == '\0')
		(void)snprintf(said->message, sizeof(said->message), "%s", s);
}

/* message, status and retry from one level of an error. */
static void take_fields(struct reader *r, const json_t *o)
{
	static const char *const status_keys[] = {"statusCode", "status_code", "status", "code"};
	long retry = number_of(json_object_get(o, "responseHeaders"), "retry-after");

	set_message(r->said, text_of(o, "message"));
	for (size_t i = 0; i < sizeof(status_keys) / sizeof(status_keys[0]) && r->said->status == 0; i++)
		r->said->status = number_of(o, status_keys[i]);
	if (r->said->retry_after_s == 0 && retry > 0)
		r->said->retry_after_s = (uint64_t)retry;
}

/* An error is a string, or an object that keeps its fields in `data` or itself. */
static void take_error(struct reader *r, const json_t *error)
{
	if (json_is_string(error))
		set_message(r->said, json_string_value(error));
	take_fields(r, json_object_get(error, "data"));
	take_fields(r, error);
	set_message(r->said, text_of(error, "name"));
}

static void conclude(struct reader *r, bool failed)
{
	*r->said = (struct agent_said){.spoke = true, .failed = failed};
	if (failed)
		r->said->retry_after_s = r->rejected_s;
}

static void on_result(struct reader *r, const json_t *o)
{
	bool failed = json_is_true(json_object_get(o, "is_error")) || str_starts(text_of(o, "subtype"), "error") ||
	              str_eq(text_of(o, "status"), "error");

	conclude(r, failed);
	if (!failed)
		return;
	r->said->status = number_of(o, "api_error_status");
	take_error(r, json_object_get(o, "error"));
	set_message(r->said, text_of(o, "result"));
	take_error(r, json_array_get(json_object_get(o, "errors"), 0));
	set_message(r->said, text_of(o, "subtype"));
}

static void on_error(struct reader *r, const json_t *o)
{
	conclude(r, true);
	take_error(r, json_object_get(o, "error"));
	set_message(r->said, text_of(o, "message"));
	if (r->said->status == 0)
		r->said->status = number_of(o, "status_code");
}

static void on_completed(struct reader *r, const json_t *o)
{
	(void)o;
	conclude(r, false);
}

static void on_step(struct reader *r, const json_t *o)
{
	if (str_eq(text_of(json_object_get(o, "part"), "reason"), "stop"))
		conclude(r, false);
}

static void on_limit(struct reader *r, const json_t *o)
{
	const json_t *info = json_object_get(o, "rate_limit_info");

	if (str_eq(text_of(info, "status"), "rejected"))
		r->rejected_s = agent_until(number_of(info, "resetsAt"), r->now_s);
}

static void on_object(struct reader *r, const json_t *o)
{
	static const struct { const char *type; void (*fn)(struct reader *, const json_t *); } events[] = {
		{"result", on_result}, {"turn.completed", on_completed}, {"turn.failed", on_error}, {"error", on_error},
		{"step_finish", on_step}, {"rate_limit_event", on_limit},
	};
	const char *type = text_of(o, "type");

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (str_eq(type, events[i].type))
			events[i].fn(r, o);
	if (type[0] != '\0')
		return;
	if (json_is_object(json_object_get(o, "error")))
		on_error(r, o);
	else if (json_is_string(json_object_get(o, "response")))
		conclude(r, false);
}

/* One document; false when these bytes are none. */
static bool read_document(struct reader *r, const char *p, size_t n)
{
	json_t *root = json_loadb(p, n, 0, NULL);
	const json_t *each;
	size_t i;

	if (root == NULL)
		return false;
	if (json_is_array(root)) {
		json_array_foreach(root, i, each)
			if (json_is_object(each))
				on_object(r, each);
	} else {
		on_object(r, root);
	}
	json_decref(root);
	return true;
}

static void read_lines(struct reader *r, const char *p, size_t n)
{
	while (n > 0) {
		const char *nl = memchr(p, '\n', n);
		size_t len = nl == NULL ? n : (size_t)(nl - p);

		if (len > 1 && len <= LINE_MAX_BYTES && (p[0] == '{' || p[0] == '['))
			(void)read_document(r, p, len);
		n -= nl == NULL ? len : len + 1;
		p += nl == NULL ? len : len + 1;
	}
}

/* A document printed over many lines after other text: from the last lines that are just "{". */
static void read_last_document(struct reader *r, const char *p, size_t n)
{
	size_t at = n;

	for (int tries = 0; tries < DOCUMENT_TRIES; tries++) {
		while (at > 0 && !(p[at - 1] == '{' && (at == 1 || p[at - 2] == '\n') && at < n && p[at] == '\n'))
			at--;
		if (at == 0 || read_document(r, p + at - 1, n - (at - 1)))
			return;
		at--;
	}
}

void agent_read_json(struct agent_said *said, const char *bytes, size_t n, int64_t now_s)
{
	struct reader r = {.said = said, .now_s = now_s};
	size_t lead = 0;

	*said = (struct agent_said){0};
	while (lead < n && (bytes[lead] == ' ' || bytes[lead] == '\n' || bytes[lead] == '\r' || bytes[lead] == '\t'))
		lead++;
	if (lead < n && (bytes[lead] == '{' || bytes[lead] == '[') && read_document(&r, bytes + lead, n - lead) &&
	    said->spoke)
		return;
	read_lines(&r, bytes, n);
	if (!said->spoke)
		read_last_document(&r, bytes, n);
}
