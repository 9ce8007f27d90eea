/* Scorers: see scorer.h. Here is what scorers are made of, and the three that need nothing but bytes. */
#include "orchestrator/scorer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"

const char *const scorer_names[] = {"exact_match", "contains", "regex", "json", "exit_status", "command", NULL};
const char *const scorer_status_names[] = {"pass", "fail", "error", NULL};

/* ---- scores */

struct score scorer_pass(void)
{
	return (struct score){.status = SCORE_PASS, .value = 1};
}

void scorer_line(char *ret, size_t room, const char *text)
{
	size_t n = strlen(text);
	size_t at = 0;

	for (size_t i = 0, len; i < n; i += len) {
		unsigned char c = (unsigned char)text[i];

		len = str_utf8_len(text + i, n - i);
		if (at + len + 1 >= room)
			break;
		if (len == 0 || c < 0x20 || c == 0x7f || (len == 2 && c == 0xc2 && (unsigned char)text[i + 1] < 0xa0)) {
			ret[at++] = len == 0 ? '?' : ' ';
			len = len == 0 ? 1 : len;
			continue;
		}
		memcpy(ret + at, text + i, len);
		at += len;
	}
	ret[at] = '\0';
}

struct score scorer_says(enum score_status status, const char *fmt, ...)
{
	struct score s = {.status = status, .value = status == SCORE_PASS ? 1 : 0};
	char all[2 * SCORER_WORDS_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(all, sizeof(all), fmt, ap);
	va_end(ap);
	scorer_line(s.words, sizeof(s.words), all);
	return s;
}

size_t scorer_trimmed(const char *p, size_t n)
{
	while (n > 0 && (p[n - 1] == '\n' || p[n - 1] == '\r'))
		n--;
	return n;
}

/* The first byte that differs, or the length of the shorter. */
static size_t common(const char *a, size_t na, const char *b, size_t nb)
{
	size_t i = 0;

	while (i < na && i < nb && a[i] == b[i])
		i++;
	return i;
}

/* What was cut off cannot mend a byte that differs, nor what is neither the target's nor a line end. */
static struct score exact_match(const struct scorer *s, const struct scored *in)
{
	size_t want = scorer_trimmed(s->target, s->target_len);
	size_t have = scorer_trimmed(in->output, in->len);
	size_t same = common(s->target, want, in->output, in->len);

	if (have > want && same == want)
		return scorer_says(SCORE_FAIL, "goes on after the target, at byte %zu", want + 1);
	if (same < want && same < in->len)
		return scorer_says(SCORE_FAIL, "differs from the target at byte %zu", same + 1);
	if (in->cut)
		return scorer_says(SCORE_ERROR, "the output was cut, and what was kept agrees with the target: it cannot be told");
	if (have == 0 && want > 0)
		return scorer_says(SCORE_FAIL, "the output is empty");
	if (have < want)
		return scorer_says(SCORE_FAIL, "ends before the target does: %zu of %zu bytes", have, want);
	return scorer_pass();
}

static struct score contains(const struct scorer *s, const struct scored *in)
{
	size_t want = scorer_trimmed(s->target, s->target_len);

	if (memmem(in->output, in->len, s->target, want) != NULL)
		return scorer_pass();
	if (in->cut)
		return scorer_says(SCORE_ERROR, "the output was cut, and what was kept does not contain the target: it cannot be told");
	return scorer_says(SCORE_FAIL, "does not contain the target");
}

static struct score exit_status(const struct scorer *s, const struct scored *in)
{
	if (in->exit == s->exit)
		return scorer_pass();
	return scorer_says(SCORE_FAIL, "exit %d, not %d", in->exit, s->exit);
}

int scorer_score(struct score *ret, const struct scorer *s, const struct scored *in, struct err *e)
{
	switch (s->kind) {
	case SCORER_EXACT_MATCH:
		*ret = exact_match(s, in);
		return 0;
	case SCORER_CONTAINS:
		*ret = contains(s, in);
		return 0;
	case SCORER_REGEX:
		return scorer_regex_score(ret, s->regex, in, e);
	case SCORER_JSON:
		return scorer_json_score(ret, s->json, in, e);
	case SCORER_EXIT_STATUS:
		*ret = exit_status(s, in);
		return 0;
	case SCORER_COMMAND:
		break;
	}
	return err_set(e, EINVAL, "a scorer's command is run by its caller");
}

/* ---- making one */

void scorer_done(struct scorer *s)
{
	free(s->target);
	free(s->command);
	scorer_regex_done(s->regex);
	json_decref(s->json);
	*s = (struct scorer){0};
}

static int set_target(struct scorer *s, const char *target, size_t n)
{
	if (target == NULL)
		return 0;
	s->target = malloc(n + 1);
	if (s->target == NULL)
		return -ENOMEM;
	memcpy(s->target, target, n);
	s->target[n] = '\0';
	s->target_len = n;
	return 0;
}

static int parse_exit(struct scorer *s, char why[SCORER_WHY_MAX])
{
	char *end = NULL;
	long n;

	if (s->target == NULL)
		return 0;
	errno = 0;
	n = strtol(s->target, &end, 10);
	if (s->target[0] < '0' || s->target[0] > '9' || *end != '\0' || errno != 0 || n > 255) {
		(void)snprintf(why, SCORER_WHY_MAX, "target: an exit status is a number from 0 to 255");
		return -EINVAL;
	}
	s->exit = (int)n;
	return 0;
}

static int missing(enum scorer_kind kind, char why[SCORER_WHY_MAX])
{
	(void)snprintf(why, SCORER_WHY_MAX, "%s needs a target: add one", scorer_names[kind]);
	return -EINVAL;
}

/* Makes of kind and target what scoring needs. why begins with what it is about. */
static int prepare(struct scorer *s, char why[SCORER_WHY_MAX])
{
	if (s->target == NULL && s->kind != SCORER_EXIT_STATUS && s->kind != SCORER_COMMAND)
		return missing(s->kind, why);
	if (s->target_len > SCORER_TARGET_MAX) {
		(void)snprintf(why, SCORER_WHY_MAX, "target: %zu bytes, %u are the most", s->target_len, SCORER_TARGET_MAX);
		return -EINVAL;
	}
	switch (s->kind) {
	case SCORER_CONTAINS:
		if (scorer_trimmed(s->target, s->target_len) > 0)
			return 0;
		(void)snprintf(why, SCORER_WHY_MAX, "target: it is empty, and everything contains that: write what to look for");
		return -EINVAL;
	case SCORER_REGEX:
		return scorer_regex_compile(&s->regex, s->target, scorer_trimmed(s->target, s->target_len), why);
	case SCORER_JSON:
		s->json = scorer_json_load(s->target, s->target_len, why);
		return s->json != NULL ? 0 : -EINVAL;
	case SCORER_EXIT_STATUS:
		return parse_exit(s, why);
	case SCORER_EXACT_MATCH:
	case SCORER_COMMAND:
		break;
	}
	return 0;
}

/* ---- from YAML */

static int number_of(const char *name)
{
	for (int i = 0; scorer_names[i] != NULL; i++)
		if (str_eq(name, scorer_names[i]))
			return i;
	return -1;
}

struct reading {
	struct yaml_file *y;
	struct scorer *s;
};

static int pair(void *cookie, yaml_node_t *key, yaml_node_t *value, struct err *e)
{
	static const char *const keys[] = {"command", "timeout_s", NULL};
	struct reading *r = cookie;
	const char *word = yaml_word(value);
	char shown[YAML_SHOWN];
	char *end = NULL;
	long n;

	if (str_eq(yaml_word(key), "command")) {
		if (word == NULL || word[0] == '\0' || strlen(word) > SCORER_COMMAND_MAX)
			return yaml_fail(r->y, value, e, "command: a line for /bin/sh of at most %u bytes, not %s", SCORER_COMMAND_MAX,
			                 yaml_shown(value, shown));
		r->s->command = strdup(word);
		return r->s->command != NULL ? 0 : err_set(e, ENOMEM, "out of memory");
	}
	if (!str_eq(yaml_word(key), "timeout_s"))
		return yaml_fail_word(r->y, key, "key in a scorer", keys, e);
	errno = 0;
	n = word != NULL && word[0] >= '0' && word[0] <= '9' ? strtol(word, &end, 10) : 0;
	if (n < 1 || n > (long)SCORER_TIMEOUT_MAX_S || *end != '\0')
		return yaml_fail(r->y, value, e, "timeout_s: a whole number of seconds from 1 to %u, not %s", SCORER_TIMEOUT_MAX_S,
		                 yaml_shown(value, shown));
	r->s->timeout_s = (unsigned int)n;
	return 0;
}

static int parse_kind(struct scorer *s, struct yaml_file *y, yaml_node_t *scorer, struct err *e)
{
	struct reading r = {.y = y, .s = s};
	int kind;
	int rc;

	if (scorer == NULL)
		return 0;
	if (scorer->type == YAML_MAPPING_NODE) {
		s->kind = SCORER_COMMAND;
		s->timeout_s = SCORER_TIMEOUT_S;
		rc = yaml_each_pair(y, scorer, "scorer", pair, &r, e);
		if (rc == 0 && s->command == NULL)
			rc = yaml_fail(y, scorer, e, "scorer: a map names a command: write {command: LINE}");
		return rc;
	}
	kind = yaml_word(scorer) != NULL ? number_of(yaml_word(scorer)) : -1;
	if (kind < 0)
		return yaml_fail_word(y, scorer, "scorer", scorer_names, e);
	if (kind == SCORER_COMMAND)
		return yaml_fail(y, scorer, e, "scorer: which command? write {command: LINE}");
	s->kind = (enum scorer_kind)kind;
	return 0;
}

static int parse_target(struct scorer *s, struct yaml_file *y, yaml_node_t *target, struct err *e)
{
	AUTO_FREE char *text = NULL;
	char shown[YAML_SHOWN];
	json_t *value;

	if (target == NULL || yaml_is_null(target))
		return 0;
	if (yaml_word(target) != NULL)
		return set_target(s, yaml_word(target), target->data.scalar.length) == 0 ? 0 : err_set(e, ENOMEM, "out of memory");
	if (s->kind != SCORER_JSON)
		return yaml_fail(y, target, e, "target: %s wants text, not %s", scorer_names[s->kind], yaml_shown(target, shown));
	value = scorer_json_from_yaml(y, target, e);
	if (value == NULL)
		return -EINVAL;
	text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(value);
	if (text == NULL || set_target(s, text, strlen(text)) != 0)
		return err_set(e, ENOMEM, "out of memory");
	return 0;
}

int scorer_parse(struct scorer *ret, struct yaml_file *y, const yaml_node_t *at, yaml_node_t *scorer, yaml_node_t *target,
                 struct err *e)
{
	struct scorer s = {0};
	char why[SCORER_WHY_MAX] = "";
	int rc = parse_kind(&s, y, scorer, e);

	if (rc == 0)
		rc = parse_target(&s, y, target, e);
	if (rc == 0) {
		rc = prepare(&s, why);
		if (rc == -EINVAL)
			rc = yaml_fail(y, s.target != NULL ? target : at, e, "%s", why);
		else if (rc != 0)
			rc = err_set(e, -rc, "cannot make a scorer: out of memory");
	}
	if (rc != 0) {
		scorer_done(&s);
		return err_stop(e, STOP_USAGE, rc);
	}
	*ret = s;
	return 0;
}

/* ---- from and to JSON */

static int finish(struct scorer *ret, struct scorer *s, const char *what, const char *target, size_t n, struct err *e)
{
	char why[SCORER_WHY_MAX] = "";
	int rc = set_target(s, target, n);

	if (rc == 0)
		rc = prepare(s, why);
	if (rc == -EINVAL)
		rc = err_set(e, EINVAL, "%s: %s", what, why);
	else if (rc != 0)
		rc = err_set(e, -rc, "%s: out of memory", what);
	if (rc != 0) {
		scorer_done(s);
		return err_stop(e, STOP_USAGE, rc);
	}
	*ret = *s;
	return 0;
}

int scorer_from_word(struct scorer *ret, const char *what, const char *name, const char *target, size_t target_len, struct err *e)
{
	const char *near = str_nearest(name, scorer_names);
	struct scorer s = {0};
	int kind = number_of(name);

	if (kind == SCORER_COMMAND)
		return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "%s: scorer command: which command? it is missing", what));
	if (kind < 0)
		return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "%s: unknown scorer: %s: %s%s", what, name,
		                                       near != NULL ? "did you mean " : "it is one of exact_match, contains, regex, json, "
		                                       "exit_status", near != NULL ? near : ""));
	s.kind = (enum scorer_kind)kind;
	return finish(ret, &s, what, target, target_len, e);
}

int scorer_from_json(struct scorer *ret, const char *what, const json_t *scorer, const json_t *target, struct err *e)
{
	const char *text = json_string_value(target);
	size_t n = json_string_length(target);
	const char *line = json_string_value(json_object_get(scorer, "command"));
	json_int_t timeout = json_integer_value(json_object_get(scorer, "timeout_s"));
	struct scorer s = {.kind = SCORER_COMMAND, .timeout_s = SCORER_TIMEOUT_S};

	if (target != NULL && !json_is_string(target) && !json_is_null(target))
		return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "%s: its target is no string", what));
	if (json_is_string(scorer))
		return scorer_from_word(ret, what, json_string_value(scorer), text, n, e);
	if (line == NULL || line[0] == '\0' || strlen(line) > SCORER_COMMAND_MAX || timeout < 0 ||
	    timeout > (json_int_t)SCORER_TIMEOUT_MAX_S)
		return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "%s: its scorer is neither a name nor "
		                                       "{\"command\": LINE, \"timeout_s\": N}", what));
	if (timeout > 0)
		s.timeout_s = (unsigned int)timeout;
	s.command = strdup(line);
	if (s.command == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", what);
	return finish(ret, &s, what, text, n, e);
}

json_t *scorer_to_json(const struct scorer *s)
{
	if (s->kind != SCORER_COMMAND)
		return json_string(scorer_names[s->kind]);
	return json_pack("{s:s, s:i}", "command", s->command, "timeout_s", (int)s->timeout_s);
}
