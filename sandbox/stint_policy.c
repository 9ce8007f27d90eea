/* libstint: what is granted, kept twice from one table: as stint-guard's words for stint_run(), as its parsed options for
 * stint_confine(). See stint.h. */
#include "sandbox/stint_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *word;
	enum landlock_grant grant;
	bool optional;
	bool keeps_exec;
} grants[] = {
	[STINT_LIST] = {"--allow-list", GRANT_LIST, false, false},
	[STINT_READ] = {"--allow-read", GRANT_READ, false, false},
	[STINT_READ_OPTIONAL] = {"--optional-read", GRANT_READ, true, false},
	[STINT_WRITE] = {"--allow-write", GRANT_WRITE, false, false},
	[STINT_EXEC] = {"--allow-exec", GRANT_READ, false, true},
	[STINT_UNIX] = {"--allow-unix", GRANT_UNIX, false, false},
};

static const struct {
	const char *word;
	unsigned int min; /* bind: port 0 is whatever the kernel chooses */
} directions[] = {
	[STINT_CONNECT] = {"--allow-connect", 1},
	[STINT_BIND] = {"--allow-bind", 0},
};

static const char *const option_words[] = {
	[STINT_NO_SYSTEM] = "--no-system",
	[STINT_NO_SCOPE] = "--no-scope",
	[STINT_NET_UNRESTRICTED] = "--net-unrestricted",
	[STINT_NO_EXEC] = "--no-exec",
	[STINT_BEST_EFFORT] = "--best-effort",
	[STINT_ENV_ALL] = "--env-all",
	[STINT_NO_TMP] = "--no-tmp",
};

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

int stint_fail(struct stint_error *ret, const struct err *e, int rc)
{
	if (ret == NULL || rc == 0)
		return rc;
	ret->code = -rc;
	(void)snprintf(ret->message, sizeof(ret->message), "%s", e->msg);
	return rc;
}

const char *stint_version(void)
{
	return STINT_VERSION;
}

int stint_abi(void)
{
	return landlock_abi();
}

int stint_policy_new(struct stint_policy **ret, struct stint_error *error)
{
	struct stint_policy *p = calloc(1, sizeof(*p));
	struct err e = {0};

	if (p == NULL)
		return stint_fail(error, &e, err_errno(&e, ENOMEM, "cannot make a policy"));
	p->o = (struct guard_options){.filter = "agent", .min_abi = 1, .prompt_fd = -1, .error_fd = -1, .probe_fd = -1,
	                              .result_fd = -1, .profile_fd = -1, .supervisor_fd = -1, .quiet = true, .no_tmp = true,
	                              .env_all = true};
	*ret = p;
	return 0;
}

void stint_policy_free(struct stint_policy *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->n_words; i++)
		free(p->words[i]);
	free(p->words);
	free(p->o.paths);
	free(p->programs);
	stint_profile_free(p->profile);
	free(p);
}

void stint_policy_profile(struct stint_policy *p, struct stint_profile *profile)
{
	if (profile != NULL)
		atomic_fetch_add(&profile->holders, 1);
	stint_profile_free(p->profile);
	p->profile = profile;
}

bool stint_policy_net(const struct stint_policy *p)
{
	return p->o.net_unrestricted || p->o.connect.n > 0 || p->o.bind.n > 0;
}

/* The option's word, and its value's unless that is NULL. */
static int add_words(struct stint_policy *p, const char *option, const char *value, struct err *e)
{
	char **more = realloc(p->words, (p->n_words + 2) * sizeof(*more));
	char *first = strdup(option);
	char *second = value != NULL ? strdup(value) : NULL;

	if (more != NULL)
		p->words = more;
	if (more == NULL || first == NULL || (value != NULL && second == NULL)) {
		free(first);
		free(second);
		return err_errno(e, ENOMEM, "cannot add %s", option);
	}
	p->words[p->n_words++] = first;
	if (second != NULL)
		p->words[p->n_words++] = second;
	return 0;
}

static int add_path(struct stint_policy *p, unsigned int grant, const char *path, struct err *e)
{
	struct guard_path *more;
	int rc;

	if (grant >= ROWS(grants) || path == NULL || path[0] == '\0')
		return err_set(e, EINVAL, path != NULL ? "an empty path cannot be granted" : "no such grant, or no path");
	if (p->o.n_paths == GUARD_MAX_PATHS)
		return err_set(e, EINVAL, "at most %u paths can be granted: grant their folder", GUARD_MAX_PATHS);
	more = realloc(p->o.paths, (p->o.n_paths + 1) * sizeof(*more));
	if (more == NULL)
		return err_errno(e, ENOMEM, "cannot grant %s", path);
	p->o.paths = more;
	rc = add_words(p, grants[grant].word, path, e);
	if (rc != 0)
		return rc;
	p->o.paths[p->o.n_paths++] = (struct guard_path){.path = p->words[p->n_words - 1], .grant = grants[grant].grant,
	                                                 .optional = grants[grant].optional,
	                                                 .keeps_exec = grants[grant].keeps_exec};
	return 0;
}

int stint_policy_allow(struct stint_policy *p, enum stint_grant grant, const char *path, struct stint_error *error)
{
	struct err e = {0};

	return stint_fail(error, &e, add_path(p, (unsigned int)grant, path, &e));
}

static int add_port(struct stint_policy *p, unsigned int direction, unsigned int port, struct err *e)
{
	struct guard_ports *list = direction == STINT_CONNECT ? &p->o.connect : &p->o.bind;
	char number[16];
	int rc;

	if (direction >= ROWS(directions))
		return err_set(e, EINVAL, "no such direction of a port");
	if (port < directions[direction].min || port > UINT16_MAX)
		return err_set(e, EINVAL, "port %u: a number from %u to %d is needed", port, directions[direction].min, UINT16_MAX);
	if (list->n == GUARD_MAX_PORTS)
		return err_set(e, EINVAL, "at most %u ports can be granted", GUARD_MAX_PORTS);
	(void)snprintf(number, sizeof(number), "%u", port);
	rc = add_words(p, directions[direction].word, number, e);
	if (rc == 0)
		list->port[list->n++] = (uint16_t)port;
	return rc;
}

int stint_policy_port(struct stint_policy *p, enum stint_port direction, unsigned int port, struct stint_error *error)
{
	struct err e = {0};

	return stint_fail(error, &e, add_port(p, (unsigned int)direction, port, &e));
}

int stint_policy_option(struct stint_policy *p, enum stint_option option, struct stint_error *error)
{
	struct err e = {0};
	int rc = (unsigned int)option >= ROWS(option_words) ? err_set(&e, EINVAL, "no such option")
	                                                    : add_words(p, option_words[option], NULL, &e);

	if (rc != 0)
		return stint_fail(error, &e, rc);
	p->o.no_system |= option == STINT_NO_SYSTEM;
	p->o.no_scope |= option == STINT_NO_SCOPE;
	p->o.net_unrestricted |= option == STINT_NET_UNRESTRICTED;
	p->o.no_exec |= option == STINT_NO_EXEC;
	p->o.best_effort |= option == STINT_BEST_EFFORT;
	return 0;
}

int stint_policy_env(struct stint_policy *p, const char *word, struct stint_error *error)
{
	struct err e = {0};
	int rc = word == NULL || word[0] == '\0' || word[0] == '=' ? err_set(&e, EINVAL, "a variable needs a name")
	                                                           : add_words(p, "--env", word, &e);

	return stint_fail(error, &e, rc);
}

static int set_min_abi(struct stint_policy *p, int abi, struct err *e)
{
	char number[16];
	int rc;

	if (abi < 1 || abi > LANDLOCK_ABI_KNOWN)
		return err_set(e, EINVAL, "ABI %d: a number from 1 to %d is needed", abi, LANDLOCK_ABI_KNOWN);
	(void)snprintf(number, sizeof(number), "%d", abi);
	rc = add_words(p, "--min-abi", number, e);
	if (rc == 0)
		p->o.min_abi = abi;
	return rc;
}

int stint_policy_min_abi(struct stint_policy *p, int abi, struct stint_error *error)
{
	struct err e = {0};

	return stint_fail(error, &e, set_min_abi(p, abi, &e));
}

int stint_policy_programs(struct stint_policy *p, const char *folder, struct stint_error *error)
{
	char *copy = folder != NULL ? strdup(folder) : NULL;
	struct err e = {0};

	if (folder != NULL && copy == NULL)
		return stint_fail(error, &e, err_errno(&e, ENOMEM, "cannot note %s", folder));
	free(p->programs);
	p->programs = copy;
	return 0;
}
