/* Skills in YAML: see skill.h. */
#include "orchestrator/skill.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/config_value.h"
#include "orchestrator/config_yaml.h"
#include "orchestrator/profile_file.h"
#include "orchestrator/profile_memfd.h"
#include "sandbox/profiles.h"

#define TIMEOUT_S_MAX (30u * 86400u)
#define NAMES_MAX 32u

struct file {
	struct yaml_file *y;
	struct skill *s;
	struct skill_vars vars;
	struct skill_step *step;        /* the one that is being read */
	yaml_node_t *steps;
	bool net;                       /* its guard has ports */
	const char *list;               /* the guard's option that is being read */
	yaml_node_t *profile;           /* of that guard */
};

struct key {
	const char *name;
	int (*set)(struct file *f, yaml_node_t *v, struct err *e);
};

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot read the skill: out of memory");
}

/* Calls the key's function, or says which one was meant. */
static int by_table(struct file *f, const struct key *keys, size_t n, const char *what, yaml_node_t *key, yaml_node_t *v,
                    struct err *e)
{
	const char *names[16];

	for (size_t i = 0; i < n; i++) {
		if (str_eq(yaml_word(key), keys[i].name))
			return keys[i].set(f, v, e);
		names[i] = keys[i].name;
	}
	names[n] = NULL;
	return yaml_fail_word(f->y, key, what, names, e);
}

/* ---- words */

static int number(struct file *f, yaml_node_t *v, const char *what, unsigned long min, unsigned long max, unsigned long *ret,
                  struct err *e)
{
	const char *word = yaml_word(v);
	char shown[YAML_SHOWN];
	char *end = NULL;
	unsigned long n;

	errno = 0;
	n = word != NULL && word[0] >= '0' && word[0] <= '9' ? strtoul(word, &end, 10) : 0;
	if (end == NULL || *end != '\0' || errno != 0 || n < min || n > max)
		return yaml_fail(f->y, v, e, "%s: %s: a number from %lu to %lu is needed", what, yaml_shown(v, shown), min, max);
	*ret = n;
	return 0;
}

static bool name_ok(const char *s, bool variable)
{
	size_t n = strspn(s, variable ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
	                              : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");

	return n > 0 && n <= 64 && s[n] == '\0' && s[0] != '-' && s[0] != '.' && !(variable && s[0] >= '0' && s[0] <= '9');
}

static int take_name(struct file *f, yaml_node_t *v, const char *what, char **ret, struct err *e)
{
	const char *word = yaml_word(v);
	char shown[YAML_SHOWN];

	if (word == NULL || !name_ok(word, false))
		return yaml_fail(f->y, v, e, "%s: %s: letters, digits, _, - and . are needed, at most 64", what, yaml_shown(v, shown));
	*ret = strdup(word);
	return *ret != NULL ? 0 : no_memory(e);
}

/* The word with its variables put in. */
static int resolve(struct file *f, yaml_node_t *v, const char *what, bool shell, char **ret, struct err *e)
{
	const char *word = yaml_word(v);
	char shown[YAML_SHOWN];
	char *text = NULL;

	if (word == NULL || word[0] == '\0')
		return yaml_fail(f->y, v, e, "%s: a word is needed, not %s", what, word == NULL ? yaml_shown(v, shown) : "an empty one");
	switch (skill_expand(&f->vars, word, shell, &text)) {
	case SKILL_DONE:
		break;
	case SKILL_NO_MEMORY:
		return no_memory(e);
	case SKILL_TOO_LONG:
		return yaml_fail(f->y, v, e, "%s: longer than %u bytes with its variables: shorten it", what, SKILL_VALUE_MAX);
	case SKILL_QUOTED:
		return yaml_fail(f->y, v, e, "%s: a variable stands in quotes, ${...}, $((...)), a comment, behind a $ or after a "
		                 "here-document: it is put in as a quoted word: take the quotes away, or pass it by env:", what);
	}
	if (!skill_plain(text)) {
		free(text);
		return yaml_fail(f->y, v, e, "%s: it has characters that a terminal does not show as they are: remove them", what);
	}
	*ret = text;
	return 0;
}

/* ---- vars */

static int add_var(void *cookie, yaml_node_t *key, yaml_node_t *v, struct err *e)
{
	struct file *f = cookie;
	char shown[YAML_SHOWN];
	struct skill_var *var;

	if (!name_ok(yaml_word(key), true))
		return yaml_fail(f->y, key, e, "vars: %s is no name: letters, digits and _, no digit first", yaml_shown(key, shown));
	if (!yaml_is_null(v) && yaml_word(v) == NULL)
		return yaml_fail(f->y, v, e, "vars: %s: a word is needed", yaml_shown(key, shown));
	if (f->vars.n == SKILL_VARS_MAX)
		return yaml_fail(f->y, key, e, "vars: more than %u: shorten it", SKILL_VARS_MAX);
	var = &f->vars.v[f->vars.n++];
	*var = (struct skill_var){.name = strdup(yaml_word(key)), .at = yaml_is_null(v) ? key : v};
	if (!yaml_is_null(v))
		var->value = strdup(yaml_word(v));
	return var->name != NULL && (yaml_is_null(v) || var->value != NULL) ? 0 : no_memory(e);
}

static int fail_given(struct file *f, const char *name, struct err *e)
{
	const char *names[SKILL_VARS_MAX + 1];
	const char *near;

	for (size_t i = 0; i < f->vars.n; i++)
		names[i] = f->vars.v[i].name;
	names[f->vars.n] = NULL;
	near = str_nearest(name, names);
	return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "--var %s: %s has no such variable%s%s%s", name, f->y->name,
	                                       near != NULL ? ": did you mean " : ": add it to vars:", near != NULL ? near : "",
	                                       near != NULL ? "?" : ""));
}

static int take_given(struct file *f, const struct strv *given, struct err *e)
{
	for (size_t i = 0; i < given->n; i++) {
		const char *word = given->v[i];
		size_t n = strcspn(word, "=");
		struct skill_var *var = skill_var_find(&f->vars, word, n);

		if (word[n] != '=')
			return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "--var %s: NAME=VALUE is needed", word));
		if (var == NULL) {
			AUTO_FREE char *name = strndup(word, n);

			return name == NULL ? no_memory(e) : fail_given(f, name, e);
		}
		if (!skill_plain(word + n))
			return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "--var %s: it has characters that a terminal does not show "
			                                       "as they are", var->name));
		free(var->value);
		var->value = strdup(word + n + 1);
		var->given = true;
		if (var->value == NULL)
			return no_memory(e);
	}
	return 0;
}

/* Depth is bounded by the number of variables: one that is begun is not begun again. */
static int settle(struct file *f, struct skill_var *var, struct err *e)
{
	const yaml_node_t *at = var->at;
	char *text = NULL;
	enum skill_expand how;

	if (var->seen == 2)
		return 0;
	if (var->seen == 1)
		return yaml_fail(f->y, at, e, "vars: %s: a cycle: it needs itself", var->name);
	if (var->value == NULL)
		return yaml_fail(f->y, at, e, "vars: %s has no value here: give one with --var %s=VALUE", var->name, var->name);
	var->seen = 1;
	for (const char *p = var->value; !var->given && *p != '\0'; p++) {
		struct skill_var *other = NULL;
		size_t len;
		int rc = skill_var_at(&f->vars, p, &other, &len) ? settle(f, other, e) : 0;

		if (rc != 0)
			return rc;
	}
	var->seen = 2;
	if (var->given)
		return 0;
	how = skill_expand(&f->vars, var->value, false, &text);
	if (how != SKILL_DONE)
		return how == SKILL_TOO_LONG ? yaml_fail(f->y, at, e, "vars: %s: longer than %u bytes", var->name, SKILL_VALUE_MAX)
		                             : no_memory(e);
	free(var->value);
	var->value = text;
	return 0;
}

/* ---- a step's keys */

static int set_id(struct file *f, yaml_node_t *v, struct err *e)
{
	int rc = take_name(f, v, "id", &f->step->id, e);

	for (const struct skill_step *s = f->s->step; rc == 0 && s < f->step; s++)
		if (s->id != NULL && str_eq(s->id, f->step->id))
			return yaml_fail(f->y, v, e, "id: %s is here twice: the first is step %zu: rename one", s->id,
			                 (size_t)(s - f->s->step) + 1);
	return rc;
}

static int set_command(struct file *f, yaml_node_t *v, struct err *e)
{
	return resolve(f, v, "command", true, &f->step->command, e);
}

static int set_target(struct file *f, yaml_node_t *v, struct err *e)
{
	unsigned long n;
	int rc = number(f, v, "target", 0, 255, &n, e);

	f->step->target = rc == 0 ? (unsigned int)n : 0;
	return rc;
}

static int set_step_timeout(struct file *f, yaml_node_t *v, struct err *e)
{
	unsigned long n;
	int rc = number(f, v, "timeout_s", 1, TIMEOUT_S_MAX, &n, e);

	if (rc == 0)
		f->step->timeout_ms = n * 1000u;
	return rc;
}

static int add_option(struct file *f, const char *option, const char *word, struct err *e)
{
	return strv_add(&f->step->guard, option) == 0 && strv_add(&f->step->guard, word) == 0 ? 0 : no_memory(e);
}

static int add_env(void *cookie, yaml_node_t *key, yaml_node_t *v, struct err *e)
{
	struct file *f = cookie;
	AUTO_FREE char *value = NULL;
	AUTO_BUF struct buf b = {0};
	char shown[YAML_SHOWN];
	int rc;

	if (!name_ok(yaml_word(key), true))
		return yaml_fail(f->y, key, e, "env: %s is no name of a variable", yaml_shown(key, shown));
	rc = resolve(f, v, "env", false, &value, e);
	if (rc != 0)
		return rc;
	if (buf_addf(&b, "%s=%s", yaml_word(key), value) != 0 || buf_str(&b) == NULL || strv_add(&f->step->env, b.data) != 0)
		return no_memory(e);
	return add_option(f, "--env", yaml_word(key), e); /* the guard passes few on; the value stays out of its words */
}

static int set_env(struct file *f, yaml_node_t *v, struct err *e)
{
	return yaml_each_pair(f->y, v, "env", add_env, f, e);
}

/* ---- guard */

static int add_path(void *cookie, yaml_node_t *v, struct err *e)
{
	struct file *f = cookie;
	AUTO_FREE char *path = NULL;
	int rc = resolve(f, v, f->list + 2, false, &path, e);

	return rc == 0 ? add_option(f, f->list, path, e) : rc;
}

static int add_port(void *cookie, yaml_node_t *v, struct err *e)
{
	struct file *f = cookie;
	unsigned long n;
	int rc = number(f, v, f->list + 2, str_eq(f->list, "--allow-connect") ? 1 : 0, 65535, &n, e);

	f->net = true;
	return rc == 0 ? add_option(f, f->list, yaml_word(v), e) : rc;
}

static int guard_list(struct file *f, const char *option, yaml_node_t *v, yaml_item_fn *add, struct err *e)
{
	f->list = option;
	return yaml_each_item(f->y, v, option + 2, add, f, e);
}

static int set_read(struct file *f, yaml_node_t *v, struct err *e)
{
	return guard_list(f, "--allow-read", v, add_path, e);
}

static int set_write(struct file *f, yaml_node_t *v, struct err *e)
{
	return guard_list(f, "--allow-write", v, add_path, e);
}

static int set_connect(struct file *f, yaml_node_t *v, struct err *e)
{
	return guard_list(f, "--allow-connect", v, add_port, e);
}

static int set_bind(struct file *f, yaml_node_t *v, struct err *e)
{
	return guard_list(f, "--allow-bind", v, add_port, e);
}

static int set_profile(struct file *f, yaml_node_t *v, struct err *e)
{
	(void)e;
	f->profile = v;
	return 0;
}

static int guard_pair(void *cookie, yaml_node_t *key, yaml_node_t *v, struct err *e)
{
	static const struct key keys[] = {{"allow_read", set_read}, {"allow_write", set_write}, {"allow_connect", set_connect},
	                                  {"allow_bind", set_bind}, {"profile", set_profile}};

	return by_table(cookie, keys, sizeof(keys) / sizeof(keys[0]), "key in a guard", key, v, e);
}

static int fail_profile(struct file *f, struct err *e)
{
	const char *names[NAMES_MAX];
	size_t n = 0;

	for (const struct profile_builtin *b = profile_builtins; b->name != NULL && n + 1 < NAMES_MAX; b++)
		if (!b->hidden)
			names[n++] = b->name;
	names[n] = NULL;
	return yaml_fail_word(f->y, f->profile, "profile", names, e);
}

/* When the ports are known. A file's own errors name their place. */
static int take_profile(struct file *f, struct err *e)
{
	struct skill_step *s = f->step;
	const struct profile_builtin *b;
	int rc;

	if (f->profile == NULL)
		return 0;
	rc = resolve(f, f->profile, "profile", false, &s->profile_word, e);
	if (rc != 0)
		return rc;
	if (profile_is_file(s->profile_word)) {
		s->profile_fd = profile_memfd(s->profile_word, f->net, e);
		return s->profile_fd < 0 ? s->profile_fd : 0;
	}
	b = profile_builtin_find(s->profile_word);
	return b == NULL || b->hidden ? fail_profile(f, e) : add_option(f, "--profile", s->profile_word, e);
}

static int set_guard(struct file *f, yaml_node_t *v, struct err *e)
{
	int rc;

	f->net = false;
	f->profile = NULL;
	rc = yaml_each_pair(f->y, v, "guard", guard_pair, f, e);
	return rc == 0 ? take_profile(f, e) : rc;
}

static int step_pair(void *cookie, yaml_node_t *key, yaml_node_t *v, struct err *e)
{
	static const struct key keys[] = {{"id", set_id}, {"command", set_command}, {"guard", set_guard}, {"target", set_target},
	                                  {"timeout_s", set_step_timeout}, {"env", set_env}};

	return by_table(cookie, keys, sizeof(keys) / sizeof(keys[0]), "key in a step", key, v, e);
}

static int add_step(void *cookie, yaml_node_t *item, struct err *e)
{
	struct file *f = cookie;
	struct skill *s = f->s;
	struct skill_step *more;
	int rc;

	if (s->n_steps == SKILL_STEPS_MAX)
		return yaml_fail(f->y, item, e, "steps: more than %u: shorten it", SKILL_STEPS_MAX);
	more = realloc(s->step, (s->n_steps + 1) * sizeof(*more));
	if (more == NULL)
		return no_memory(e);
	s->step = more;
	f->step = &s->step[s->n_steps++];
	*f->step = (struct skill_step){.profile_fd = -1, .timeout_ms = s->timeout_ms};
	rc = yaml_each_pair(f->y, item, "a step", step_pair, f, e);
	if (rc == 0 && (f->step->id == NULL || f->step->command == NULL))
		return yaml_fail(f->y, item, e, "a step without %s", f->step->id == NULL ? "id" : "command");
	return rc;
}

/* ---- the file */

static int set_name(struct file *f, yaml_node_t *v, struct err *e)
{
	return take_name(f, v, "name", &f->s->name, e);
}

static int set_timeout(struct file *f, yaml_node_t *v, struct err *e)
{
	unsigned long n;
	int rc = number(f, v, "default_timeout_s", 1, TIMEOUT_S_MAX, &n, e);

	if (rc == 0)
		f->s->timeout_ms = n * 1000u;
	return rc;
}

static int set_vars(struct file *f, yaml_node_t *v, struct err *e)
{
	return yaml_each_pair(f->y, v, "vars", add_var, f, e);
}

/* Read last, when the variables have their values. */
static int set_steps(struct file *f, yaml_node_t *v, struct err *e)
{
	(void)e;
	f->steps = v;
	return 0;
}

static int file_pair(void *cookie, yaml_node_t *key, yaml_node_t *v, struct err *e)
{
	static const struct key keys[] = {{"name", set_name}, {"default_timeout_s", set_timeout}, {"vars", set_vars},
	                                  {"steps", set_steps}};

	return by_table(cookie, keys, sizeof(keys) / sizeof(keys[0]), "key in a skill", key, v, e);
}

static int read_all(struct file *f, const struct strv *given, struct err *e)
{
	int rc = f->y->root == NULL ? yaml_fail(f->y, NULL, e, "an empty skill: stint init --template skill writes one")
	                            : yaml_each_pair(f->y, f->y->root, f->y->name, file_pair, f, e);

	if (rc == 0 && f->s->name == NULL)
		rc = yaml_fail(f->y, f->y->root, e, "a skill without name:");
	if (rc == 0 && f->steps == NULL)
		rc = yaml_fail(f->y, f->y->root, e, "a skill without steps:");
	if (rc == 0)
		rc = take_given(f, given, e);
	for (size_t i = 0; rc == 0 && i < f->vars.n; i++)
		rc = settle(f, &f->vars.v[i], e);
	if (rc == 0)
		rc = yaml_each_item(f->y, f->steps, "steps", add_step, f, e);
	if (rc == 0 && f->s->n_steps == 0)
		rc = yaml_fail(f->y, f->steps, e, "steps: none: there is nothing to run");
	return rc;
}

int skill_parse(struct skill *ret, const char *file, const char *bytes, size_t n, const struct strv *given, struct err *e)
{
	struct yaml_file y = {0};
	struct file f = {.y = &y, .s = ret};
	int rc = yaml_file_load(&y, file, bytes, n, e);

	ret->timeout_ms = SKILL_TIMEOUT_S * 1000u;
	if (rc == 0)
		rc = read_all(&f, given, e);
	if (rc == 0 && digest_of(bytes, n, ret->hash) != 0)
		rc = no_memory(e);
	for (size_t i = 0; i < f.vars.n; i++) {
		free(f.vars.v[i].name);
		free(f.vars.v[i].value);
	}
	yaml_file_done(&y);
	return err_stop(e, STOP_USAGE, rc);
}

int skill_load(struct skill *ret, const char *file, const struct strv *given, struct err *e)
{
	AUTO_FREE char *bytes = NULL;
	size_t n = 0;
	int rc = yaml_file_read("skill", file, SKILL_FILE_MAX, &bytes, &n, e);

	return rc == 0 ? skill_parse(ret, file, bytes, n, given, e) : rc;
}

void skill_done(struct skill *s)
{
	for (size_t i = 0; i < s->n_steps; i++) {
		free(s->step[i].id);
		free(s->step[i].command);
		free(s->step[i].profile_word);
		strv_done(&s->step[i].guard);
		strv_done(&s->step[i].env);
		if (s->step[i].profile_fd >= 0)
			fd_close(&s->step[i].profile_fd);
	}
	free(s->step);
	free(s->name);
	*s = (struct skill){0};
}
