/* What an earlier run left open, for the run that goes on with it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"
#include "base/str.h"
#include "protocol/record_private.h"
#include "protocol/record_read.h"

#define LOOK_BACK 1000u              /* runs; more unbroken ones of one task are no resume any more */

void record_resume_done(struct record_resume *r)
{
	free(r->title);
	free(r->commit);
	buf_done(&r->runs);
	buf_done(&r->done);
	*r = (struct record_resume){0};
}

static const char *text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static json_t *last_of(const json_t *o, const char *key)
{
	const json_t *a = json_object_get(o, key);

	return json_array_size(a) == 0 ? NULL : json_array_get(a, json_array_size(a) - 1);
}

static enum record_commit step_of(const json_t *task)
{
	for (int c = RECORD_COMMIT_NONE; c <= RECORD_COMMIT_DONE; c++)
		if (str_eq(text(task, "commit_step"), record_commit_name((enum record_commit)c)))
			return (enum record_commit)c;
	return RECORD_COMMIT_NONE;
}

static int fill(struct record_resume *r, int root_fd, const char *id, const json_t *run)
{
	const json_t *task = last_of(run, "tasks");
	const json_t *iteration = last_of(task, "iterations");

	memcpy(r->id, id, RECORD_ID_MAX);
	r->title = strdup(text(task, "title"));
	r->commit = text(task, "commit") == NULL ? NULL : strdup(text(task, "commit"));
	if (r->title == NULL || (r->commit == NULL && text(task, "commit") != NULL))
		return -ENOMEM;
	r->running = str_eq(record_liveness(root_fd, id, run), "running");
	r->line = (unsigned int)json_integer_value(json_object_get(task, "line"));
	r->step = step_of(task);
	r->unfinished = r->step != RECORD_COMMIT_DONE && (r->step != RECORD_COMMIT_NONE || !str_eq(text(task, "status"), "pass"));
	r->push_due = r->step == RECORD_COMMIT_DONE && !str_eq(text(task, "status"), "pass");
	if (iteration == NULL)
		return 0;
	r->iteration = (unsigned int)json_integer_value(json_object_get(iteration, "n"));
	r->iteration_ended = !str_eq(text(iteration, "status"), "open");
	if (!r->iteration_ended && last_of(iteration, "turns") != NULL)
		r->turn = (unsigned int)json_integer_value(json_object_get(last_of(iteration, "turns"), "n"));
	return 0;
}

/* The next older loop run that began a task, from ids->v[*at] on. *ret stays NULL when there is none. */
static int next_loop(int root_fd, const struct record_ids *ids, size_t *at, json_t **ret, struct err *e)
{
	for (; *at < ids->n && *at < LOOK_BACK; (*at)++) {
		json_t *run = NULL;
		int rc = record_read(root_fd, ids->v[*at], &run, e);

		if (rc == -ENOENT) /* killed between the folder and its first record: it did nothing */
			continue;
		if (rc != 0)
			return rc;
		if (str_eq(text(run, "kind"), "loop") && last_of(run, "tasks") != NULL) {
			*ret = run;
			return 0;
		}
		json_decref(run);
	}
	return 0;
}

/* Commits of the tasks that the run had finished before its last. */
static int find_done(struct buf *done, const json_t *run)
{
	const json_t *task;
	size_t i;

	json_array_foreach(json_object_get(run, "tasks"), i, task) {
		const char *oid = text(task, "commit");

		if (task != last_of(run, "tasks") && oid != NULL && buf_add(done, oid, strlen(oid) + 1) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* The unbroken runs of the title, newest first: the newest, and older ones as long as they had it as their last task and left
 * it without a pass. A run that was killed before it had begun anything is passed over. */
static int find_runs(int root_fd, const struct record_ids *ids, struct record_resume *r, struct err *e)
{
	for (size_t at = 0;; at++) {
		json_t *run = NULL;
		int rc = next_loop(root_fd, ids, &at, &run, e);
		bool same;

		if (rc != 0 || run == NULL)
			return rc;
		same = str_eq(text(last_of(run, "tasks"), "title"), r->title) &&
		       (r->runs.len == 0 || !str_eq(text(last_of(run, "tasks"), "status"), "pass"));
		if (same && (buf_add(&r->runs, ids->v[at], strlen(ids->v[at]) + 1) != 0 || find_done(&r->done, run) != 0))
			rc = err_errno(e, ENOMEM, "cannot read the run's record");
		json_decref(run);
		if (rc != 0 || !same)
			return rc;
	}
}

int record_resume(int root_fd, struct record_resume *ret, struct err *e)
{
	struct record_resume r = {0};
	struct record_ids ids;
	json_t *run = NULL;
	size_t at = 0;
	int rc = record_list(root_fd, &ids, e);

	if (rc != 0)
		return rc;
	rc = next_loop(root_fd, &ids, &at, &run, e);
	if (rc == 0 && run != NULL && fill(&r, root_fd, ids.v[at], run) != 0)
		rc = err_errno(e, ENOMEM, "cannot read the run's record");
	json_decref(run);
	if (rc == 0 && r.unfinished)
		rc = find_runs(root_fd, &ids, &r, e);
	record_ids_done(&ids);
	if (rc != 0)
		record_resume_done(&r);
	else
		*ret = r;
	return err_stop(e, STOP_USAGE, rc);
}
