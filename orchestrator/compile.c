/* The policy's roles, limits and header, and its sealing: see compile.h. */
#include "orchestrator/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "orchestrator/compile_zones.h"
#include "orchestrator/config_value.h"
#include "orchestrator/git_guard.h"
#include "protocol/policy.h"

struct compiler {
	const struct config *c;
	const struct compile_options *o;
	struct policy_builder b;
	struct buf *notes;
};

static int fail_build(int rc, const char *what, struct err *e)
{
	if (rc == -E2BIG)
		return err_stop(e, STOP_USAGE, err_set(e, E2BIG, "%s: too much of it: shorten it", what));
	return err_errno(e, -rc, "cannot compile the policy");
}

static bool required(const struct compiler *k, size_t role)
{
	return k->o->role == COMPILE_LOOP ? role <= CONFIG_RUNNER : k->o->role == (int)role;
}

/* ---- environment */

static bool in_env(const struct strv *env, const char *entry)
{
	size_t n = strcspn(entry, "=") + 1;

	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], entry, n) == 0)
			return true;
	return false;
}

static int env_missing(struct compiler *k, size_t role, const char *name, struct err *e)
{
	const struct config_role *r = &k->c->role[role];

	if (required(k, role) && k->o->command == NULL)
		return config_fail(k->c, r->line, r->col, e, "role %s passes %s on, which is not set: export it and run sudo "
		                   "--preserve-env=%s stint, or write %s=VALUE", r->name, name, name, name);
	if (required(k, role) && buf_addf(k->notes, "%s is not set: role %s goes without it\n", name, r->name) != 0)
		return fail_build(-ENOMEM, "env", e);
	return 0;
}

/* NAME takes its value from the coordinator's own environment. */
static int env_entry(struct compiler *k, size_t role, const char *entry, struct strv *env, struct err *e)
{
	AUTO_BUF struct buf full = {0};
	const char *value;

	if (strchr(entry, '=') != NULL)
		return strv_add(env, entry) == 0 ? 0 : fail_build(-ENOMEM, "env", e);
	value = getenv(entry);
	if (value == NULL)
		return env_missing(k, role, entry, e);
	if (buf_addf(&full, "%s=%s", entry, value) != 0 || buf_str(&full) == NULL || strv_add(env, full.data) != 0)
		return fail_build(-ENOMEM, "env", e);
	return 0;
}

/* The language goes along, so that programs do not mistake UTF-8 for bytes. */
static int env_locale(struct strv *env, struct err *e)
{
	for (char **p = environ; *p != NULL; p++) {
		if (strncmp(*p, "LANG=", 5) != 0 && strncmp(*p, "LC_", 3) != 0)
			continue;
		if (!policy_env_name_ok(*p, strcspn(*p, "=")) || strchr(*p, '=') == NULL || in_env(env, *p))
			continue;
		if (strv_add(env, *p) != 0)
			return fail_build(-ENOMEM, "env", e);
	}
	return 0;
}

static int add_env(struct compiler *k, size_t role, struct policy_list *ret, struct err *e)
{
	const struct strv *want = &k->c->role[role].env;
	struct strv env = {0};
	int rc = 0;

	for (size_t i = 0; i < want->n && rc == 0; i++)
		rc = env_entry(k, role, want->v[i], &env, e);
	if (rc == 0)
		rc = env_locale(&env, e);
	if (rc == 0) {
		rc = policy_add_list(&k->b, (const char *const *)env.v, (uint32_t)env.n, ret);
		if (rc != 0)
			rc = fail_build(rc, "env", e);
	}
	strv_done(&env);
	return rc;
}

/* ---- roles */

static int add_argv(struct compiler *k, size_t role, struct policy_list *ret, struct err *e)
{
	const struct config_role *r = &k->c->role[role];
	char *const *argv = r->command.v;
	uint32_t n = 0;
	int rc;

	if (k->o->role == (int)role && k->o->command != NULL)
		argv = k->o->command;
	while (argv != NULL && argv[n] != NULL && n <= POLICY_MAX_LIST)
		n++;
	if (n == 0 && required(k, role))
		return role == CONFIG_RUNNER
			? config_fail(k->c, r->line, r->col, e, "suite has no command: write suite: {command: [PROGRAM, ARGUMENT]}")
			: config_fail(k->c, r->line, r->col, e, "role %s has no command: write roles: {%s: {command: [PROGRAM, "
			              "ARGUMENT]}}", r->name, r->name);
	rc = policy_add_list(&k->b, (const char *const *)argv, n, ret);
	return rc == 0 ? 0 : fail_build(rc, "command", e);
}

static int add_role(struct compiler *k, size_t i, struct err *e)
{
	const struct config_role *from = &k->c->role[i];
	struct policy_role to = {.deadline_ms = from->deadline_ms, .n_ports = (uint32_t)from->n_ports};
	int rc = add_argv(k, i, &to.argv, e);

	if (rc == 0)
		rc = add_env(k, i, &to.env, e);
	if (rc != 0)
		return rc;
	rc = policy_add_list(&k->b, (const char *const *)from->read.v, (uint32_t)from->read.n, &to.read);
	if (rc != 0)
		return fail_build(rc, "read", e);
	memcpy(to.name, from->name, sizeof(to.name));
	memcpy(to.ports, from->ports, from->n_ports * sizeof(to.ports[0]));
	if (i == CONFIG_RUNNER)
		to.flags |= ROLE_FRESH_HOME;
	if (i == CONFIG_REVIEWER)
		to.flags |= ROLE_SUITE_LOG;
	if (from->stdin_prompt)
		to.flags |= ROLE_STDIN_PROMPT;
	k->b.p->role[i] = to;
	k->b.p->n_roles = (uint32_t)i + 1;
	return 0;
}

/* ---- the rest */

static int add_zones(struct compiler *k, int root_fd, struct err *e)
{
	struct zones z = {0};
	int rc = compile_zones_find(&z, k->c, root_fd, k->notes, e);

	for (size_t i = 0; i < z.n && rc == 0; i++) {
		struct policy_entry entry = {.kind = (uint8_t)z.v[i].kind, .flags = (uint8_t)z.v[i].flags};

		for (size_t r = 0; r < ROLE_MAX; r++)
			entry.level[r] = (uint8_t)z.v[i].level[r];
		rc = policy_add_str(&k->b, z.v[i].path, &entry.path);
		if (rc != 0)
			rc = fail_build(rc, "access", e);
		else
			k->b.p->entry[k->b.p->n_entries++] = entry;
	}
	compile_zones_done(&z);
	return rc;
}

/* What is there already must be a folder that a mount can stand on. */
static int check_scratch(const struct config *c, int root_fd, struct err *e)
{
	for (size_t i = 0; i < c->scratch.n; i++) {
		AUTO_FD fd = fd_open_beneath(root_fd, c->scratch.v[i], O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, true);

		if (fd < 0 && fd != -ENOENT)
			return config_fail(c, 0, 0, e, "scratch: %s is there and is no folder of this file system: move it away, or take "
			                   "another", c->scratch.v[i]);
	}
	return 0;
}

static int add_header(struct compiler *k, struct err *e)
{
	const struct config *c = k->c;
	mode_t mask = umask(0);
	uint32_t user = 0;
	struct policy_list scratch = {0};
	int rc = policy_add_str(&k->b, c->agent_user, &user);

	(void)umask(mask); /* the one way to read it leaves no trace */
	if (rc == 0)
		rc = policy_add_list(&k->b, (const char *const *)c->scratch.v, (uint32_t)c->scratch.n, &scratch);
	if (rc != 0)
		return fail_build(rc, "scratch", e);
	k->b.p->agent_user = user;
	k->b.p->umask = mask;
	k->b.p->layers = k->o->layers;
	k->b.p->scratch = scratch;
	k->b.p->limits = (struct policy_limits){
		.memory = c->limits.memory, .file = c->limits.file,
		.processes = c->limits.processes, .open_files = c->limits.open_files,
	};
	return 0;
}

int policy_compile(const struct config *c, int root_fd, const struct compile_options *o, struct buf *notes,
                   struct err *e)
{
	struct compiler k = {.c = c, .o = o, .notes = notes};
	int rc = git_check_root(root_fd, e);

	if (rc == 0) {
		rc = policy_begin(&k.b);
		if (rc != 0)
			rc = fail_build(rc, "policy", e);
	}
	if (rc == 0)
		rc = add_header(&k, e);
	for (size_t i = 0; i < c->n_roles && rc == 0; i++)
		rc = add_role(&k, i, e);
	if (rc == 0)
		rc = add_zones(&k, root_fd, e);
	if (rc == 0)
		rc = check_scratch(c, root_fd, e);
	if (rc == 0)
		rc = policy_seal(&k.b, e);
	policy_done(&k.b);
	return rc < 0 ? err_stop(e, STOP_USAGE, rc) : rc;
}
