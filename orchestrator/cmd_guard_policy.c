/* `stint guard --print-policy json`, second step: the guard, which has no JSON library, has found out what would hold and handed it
 * over (sandbox/policy_words.h); prints it. Called as
 *
 *   stint-coordinator guard-policy FD */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "orchestrator/cmd.h"
#include "orchestrator/show.h"
#include "sandbox/policy_words.h"

/* The lists that a reader may count on, even when they are empty. */
static const char *const lists[] = {"paths", "connect", "bind", "handled", "not_enforced", "environment", "command"};

/* Text that JSON can hold. A path's bytes need not be UTF-8: what is not stands as \xHH, and a backslash in such text as \x5c. */
static json_t *as_text(const char *value)
{
	json_t *plain = json_string(value);
	AUTO_BUF struct buf b = {0};

	if (plain != NULL)
		return plain;
	return buf_add_escaped(&b, value, strlen(value), false) == 0 ? json_stringn(b.data, b.len) : NULL;
}

static json_t *list_of(json_t *o, const char *name)
{
	json_t *list = json_object_get(o, name);

	if (list == NULL && json_object_set_new(o, name, json_array()) == 0)
		list = json_object_get(o, name);
	return list;
}

/* One pair of words; *at is the object that it belongs to. False for what no guard writes, or without memory. */
static bool take(json_t *top, json_t **at, const char *key, const char *value)
{
	const char *name = key + 1;

	switch (key[0]) {
	case 's': return json_object_set_new(*at, name, as_text(value)) == 0;
	case 'n': return json_object_set_new(*at, name, json_integer(strtoll(value, NULL, 10))) == 0;
	case 'b': return json_object_set_new(*at, name, json_boolean(str_eq(value, "1"))) == 0;
	case 'z': return json_object_set_new(*at, name, json_null()) == 0;
	case '+': return json_array_append_new(list_of(*at, name), as_text(value)) == 0;
	case '#': return json_array_append_new(list_of(*at, name), json_integer(strtoll(value, NULL, 10))) == 0;
	case '}': *at = top; return true;
	case '{':
		*at = json_object();
		return json_array_append_new(list_of(top, name), *at) == 0;
	default: return false;
	}
}

static json_t *to_json(const char *words, size_t n)
{
	json_t *top = json_object();
	json_t *at = top;
	bool good = top != NULL && (n == 0 || words[n - 1] == '\0');

	for (size_t i = 0; good && i < sizeof(lists) / sizeof(lists[0]); i++)
		good = list_of(top, lists[i]) != NULL;
	while (good && n > 0) {
		size_t key = strlen(words) + 1;
		size_t pair = key < n ? key + strlen(words + key) + 1 : 0;

		good = pair > 0 && take(top, &at, words, words + key);
		words += pair;
		n -= pair;
	}
	if (good)
		return top;
	json_decref(top);
	return NULL;
}

int cmd_guard_policy(struct cmd *c, int argc, char **argv)
{
	AUTO_FREE char *words = NULL;
	json_t *policy;
	size_t n = 0;
	int rc;

	(void)c;
	rc = argc == 2 ? fd_read_all((int)strtol(argv[1], NULL, 10), POLICY_WORDS_MAX, &words, &n) : -EINVAL;
	policy = rc == 0 ? to_json(words, n) : NULL;
	if (policy == NULL) {
		log_note("guard: this step is started by `stint guard --print-policy json`: call that");
		return RUN_UNCONFINED;
	}
	return show_json(policy) == STOP_DONE ? 0 : RUN_UNCONFINED;
}
