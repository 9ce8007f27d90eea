/* The json scorer: when two JSON values are the same.
 *
 * Objects: the same keys with the same values, in whatever order. Arrays: the same values in the same order. Strings: the same
 * characters; an escape is the character that it stands for, and nothing is normalised. Numbers: the same number, so 1, 1.0 and
 * 1e0 are equal; an integer and a fraction are compared exactly, not rounded to one another. true, false and null: themselves.
 *
 * No JSON, so equal to nothing: anything before or behind the value but white space; a key that an object has twice; an integer of
 * more than 64 bits or a number beyond a double; bytes that are no UTF-8; more than 2048 levels. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/scorer.h"

#define TWO_63 9223372036854775808.0
#define LOAD_FLAGS (JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL)

json_t *scorer_json_load(const char *p, size_t n, char why[SCORER_WHY_MAX])
{
	json_error_t error;
	char text[JSON_ERROR_TEXT_LENGTH];
	json_t *value;

	/* jansson takes a NUL byte for the end. */
	if (n > 0 && memchr(p, '\0', n) != NULL) {
		(void)snprintf(why, SCORER_WHY_MAX, "no JSON: a NUL byte");
		return NULL;
	}
	value = json_loadb(p, n, LOAD_FLAGS, &error);
	if (value == NULL) {
		scorer_line(text, sizeof(text), error.text);
		(void)snprintf(why, SCORER_WHY_MAX, "no JSON: line %d, column %d: %s", error.line, error.column, text);
	}
	return value;
}

/* ---- equality */

/* Exactly: a double holds no more than 53 bits of an integer, so the integer is not turned into one. */
static bool integer_is_real(json_int_t i, double d)
{
	return d >= -TWO_63 && d < TWO_63 && (double)(json_int_t)d == d && (json_int_t)d == i;
}

static bool numbers_equal(const json_t *a, const json_t *b)
{
	if (json_is_integer(a) && json_is_integer(b))
		return json_integer_value(a) == json_integer_value(b);
	if (json_is_integer(a))
		return integer_is_real(json_integer_value(a), json_real_value(b));
	if (json_is_integer(b))
		return integer_is_real(json_integer_value(b), json_real_value(a));
	return !(json_real_value(a) < json_real_value(b)) && !(json_real_value(a) > json_real_value(b));
}

/* Where the first difference is, as a path: ".a[3]". */
struct path {
	char words[128];
	size_t n;
};

static void path_add(struct path *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void path_add(struct path *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(p->words + p->n, sizeof(p->words) - p->n, fmt, ap);
	va_end(ap);
	p->n += strlen(p->words + p->n);
}

static bool equal(const json_t *want, const json_t *have, struct path *at);

static bool arrays_equal(const json_t *want, const json_t *have, struct path *at)
{
	size_t before = at->n;

	for (size_t i = 0; i < json_array_size(want) && i < json_array_size(have); i++) {
		path_add(at, "[%zu]", i);
		if (!equal(json_array_get(want, i), json_array_get(have, i), at))
			return false;
		at->n = before;
		at->words[before] = '\0';
	}
	return json_array_size(want) == json_array_size(have);
}

static bool objects_equal(const json_t *want, const json_t *have, struct path *at)
{
	size_t before = at->n;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)want, key, value) {
		path_add(at, ".%s", key);
		if (!equal(value, json_object_get(have, key), at))
			return false;
		at->n = before;
		at->words[before] = '\0';
	}
	return json_object_size(want) == json_object_size(have);
}

/* As deep as jansson reads, which is bounded. */
static bool equal(const json_t *want, const json_t *have, struct path *at)
{
	if (have == NULL)
		return false;
	if (json_is_number(want) && json_is_number(have))
		return numbers_equal(want, have);
	if (json_typeof(want) != json_typeof(have))
		return false;
	if (json_is_array(want))
		return arrays_equal(want, have, at);
	if (json_is_object(want))
		return objects_equal(want, have, at);
	if (json_is_string(want))
		return json_string_length(want) == json_string_length(have) &&
		       memcmp(json_string_value(want), json_string_value(have), json_string_length(want)) == 0;
	return true;
}

int scorer_json_score(struct score *ret, const json_t *target, const struct scored *in, struct err *e)
{
	char why[SCORER_WHY_MAX] = "";
	struct path at = {0};
	json_t *have;

	(void)e;
	if (in->cut) {
		*ret = scorer_says(SCORE_ERROR, "the output was cut, and JSON is compared as a whole: it cannot be told");
		return 0;
	}
	have = scorer_json_load(in->output, in->len, why);
	if (have == NULL)
		*ret = scorer_says(SCORE_FAIL, "%s", in->len == 0 ? "the output is empty" : why);
	else if (equal(target, have, &at))
		*ret = scorer_pass();
	else
		*ret = scorer_says(SCORE_FAIL, "another JSON value%s%.*s", at.n > 0 ? " at " : "", (int)str_cut(at.words, at.n), at.words);
	json_decref(have);
	return 0;
}

/* ---- a target that YAML wrote */

/* JSON is YAML, so {"a": [1, true]} arrives as maps and lists. A word without quotes is what JSON would read in it, or text. */
static json_t *scalar(const yaml_node_t *node)
{
	const char *text = (const char *)node->data.scalar.value;
	json_t *value = NULL;

	if (yaml_is_null(node))
		return json_null();
	if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		value = json_loadb(text, node->data.scalar.length, LOAD_FLAGS, NULL);
	return value != NULL ? value : json_stringn(text, node->data.scalar.length);
}

struct filling {
	struct yaml_file *y;
	json_t *into;
};

static json_t *any(struct yaml_file *y, yaml_node_t *node, struct err *e);

static int member(void *cookie, yaml_node_t *key, yaml_node_t *value, struct err *e)
{
	struct filling *f = cookie;
	json_t *made = any(f->y, value, e);

	if (made == NULL)
		return -EINVAL;
	return json_object_set_new(f->into, yaml_word(key), made) == 0 ? 0 : err_set(e, ENOMEM, "out of memory");
}

static int item(void *cookie, yaml_node_t *value, struct err *e)
{
	struct filling *f = cookie;
	json_t *made = any(f->y, value, e);

	if (made == NULL)
		return -EINVAL;
	return json_array_append_new(f->into, made) == 0 ? 0 : err_set(e, ENOMEM, "out of memory");
}

/* As deep as YAML_MAX_DEPTH. */
static json_t *any(struct yaml_file *y, yaml_node_t *node, struct err *e)
{
	struct filling f = {.y = y};
	int rc;

	if (node->type == YAML_SCALAR_NODE) {
		json_t *value = scalar(node);

		if (value == NULL)
			(void)err_set(e, ENOMEM, "out of memory");
		return value;
	}
	f.into = node->type == YAML_MAPPING_NODE ? json_object() : json_array();
	if (f.into == NULL) {
		(void)err_set(e, ENOMEM, "out of memory");
		return NULL;
	}
	rc = node->type == YAML_MAPPING_NODE ? yaml_each_pair(y, node, "target", member, &f, e)
	                                     : yaml_each_item(y, node, "target", item, &f, e);
	if (rc == 0)
		return f.into;
	json_decref(f.into);
	return NULL;
}

json_t *scorer_json_from_yaml(struct yaml_file *y, yaml_node_t *node, struct err *e)
{
	return any(y, node, e);
}
