/* A run on one screen: what it was, and a table of its turns task by task. */
#include <stdio.h>

#include "orchestrator/show.h"
#include "orchestrator/view.h"
#include "protocol/record_read.h"

static void add_count(struct show *s, const json_t *turn, const char *list)
{
	const json_t *l = json_object_get(turn, list);
	char text[24] = "-";

	if (l != NULL)
		(void)snprintf(text, sizeof(text), "%lld", (long long)show_int(l, "total"));
	show_f(s, "  %7s", text);
}

static void add_verdict(struct show *s, const json_t *turn)
{
	const json_t *suite = json_object_get(turn, "suite");

	show_add(s, show_str(turn, "verdict"), 40);
	if (!json_is_object(suite))
		return;
	if (json_is_true(json_object_get(suite, "verified")))
		show_f(s, " (%lld passed, %lld failed)", (long long)show_int(suite, "passed"), (long long)show_int(suite, "failed"));
	else
		show_f(s, " (count unverified)");
}

static void add_turn(struct show *s, const json_t *iteration, const json_t *turn)
{
	char n[24] = "-";

	if (iteration != NULL)
		(void)snprintf(n, sizeof(n), "%lld", (long long)show_int(iteration, "n"));
	show_f(s, "  %4lld  %4s  ", (long long)show_int(turn, "n"), n);
	show_column(s, show_str(turn, "role"), 12);
	show_f(s, "  ");
	show_column(s, show_str(turn, "status"), 10);
	show_time(s, 10, json_object_get(turn, "wall_ms") == NULL ? -1 : show_int(turn, "wall_ms"));
	add_count(s, turn, "changes");
	add_count(s, turn, "denials");
	show_f(s, "  ");
	add_verdict(s, turn);
	show_f(s, "\n");
}

static void add_table(struct show *s, const json_t *iteration, const json_t *turns)
{
	const json_t *turn;
	size_t i;

	json_array_foreach(turns, i, turn)
		add_turn(s, iteration, turn);
}

static void add_table_head(struct show *s)
{
	show_f(s, "  %4s  %4s  %-12s  %-10s  %8s  %7s  %7s  %s\n", "turn", "iter", "role", "status", "time", "changed", "denied",
	       "verdict");
}

static void add_task(struct show *s, const json_t *task)
{
	const json_t *iteration;
	char commit[13]; /* as git abbreviates */
	size_t i;

	show_f(s, "\n[%c] ", str_eq(show_str(task, "status"), "pass") ? 'x' : ' ');
	show_add(s, show_str(task, "title"), 0);
	show_f(s, "\n    line %lld, ", (long long)show_int(task, "line"));
	show_add(s, show_str(task, "status"), 16);
	(void)snprintf(commit, sizeof(commit), "%s", show_str(task, "commit"));
	if (commit[0] != '\0') {
		show_f(s, ", commit ");
		show_add(s, commit, 0);
	}
	show_f(s, "\n");
	add_table_head(s);
	json_array_foreach(json_object_get(task, "iterations"), i, iteration) {
		add_table(s, iteration, json_object_get(iteration, "turns"));
		if (show_str(iteration, "reason")[0] == '\0')
			continue;
		show_f(s, "  %10s  -> ", "");
		show_add(s, show_str(iteration, "reason"), 0);
		show_f(s, "\n");
	}
}

static void add_field(struct show *s, const char *name, const char *value)
{
	show_f(s, "%-11s", name);
	show_add(s, value, 0);
	show_f(s, "\n");
}

static void add_words(struct show *s, const char *name, const json_t *array)
{
	const json_t *word;
	size_t i;

	show_f(s, "%-10s", name);
	json_array_foreach(array, i, word) {
		show_f(s, " ");
		show_add(s, json_string_value(word), 0);
	}
	show_f(s, "\n");
}

static void add_head(struct show *s, int root_fd, const char *id, const json_t *run)
{
	const char *state = record_liveness(root_fd, id, run);
	const json_t *suite = json_object_get(run, "suite");

	show_f(s, "%-11s%s (", "run", id);
	show_add(s, show_str(run, "kind"), 16);
	show_f(s, "), %s", state);
	if (str_eq(state, "ended"))
		show_f(s, ", exit %d", (int)show_int(run, "stop"));
	show_f(s, "\n");
	if (show_str(run, "reason")[0] != '\0')
		add_field(s, "reason", show_str(run, "reason"));
	add_field(s, "started", show_str(run, "started"));
	add_field(s, "ended", show_str(run, "ended"));
	add_field(s, "project", show_str(run, "project"));
	add_field(s, "agent user", show_str(run, "agent_user"));
	add_words(s, "layers", json_object_get(run, "layers"));
	show_f(s, "%-11s", "kernel");
	show_add(s, show_str(run, "kernel"), 64);
	show_f(s, ", Landlock ABI %lld\n", (long long)show_int(run, "landlock_abi"));
	if (json_is_object(suite))
		add_words(s, "suite", json_object_get(suite, "command"));
}

int view_run(int root_fd, const char *id, const json_t *run)
{
	const json_t *turns = json_object_get(run, "turns");
	struct show s = {0};
	const json_t *task;
	size_t i;

	add_head(&s, root_fd, id, run);
	json_array_foreach(json_object_get(run, "tasks"), i, task)
		add_task(&s, task);
	if (json_array_size(turns) > 0) {
		show_f(&s, "\n");
		add_table_head(&s);
		add_table(&s, NULL, turns);
	}
	return show_text(&s);
}
