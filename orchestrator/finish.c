/* The end of a task: commit holding the ticked TASKS.md, HEAD, TASKS.md on disk, the user's index, push. A cut
 * sequence is completed by the next run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"
#include "orchestrator/loop.h"

#define PUSH_DEADLINE_MS 120000u

/* What is left once HEAD holds the commit. */
static int after_head(struct loop *l, const struct tasks *t, const struct task *task, const char *oid, const struct buf *paths,
                      struct err *e)
{
	int rc = tasks_tick(l->root_fd, t, task, e);

	if (rc == 0)
		rc = record_commit_step(l->record, RECORD_COMMIT_TICKED, oid, e);
	if (rc == 0 && repo_refresh_index(l->repo, paths->data, paths->len, e) != 0)
		rc = err_wrap(e, "the task is committed and ticked, only git's index is behind (the next run brings it up)");
	if (rc == 0)
		rc = record_commit_step(l->record, RECORD_COMMIT_DONE, oid, e);
	return rc;
}

static int push(struct loop *l, struct err *e)
{
	if (l->config->commit_push == NULL)
		return 0;
	if (repo_push(l->repo, l->config->commit_push, PUSH_DEADLINE_MS, e) != 0)
		return err_wrap(e, "the task is committed, but not pushed");
	report_note(&l->report, REPORT_PLAIN, "pushed to %s", l->config->commit_push);
	return 0;
}

static int commit(struct loop *l, const struct tasks *t, const struct task *task, unsigned int iterations, const char *suite,
                  char oid[REPO_OID_SIZE], struct buf *paths, struct err *e)
{
	AUTO_FREE char *ticked = tasks_ticked_bytes(t, task);
	struct repo_commit_request q = {
		.zones = l->zones,
		.n_zones = l->n_zones,
		.paths = l->candidates.data,
		.paths_len = l->candidates.len,
		.tasks = ticked,
		.tasks_len = t->n_bytes,
		.title = l->title,
		.author = l->config->commit_author,
		.run = record_id(l->record),
		.iterations = iterations,
		.suite = suite,
	};

	if (ticked == NULL)
		return err_stop(e, STOP_RECORD, err_errno(e, ENOMEM, "cannot commit"));
	return repo_commit(l->repo, &q, oid, paths, e);
}

int finish_task(struct loop *l, unsigned int iterations, const char *suite, struct err *e)
{
	AUTO_BUF struct buf paths = {0};
	char oid[REPO_OID_SIZE] = "";
	const struct task *task = NULL;
	struct tasks t = {0};
	int rc = loop_find_task(l, &t, &task, e);

	if (rc == 0)
		rc = commit(l, &t, task, iterations, suite, oid, &paths, e);
	l->n_commits += rc == 0;
	if (rc == 0)
		rc = record_commit_step(l->record, RECORD_COMMIT_HEAD, oid, e);
	if (rc == 0)
		rc = after_head(l, &t, task, oid, &paths, e);
	tasks_done(&t);
	if (rc != 0)
		return err_stop(e, STOP_RECORD, rc);
	report_note(&l->report, REPORT_GOOD, "committed %.10s after %u iteration%s, suite: %s", oid, iterations,
	            iterations == 1 ? "" : "s", suite);
	return push(l, e);
}

int finish_push(struct loop *l, struct err *e)
{
	return err_stop(e, STOP_RECORD, l->resume.push_due ? push(l, e) : 0);
}

/* Does HEAD's TASKS.md hold the task ticked? A commit that was reverted since is no reason to tick it. */
static int is_in_head(struct loop *l, bool *ret, struct err *e)
{
	AUTO_FREE char *bytes = NULL;
	struct tasks t = {0};
	size_t n = 0;
	int rc = repo_read_head(l->repo, TASKS_FILE, TASKS_MAX_BYTES, &bytes, &n, e);

	*ret = false;
	if (rc == -ENOENT || rc == -EFBIG)
		return 0;
	if (rc != 0)
		return rc;
	if (tasks_parse(&t, TASKS_FILE, bytes, n, NULL) != 0)
		return 0;
	for (size_t i = 0; i < t.n; i++)
		*ret = *ret || (t.v[i].depth == 0 && t.v[i].done && str_eq(t.v[i].title, l->resume.title));
	tasks_done(&t);
	return 0;
}

int finish_resume(struct loop *l, bool *ret_completed, struct err *e)
{
	AUTO_BUF struct buf paths = {0};
	enum record_commit step = l->resume.step < RECORD_COMMIT_TICKED ? RECORD_COMMIT_HEAD : RECORD_COMMIT_TICKED;
	char oid[REPO_OID_SIZE] = "";
	const struct task *task = NULL;
	struct tasks t = {0};
	bool found = false;
	int rc;

	if (!l->resume.unfinished || l->resume.title == NULL)
		return 0;
	/* Of all its runs: one that was to complete the commit may have been cut itself. */
	rc = repo_find_task_commit(l->repo, &l->resume.runs, &l->resume.done, l->resume.title, &found, oid, &paths, e);
	if (rc == 0 && found)
		rc = is_in_head(l, &found, e);
	if (rc != 0 || !found)
		return rc;
	*ret_completed = true;
	l->title = strdup(l->resume.title);
	if (l->title == NULL)
		return err_errno(e, ENOMEM, "resume");
	l->resume.unfinished = false;
	report_line(&l->report, REPORT_PLAIN, "an earlier run had committed %.10s and was cut: completing it", oid);
	rc = record_task_begin(l->record, l->resume.title, l->resume.line, e);
	if (rc == 0)
		rc = record_commit_step(l->record, step, oid, e);
	if (rc != 0)
		return rc;
	/* Another task of the same title may be open by now: it is not ticked for this one. */
	if (step < RECORD_COMMIT_TICKED && loop_find_task(l, &t, &task, NULL) == 0)
		rc = after_head(l, &t, task, oid, &paths, e);
	else /* ticked already */
		rc = repo_refresh_index(l->repo, paths.data, paths.len, e);
	tasks_done(&t);
	if (rc == 0)
		rc = record_commit_step(l->record, RECORD_COMMIT_DONE, oid, e);
	if (rc == 0)
		rc = push(l, e);
	if (rc == 0)
		rc = record_task_end(l->record, "pass", e);
	return rc;
}
