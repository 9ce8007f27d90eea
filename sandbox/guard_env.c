/* The command's environment: a short list of harmless variables, what was named, and TMPDIR. Secrets of the caller's shell are
 * not on it. See guard.h. */
#include "sandbox/guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is passed on without asking; a * at the end stands for any more letters. */
static const struct {
	const char *name;
	const char *why;
} safe[] = {
	{"PATH", "where programs are found; what is found must be granted all the same"},
	{"HOME", "names a folder, grants nothing"},
	{"USER", "whoami, git"},
	{"LOGNAME", "the same by POSIX"},
	{"SHELL", "editors, tmux, make's children"},
	{"TERM", "what the terminal understands"},
	{"COLORTERM", "the same for colours"},
	{"NO_COLOR", "the person wants none"},
	{"LANG", "language and character set"},
	{"LANGUAGE", "the same: fallbacks"},
	{"LC_*", "the same, one by one"},
	{"TZ", "time zone"},
	{"PWD", "the working folder by the name that the person used"},
	{"TMPDIR", "replaced by the command's own, if it has one"},
};

/* Does the setting NAME=VALUE set this name? */
static bool sets(const char *setting, const char *name)
{
	size_t n = strcspn(name, "=");

	return strncmp(setting, name, n) == 0 && setting[n] == '=';
}

static bool is_safe(const char *setting)
{
	for (size_t i = 0; i < sizeof(safe) / sizeof(safe[0]); i++) {
		const char *name = safe[i].name;
		size_t n = strcspn(name, "*");

		if (name[n] == '*' ? strncmp(setting, name, n) == 0 : sets(setting, name))
			return true;
	}
	return false;
}

static bool is_named(const struct guard_options *o, const char *setting)
{
	for (size_t i = 0; i < o->n_env; i++)
		if (strchr(o->env[i], '=') == NULL && sets(setting, o->env[i]))
			return true;
	return false;
}

/* Replaces the setting of the same name, or adds it; the vector has room. */
static void put(char **env, size_t *n, char *setting)
{
	for (size_t i = 0; i < *n; i++) {
		if (sets(env[i], setting)) {
			env[i] = setting;
			return;
		}
	}
	env[(*n)++] = setting;
}

int guard_environment(const struct guard_options *o, struct guard_state *s, struct err *e)
{
	size_t room = 2 + o->n_env; /* TMPDIR, and the end */
	size_t n = 0;
	char **env;

	for (size_t i = 0; environ[i] != NULL; i++)
		room++;
	env = calloc(room, sizeof(*env));
	if (env == NULL)
		return err_errno(e, ENOMEM, "cannot make the environment");
	for (size_t i = 0; environ[i] != NULL; i++)
		if (o->env_all || is_safe(environ[i]) || is_named(o, environ[i]))
			env[n++] = environ[i];
		else
			s->env_dropped++;
	s->env_passed = n;
	for (size_t i = 0; i < o->n_env; i++)
		if (strchr(o->env[i], '=') != NULL)
			put(env, &n, (char *)(uintptr_t)o->env[i]); /* nobody writes to it; execve's type lacks the const */
	if (s->tmp.path != NULL) {
		AUTO_BUF struct buf b = {0};

		if (buf_addf(&b, "TMPDIR=%s", s->tmp.path) != 0 || buf_str(&b) == NULL) {
			free(env);
			return err_errno(e, ENOMEM, "cannot make the environment");
		}
		put(env, &n, b.data);
		b = (struct buf){0};
	}
	s->env = env;
	return 0;
}
