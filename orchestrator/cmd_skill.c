/* `stint skill run`: see skill.h and cmd_skill_walk.h. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "orchestrator/cmd.h"
#include "orchestrator/config_value.h"
#include "orchestrator/skill.h"
#include "orchestrator/cmd_skill_walk.h"
#include "sandbox/landlock.h"

#define USAGE "usage: stint skill run FILE [--yes] [--out FILE] [--unsafe-no-guard] [--from ID] [--var NAME=VALUE]…"

struct asked {
	const char *file;
	const char *out;
	const char *from;
	struct strv vars;
	bool yes;
	bool unguarded;
};

static int usage(const char *what, const char *word)
{
	log_note("skill: %s%s: " USAGE, what, word);
	return STOP_USAGE;
}

/* 0, or the exit status. */
static int read_words(struct asked *a, int argc, char **argv)
{
	static const struct option longs[] = {{"yes", no_argument, NULL, 'y'}, {"out", required_argument, NULL, 'o'},
	                                      {"unsafe-no-guard", no_argument, NULL, 'u'}, {"from", required_argument, NULL, 'f'},
	                                      {"var", required_argument, NULL, 'v'}, {NULL, 0, NULL, 0}};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (opt == 'y')
			a->yes = true;
		else if (opt == 'o')
			a->out = optarg;
		else if (opt == 'u')
			a->unguarded = true;
		else if (opt == 'f')
			a->from = optarg;
		else if (opt == 'v' && strv_add(&a->vars, optarg) != 0)
			return usage("out of memory", "");
		else if (opt != 'v')
			return usage(opt == ':' ? "a value is missing for " : "unknown option ", argv[optind - 1]);
	}
	if (argc - optind < 1 || !str_eq(argv[optind], "run"))
		return usage(argc - optind < 1 ? "a word is missing" : "unknown word ", argc - optind < 1 ? "" : argv[optind]);
	if (argc - optind != 2)
		return usage(argc - optind < 2 ? "FILE is missing" : "more than one FILE", "");
	a->file = argv[optind + 1];
	return 0;
}

static int find_step(const struct skill *s, const char *id, size_t *ret, struct err *e)
{
	const char *names[SKILL_STEPS_MAX + 1];
	const char *near;

	for (size_t i = 0; i < s->n_steps; i++) {
		names[i] = s->step[i].id;
		if (str_eq(s->step[i].id, id)) {
			*ret = i;
			return 0;
		}
	}
	names[s->n_steps] = NULL;
	near = str_nearest(id, names);
	return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "--from %s: there is no such step%s%s%s", id,
	                                       near != NULL ? ": did you mean " : "", near != NULL ? near : "",
	                                       near != NULL ? "?" : ""));
}

static int open_terminal(int *ret, struct err *e)
{
	*ret = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (*ret >= 0)
		return 0;
	return err_stop(e, STOP_USAGE, err_set(e, ENOTTY, "skill: every step is confirmed by a y that is typed, and there is no "
	                                       "terminal: run it in one, or confirm all steps with --yes"));
}

static int walk(const struct asked *a, struct skill_walk w, int *ret_stop, struct err *e)
{
	const char *const layers[] = {"landlock", "seccomp", NULL};
	const char *const none[] = {NULL};
	struct record_file_info info = {.kind = "skill", .suite_name = w.skill->name, .suite_hash = w.skill->hash,
	                                .layers = a->unguarded ? none : layers, .landlock_abi = landlock_abi()};
	struct record_file record = {.dir_fd = -1, .lock_fd = -1};
	char reason[256] = "";
	int rc;

	if (info.landlock_abi < 0)
		info.landlock_abi = 0;
	rc = record_file_begin(&record, a->out, &info, e);
	w.record = &record;
	if (rc == 0)
		rc = skill_walk(&w, ret_stop, reason, e);
	if (rc == 0)
		rc = record_file_end(&record, *ret_stop, reason[0] != '\0' ? reason : NULL, e);
	if (rc == 0)
		(void)fprintf(w.out, "\nrecord: %s\n", record.path);
	record_file_done(&record);
	return rc;
}

static int run(const struct asked *a, int *ret_stop, struct err *e)
{
	struct skill skill = {0};
	AUTO_FD terminal = -1;
	AUTO_FD signals = -1;
	struct skill_walk w = {.skill = &skill, .yes = a->yes, .guarded = !a->unguarded, .out = stdout};
	int rc = skill_load(&skill, a->file, &a->vars, e);

	if (rc == 0 && a->from != NULL)
		rc = find_step(&skill, a->from, &w.from, e);
	if (rc == 0 && !a->yes)
		rc = open_terminal(&terminal, e);
	if (rc == 0)
		rc = cmd_watch_ends(&signals, e);
	w.terminal_fd = terminal;
	w.signal_fd = signals;
	if (rc == 0)
		rc = walk(a, w, ret_stop, e);
	skill_done(&skill);
	return rc;
}

int cmd_skill(struct cmd *c, int argc, char **argv)
{
	struct asked a = {0};
	struct err e = {0};
	int stop = read_words(&a, argc, argv);

	(void)c;
	if (stop == 0 && run(&a, &stop, &e) != 0)
		stop = log_err(&e, STOP_CONFINE);
	strv_done(&a.vars);
	return stop;
}
