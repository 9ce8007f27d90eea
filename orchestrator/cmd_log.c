/* `stint log`: past runs, newest first, one line each. */
#include <stdio.h>

#include "base/exit.h"
#include "base/log.h"
#include "orchestrator/cmd.h"
#include "orchestrator/show.h"
#include "protocol/record_read.h"

/* What one line says. */
struct line {
	const char *state;      /* "running", "ended", "interrupted", "damaged" */
	size_t tasks, passed, turns;
};

static int count_turn(void *cookie, const json_t *task, const json_t *iteration, const json_t *turn)
{
	struct line *l = cookie;

	(void)task, (void)iteration, (void)turn;
	l->turns++;
	return 0;
}

static struct line read_line(int root_fd, const char *id, const json_t *run)
{
	struct line l = {.state = record_liveness(root_fd, id, run)};
	const json_t *task;
	size_t i;

	json_array_foreach(json_object_get(run, "tasks"), i, task) {
		l.tasks++;
		l.passed += str_eq(show_str(task, "status"), "pass") ? 1 : 0;
	}
	(void)show_each_turn(run, count_turn, &l);
	return l;
}

static void add_line(struct show *s, int root_fd, const char *id, const json_t *run)
{
	struct line l = read_line(root_fd, id, run);
	char tasks[48] = "-";
	char exit[16] = "-";

	if (l.tasks > 0)
		(void)snprintf(tasks, sizeof(tasks), "%zu of %zu", l.passed, l.tasks);
	if (str_eq(l.state, "ended"))
		(void)snprintf(exit, sizeof(exit), "%d", (int)show_int(run, "stop"));
	show_f(s, "%-20s  ", id);
	show_column(s, show_str(run, "kind"), 5);
	show_f(s, "  %-11s  %4s  %9s  %5zu", l.state, exit, tasks, l.turns);
	show_time(s, 10, str_eq(l.state, "interrupted") ? -1 : show_span(show_str(run, "started"), show_str(run, "ended")));
	show_f(s, "  ");
	show_add(s, show_str(run, "reason"), 60);
	show_f(s, "\n");
}

static json_t *json_line(int root_fd, const char *id, const json_t *run)
{
	struct line l = read_line(root_fd, id, run);

	return json_pack("{s:s, s:O, s:s, s:O, s:O, s:O, s:O, s:i, s:i, s:i}", "id", id, "kind", json_object_get(run, "kind"), "state",
	                 l.state, "started", json_object_get(run, "started"), "ended", json_object_get(run, "ended"), "stop",
	                 json_object_get(run, "stop"), "reason", json_object_get(run, "reason"), "tasks", (int)l.tasks, "passed",
	                 (int)l.passed, "turns", (int)l.turns);
}

/* A damaged record is a line that says so. */
static void add_run(struct show *s, int root_fd, const char *id)
{
	struct err why = {0};
	json_t *run = NULL;

	if (record_read(root_fd, id, &run, &why) == 0) {
		add_line(s, root_fd, id, run);
		json_decref(run);
		return;
	}
	show_f(s, "%-20s  %-5s  %-11s  %4s  %9s  %5s  %8s  ", id, "-", "damaged", "-", "-", "-", "-");
	show_add(s, why.msg, 0);
	show_f(s, "\n");
}

static int print_text(int root_fd, const struct record_ids *ids)
{
	struct show s = {0};

	if (ids->n == 0)
		log_note("there is no run yet: start one with `sudo stint run`");
	else
		show_f(&s, "%-20s  %-5s  %-11s  %4s  %9s  %5s  %8s  %s\n", "run", "kind", "state", "exit", "tasks", "turns", "time",
		       "reason");
	for (size_t i = 0; i < ids->n; i++)
		add_run(&s, root_fd, ids->v[i]);
	return show_text(&s);
}

static int print_json(int root_fd, const struct record_ids *ids)
{
	json_t *list = json_array();
	int bad = 0;

	for (size_t i = 0; i < ids->n; i++) {
		struct err why = {0};
		json_t *run = NULL;
		int rc = record_read(root_fd, ids->v[i], &run, &why);

		bad |= json_array_append_new(list, rc == 0 ? json_line(root_fd, ids->v[i], run) :
		                                   json_pack("{s:s, s:s, s:s}", "id", ids->v[i], "state", "damaged", "reason", why.msg));
		json_decref(run);
	}
	if (bad == 0)
		return show_json(json_pack("{s:o}", "runs", list));
	json_decref(list);
	return show_json(NULL);
}

int cmd_log(struct cmd *c, int argc, char **argv)
{
	struct record_ids ids;
	struct err e = {0};
	const char *dir = NULL;
	bool json = false;
	int status = show_options(argc, argv, "stint log [-C DIR] [--json]", &dir, &json);

	if (status != STOP_DONE)
		return status;
	if (cmd_root(c, dir, &e) != 0 || record_list(c->root_fd, &ids, &e) != 0)
		return log_err(&e, STOP_USAGE);
	status = json ? print_json(c->root_fd, &ids) : print_text(c->root_fd, &ids);
	record_ids_done(&ids);
	return status;
}
