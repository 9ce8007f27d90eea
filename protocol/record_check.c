/* The shape of run.json as tables: readers look at members without looking at types again. */
#include <errno.h>
#include <string.h>

#include "protocol/record_private.h"

enum { S = 1 << JSON_STRING, I = 1 << JSON_INTEGER, A = 1 << JSON_ARRAY, O = 1 << JSON_OBJECT, N = 1 << JSON_NULL };

struct member {
	const char *name;
	int types;           /* allowed JSON types, a bit each */
	bool optional;       /* may be absent */
};

static const struct member run_members[] = {
	{"kind", S, false}, {"id", S, false}, {"state", S, false}, {"started", S, false}, {"ended", S | N, false},
	{"stop", I | N, false}, {"reason", S | N, false}, {"project", S | N, false}, {"agent_user", S | N, false},
	{"layers", A, false}, {"kernel", S | N, false}, {"landlock_abi", I, false}, {"suite", O | N, false},
	{"tasks", A, false}, {"turns", A, false}, {NULL, 0, false},
};
static const struct member task_members[] = {
	{"title", S, false}, {"line", I, false}, {"status", S, false}, {"commit", S | N, false}, {"commit_step", S, false},
	{"iterations", A, false}, {NULL, 0, false},
};
static const struct member iteration_members[] = {
	{"n", I, false}, {"status", S, false}, {"reason", S | N, false}, {"turns", A, false}, {NULL, 0, false},
};
/* Everything after "started" appears when the turn ends. */
static const struct member turn_members[] = {
	{"n", I, false}, {"role", S, false}, {"status", S, false}, {"started", S, false}, {"ended", S, true}, {"exit", I, true},
	{"wall_ms", I, true}, {"user_ms", I, true}, {"sys_ms", I, true}, {"max_rss", I, true}, {"stdout_bytes", I, true},
	{"stderr_bytes", I, true}, {"changes", O, true}, {"anomalies", O, true}, {"denials", O, true}, {"notes", O, true},
	{"verdict", S | N, true}, {"suite", O | N, true}, {NULL, 0, false},
};
static const struct member list_members[] = {{"total", I, false}, {"list", A, false}, {NULL, 0, false}};
static const char *const turn_lists[] = {"changes", "anomalies", "denials", "notes", NULL};

static int damaged(const char *path, const char *what, const char *name, struct err *e)
{
	return err_set(e, EBADMSG, "%s: the record is damaged (%s without a proper \"%s\"): what happened is still in %s beside it",
	               path, what, name, RECORD_EVENTS);
}

static int check_members(const json_t *o, const struct member *m, const char *path, const char *what, struct err *e)
{
	if (!json_is_object(o))
		return damaged(path, what, "{", e);
	for (; m->name != NULL; m++) {
		const json_t *v = json_object_get(o, m->name);

		if (v == NULL ? !m->optional : (m->types & (1 << json_typeof(v))) == 0)
			return damaged(path, what, m->name, e);
	}
	return 0;
}

static int check_turns(const json_t *turns, const char *path, struct err *e)
{
	const json_t *turn;
	size_t i;
	int rc = 0;

	json_array_foreach(turns, i, turn) {
		rc = check_members(turn, turn_members, path, "a turn", e);
		for (const char *const *name = turn_lists; rc == 0 && *name != NULL; name++)
			if (json_object_get(turn, *name) != NULL)
				rc = check_members(json_object_get(turn, *name), list_members, path, "a list", e);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int check_task(const json_t *task, const char *path, struct err *e)
{
	const json_t *iteration;
	size_t i;
	int rc = check_members(task, task_members, path, "a task", e);

	if (rc != 0)
		return rc;
	json_array_foreach(json_object_get(task, "iterations"), i, iteration) {
		rc = check_members(iteration, iteration_members, path, "an iteration", e);
		if (rc == 0)
			rc = check_turns(json_object_get(iteration, "turns"), path, e);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int record_check(const json_t *run, const char *path, struct err *e)
{
	const json_t *schema = json_object_get(run, "schema");
	const json_t *task;
	size_t i;
	int rc;

	if (!json_is_integer(schema) || json_integer_value(schema) < 1)
		return damaged(path, "a run", "schema", e);
	if (json_integer_value(schema) > RECORD_SCHEMA)
		return err_set(e, EPROTONOSUPPORT, "%s has schema %d and this stint reads up to %d: use the newer stint that wrote it",
		               path, (int)json_integer_value(schema), RECORD_SCHEMA);
	rc = check_members(run, run_members, path, "a run", e);
	if (rc != 0)
		return rc;
	json_array_foreach(json_object_get(run, "tasks"), i, task) {
		rc = check_task(task, path, e);
		if (rc != 0)
			return rc;
	}
	return check_turns(json_object_get(run, "turns"), path, e);
}
