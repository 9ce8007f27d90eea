/* Profiles in YAML: see profile_file.h. What a file says of a call stands in place of what it extends says, but for refusals that
 * look at arguments: those stay until the file refuses more. */
#include "orchestrator/profile_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"
#include "base/str.h"
#include "orchestrator/config_yaml.h"
#include "orchestrator/profile_rule.h"
#include "roles/role.h"
#include "sandbox/profiles.h"

#define ERRNO_MAX 133 /* EHWPOISON, the last */
#define NAMES_MAX 32

struct file {
	struct yaml_file *y;
	struct profile base;    /* what extends: brought in */
	struct profile own;     /* rows of this file */
	struct profile *ret;    /* name and default */
	bool net;               /* what extends: brings in has inet sockets */
	bool denies;            /* which of the two lists is being read */
};

bool profile_is_file(const char *word)
{
	return strpbrk(word, "/.") != NULL;
}

int profile_errno(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} others[] = {{"EWOULDBLOCK", EWOULDBLOCK}, {"EDEADLOCK", EDEADLOCK}, {"ENOTSUP", ENOTSUP}, {"EOPNOTSUPP", EOPNOTSUPP}};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) /* second names, which the C library does not tell */
		if (str_eq(others[i].name, name))
			return others[i].number;
	for (int i = 1; i <= ERRNO_MAX; i++)
		if (strerrorname_np(i) != NULL && str_eq(strerrorname_np(i), name)) /* two numbers are unused */
			return i;
	return 0;
}

/* ---- words */

static void place(const struct file *f, const yaml_node_t *at, const char *more, char ret[PROFILE_FROM_MAX])
{
	(void)snprintf(ret, PROFILE_FROM_MAX, "%.60s:%zu%s%s", f->y->name, at->start_mark.line + 1, more != NULL ? " " : "",
	               more != NULL ? more : "");
}

static int fail_builtin(struct file *f, yaml_node_t *at, struct err *e)
{
	const char *names[NAMES_MAX];
	size_t n = 0;

	for (const struct profile_builtin *b = profile_builtins; b->name != NULL && n + 1 < NAMES_MAX; b++)
		if (!b->hidden)
			names[n++] = b->name;
	names[n] = NULL;
	return yaml_fail_word(f->y, at, "profile", names, e);
}

static int fail_call(struct file *f, yaml_node_t *at, struct err *e)
{
	char near[PROFILE_CALL_MAX];
	char shown[YAML_SHOWN];

	if (yaml_word(at) != NULL && profile_nearest_call(yaml_word(at), near))
		return yaml_fail(f->y, at, e, "unknown system call: %s: did you mean %s?", yaml_shown(at, shown), near);
	return yaml_fail(f->y, at, e, "unknown system call: %s: stint profile list --calls names them", yaml_shown(at, shown));
}

static int fail_set(struct file *f, yaml_node_t *at, struct err *e)
{
	const char *names[PROFILE_SETS_MAX + 1];

	profile_set_names(names);
	return yaml_fail_word(f->y, at, "set", names, e);
}

static int extend(void *cookie, yaml_node_t *item, struct err *e)
{
	struct file *f = cookie;
	const char *word = yaml_word(item);
	const struct profile_builtin *b = word != NULL ? profile_builtin_find(word) : NULL;

	if (b == NULL || b->hidden)
		return fail_builtin(f, item, e);
	return profile_add_builtin(&f->base, b, f->net, e);
}

/* ---- entries of allow and deny */

static bool same_conditions(const struct profile_row *a, const struct profile_row *b)
{
	if (a->n_cond != b->n_cond)
		return false;
	for (unsigned int i = 0; i < a->n_cond; i++) {
		const struct profile_cond *c = &a->cond[i];
		const struct profile_cond *d = &b->cond[i];

		if (c->arg != d->arg || c->wide != d->wide || c->mask != d->mask || c->value != d->value)
			return false;
	}
	return true;
}

/* Of two answers to the same call one would be taken, and nobody could tell which. */
static int add_own(struct file *f, const struct profile_row *row, yaml_node_t *at, struct err *e)
{
	for (size_t i = 0; i < f->own.n; i++) {
		const struct profile_row *other = &f->own.row[i];

		if (!str_eq(other->call, row->call) || !same_conditions(other, row))
			continue;
		if ((other->action == PROFILE_ALLOW) != (row->action == PROFILE_ALLOW))
			return yaml_fail(f->y, at, e, "%s is allowed and refused: the other is at %s: take one out", row->call, other->from);
		if (other->action != row->action || other->error != row->error)
			return yaml_fail(f->y, at, e, "%s is refused in two ways: the other is at %s: take one out", row->call, other->from);
	}
	return profile_add(&f->own, row, e);
}

/* A set, allowed as it is; or every call in it refused, whatever the arguments. */
static int add_set(struct file *f, yaml_node_t *at, const struct profile_row *like, struct err *e)
{
	struct profile set;
	char from[PROFILE_FROM_MAX];
	int rc;

	place(f, at, NULL, from);
	profile_begin(&set, "");
	rc = profile_add_set(&set, yaml_word(at), from, e);
	if (rc == -ENOENT)
		rc = fail_set(f, at, e);
	for (size_t i = 0; rc == 0 && i < set.n; i++) {
		struct profile_row *row = &set.row[i];

		if (f->denies) {
			row->action = like->action;
			row->error = like->error;
			row->n_cond = 0;
		}
		rc = add_own(f, row, at, e);
	}
	profile_done(&set);
	return rc;
}

static int add_entry(struct file *f, yaml_node_t *call, struct profile_row *row, struct err *e)
{
	const char *word = yaml_word(call);

	if (word != NULL && word[0] == '@' && row->n_cond == 0)
		return add_set(f, call, row, e);
	if (word != NULL && word[0] == '@')
		return yaml_fail(f->y, call, e, "%s: conditions belong to one call: name it", word);
	if (word == NULL || strlen(word) >= sizeof(row->call) || profile_call_number(word) == -2)
		return fail_call(f, call, e);
	(void)snprintf(row->call, sizeof(row->call), "%s", word);
	place(f, call, NULL, row->from);
	return add_own(f, row, call, e);
}

static int entry(void *cookie, yaml_node_t *item, struct err *e)
{
	struct file *f = cookie;
	struct profile_row row = {.action = f->denies ? PROFILE_ERRNO : PROFILE_ALLOW, .error = f->denies ? EPERM : 0};
	yaml_node_t *call = item;
	int rc = 0;

	if (item->type == YAML_MAPPING_NODE)
		rc = profile_rule_parse(f->y, item, f->denies, &row, &call, e);
	return rc != 0 ? rc : add_entry(f, call, &row, e);
}

/* ---- keys of the file */

static int set_name(struct file *f, yaml_node_t *v, struct err *e)
{
	const char *word = yaml_word(v);
	char shown[YAML_SHOWN];

	if (word == NULL || !role_name_ok(word) || strlen(word) >= PROFILE_NAME_MAX)
		return yaml_fail(f->y, v, e, "name: %s is no name: a letter, then letters, digits and -, all small",
		                 yaml_shown(v, shown));
	if (profile_builtin_find(word) != NULL)
		return yaml_fail(f->y, v, e, "name: %s is a built-in profile: take another name", word);
	(void)snprintf(f->ret->name, sizeof(f->ret->name), "%s", word);
	return 0;
}

static int set_extends(struct file *f, yaml_node_t *v, struct err *e)
{
	return v->type == YAML_SCALAR_NODE && !yaml_is_null(v) ? extend(f, v, e) : yaml_each_item(f->y, v, "extends", extend, f, e);
}

static int set_allow(struct file *f, yaml_node_t *v, struct err *e)
{
	f->denies = false;
	return yaml_each_item(f->y, v, "allow", entry, f, e);
}

static int set_deny(struct file *f, yaml_node_t *v, struct err *e)
{
	f->denies = true;
	return yaml_each_item(f->y, v, "deny", entry, f, e);
}

static int set_default(struct file *f, yaml_node_t *v, struct err *e)
{
	return profile_action_parse(f->y, v, "default", &f->ret->otherwise, &f->ret->otherwise_error, e);
}

static const struct key {
	const char *name;
	int (*set)(struct file *f, yaml_node_t *v, struct err *e);
} keys[] = {
	{"name", set_name}, {"extends", set_extends}, {"allow", set_allow}, {"deny", set_deny}, {"default", set_default},
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static int pair(void *cookie, yaml_node_t *key, yaml_node_t *value, struct err *e)
{
	const char *names[N_KEYS + 1];
	struct file *f = cookie;

	for (size_t i = 0; i < N_KEYS; i++) {
		if (str_eq(yaml_word(key), keys[i].name))
			return keys[i].set(f, value, e);
		names[i] = keys[i].name;
	}
	names[N_KEYS] = NULL;
	return yaml_fail_word(f->y, key, "key in a profile", names, e);
}

/* ---- flattening */

static bool own_says(const struct file *f, const char *call, bool allow, bool whatever_arguments)
{
	for (size_t i = 0; i < f->own.n; i++)
		if (str_eq(f->own.row[i].call, call) && (f->own.row[i].action == PROFILE_ALLOW) == allow &&
		    (!whatever_arguments || f->own.row[i].n_cond == 0))
			return true;
	return false;
}

static bool replaced(const struct file *f, const struct profile_row *base)
{
	if (own_says(f, base->call, false, true))
		return true;
	return own_says(f, base->call, true, false) && (base->action == PROFILE_ALLOW || base->n_cond == 0);
}

static int flatten(struct file *f, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < f->base.n; i++)
		if (!replaced(f, &f->base.row[i]))
			rc = profile_add(f->ret, &f->base.row[i], e);
	for (size_t i = 0; rc == 0 && i < f->own.n; i++)
		rc = profile_add(f->ret, &f->own.row[i], e);
	return rc;
}

static int check(struct file *f, struct err *e)
{
	bool starts = profile_find(f->ret, "execve", 0) != NULL;

	if (f->y->root == NULL)
		return yaml_fail(f->y, NULL, e, "an empty profile: it allows nothing: begin with extends: [strict]");
	for (size_t i = 0; starts && i < f->ret->n; i++)
		if (str_eq(f->ret->row[i].call, "execve") && f->ret->row[i].action != PROFILE_ALLOW && f->ret->row[i].n_cond == 0)
			starts = false;
	if (!starts)
		return yaml_fail(f->y, f->y->root, e, "execve is not allowed, so no command can be started: extend strict, or allow "
		                 "@start");
	return 0;
}

int profile_parse(struct profile *ret, const char *name, const char *bytes, size_t n, bool net, struct err *e)
{
	struct yaml_file y = {0};
	struct profile made;
	struct file f = {.y = &y, .ret = &made, .net = net};
	const char *slash = strrchr(name, '/');
	int rc;

	profile_begin(&made, slash != NULL ? slash + 1 : name);
	profile_begin(&f.base, "");
	profile_begin(&f.own, "");
	rc = yaml_file_load(&y, name, bytes, n, e);
	if (rc == 0 && y.root != NULL)
		rc = yaml_each_pair(&y, y.root, name, pair, &f, e);
	if (rc == 0)
		rc = flatten(&f, e);
	if (rc == 0)
		rc = check(&f, e);
	yaml_file_done(&y);
	profile_done(&f.base);
	profile_done(&f.own);
	if (rc != 0) {
		profile_done(&made);
		return err_stop(e, STOP_USAGE, rc);
	}
	*ret = made;
	return 0;
}

static int load_file(struct profile *ret, const char *file, bool net, struct err *e)
{
	AUTO_FREE char *bytes = NULL;
	size_t n = 0;
	int rc = yaml_file_read("profile", file, PROFILE_FILE_MAX, &bytes, &n, e);

	return rc == 0 ? profile_parse(ret, file, bytes, n, net, e) : rc;
}

int profile_load(struct profile *ret, const char *word, bool net, struct err *e)
{
	const struct profile_builtin *b;
	const char *names[NAMES_MAX];
	const char *near;
	size_t n = 0;
	int rc;

	if (profile_is_file(word))
		return load_file(ret, word, net, e);
	b = profile_builtin_find(word);
	if (b != NULL) {
		profile_begin(ret, word);
		rc = profile_add_builtin(ret, b, net, e);
		if (rc != 0)
			profile_done(ret);
		return err_stop(e, STOP_USAGE, rc);
	}
	for (b = profile_builtins; b->name != NULL && n + 1 < NAMES_MAX; b++)
		if (!b->hidden)
			names[n++] = b->name;
	names[n] = NULL;
	near = str_nearest(word, names);
	return err_stop(e, STOP_USAGE, err_set(e, ENOENT, "there is no profile %s: %s%s%s", word, near != NULL ? "did you mean " : "",
	                                       near != NULL ? near : "stint profile list names them; a file has a / or . in its name",
	                                       near != NULL ? "?" : ""));
}

int profile_content(const char *word, uint64_t *ret, struct err *e)
{
	struct profile p;
	int rc = profile_load(&p, word, true, e);

	if (rc != 0)
		return rc;
	*ret = profile_hash(&p);
	profile_done(&p);
	return 0;
}
