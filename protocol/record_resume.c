/* What an earlier run left open, for the run that goes on with it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"
#include "base/str.h"
#include "protocol/record_private.h"
#include "protocol/record_read.h"

#define LOOK_BACK 1000u              /* runs; more unbroken ones of one task are no resume any more */
#define CHANGES_MAX (64u << 20)      /* bytes of one turn's change list */

void record_resume_done(struct record_resume *r)
{
	free(r->title);
	free(r->commit);
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
	r->unfinished = !str_eq(text(task, "status"), "pass") || (r->step != RECORD_COMMIT_NONE && r->step != RECORD_COMMIT_DONE);
	if (iteration == NULL)
		return 0;
	r->iteration = (unsigned int)json_integer_value(json_object_get(iteration, "n"));
	r->iteration_ended = !str_eq(text(iteration, "status"), "open");
	r->iteration_passed = str_eq(text(iteration, "status"), "pass");
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
	record_ids_done(&ids);
	if (rc != 0)
		record_resume_done(&r);
	else
		*ret = r;
	return err_stop(e, STOP_USAGE, rc);
}

static int replay_turn(int root_fd, const char *id, const json_t *turn, record_changes_fn *each, void *cookie, struct err *e)
{
	AUTO_FREE char *list = NULL;
	size_t n = 0;
	unsigned int number = (unsigned int)json_integer_value(json_object_get(turn, "n"));
	int rc;

	if (json_object_get(turn, "ended") == NULL)
		return 0;
	rc = record_turn_read(root_fd, id, number, RECORD_CHANGES, CHANGES_MAX, &list, &n, e);
	return rc == 0 ? each(cookie, list, n) : rc;
}

static int replay_task(int root_fd, const char *id, const json_t *task, record_changes_fn *each, void *cookie, struct err *e)
{
	const json_t *iteration, *turn;
	size_t i, j;

	json_array_foreach(json_object_get(task, "iterations"), i, iteration) {
		json_array_foreach(json_object_get(iteration, "turns"), j, turn) {
			int rc = replay_turn(root_fd, id, turn, each, cookie, e);

			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

/* Oldest of the unbroken runs of this title: *ret_at is its place in ids, or ids->n when there is none. */
static int oldest_of(int root_fd, const struct record_ids *ids, const char *title, size_t *ret_at, struct err *e)
{
	*ret_at = ids->n;
	for (size_t at = 0;; at++) {
		json_t *run = NULL;
		int rc = next_loop(root_fd, ids, &at, &run, e);
		bool same;

		if (rc != 0 || run == NULL)
			return rc;
		same = str_eq(text(last_of(run, "tasks"), "title"), title) &&
		       (*ret_at == ids->n || !str_eq(text(last_of(run, "tasks"), "status"), "pass"));
		json_decref(run);
		if (!same)
			return 0;
		*ret_at = at;
	}
}

int record_resume_changes(int root_fd, const struct record_resume *r, record_changes_fn *each, void *cookie, struct err *e)
{
	struct record_ids ids;
	size_t oldest;
	int rc;

	if (r->title == NULL)
		return 0;
	rc = record_list(root_fd, &ids, e);
	if (rc != 0)
		return rc;
	rc = oldest_of(root_fd, &ids, r->title, &oldest, e);
	for (size_t at = oldest + 1; rc == 0 && oldest < ids.n && at-- > 0;) {
		json_t *run = NULL;
		size_t exactly = at;

		rc = next_loop(root_fd, &ids, &exactly, &run, e);
		if (rc == 0 && run != NULL && exactly == at)
			rc = replay_task(root_fd, ids.v[at], last_of(run, "tasks"), each, cookie, e);
		json_decref(run);
	}
	record_ids_done(&ids);
	return err_stop(e, STOP_USAGE, rc);
}
