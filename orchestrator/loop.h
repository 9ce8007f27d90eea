/* The loop: task after task, iteration after iteration, until a stop. What an agent says is never believed: the
 * suite's observed result and the open findings decide.
 * Source: docs/protocol.md, "The loop". */
#ifndef STINT_ORCHESTRATOR_LOOP_H
#define STINT_ORCHESTRATOR_LOOP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "orchestrator/config.h"
#include "orchestrator/repo.h"
#include "orchestrator/report.h"
#include "orchestrator/verdict.h"
#include "protocol/record.h"
#include "protocol/record_read.h"
#include "protocol/tasks.h"

#define LOOP_STUCK 3       /* the same result so many times in a row ends the run */
#define LOOP_FINDING "finding.md" /* in the run's record: own_finding, for a run that goes on */
#define LOOP_FINDING_MAX 8192u
#define LOOP_RETRIES 3     /* tries of one turn against quota and overload */

struct loop {
	const struct config *config;
	int root_fd;             /* borrowed */
	int sock;                /* to the warden, borrowed */
	int interrupt_fd;        /* signalfd of INT and TERM, borrowed */
	bool once;               /* stop after one task */
	struct repo *repo;
	struct record *record;
	struct report report;
	const char **zones;      /* paths that some role may write, without TASKS.md and REVIEW.md; borrowed strings */
	size_t n_zones;
	struct record_resume resume;

	char *title;             /* the current task's */
	struct buf own_finding;  /* what the coordinator wrote into REVIEW.md last, empty when nothing */
	struct buf candidates;   /* paths changed in this task, NUL-terminated each */
	struct buf notes;        /* what the warden could not enforce and was said already, one a line */
	bool proved[ROLE_MAX];   /* each layer alone was proved for this role in this run */

	/* what the stuck rule compares, in a row */
	char *last_failing;
	char last_tree[REPO_OID_SIZE];
	unsigned int same_failing;
	unsigned int same_tree;

	/* totals for the last lines */
	unsigned int n_turns, n_iterations, n_commits, n_denials;
};

/* Runs until a stop. Returns the exit status (enum stop); e holds the reason for every status but STOP_DONE. */
int loop_run(struct loop *l, struct err *e) MUST_CHECK;
void loop_done(struct loop *l);

/* What one iteration came to. */
struct iteration {
	struct verdict verdict;
	size_t open_findings;
	bool passed;
};

/* The four turns and their verdict. Negative: the run is over (e carries the exit status). */
int iteration_run(struct loop *l, unsigned int n, struct iteration *ret, struct err *e) MUST_CHECK;

/* The current task in TASKS.md as it is on disk now, by title; t keeps the parsed file. STOP_RECORD when it is gone. */
int loop_find_task(const struct loop *l, struct tasks *t, const struct task **ret, struct err *e) MUST_CHECK;

/* Around a turn of a role that may write TASKS.md: keeps the file in the open turn's record, and puts back afterwards what the
 * role may not change (STOP_RECORD). */
bool loop_may_write_tasks(const struct loop *l, unsigned int role);
int loop_keep_tasks(struct loop *l, struct err *e) MUST_CHECK;
int loop_guard_tasks(struct loop *l, const struct tasks *before, struct err *e) MUST_CHECK;
/* The same for a turn that l->resume says was cut, before TASKS.md is looked at. */
int loop_guard_cut_turn(const struct loop *l, struct err *e) MUST_CHECK;

/* Commit, HEAD, tick, index, push: in this order, each step recorded. */
int finish_task(struct loop *l, unsigned int iterations, const char *suite, struct err *e) MUST_CHECK;
/* Pushes what an earlier run had committed and could not push. */
int finish_push(struct loop *l, struct err *e) MUST_CHECK;
/* Completes a sequence that an earlier run left cut. *ret_completed: there was one. */
int finish_resume(struct loop *l, bool *ret_completed, struct err *e) MUST_CHECK;

#endif
