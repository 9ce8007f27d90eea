/* `stint status`: where the newest run is, and how many tasks are left. */
#include <errno.h>

#include "base/exit.h"
#include "base/log.h"
#include "orchestrator/cmd.h"
#include "orchestrator/show.h"
#include "protocol/record_read.h"
#include "protocol/tasks.h"

struct status {
	const char *state;          /* "none", "running", "ended", "interrupted" */
	char id[RECORD_ID_MAX];
	json_t *run;                /* NULL: there is none */
	const json_t *task;         /* of the last turn or the last one begun, NULL: none */
	const json_t *iteration;
	const json_t *turn;
	bool has_tasks;             /* TASKS.md can be read */
	size_t n, done;
};

static int last_turn(void *cookie, const json_t *task, const json_t *iteration, const json_t *turn)
{
	struct status *s = cookie;

	(void)task;
	s->iteration = iteration;
	s->turn = turn;
	return 0;
}

static int load_run(struct status *s, int root_fd, struct err *e)
{
	const json_t *tasks;
	int rc = record_find(root_fd, NULL, s->id, e);

	s->state = "none";
	if (rc == -ENOENT)
		return 0;
	if (rc == 0)
		rc = record_read(root_fd, s->id, &s->run, e);
	if (rc != 0)
		return rc;
	s->state = record_liveness(root_fd, s->id, s->run);
	tasks = json_object_get(s->run, "tasks");
	s->task = json_array_size(tasks) > 0 ? json_array_get(tasks, json_array_size(tasks) - 1) : NULL;
	(void)show_each_turn(s->run, last_turn, s);
	return 0;
}

static void load_tasks(struct status *s, int root_fd)
{
	struct tasks t;

	if (tasks_load(&t, root_fd, NULL) != 0)
		return;
	s->has_tasks = true;
	s->n = tasks_count(&t, &s->done);
	tasks_done(&t);
}

static json_t *or_null(const json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	return v == NULL ? json_null() : json_incref(v);
}

static int print_json(const struct status *s)
{
	json_t *tasks = s->has_tasks ? json_pack("{s:i, s:i}", "total", (int)s->n, "done", (int)s->done) : json_null();
	json_t *task = s->task == NULL ? json_null() :
		json_pack("{s:o, s:o, s:o}", "title", or_null(s->task, "title"), "line", or_null(s->task, "line"), "status",
		          or_null(s->task, "status"));
	json_t *o = json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "run",
	                      s->run == NULL ? json_null() : json_string(s->id), "state", s->state, "started",
	                      or_null(s->run, "started"), "stop", or_null(s->run, "stop"), "reason", or_null(s->run, "reason"),
	                      "task", task, "iteration", or_null(s->iteration, "n"), "role", or_null(s->turn, "role"), "tasks",
	                      tasks);

	return show_json(o);
}

static void add_run(struct show *s, const struct status *at)
{
	int64_t ms = show_span(show_str(at->run, "started"), show_str(at->run, "ended"));

	show_f(s, "run        %s, ", at->id);
	if (str_eq(at->state, "interrupted")) {
		show_f(s, "interrupted: `sudo stint run` goes on with it\n");
		return;
	}
	if (str_eq(at->state, "running"))
		show_f(s, "running for ");
	else
		show_f(s, "ended with exit %d after ", (int)show_int(at->run, "stop"));
	show_time(s, 0, ms);
	show_f(s, "\n");
	if (show_str(at->run, "reason")[0] == '\0')
		return;
	show_f(s, "reason     ");
	show_add(s, show_str(at->run, "reason"), 0);
	show_f(s, "\n");
}

static void add_place(struct show *s, const struct status *at)
{
	if (at->task != NULL) {
		show_f(s, "task       ");
		show_add(s, show_str(at->task, "title"), 100);
		show_f(s, " (");
		show_add(s, show_str(at->task, "status"), 16);
		show_f(s, ", %s:%d)\n", TASKS_FILE, (int)show_int(at->task, "line"));
	}
	if (at->iteration != NULL) {
		show_f(s, "iteration  %d, turn %d: ", (int)show_int(at->iteration, "n"), (int)show_int(at->turn, "n"));
		show_add(s, show_str(at->turn, "role"), 40);
		show_f(s, ", ");
		show_add(s, show_str(at->turn, "status"), 40);
		show_f(s, "\n");
	}
	if (at->has_tasks)
		show_f(s, "%s   %zu of %zu done\n", TASKS_FILE, at->done, at->n);
}

static int print_text(const struct status *at)
{
	struct show s = {0};

	if (at->run == NULL)
		show_f(&s, "run        none yet: start one with `sudo stint run`\n");
	else
		add_run(&s, at);
	add_place(&s, at);
	return show_text(&s);
}

int cmd_status(struct cmd *c, int argc, char **argv)
{
	struct status s = {0};
	struct err e = {0};
	const char *dir = NULL;
	bool json = false;
	int status = show_options(argc, argv, "stint status [-C DIR] [--json]", &dir, &json);

	if (status != STOP_DONE)
		return status;
	if (cmd_root(c, dir, &e) != 0 || load_run(&s, c->root_fd, &e) != 0)
		return log_err(&e, STOP_USAGE);
	load_tasks(&s, c->root_fd);
	status = json ? print_json(&s) : print_text(&s);
	json_decref(s.run);
	return status;
}
