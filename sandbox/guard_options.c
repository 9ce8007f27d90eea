/* stint-guard's command line: see guard.h. */
#include "sandbox/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/seccomp.h"

enum opt {
	OPT_READ = 256, OPT_WRITE, OPT_LIST, OPT_OPTIONAL, OPT_CONNECT, OPT_BIND, OPT_NET, OPT_NO_SYSTEM, OPT_NO_LANDLOCK,
	OPT_FILTER, OPT_PROFILE, OPT_PROFILE_FD, OPT_CHECKED, OPT_NO_SCOPE, OPT_MIN_ABI, OPT_QUIET, OPT_PROMPT_FD, OPT_PROMPT_FILE,
	OPT_TIMEOUT, OPT_MAX_MEMORY, OPT_MAX_PROCS, OPT_MAX_OUTPUT, OPT_REPORT, OPT_SUPERVISOR_FD,
	OPT_ERROR_FD, OPT_PROBE_FD, OPT_RESULT_FD, OPT_HELP, OPT_KEEP_FD,
	OPT_EXEC, OPT_NO_EXEC, OPT_UNIX, OPT_BEST_EFFORT, OPT_ENV, OPT_ENV_ALL, OPT_NO_TMP, OPT_PRINT_POLICY, OPT_PRINT_PROFILE,
};

static const struct option options[] = {
	{"allow-read", required_argument, NULL, OPT_READ},
	{"allow-write", required_argument, NULL, OPT_WRITE},
	{"allow-list", required_argument, NULL, OPT_LIST},
	{"allow-exec", required_argument, NULL, OPT_EXEC},
	{"no-exec", no_argument, NULL, OPT_NO_EXEC},
	{"allow-unix", required_argument, NULL, OPT_UNIX},
	{"optional-read", required_argument, NULL, OPT_OPTIONAL},
	{"allow-connect", required_argument, NULL, OPT_CONNECT},
	{"allow-bind", required_argument, NULL, OPT_BIND},
	{"net-unrestricted", no_argument, NULL, OPT_NET},
	{"no-system", no_argument, NULL, OPT_NO_SYSTEM},
	{"no-landlock", no_argument, NULL, OPT_NO_LANDLOCK},
	{"print-profile", no_argument, NULL, OPT_PRINT_PROFILE},
	{"filter", required_argument, NULL, OPT_FILTER},
	{"profile", required_argument, NULL, OPT_PROFILE},
	{"profile-fd", required_argument, NULL, OPT_PROFILE_FD},
	{"checked", no_argument, NULL, OPT_CHECKED},
	{"no-scope", no_argument, NULL, OPT_NO_SCOPE},
	{"min-abi", required_argument, NULL, OPT_MIN_ABI},
	{"best-effort", no_argument, NULL, OPT_BEST_EFFORT},
	{"env", required_argument, NULL, OPT_ENV},
	{"env-all", no_argument, NULL, OPT_ENV_ALL},
	{"no-tmp", no_argument, NULL, OPT_NO_TMP},
	{"print-policy", required_argument, NULL, OPT_PRINT_POLICY},
	{"quiet", no_argument, NULL, OPT_QUIET},
	{"prompt-fd", required_argument, NULL, OPT_PROMPT_FD},
	{"prompt-file", required_argument, NULL, OPT_PROMPT_FILE},
	{"keep-fd", required_argument, NULL, OPT_KEEP_FD},
	{"error-fd", required_argument, NULL, OPT_ERROR_FD},
	{"probe-fd", required_argument, NULL, OPT_PROBE_FD},
	{"result-fd", required_argument, NULL, OPT_RESULT_FD},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"max-memory", required_argument, NULL, OPT_MAX_MEMORY},
	{"max-procs", required_argument, NULL, OPT_MAX_PROCS},
	{"max-output", required_argument, NULL, OPT_MAX_OUTPUT},
	{"report", required_argument, NULL, OPT_REPORT},
	{"supervisor-fd", required_argument, NULL, OPT_SUPERVISOR_FD},
	{"help", no_argument, NULL, OPT_HELP},
	{NULL, 0, NULL, 0},
};

static int parse_number(const char *option, const char *s, long min, long max, long *ret, struct err *e)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(s, &end, 10);
	if (errno != 0 || end == s || *end != '\0' || v < min || v > max)
		return err_set(e, EINVAL, "--%s %s: a number from %ld to %ld is needed", option, s, min, max);
	*ret = v;
	return 0;
}

/* A descriptor that the caller left open for us. Ours alone from here, unless it is one of the three that the
 * command inherits anyway. */
static int parse_fd(const char *option, const char *s, int *ret, struct err *e)
{
	long v;
	int rc = parse_number(option, s, 0, 1 << 20, &v, e);

	if (rc != 0)
		return rc;
	if (fcntl((int)v, F_GETFD) < 0 || (v > 2 && fcntl((int)v, F_SETFD, FD_CLOEXEC) < 0))
		return err_errno(e, errno, "--%s %ld", option, v);
	*ret = (int)v;
	return 0;
}

/* A descriptor for the command. */
static int add_kept(struct guard_options *o, const char *s, struct err *e)
{
	long v;
	int rc = parse_number("keep-fd", s, 0, 1 << 20, &v, e);

	if (rc != 0)
		return rc;
	if (o->n_kept == GUARD_MAX_KEPT)
		return err_set(e, EINVAL, "--keep-fd: at most %u descriptors", GUARD_MAX_KEPT);
	if (fcntl((int)v, F_GETFD) < 0 || fcntl((int)v, F_SETFD, 0) < 0)
		return err_errno(e, errno, "--keep-fd %ld", v);
	o->kept[o->n_kept++] = (int)v;
	return 0;
}

static int add_port(const char *option, const char *s, long min, struct guard_ports *p, struct err *e)
{
	long v;
	int rc = parse_number(option, s, min, UINT16_MAX, &v, e);

	if (rc != 0)
		return rc;
	if (p->n == GUARD_MAX_PORTS)
		return err_set(e, EINVAL, "--%s: at most %u ports", option, GUARD_MAX_PORTS);
	p->port[p->n++] = (uint16_t)v;
	return 0;
}

static int add_path(struct guard_options *o, const char *path, enum landlock_grant grant, bool optional, struct err *e)
{
	if (path[0] == '\0')
		return err_set(e, EINVAL, "an empty path cannot be granted");
	if (o->n_paths == GUARD_MAX_PATHS)
		return err_set(e, EINVAL, "at most %u paths can be granted: grant their folder", GUARD_MAX_PATHS);
	o->paths[o->n_paths++] = (struct guard_path){.path = path, .grant = grant, .optional = optional};
	return 0;
}

/* NAME passes a variable on, so it must be set; NAME=VALUE sets one. */
static int add_env(struct guard_options *o, const char *word, struct err *e)
{
	if (word[0] == '\0' || word[0] == '=')
		return err_set(e, EINVAL, "--env %s: NAME or NAME=VALUE is needed", word);
	if (strchr(word, '=') == NULL && getenv(word) == NULL)
		return err_set(e, EINVAL, "--env %s: it is not set: set it, or give --env %s=VALUE", word, word);
	o->env[o->n_env++] = word;
	return 0;
}

static int set_print(struct guard_options *o, const char *form, struct err *e)
{
	if (!str_eq(form, "json"))
		return err_set(e, EINVAL, "--print-policy %s: json is needed", form);
	o->print_policy = true;
	return 0;
}

static int set_filter(struct guard_options *o, const char *name, struct err *e)
{
	if (!str_eq(name, "agent") && !str_eq(name, "owner") && !str_eq(name, "none"))
		return err_set(e, EINVAL, "--filter %s: agent, owner or none is needed", name);
	o->filter = str_eq(name, "none") ? NULL : name;
	o->profile_file = NULL; /* of --profile and --filter the last one holds */
	o->named = false;
	return 0;
}

/* A name with a slash or a dot in it is a file, which the coordinator compiles. */
static int set_profile(struct guard_options *o, const char *word, struct err *e)
{
	const char *names[GUARD_MAX_NAMES + 1];
	const char *near;
	size_t n = 0;

	o->named = true;
	o->profile_file = strpbrk(word, "/.") != NULL ? word : NULL;
	if (o->profile_file != NULL || filter_find(word, true) != NULL) {
		o->filter = word;
		return 0;
	}
	for (const struct filter *f = filter_data; f->name != NULL && n < GUARD_MAX_NAMES; f++)
		if (f->net)
			names[n++] = f->name;
	names[n] = NULL;
	near = str_nearest(word, names);
	return err_set(e, EINVAL, "--profile %s: there is no such profile: %s%s%s", word, near != NULL ? "did you mean " : "",
	               near != NULL ? near : "stint profile list names them; a file has a / or . in its name",
	               near != NULL ? "?" : "");
}

static int unknown(const char *word, struct err *e)
{
	const char *names[sizeof(options) / sizeof(options[0])];
	size_t i;
	const char *near;

	for (i = 0; options[i].name != NULL; i++)
		names[i] = options[i].name;
	names[i] = NULL;
	near = str_starts(word, "--") ? str_nearest(word + 2, names) : NULL;
	return err_set(e, EINVAL, "%s: unknown option%s%s, or its value is missing: stint-guard --help lists them", word,
	               near != NULL ? ", did you mean --" : "", near != NULL ? near : "");
}

static int set_number(struct guard_options *o, int opt, const char *arg, struct err *e)
{
	long v = 0;
	int rc;

	switch (opt) {
	case OPT_CONNECT:
		return add_port("allow-connect", arg, 1, &o->connect, e);
	case OPT_BIND: /* 0: whatever port the kernel chooses */
		return add_port("allow-bind", arg, 0, &o->bind, e);
	case OPT_MIN_ABI:
		rc = parse_number("min-abi", arg, 1, LANDLOCK_ABI_KNOWN, &v, e);
		o->min_abi = (int)v;
		return rc;
	case OPT_PROMPT_FD:
		return parse_fd("prompt-fd", arg, &o->prompt_fd, e);
	case OPT_KEEP_FD:
		return add_kept(o, arg, e);
	case OPT_ERROR_FD:
		return parse_fd("error-fd", arg, &o->error_fd, e);
	case OPT_PROBE_FD:
		return parse_fd("probe-fd", arg, &o->probe_fd, e);
	case OPT_PROFILE_FD:
		return parse_fd("profile-fd", arg, &o->profile_fd, e);
	case OPT_SUPERVISOR_FD:
		return parse_fd("supervisor-fd", arg, &o->supervisor_fd, e);
	default:
		return parse_fd("result-fd", arg, &o->result_fd, e);
	}
}

static void set_flag(struct guard_options *o, int opt)
{
	bool *flag = opt == OPT_NET           ? &o->net_unrestricted
	             : opt == OPT_NO_SYSTEM   ? &o->no_system
	             : opt == OPT_NO_LANDLOCK ? &o->no_landlock
	             : opt == OPT_NO_SCOPE    ? &o->no_scope
	             : opt == OPT_PRINT_PROFILE ? &o->print_profile
	             : opt == OPT_NO_EXEC     ? &o->no_exec
	             : opt == OPT_BEST_EFFORT ? &o->best_effort
	             : opt == OPT_ENV_ALL     ? &o->env_all
	             : opt == OPT_NO_TMP      ? &o->no_tmp
	             : opt == OPT_CHECKED     ? &o->checked
	             : opt == OPT_QUIET       ? &o->quiet
	                                      : &o->help;

	*flag = true;
}

/* False when the option is none of these. */
static bool set_supervise(struct guard_supervise *s, int opt, const char *arg)
{
	const char **word = opt == OPT_TIMEOUT      ? &s->timeout
	                    : opt == OPT_MAX_MEMORY ? &s->max_memory
	                    : opt == OPT_MAX_PROCS  ? &s->max_procs
	                    : opt == OPT_MAX_OUTPUT ? &s->max_output
	                    : opt == OPT_REPORT     ? &s->report
	                                            : NULL;

	if (word != NULL)
		*word = arg;
	return word != NULL;
}

bool guard_wants_supervisor(const struct guard_options *o)
{
	const struct guard_supervise *s = &o->supervise;

	return o->supervisor_fd < 0 && !o->print_policy && (s->timeout != NULL || s->max_memory != NULL || s->max_procs != NULL ||
	                                s->max_output != NULL || s->report != NULL);
}

static int set_option(struct guard_options *o, int opt, char *arg, struct err *e)
{
	int rc;

	switch (opt) {
	case OPT_READ:
		return add_path(o, arg, GRANT_READ, false, e);
	case OPT_WRITE:
		return add_path(o, arg, GRANT_WRITE, false, e);
	case OPT_LIST:
		return add_path(o, arg, GRANT_LIST, false, e);
	case OPT_OPTIONAL:
		return add_path(o, arg, GRANT_READ, true, e);
	case OPT_UNIX:
		return add_path(o, arg, GRANT_UNIX, false, e);
	case OPT_EXEC:
		rc = add_path(o, arg, GRANT_READ, false, e);
		if (rc == 0)
			o->paths[o->n_paths - 1].keeps_exec = true;
		return rc;
	case OPT_ENV:
		return add_env(o, arg, e);
	case OPT_PRINT_POLICY:
		return set_print(o, arg, e);
	case OPT_FILTER:
		return set_filter(o, arg, e);
	case OPT_PROFILE:
		return set_profile(o, arg, e);
	case OPT_PROMPT_FILE:
		o->prompt_file = arg;
		return 0;
	default:
		if (arg != NULL && set_supervise(&o->supervise, opt, arg))
			return 0;
		if (arg != NULL)
			return set_number(o, opt, arg, e);
		set_flag(o, opt);
		return 0;
	}
}

int guard_parse(struct guard_options *o, int argc, char **argv, struct err *e)
{
	int opt;

	*o = (struct guard_options){.filter = "agent", .min_abi = 1, .prompt_fd = -1, .error_fd = -1, .probe_fd = -1,
	                            .result_fd = -1, .profile_fd = -1, .supervisor_fd = -1};
	o->paths = calloc((size_t)argc + 1, sizeof(*o->paths));
	o->env = calloc((size_t)argc + 1, sizeof(*o->env));
	if (o->paths == NULL || o->env == NULL)
		return err_errno(e, ENOMEM, "cannot read the command line");
	opterr = 0;
	optind = 0; /* and not 1: forgets as well the half-read word at which an earlier call gave up */
	while ((opt = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		int rc = opt == '?' ? unknown(argv[optind - 1], e) : set_option(o, opt, optarg, e);

		if (rc != 0)
			return rc;
	}
	guard_take_exec_away(o);
	o->command = argv + optind;
	if ((o->probe_fd < 0) != (o->result_fd < 0))
		return err_set(e, EINVAL, "--probe-fd and --result-fd belong together");
	if (o->command[0] == NULL && o->probe_fd < 0 && !o->help && !o->print_policy && !o->print_profile)
		return err_set(e, EINVAL, "no command: stint guard [options] -- CMD [ARG…]");
	return 0;
}

void guard_options_done(struct guard_options *o)
{
	for (size_t i = 0; o->paths != NULL && i < o->n_paths; i++)
		free(o->paths[i].target);
	free(o->paths);
	free(o->env);
	o->paths = NULL;
	o->env = NULL;
}
