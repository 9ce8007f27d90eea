/* Words and environment for stint-guard: see command.h. */
#include "sandbox/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

/* What the view always gives beside the guard's own system preset. */
static const char *const always_writable[] = {"/tmp", "/var/tmp", "/dev/shm", SANDBOX_HOME};

/* The command cannot choose these: they name what the view holds. */
static const char *const fixed_names[] = {"HOME=", "USER=", "LOGNAME=", "STINT_"};

static const char *const defaults[] = {
	"PATH=/usr/local/bin:/usr/bin:/bin", "SHELL=/bin/sh", "TMPDIR=/tmp", "TERM=dumb",
};

PRINTF_LIKE(2, 3) static int add(struct words *w, const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	if (w->n + 1 >= w->cap) {
		size_t cap = w->cap == 0 ? 64 : w->cap * 2;
		char **v = realloc(w->v, cap * sizeof(*v));

		if (v == NULL)
			return -ENOMEM;
		w->v = v;
		w->cap = cap;
	}
	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	w->v[w->n++] = s;
	w->v[w->n] = NULL;
	return 0;
}

static int add_grant(struct words *w, const char *option, const char *path)
{
	int rc = add(w, "%s", option);

	return rc == 0 ? add(w, "%s", path) : rc;
}

/* A zone may be absent: caught by "*" and gone since, or a file, which comes and goes with the turns (REVIEW.md). */
static int zone_is_absent(const struct spawn_spec *s, const struct policy_entry *entry)
{
	const char *path = policy_str(s->policy, entry->path);
	AUTO_FD fd = fd_open_beneath(s->root_fd, path, O_PATH, 0, false);

	if (fd >= 0)
		return 0;
	if (fd != -ENOENT)
		return fd;
	return entry->kind == POLICY_FILE || (entry->flags & ENTRY_NAMED) == 0;
}

static int add_zones(struct words *w, const struct spawn_spec *s, struct err *e)
{
	const struct policy *p = s->policy;
	int rc = add_grant(w, "--allow-list", s->root_path);

	for (uint32_t i = 0; rc == 0 && i < p->n_entries; i++) {
		const struct policy_entry *entry = &p->entry[i];
		const char *path = policy_str(p, entry->path);
		char full[PATH_MAX];
		int absent;

		if (entry->level[s->role] == LEVEL_NONE)
			continue;
		absent = zone_is_absent(s, entry);
		if (absent < 0)
			return err_errno(e, -absent, "cannot grant %s", path);
		if (absent == 1)
			continue;
		if (snprintf(full, sizeof(full), "%s/%s", s->root_path, path) >= (int)sizeof(full))
			return err_errno(e, ENAMETOOLONG, "cannot grant %s", path);
		rc = add_grant(w, entry->level[s->role] == LEVEL_RW ? "--allow-write" : "--allow-read", full);
	}
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot build the command line");
}

static int add_scratch(struct words *w, const struct spawn_spec *s)
{
	const struct policy *p = s->policy;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < p->scratch.n; i++) {
		const char *path = policy_item(p, p->scratch, i);

		if (s->probe_fd >= 0) {
			AUTO_FD fd = fd_open_beneath(s->root_fd, path, O_PATH | O_DIRECTORY, 0, false);

			if (fd < 0)
				continue;
		}
		rc = add(w, "--allow-write");
		if (rc == 0)
			rc = add(w, "%s/%s", s->root_path, path);
	}
	return rc;
}

static int add_outside(struct words *w, const struct spawn_spec *s)
{
	const struct policy_role *role = &s->policy->role[s->role];
	int rc = add_grant(w, "--allow-read", SANDBOX_RUN_DIR);

	for (size_t i = 0; rc == 0 && i < sizeof(always_writable) / sizeof(always_writable[0]); i++)
		rc = add_grant(w, "--allow-write", always_writable[i]);
	for (uint32_t i = 0; rc == 0 && !spawn_proves_landlock_alone(s) && i < role->read.n; i++)
		rc = add_grant(w, "--allow-read", policy_item(s->policy, role->read, i));
	/* Without ports the command has a network namespace of its own, where there is only loopback. */
	if (rc == 0 && role->n_ports == 0)
		rc = add(w, "--net-unrestricted");
	for (uint32_t i = 0; rc == 0 && i < role->n_ports; i++) {
		rc = add(w, "--allow-connect");
		if (rc == 0)
			rc = add(w, "%u", role->ports[i]);
	}
	return rc;
}

static int add_layers(struct words *w, const struct spawn_spec *s)
{
	const char *filter = (s->layers & LAYER_SECCOMP) == 0 ? "none" : (s->layers & LAYER_ACL) == 0 ? "owner" : "agent";
	int rc = add_grant(w, "--filter", filter);

	if (rc == 0 && (s->layers & LAYER_LANDLOCK) == 0)
		rc = add(w, "--no-landlock");
	/* The environment is made below, and /tmp is the turn's own. */
	if (rc == 0)
		rc = add(w, "--env-all");
	if (rc == 0)
		rc = add(w, "--no-tmp");
	return rc == 0 ? add(w, "--quiet") : rc;
}

static int add_descriptors(struct words *w, const struct spawn_spec *s, bool has_prompt)
{
	int rc = add(w, "--error-fd");

	if (rc == 0)
		rc = add(w, "%d", COMMAND_FD_ERROR);
	if (rc == 0 && has_prompt)
		rc = add(w, "--prompt-fd");
	if (rc == 0 && has_prompt)
		rc = add(w, "%d", COMMAND_FD_PROMPT);
	if (rc == 0 && has_prompt)
		rc = add_grant(w, "--prompt-file", SANDBOX_PROMPT);
	if (rc == 0 && s->probe_fd >= 0)
		rc = add(w, "--probe-fd");
	if (rc == 0 && s->probe_fd >= 0)
		rc = add(w, "%d", COMMAND_FD_PROBE);
	if (rc == 0 && s->probe_fd >= 0)
		rc = add_grant(w, "--result-fd", "1");
	return rc;
}

static int build_argv(struct words *w, const struct spawn_spec *s, bool has_prompt, struct err *e)
{
	const struct policy_list words = s->policy->role[s->role].argv;
	int rc = add(w, "stint-guard");

	if (rc == 0)
		rc = add_layers(w, s);
	if (rc == 0)
		rc = add_descriptors(w, s, has_prompt);
	if (rc == 0) {
		rc = add_zones(w, s, e);
		if (rc != 0)
			return rc;
	}
	if (rc == 0)
		rc = add_outside(w, s);
	if (rc == 0)
		rc = add_scratch(w, s);
	if (rc == 0 && s->probe_fd < 0)
		rc = add(w, "--");
	for (uint32_t i = 0; rc == 0 && s->probe_fd < 0 && i < words.n; i++)
		rc = add(w, "%s", policy_item(s->policy, words, i));
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot build the command line");
}

static bool is_fixed(const char *setting)
{
	for (size_t i = 0; i < sizeof(fixed_names) / sizeof(fixed_names[0]); i++)
		if (str_starts(setting, fixed_names[i]))
			return true;
	return false;
}

static bool is_set(const struct words *env, const char *setting)
{
	size_t n = strcspn(setting, "=") + 1;

	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], setting, n) == 0)
			return true;
	return false;
}

/* The account's name, read from /etc/passwd alone: no NSS module is loaded into root code. */
static void user_name(const struct spawn_spec *s, char *ret, size_t size)
{
	FILE *f;

	(void)snprintf(ret, size, "%s", (s->layers & LAYER_ACL) != 0 ? policy_str(s->policy, s->policy->agent_user) : "owner");
	if ((s->layers & LAYER_ACL) != 0)
		return;
	f = fopen("/etc/passwd", "re");
	for (struct passwd *pw = f == NULL ? NULL : fgetpwent(f); pw != NULL; pw = fgetpwent(f)) {
		if (pw->pw_uid == s->uid) {
			(void)snprintf(ret, size, "%s", pw->pw_name);
			break;
		}
	}
	if (f != NULL)
		(void)fclose(f);
}

static int build_env(struct words *w, const struct spawn_spec *s, bool has_prompt)
{
	const struct policy_role *role = &s->policy->role[s->role];
	char user[256];
	int rc = 0;

	user_name(s, user, sizeof(user));
	for (uint32_t i = 0; rc == 0 && i < role->env.n; i++) {
		const char *setting = policy_item(s->policy, role->env, i);

		if (!is_fixed(setting))
			rc = add(w, "%s", setting);
	}
	for (size_t i = 0; rc == 0 && i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (!is_set(w, defaults[i]))
			rc = add(w, "%s", defaults[i]);
	if (rc == 0)
		rc = add(w, "HOME=%s", SANDBOX_HOME);
	if (rc == 0)
		rc = add(w, "USER=%s", user);
	if (rc == 0)
		rc = add(w, "LOGNAME=%s", user);
	if (rc == 0)
		rc = add(w, "STINT_ROLE=%s", role->name);
	if (rc == 0 && has_prompt)
		rc = add(w, "STINT_PROMPT_FILE=%s", SANDBOX_PROMPT);
	if (rc == 0 && s->iteration > 0)
		rc = add(w, "STINT_ITERATION=%u", s->iteration);
	if (rc == 0 && s->task[0] != '\0')
		rc = add(w, "STINT_TASK=%.*s", (int)sizeof(s->task), s->task);
	return rc;
}

int command_build(struct command *ret, const struct spawn_spec *s, bool has_prompt, struct err *e)
{
	int rc;

	*ret = (struct command){0};
	rc = build_argv(&ret->argv, s, has_prompt, e);
	if (rc == 0) {
		rc = build_env(&ret->env, s, has_prompt);
		if (rc != 0)
			rc = err_errno(e, -rc, "cannot build the environment");
	}
	if (rc != 0)
		command_done(ret);
	return rc;
}

static void words_done(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
	*w = (struct words){0};
}

void command_done(struct command *c)
{
	words_done(&c->argv);
	words_done(&c->env);
}
