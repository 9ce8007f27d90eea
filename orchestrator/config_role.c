/* `roles` and `suite`: what each role runs, and with what. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "orchestrator/config_parts.h"
#include "protocol/policy.h"
#include "roles/path.h"

#define MINUTE_MS 60000u

static const struct {
	const char *name;
	unsigned int minutes;
} builtin[] = {
	[CONFIG_DEVELOPER] = {ROLE_DEVELOPER, 30},
	[CONFIG_TESTER] = {ROLE_TESTER, 30},
	[CONFIG_REVIEWER] = {ROLE_REVIEWER, 30},
	[CONFIG_RUNNER] = {ROLE_RUNNER, 10},
};

/* Names that the view and the record set: a value of the file's would be a lie or would be overwritten. */
static const char *const reserved_env[] = {"HOME", "USER", "LOGNAME", NULL};

int config_roles_builtin(struct config *c, struct err *e)
{
	(void)e;
	for (size_t i = 0; i < sizeof(builtin) / sizeof(builtin[0]); i++) {
		memcpy(c->role[i].name, builtin[i].name, strlen(builtin[i].name) + 1);
		c->role[i].deadline_ms = (uint64_t)builtin[i].minutes * MINUTE_MS;
	}
	c->n_roles = sizeof(builtin) / sizeof(builtin[0]);
	return 0;
}

void config_role_done(struct config_role *role)
{
	strv_done(&role->command);
	strv_done(&role->env);
	strv_done(&role->read);
	free(role->prompt);
}

/* ---- values */

static int set_command(struct reader *r, void *out, yaml_node_t *value, struct err *e)
{
	struct config_role *role = out;
	int rc = value_words(r, value, "command", NULL, &role->command, e);

	if (rc != 0)
		return rc;
	if (role->command.n == 0 || role->command.v[0][0] == '\0')
		return yaml_fail(r->y, value, e, "command names no program: write a list of words, as [make, test]");
	return 0;
}

static int set_stdin(struct reader *r, void *out, yaml_node_t *value, struct err *e)
{
	static const char *const words[] = {"none", "prompt", NULL};
	struct config_role *role = out;
	unsigned int got;
	int rc = value_choice(r, value, "stdin", words, &got, e);

	if (rc == 0)
		role->stdin_prompt = got == 1;
	return rc;
}

static int set_prompt(struct reader *r, void *out, yaml_node_t *value, struct err *e)
{
	struct config_role *role = out;
	char shown[YAML_SHOWN];
	int rc;

	if (yaml_is_null(value))
		return 0;
	rc = value_text(r, value, "prompt", &role->prompt, e);
	if (rc == 0 && !path_plain(role->prompt))
		return yaml_fail(r->y, value, e, "prompt: %s is no plain path below the project: write it without a first /, "
		                 ". and ..", yaml_shown(value, shown));
	return rc;
}

static int check_env(struct reader *r, const struct strv *before, yaml_node_t *word, struct err *e)
{
	const char *s = yaml_word(word);
	size_t n = strcspn(s, "=");
	char shown[YAML_SHOWN];

	if (!policy_env_name_ok(s, n) && (strncmp(s, "LD_", 3) == 0 || strncmp(s, "GLIBC_", 6) == 0))
		return yaml_fail(r->y, word, e, "env: %s is for the dynamic loader and would reach stint's own guard: set it "
		                 "in a script that the command starts", yaml_shown(word, shown));
	if (!policy_env_name_ok(s, n))
		return yaml_fail(r->y, word, e, "env: %s is no name: write NAME to pass it on, or NAME=VALUE",
		                 yaml_shown(word, shown));
	for (size_t i = 0; reserved_env[i] != NULL; i++)
		if (strlen(reserved_env[i]) == n && strncmp(s, reserved_env[i], n) == 0)
			return yaml_fail(r->y, word, e, "env: %s is the agent user's own: remove it", reserved_env[i]);
	if (strncmp(s, "STINT_", 6) == 0)
		return yaml_fail(r->y, word, e, "env: %s: names that begin with STINT_ are stint's own: take another",
		                 yaml_shown(word, shown));
	for (size_t i = 0; i < before->n; i++)
		if (strcspn(before->v[i], "=") == n && strncmp(before->v[i], s, n) == 0)
			return yaml_fail(r->y, word, e, "env: %.*s is here twice: remove one", (int)(n < 60 ? n : 60), s);
	return 0;
}

static int set_env(struct reader *r, void *out, yaml_node_t *value, struct err *e)
{
	return value_words(r, value, "env", check_env, &((struct config_role *)out)->env, e);
}

static int check_read(struct reader *r, const struct strv *before, yaml_node_t *word, struct err *e)
{
	const char *s = yaml_word(word);
	char shown[YAML_SHOWN];

	if (s[0] != '/' || !path_plain(s + 1) || strlen(s) > POLICY_READ_PATH_MAX)
		return yaml_fail(r->y, word, e, "read: %s is no absolute plain path: write it from / on, without ., .. and a last /",
		                 yaml_shown(word, shown));
	for (size_t i = 0; i < before->n; i++)
		if (str_eq(before->v[i], s))
			return yaml_fail(r->y, word, e, "read: %s is here twice: remove one", yaml_shown(word, shown));
	return 0;
}

static int set_read(struct reader *r, void *out, yaml_node_t *value, struct err *e)
{
	return value_words(r, value, "read", check_read, &((struct config_role *)out)->read, e);
}

struct ports_walk {
	struct reader *r;
	struct config_role *role;
};

static int port_item(void *cookie, yaml_node_t *item, struct err *e)
{
	struct ports_walk *w = cookie;
	struct config_role *role = w->role;
	uint64_t port = 0;
	int rc = value_number(w->r, item, "ports", 1, UINT16_MAX, &port, e);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < role->n_ports; i++)
		if (role->ports[i] == port)
			return yaml_fail(w->r->y, item, e, "ports: %llu is here twice: remove one", (unsigned long long)port);
	if (role->n_ports == sizeof(role->ports) / sizeof(role->ports[0]))
		return yaml_fail(w->r->y, item, e, "ports: more than %zu: shorten it", role->n_ports);
	role->ports[role->n_ports++] = (uint16_t)port;
	return 0;
}

static int set_ports(struct reader *r, void *out, yaml_node_t *value, struct err *e)
{
	struct ports_walk w = {r, out};
	const char *word = yaml_word(value);

	if (word != NULL && str_eq(word, "none"))
		return 0;
	return yaml_each_item(r->y, value, "ports", port_item, &w, e);
}

static int set_deadline(struct reader *r, void *out, yaml_node_t *value, struct err *e)
{
	return value_duration(r, value, "deadline", &((struct config_role *)out)->deadline_ms, e);
}

static int set_idle(struct reader *r, void *out, yaml_node_t *value, struct err *e)
{
	return value_duration(r, value, "idle", &((struct config_role *)out)->idle_ms, e);
}

/* ---- roles */

static const struct config_key role_keys[] = {
	{"command", set_command}, {"stdin", set_stdin}, {"prompt", set_prompt}, {"env", set_env},
	{"ports", set_ports}, {"read", set_read}, {"deadline", set_deadline}, {"idle", set_idle},
};

/* The role of that name, or a new one. */
static int find_or_add(struct reader *r, yaml_node_t *key, struct config_role **ret, struct err *e)
{
	struct config *c = r->c;
	const char *name = yaml_word(key);
	char shown[YAML_SHOWN];
	int i = config_role_find(c, name);

	if (i == CONFIG_RUNNER)
		return yaml_fail(r->y, key, e, "roles: %s is the suite: its command and deadline belong under suite", ROLE_RUNNER);
	if (i < 0 && !role_name_ok(name))
		return yaml_fail(r->y, key, e, "roles: %s is no role name: a letter, then letters, digits and -, all small, at most %d",
		                 yaml_shown(key, shown), ROLE_NAME_MAX - 1);
	if (i < 0 && c->n_roles == ROLE_MAX)
		return yaml_fail(r->y, key, e, "roles: more than %d with the runner: remove one", ROLE_MAX);
	if (i < 0) {
		i = (int)c->n_roles++;
		memcpy(c->role[i].name, name, strlen(name) + 1);
		c->role[i].deadline_ms = c->role[CONFIG_DEVELOPER].deadline_ms;
	}
	*ret = &c->role[i];
	return 0;
}

static int role_pair(void *cookie, yaml_node_t *key, yaml_node_t *value, struct err *e)
{
	struct reader *r = cookie;
	struct config_role *role = NULL;
	char what[ROLE_NAME_MAX + 8];
	int rc = find_or_add(r, key, &role, e);

	if (rc != 0)
		return rc;
	role->line = (unsigned int)key->start_mark.line + 1;
	role->col = (unsigned int)key->start_mark.column + 1;
	(void)snprintf(what, sizeof(what), "roles.%s", role->name);
	return config_map(r, value, what, role_keys, sizeof(role_keys) / sizeof(role_keys[0]), role, e);
}

int config_roles_parse(struct reader *r, yaml_node_t *roles, struct err *e)
{
	return yaml_each_pair(r->y, roles, "roles", role_pair, r, e);
}

/* ---- suite */

static int set_format(struct reader *r, void *out, yaml_node_t *value, struct err *e)
{
	static const char *const words[] = {[SUITE_TAP] = "tap", [SUITE_EXIT] = "exit", NULL};
	unsigned int got;
	int rc = value_choice(r, value, "format", words, &got, e);

	(void)out;
	if (rc == 0)
		r->c->suite_format = (enum suite_format)got;
	return rc;
}

static int set_must_match(struct reader *r, void *out, yaml_node_t *value, struct err *e)
{
	char why[CONFIG_REGEX_WHY];
	int rc;

	(void)out;
	if (yaml_is_null(value))
		return 0;
	rc = value_text(r, value, "must_match", &r->c->must_match, e);
	if (rc != 0)
		return rc;
	rc = config_regex_check(r->c->must_match, why);
	if (rc == -EINVAL)
		return yaml_fail(r->y, value, e, "must_match%s", why);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot check must_match");
}

static const struct config_key suite_keys[] = {
	{"command", set_command}, {"format", set_format}, {"deadline", set_deadline}, {"must_match", set_must_match},
	{"env", set_env}, {"read", set_read},
};

int config_suite_parse(struct reader *r, void *out, yaml_node_t *value, struct err *e)
{
	struct config_role *runner = &r->c->role[CONFIG_RUNNER];
	int rc;

	(void)out;
	runner->line = (unsigned int)value->start_mark.line + 1;
	runner->col = (unsigned int)value->start_mark.column + 1;
	rc = config_map(r, value, "suite", suite_keys, sizeof(suite_keys) / sizeof(suite_keys[0]), runner, e);
	if (rc == 0 && r->c->must_match != NULL && r->c->suite_format != SUITE_EXIT)
		return yaml_fail(r->y, value, e, "suite: must_match belongs to format: exit: tap counts the tests by itself");
	return rc;
}
