/* `stint score`: the tasks of a record scored again, by their own scorers or another. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/exit.h"
#include "base/log.h"
#include "base/str.h"
#include "orchestrator/cmd.h"
#include "orchestrator/rescore.h"
#include "orchestrator/show.h"

#define USAGE "usage: stint score RUN [--scorer NAME] [--task ID]… [--out FILE] [--json]"
#define ID_COLUMN_MAX 40u

struct options {
	const char *record;
	const char *out;
	const char **tasks; /* owned list; the words are argv's */
	size_t n_tasks;
	bool json;
	struct rescore how;
};

struct counts {
	size_t tasks, pass, fail, error, others;
	size_t changed, not_scored, commands;
};

static int usage(const char *what, const char *word)
{
	log_note("score: %s%s: " USAGE, what, word);
	return STOP_USAGE;
}

static int check(const struct options *o, int rest, char **argv)
{
	const char *near = o->how.name != NULL ? str_nearest(o->how.name, scorer_names) : NULL;
	bool known = o->how.name == NULL;

	for (size_t i = 0; !known && scorer_names[i] != NULL; i++)
		known = str_eq(scorer_names[i], o->how.name);
	if (!known && near != NULL) {
		log_note("score: --scorer: unknown scorer: %s: did you mean %s?", o->how.name, near);
		return STOP_USAGE;
	}
	if (!known)
		return usage("--scorer is one of exact_match, contains, regex, json, exit_status, not ", o->how.name);
	if (o->how.name != NULL && str_eq(o->how.name, scorer_names[SCORER_COMMAND]))
		return usage("a command is not run here", "");
	if (rest != 1)
		return usage(rest == 0 ? "which record? its file is missing" : "more than one record: ", rest == 0 ? "" : argv[optind + 1]);
	return STOP_DONE;
}

static int parse(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{"scorer", required_argument, NULL, 's'}, {"task", required_argument, NULL, 't'},
		{"out", required_argument, NULL, 'o'}, {"json", no_argument, NULL, 'j'}, {0},
	};
	int status;
	int opt;

	o->tasks = calloc((size_t)argc, sizeof(*o->tasks));
	if (o->tasks == NULL)
		return usage("out of memory", "");
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		switch (opt) {
		case 's': o->how.name = optarg; break;
		case 't': o->tasks[o->n_tasks++] = optarg; break;
		case 'o': o->out = optarg; break;
		case 'j': o->json = true; break;
		case ':': return usage("a value is missing for ", argv[optind - 1]);
		default: return usage("unknown option ", argv[optind - 1]);
		}
	}
	status = check(o, argc - optind, argv);
	o->record = argv[optind];
	return status;
}

/* ---- scoring */

static bool wanted(const struct options *o, const char *id)
{
	for (size_t i = 0; i < o->n_tasks; i++)
		if (str_eq(o->tasks[i], id))
			return true;
	return o->n_tasks == 0;
}

/* Every --task names a task. */
static int check_tasks(const struct options *o, const json_t *tasks, struct err *e)
{
	for (size_t i = 0; i < o->n_tasks; i++) {
		const json_t *task;
		bool found = false;
		size_t n;

		json_array_foreach(tasks, n, task)
			found = found || str_eq(show_str(task, "id"), o->tasks[i]);
		if (!found)
			return err_stop(e, STOP_USAGE, err_set(e, ENOENT, "%s has no task %s", o->record, o->tasks[i]));
	}
	return 0;
}

static void count(struct counts *c, const char *before, const char *after, enum rescored how)
{
	c->tasks++;
	if (str_eq(after, "pass"))
		c->pass++;
	else if (str_eq(after, "fail"))
		c->fail++;
	else if (str_eq(after, "error"))
		c->error++;
	else
		c->others++;
	c->changed += str_eq(before, after) ? 0 : 1;
	c->not_scored += how == RESCORE_NOT_SCORED ? 1 : 0;
	c->commands += how == RESCORE_COMMAND ? 1 : 0;
}

/* A line of the table; before: what the record said. */
static int add_row(json_t *rows, const json_t *task, const char *before)
{
	return json_array_append_new(rows, json_pack("{s:O, s:s, s:O, s:O?, s:O?}", "id", json_object_get(task, "id"), "before", before,
	                                             "status", json_object_get(task, "status"), "score", json_object_get(task, "score"),
	                                             "reason", json_object_get(task, "reason")));
}

static int score_all(struct options *o, json_t *tasks, json_t *rows, struct counts *c, struct err *e)
{
	json_t *task;
	size_t i;
	int rc = check_tasks(o, tasks, e);

	if (rc != 0)
		return rc;
	json_array_foreach(tasks, i, task) {
		enum rescored how = RESCORE_DONE;
		char before[16];

		if (!wanted(o, show_str(task, "id")))
			continue;
		(void)snprintf(before, sizeof(before), "%s", show_str(task, "status"));
		rc = rescore_task(task, &o->how, &how, e);
		if (rc != 0)
			return rc;
		count(c, before, show_str(task, "status"), how);
		if (add_row(rows, task, before) != 0)
			return err_set(e, ENOMEM, "cannot score: out of memory");
	}
	return 0;
}

/* ---- what is said */

static void show_row(struct show *s, const json_t *row, size_t width)
{
	const char *before = show_str(row, "before");
	const char *after = show_str(row, "status");
	const json_t *score = json_object_get(row, "score");
	char change[48];

	(void)snprintf(change, sizeof(change), "%s", before);
	if (!str_eq(before, after))
		(void)snprintf(change, sizeof(change), "%.16s -> %.16s", before, after);
	show_column(s, show_str(row, "id"), width);
	show_f(s, "  %-16s", change);
	if (json_is_number(score))
		show_f(s, "  %5.3g", json_number_value(score));
	else
		show_f(s, "  %5s", "-");
	if (show_str(row, "reason")[0] != '\0') {
		show_f(s, "  ");
		show_add(s, show_str(row, "reason"), 0);
	}
	show_f(s, "\n");
}

static int print_text(const json_t *rows, const struct counts *c)
{
	struct show s = {0};
	size_t width = strlen("task");
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		size_t n = strlen(show_str(row, "id"));

		width = n > width ? n : width;
	}
	width = width < ID_COLUMN_MAX ? width : ID_COLUMN_MAX;
	if (c->tasks > 0) {
		show_column(&s, "task", width);
		show_f(&s, "  %-16s  %5s\n", "status", "score");
	}
	json_array_foreach(rows, i, row)
		show_row(&s, row, width);
	show_f(&s, "%zu %s: %zu pass, %zu fail, %zu error", c->tasks, c->tasks == 1 ? "task" : "tasks", c->pass, c->fail, c->error);
	if (c->others > 0)
		show_f(&s, ", %zu that did not end by themselves", c->others);
	show_f(&s, "; %zu changed\n", c->changed);
	return show_text(&s);
}

static int print_json(json_t *rows, const struct counts *c)
{
	return show_json(json_pack("{s:O, s:i, s:i, s:i, s:i}", "tasks", rows, "pass", (int)c->pass, "fail", (int)c->fail, "error",
	                           (int)c->error, "changed", (int)c->changed));
}

static void say_left(const struct counts *c)
{
	if (c->commands > 0)
		log_note("score: %zu not scored again: the scorer is a command, which is not run here", c->commands);
	if (c->not_scored > 0)
		log_note("score: %zu not scored again: no scorer decided them, the run did", c->not_scored);
}

/* ---- the new record */

static int write_out(const struct options *o, json_t *record, struct err *e)
{
	char now[32] = "";
	time_t t = time(NULL);
	struct tm tm;
	struct stat a;
	struct stat b;

	if (stat(o->record, &a) == 0 && stat(o->out, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		return err_stop(e, STOP_USAGE, err_set(e, EEXIST, "--out %s is the record that is being read, whose scores would be lost: "
		                                       "name another file", o->out));
	if (gmtime_r(&t, &tm) == NULL || strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0 ||
	    json_object_set_new(record, "rescored", json_string(now)) != 0)
		return err_set(e, ENOMEM, "cannot write %s: out of memory", o->out);
	return rescore_write(o->out, record, e);
}

static int run(struct options *o, struct err *e)
{
	struct counts c = {0};
	json_t *record = NULL;
	json_t *rows = json_array();
	int status = STOP_DONE;
	int rc = rows != NULL ? rescore_read(o->record, &record, e) : err_set(e, ENOMEM, "cannot score: out of memory");

	if (rc == 0)
		rc = score_all(o, json_object_get(record, "tasks"), rows, &c, e);
	if (rc == 0 && o->out != NULL)
		rc = write_out(o, record, e);
	if (rc == 0) {
		status = o->json ? print_json(rows, &c) : print_text(rows, &c);
		say_left(&c);
		if (status == STOP_DONE && c.pass < c.tasks)
			status = STOP_UNFINISHED;
	}
	json_decref(rows);
	json_decref(record);
	return rc == 0 ? status : log_err(e, STOP_USAGE);
}

int cmd_score(struct cmd *c, int argc, char **argv)
{
	struct options o = {0};
	struct err e = {0};
	int status = parse(&o, argc, argv);

	(void)c;
	if (status == STOP_DONE)
		status = run(&o, &e);
	free(o.tasks);
	return status;
}
