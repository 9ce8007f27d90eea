/* Tasks and iterations: see loop.h. */
#include "orchestrator/loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"

void loop_done(struct loop *l)
{
	str_free(&l->title);
	str_free(&l->last_failing);
	buf_done(&l->own_finding);
	buf_done(&l->candidates);
	buf_done(&l->notes);
	record_resume_done(&l->resume);
	record_free(l->record);
	repo_free(l->repo);
	free(l->zones);
}

int loop_find_task(const struct loop *l, struct tasks *t, const struct task **ret, struct err *e)
{
	struct tasks fresh = {0};
	int rc = tasks_load(&fresh, l->root_fd, e);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < fresh.n; i++)
		if (fresh.v[i].depth == 0 && !fresh.v[i].done && str_eq(fresh.v[i].title, l->title)) {
			*t = fresh;
			*ret = &t->v[i];
			return 0;
		}
	tasks_done(&fresh);
	return err_stop(e, STOP_RECORD, err_set(e, ESTALE, "the task \"%.200s\" is no longer open in %s: somebody edited it while its "
	                                        "turn ran: all work is in the tree: run `stint run` again", l->title, TASKS_FILE));
}

/* Nothing of an earlier task counts for this one. */
static void reset_task(struct loop *l)
{
	buf_done(&l->candidates);
	buf_done(&l->own_finding);
	str_free(&l->last_failing);
	l->last_tree[0] = '\0';
	l->same_failing = 0;
	l->same_tree = 0;
}

/* The same failing tests, or an unchanged tree, three times: more turns would only cost. */
static int check_stuck(struct loop *l, const struct iteration *it, bool *ret_stuck, struct err *e)
{
	char tree[REPO_OID_SIZE];
	AUTO_BUF struct buf paths = {0};
	/* A suite that breaks off names no test: then its summary is what repeats. */
	const char *names = it->verdict.failing[0] != '\0' ? it->verdict.failing : it->verdict.summary;
	const char *failing = it->verdict.passed ? "" : names;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < l->n_zones; i++)
		rc = buf_add(&paths, l->zones[i], strlen(l->zones[i]) + 1);
	if (rc != 0)
		return err_errno(e, -rc, "cannot compare iterations");
	rc = repo_fingerprint(l->repo, paths.data, paths.len, tree, e);
	if (rc != 0)
		return rc;
	l->same_tree = str_eq(tree, l->last_tree) ? l->same_tree + 1 : 1;
	memcpy(l->last_tree, tree, sizeof(tree));
	if (failing[0] != '\0' && l->last_failing != NULL && str_eq(failing, l->last_failing))
		l->same_failing++;
	else
		l->same_failing = failing[0] != '\0' ? 1 : 0;
	str_free(&l->last_failing);
	l->last_failing = strdup(failing);
	if (l->last_failing == NULL)
		return err_errno(e, ENOMEM, "cannot compare iterations");
	*ret_stuck = l->same_tree >= LOOP_STUCK || l->same_failing >= LOOP_STUCK;
	return 0;
}

static int describe_stuck(const struct loop *l, struct err *e)
{
	if (l->same_tree >= LOOP_STUCK)
		return err_stop(e, STOP_UNFINISHED, err_set(e, EALREADY, "stuck: %d iterations left the tree unchanged: look at REVIEW.md "
		                                            "and `stint view`, then make the task clearer", LOOP_STUCK));
	return err_stop(e, STOP_UNFINISHED, err_set(e, EALREADY, "stuck: the same tests failed %d times in a row: look at REVIEW.md "
	                                            "and `stint view`, then make the task or the specification clearer", LOOP_STUCK));
}

static int end_iteration(struct loop *l, const struct iteration *it, struct err *e)
{
	char reason[160];

	(void)snprintf(reason, sizeof(reason), "suite: %s; %zu open finding%s", it->verdict.summary, it->open_findings,
	               it->open_findings == 1 ? "" : "s");
	l->n_iterations++;
	return record_iteration_end(l->record, it->passed, reason, e);
}

/* One task to its pass or stop. first: number of its first iteration in this run. */
static int run_iterations(struct loop *l, unsigned int first, struct err *e)
{
	unsigned int limit = l->config->limits.iterations;

	for (unsigned int n = first; n < first + limit; n++) {
		struct iteration it = {0};
		bool stuck = false;
		int rc = record_iteration_begin(l->record, n, e);

		if (rc == 0)
			rc = iteration_run(l, n, &it, e);
		if (rc == 0)
			rc = end_iteration(l, &it, e);
		if (rc == 0 && it.passed)
			rc = finish_task(l, n, it.verdict.summary, e);
		else if (rc == 0)
			rc = check_stuck(l, &it, &stuck, e);
		verdict_done(&it.verdict);
		if (rc != 0 || it.passed)
			return rc;
		if (stuck)
			return describe_stuck(l, e);
	}
	return err_stop(e, STOP_UNFINISHED,
	                err_set(e, ETIME, "%u iterations were not enough for \"%.200s\": the work and REVIEW.md are kept: run "
	                        "`stint run` to go on, or make the task smaller", limit, l->title));
}

/* The finding that an earlier run wrote falls with its reason in this one. */
static int take_up_finding(struct loop *l, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t n = 0;

	if (record_turn_read(l->root_fd, l->resume.id, 0, LOOP_FINDING, LOOP_FINDING_MAX, &text, &n, NULL) != 0)
		return 0;
	if (buf_add(&l->own_finding, text, n) != 0)
		return err_errno(e, ENOMEM, "cannot go on with a task");
	return record_file(l->record, LOOP_FINDING, text, n, e);
}

/* Work of an earlier run: its dirt is ours, for it was let in as such; on the same task its numbering goes on. */
static int take_up(struct loop *l, const struct task *task, unsigned int *ret_first, struct err *e)
{
	int rc = 0;

	*ret_first = 1;
	if (!l->resume.unfinished || l->resume.title == NULL)
		return 0;
	l->resume.unfinished = false;
	if (str_eq(l->resume.title, task->title)) {
		*ret_first = l->resume.iteration + (l->resume.iteration_ended || l->resume.iteration == 0 ? 1u : 0u);
		report_note(&l->report, REPORT_PLAIN, "goes on where run %s stopped", l->resume.id);
		rc = take_up_finding(l, e);
	} else {
		report_note(&l->report, REPORT_PLAIN, "with what run %s left in the tree for a task that is no longer next", l->resume.id);
	}
	return rc != 0 ? rc : repo_dirty(l->repo, l->zones, l->n_zones, 0, &l->candidates, NULL, e);
}

static int run_task(struct loop *l, const struct tasks *t, const struct task *task, struct err *e)
{
	size_t done = 0;
	size_t of = tasks_count(t, &done);
	unsigned int first = 1;
	int rc;

	str_free(&l->title);
	reset_task(l);
	l->title = strdup(task->title);
	if (l->title == NULL)
		return err_errno(e, ENOMEM, "task");
	report_task(&l->report, done + 1, of, l->title);
	rc = record_task_begin(l->record, task->title, task->line, e);
	if (rc == 0)
		rc = take_up(l, task, &first, e);
	if (rc == 0)
		rc = run_iterations(l, first, e);
	if (rc != 0) {
		struct err ignored = {0};

		(void)!record_task_end(l->record, e->exit == STOP_UNFINISHED ? "fail" : "open", &ignored);
		return rc;
	}
	return record_task_end(l->record, "pass", e);
}

int loop_run(struct loop *l, struct err *e)
{
	bool completed = false;
	int rc = finish_push(l, e);

	if (rc == 0)
		rc = finish_resume(l, &completed, e);
	if (rc == 0 && completed && l->once)
		return STOP_DONE;
	while (rc == 0) {
		struct tasks t = {0};
		const struct task *task;

		rc = tasks_load(&t, l->root_fd, e);
		if (rc != 0)
			break;
		task = tasks_next(&t);
		if (task == NULL) {
			tasks_done(&t);
			return STOP_DONE;
		}
		rc = run_task(l, &t, task, e);
		tasks_done(&t);
		if (rc == 0 && l->once)
			return STOP_DONE;
	}
	return e->exit != 0 ? e->exit : STOP_RECORD;
}
