/* `stint run`: checks, asks, runs the loop, says what came of it. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "orchestrator/cmd.h"
#include "orchestrator/loop.h"
#include "orchestrator/session.h"
#include "roles/role.h"
#include "protocol/review.h"

struct run_options {
	const char *dir;
	bool once, confirm, yes, dry_run;
};

#define USAGE "usage: sudo stint run [-C DIR] [--once] [--confirm] [--yes] [--dry-run]"

static int parse(int argc, char **argv, struct run_options *o)
{
	static const struct option longs[] = {
		{"once", no_argument, NULL, 'o'}, {"confirm", no_argument, NULL, 'c'}, {"yes", no_argument, NULL, 'y'},
		{"dry-run", no_argument, NULL, 'n'}, {NULL, 0, NULL, 0},
	};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "C:", longs, NULL)) != -1)
		switch (opt) {
		case 'C': o->dir = optarg; break;
		case 'o': o->once = true; break;
		case 'c': o->confirm = true; break;
		case 'y': o->yes = true; break;
		case 'n': o->dry_run = true; break;
		default:
			log_note("run: unknown or incomplete option %s: " USAGE, argv[optind - 1]);
			return STOP_USAGE;
		}
	if (optind < argc) {
		log_note("run: unexpected argument %s: " USAGE, argv[optind]);
		return STOP_USAGE;
	}
	return STOP_DONE;
}

static void print_words(const struct strv *v)
{
	for (size_t i = 0; i < v->n; i++) {
		AUTO_BUF struct buf b = {0};
		const char *s = buf_add_escaped(&b, v->v[i], strlen(v->v[i]), false) == 0 ? buf_str(&b) : NULL;

		(void)printf("%s%s", i > 0 ? " " : "", s != NULL ? s : "?");
	}
	(void)printf("\n");
}

/* Who runs what, and who may touch what. */
static void print_plan(const struct config *c)
{
	for (size_t r = 0; r < c->n_roles; r++) {
		(void)printf("  %-10s ", r == CONFIG_RUNNER ? "suite" : c->role[r].name);
		print_words(&c->role[r].command);
	}
	(void)printf("\n  %-28s", "");
	for (size_t r = 0; r < c->n_roles; r++)
		(void)printf(" %-10s", c->role[r].name);
	(void)printf("\n");
	for (size_t i = 0; i < c->n_access; i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "%.60s%s", c->access[i].path, c->access[i].is_dir ? "/" : "");
		(void)printf("  %-28s", path);
		for (size_t r = 0; r < c->n_roles; r++)
			(void)printf(" %-10s", level_name(c->access[i].level[r]));
		(void)printf("\n");
	}
	(void)fflush(stdout);
}

/* Enter is no. */
static int ask(const struct config *c, bool yes, struct err *e)
{
	char answer[16] = "";

	if (!yes && isatty(STDIN_FILENO) != 1)
		return err_stop(e, STOP_USAGE, err_set(e, ENOTTY, "--confirm needs a terminal to ask at: answer beforehand with --yes"));
	print_plan(c);
	if (yes)
		return 0;
	(void)printf("\nstart? type y and Enter: ");
	(void)fflush(stdout);
	if (fgets(answer, sizeof(answer), stdin) == NULL || !str_eq(answer, "y\n"))
		return err_stop(e, STOP_UNFINISHED, err_set(e, ECANCELED, "declined: nothing was started"));
	return 0;
}

#define TITLE_MAX 4000u /* what the record keeps of one */

/* A task is known by its title: in the commit's trailer, in the record, after an edit. */
static int check_titles(const struct tasks *t, struct err *e)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].depth == 0 && strlen(t->v[i].title) > TITLE_MAX)
			return err_stop(e, STOP_USAGE, err_set(e, E2BIG, "%s:%u: a title of more than %u bytes: put the rest on lines "
			                                       "below it, indented", TASKS_FILE, t->v[i].line, TITLE_MAX));
	for (size_t i = 0; i < t->n; i++)
		for (size_t j = 0; j < i; j++)
			if (t->v[i].depth == 0 && t->v[j].depth == 0 && !t->v[i].done && !t->v[j].done && str_eq(t->v[i].title, t->v[j].title))
				return err_stop(e, STOP_USAGE, err_set(e, EEXIST, "%s:%u: an open task has the same title as the one in line %u: "
				                                       "make them differ", TASKS_FILE, t->v[i].line, t->v[j].line));
	return 0;
}

static int dry_run(struct cmd *c, const struct run_options *o, struct err *e)
{
	const struct compile_options co = {.layers = LAYER_ALL, .role = COMPILE_LOOP};
	struct config config = {0};
	AUTO_BUF struct buf notes = {0};
	AUTO_FD policy = -1;
	struct tasks t = {0};
	int rc = cmd_root(c, o->dir, e);

	if (rc == 0)
		rc = config_load(&config, c->root_fd, false, e);
	if (rc == 0) {
		policy = policy_compile(&config, c->root_fd, &co, &notes, e);
		rc = policy < 0 ? policy : 0;
		session_warn_lines(notes.data, notes.len);
	}
	if (rc == 0)
		rc = tasks_load(&t, c->root_fd, e);
	if (rc == 0)
		rc = tasks_check_runnable(&t, e);
	if (rc == 0)
		rc = check_titles(&t, e);
	if (rc == 0) {
		const struct task *next = tasks_next(&t);
		size_t done = 0;
		size_t n = tasks_count(&t, &done);

		(void)printf("would run, with %zu of %zu tasks open:\n\n", n - done, n);
		print_plan(&config);
		(void)printf("\nfirst: ");
		if (next == NULL)
			(void)printf("nothing, all tasks are done\n");
		else
			(void)printf("line %u of %s\n", next->line, TASKS_FILE);
	}
	tasks_done(&t);
	config_done(&config);
	return rc == 0 ? STOP_DONE : log_err(e, STOP_USAGE);
}

/* Paths that some role may write; the coordination files have rules of their own. */
static int find_zones(struct loop *l, const struct policy *p, struct err *e)
{
	l->zones = calloc(p->n_entries + 1, sizeof(*l->zones));
	if (l->zones == NULL)
		return err_errno(e, ENOMEM, "zones");
	for (uint32_t i = 0; i < p->n_entries; i++) {
		const char *path = policy_str(p, p->entry[i].path);
		bool rw = false;

		for (uint32_t r = 0; r < p->n_roles; r++)
			rw = rw || p->entry[i].level[r] == LEVEL_RW;
		if (rw && !str_eq(path, TASKS_FILE) && !str_eq(path, REVIEW_FILE))
			l->zones[l->n_zones++] = path;
	}
	return 0;
}

/* Everything that is refused before anything is started. */
static int check_input(struct loop *l, const struct cmd *c, const struct policy *p, struct err *e)
{
	struct tasks t = {0};
	int rc = record_resume(l->root_fd, &l->resume, e);

	if (rc == 0 && l->resume.running)
		rc = err_stop(e, STOP_CONFINE, err_set(e, EBUSY, "run %s of this project is still running: wait for it, or stop it",
		                                       l->resume.id));
	if (rc == 0)
		rc = loop_guard_cut_turn(l, e);
	if (rc == 0)
		rc = tasks_load(&t, l->root_fd, e);
	if (rc == 0)
		rc = tasks_check_runnable(&t, e);
	if (rc == 0)
		rc = check_titles(&t, e);
	if (rc == 0 && faccessat(l->root_fd, TASKS_FILE, W_OK, AT_EACCESS) != 0)
		rc = err_stop(e, STOP_USAGE, err_errno(e, errno, "%s cannot be ticked: chmod u+w it", TASKS_FILE));
	tasks_done(&t);
	if (rc == 0)
		rc = repo_open(&l->repo, l->root_fd, c->root_path, e);
	if (rc == 0)
		rc = find_zones(l, p, e);
	if (rc == 0)
		rc = repo_check_start(l->repo, l->zones, l->n_zones, l->resume.unfinished, e);
	if (rc == 0 && l->config->commit_push != NULL)
		rc = repo_check_remote(l->repo, l->config->commit_push, e);
	return rc;
}

static int open_record(struct loop *l, const struct cmd *c, struct err *e)
{
	static const char *const layers[] = {"acl", "landlock", "seccomp", NULL};
	const struct record_info info = {
		.kind = "loop",
		.project = c->root_path,
		.agent_user = l->config->agent_user,
		.layers = layers,
		.suite_command = (const char *const *)l->config->role[CONFIG_RUNNER].command.v,
		.suite_format = l->config->suite_format == SUITE_TAP ? "tap" : "exit",
	};

	return record_create(&l->record, l->root_fd, &info, e);
}

static void summary(struct loop *l, int stop, const struct err *e)
{
	struct tasks t = {0};
	size_t done = 0;
	size_t n = tasks_load(&t, l->root_fd, NULL) == 0 ? tasks_count(&t, &done) : 0;

	tasks_done(&t);
	if (stop != STOP_DONE) {
		report_end(&l->report);
		(void)log_err(e, stop);
	}
	report_line(&l->report, stop == STOP_DONE ? REPORT_GOOD : REPORT_BAD,
	            "%s%zu of %zu tasks done, %u committed, %u iteration%s, %u turns, %u refused access%s", "", done, n, l->n_commits,
	            l->n_iterations, l->n_iterations == 1 ? "" : "s", l->n_turns, l->n_denials, l->n_denials == 1 ? "" : "es");
	report_line(&l->report, REPORT_PLAIN, "record: %s (stint view)", record_dir(l->record));
}

static int run(struct loop *l, const struct cmd *c, struct session *s, struct err *e)
{
	struct err late = {0};
	int stop;
	int rc = session_start(s, c, e);

	if (rc == 0)
		rc = open_record(l, c, e);
	if (rc != 0)
		return log_err(e, STOP_CONFINE);
	l->interrupt_fd = s->interrupt_fd;
	report_begin(&l->report);
	report_line(&l->report, REPORT_PLAIN, "stint run %s  %s", record_id(l->record), c->root_path);
	session_warn_lines(s->notes.data, s->notes.len);
	stop = loop_run(l, e);
	if (record_end(l->record, stop, stop == STOP_DONE ? NULL : e->msg, &late) != 0)
		stop = log_err(&late, STOP_RECORD);
	summary(l, stop, e);
	report_end(&l->report);
	return stop;
}

int cmd_run(struct cmd *c, int argc, char **argv)
{
	const struct compile_options co = {.layers = LAYER_ALL, .role = COMPILE_LOOP};
	struct run_options o = {0};
	struct loop l = {.interrupt_fd = -1};
	struct session s = {.policy_fd = -1, .interrupt_fd = -1};
	struct err e = {0};
	int stop = parse(argc, argv, &o);
	int rc;

	if (stop != STOP_DONE)
		return stop;
	if (o.dry_run)
		return dry_run(c, &o, &e);
	rc = session_open(&s, c, &co, &e);
	l.config = &s.config;
	l.root_fd = c->root_fd;
	l.sock = c->warden_fd;
	l.once = o.once;
	if (rc == 0)
		rc = check_input(&l, c, s.policy, &e);
	if (rc == 0 && o.confirm)
		rc = ask(&s.config, o.yes, &e);
	stop = rc == 0 ? run(&l, c, &s, &e) : log_err(&e, STOP_USAGE);
	loop_done(&l);
	session_done(&s);
	return stop;
}
