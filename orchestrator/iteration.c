/* One iteration: developer, tester, suite, reviewer, always all four; then the verdict. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "orchestrator/agent.h"
#include "orchestrator/denials.h"
#include "orchestrator/loop.h"
#include "orchestrator/prompt.h"
#include "orchestrator/turn.h"
#include "protocol/review.h"
#include "sandbox/spawn.h"

#define LOG_MAX (4u << 20)      /* of the suite log that a reviewer gets */
#define BACKOFF_S 30u           /* first wait after a quota or overload without a stated reset; doubles */
#define DIFF_MAX (256u << 10)   /* of a turn's diff in the record */
#define PATH_SHOWN 160u         /* bytes of a path in a note */
#define LIST_SHOWN 3            /* anomalies printed a turn; all are in the record */

/* What travels from turn to turn within the iteration. */
struct round {
	struct loop *l;
	unsigned int n;
	char *task_text;
	size_t task_len;
	struct verdict *verdict;
	char *log;                /* stdout and stderr of the suite */
	size_t log_len;
	size_t out_len;          /* of the log: what was on standard output */
	char suite_line[200];
};

static void tick(void *cookie, uint64_t elapsed_ms, unsigned int denials)
{
	report_turn_tick(cookie, elapsed_ms, denials);
}

/* What git cannot hold is said, and goes into the record. */
static int say_left_out(struct loop *l, const char *path, int *shown, struct err *e)
{
	AUTO_BUF struct buf line = {0};
	const char *why;
	const char *text;
	int rc = repo_left_out(l->repo, path, &why, e);

	if (rc != 0 || why == NULL)
		return rc;
	if (buf_add_escaped(&line, path, strnlen(path, PATH_SHOWN), false) != 0 ||
	    buf_addf(&line, "%s: %s", strlen(path) > PATH_SHOWN ? "…" : "", why) != 0 || (text = buf_str(&line)) == NULL)
		return err_errno(e, ENOMEM, "cannot look at what changed");
	if ((*shown)++ < LIST_SHOWN)
		report_note(&l->report, REPORT_BAD, "anomaly: %s", text);
	return record_event(l->record, "left-out", json_pack("{s:s}", "note", text), e);
}

/* Changed files count towards the commit; anomalies are shown. */
static int take_changes(struct loop *l, const struct turn_result *res, struct err *e)
{
	const char *p = res->changes.records.data;
	const char *end = p == NULL ? NULL : p + res->changes.records.len;
	int shown = 0;
	int rc = 0;

	while (rc == 0 && p != NULL && p < end) {
		size_t n = strnlen(p, (size_t)(end - p));

		if (n > 1 && p[0] == '!' && shown++ < LIST_SHOWN)
			report_note(&l->report, REPORT_BAD, "anomaly: %s", p + 1);
		else if (n > 1 && p[0] != '!')
			rc = buf_add(&l->candidates, p + 1, n) != 0 ? err_errno(e, ENOMEM, "cannot keep what changed")
			                                            : say_left_out(l, p + 1, &shown, e);
		p += n + 1;
	}
	return rc;
}

static int find_denials(const struct turn_result *res, struct denials *d)
{
	const struct capture *streams[] = {&res->out, &res->err};

	for (size_t i = 0; i < 2; i++) {
		AUTO_FREE char *text = NULL;
		size_t n = 0;
		int rc = streams[i]->denials > 0 ? capture_read(streams[i], &text, &n) : 0;

		if (rc == 0 && text != NULL)
			rc = denials_add(d, text, n);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Cuts names into lines: NULL-terminated pointers into it. */
static const char *const *split_lines(char *names, const char **ret, size_t max)
{
	char *save = NULL;
	size_t n = 0;

	for (char *s = names == NULL ? NULL : strtok_r(names, "\n", &save); s != NULL && n < max; s = strtok_r(NULL, "\n", &save))
		ret[n++] = s;
	ret[n] = NULL;
	return ret;
}

static int record_result(struct loop *l, const struct turn_result *res, const char *status, const struct verdict *v,
                         const char *why, struct err *e)
{
	const char *notes[2] = {why, NULL};
	struct denials denials = {0};
	const char *failing[VERDICT_NAMES + 2];
	AUTO_FREE char *names = v != NULL && v->failing != NULL ? strdup(v->failing) : NULL;
	const struct record_suite suite = {
		.format = l->config->suite_format == SUITE_TAP ? "tap" : "exit",
		.verified = v != NULL && v->count_verified,
		.planned = v != NULL ? v->total : 0,
		.passed = v != NULL ? v->total - v->failed - v->skipped : 0,
		.failed = v != NULL ? v->failed : 0,
		.failing = split_lines(names, failing, VERDICT_NAMES + 1),
	};
	struct record_turn t = {
		.status = status,
		.exit = turn_exit(res),
		.wall_ms = res->exited.wall_ms,
		.user_ms = res->exited.user_ms,
		.sys_ms = res->exited.sys_ms,
		.max_rss = res->exited.max_rss,
		.changes = res->changes.records.data,
		.n_changes_bytes = res->changes.records.len,
		.stdout_bytes = res->out.total,
		.stderr_bytes = res->err.total,
		.denials = (const char *const *)denials.line,
		.notes = why != NULL ? notes : NULL,
		.verdict = v == NULL ? NULL : v->passed ? "pass" : "fail",
		.suite = v != NULL ? &suite : NULL,
	};

	int rc = find_denials(res, &denials);

	rc = rc == 0 ? record_turn_end(l->record, &t, e) : err_errno(e, -rc, "cannot keep the turn's record");
	denials_done(&denials);
	return rc;
}

/* What this kernel cannot enforce is said once a run. */
static int say_notes(struct loop *l, const char *notes)
{
	for (const char *p = notes; *p != '\0';) {
		size_t n = strcspn(p, "\n");
		AUTO_FREE char *line = strndup(p, n);
		const char *said = buf_str(&l->notes);
		int rc;

		if (line == NULL || said == NULL)
			return -ENOMEM;
		if (n > 0 && strstr(said, line) == NULL) {
			report_note(&l->report, REPORT_PLAIN, "note: %s", line);
			rc = buf_addf(&l->notes, "%s\n", line);
			if (rc != 0)
				return rc;
		}
		p += n + (p[n] == '\n');
	}
	return 0;
}

static int take_result(struct loop *l, unsigned int role, const struct turn_result *res, struct err *e)
{
	int rc = 0;

	if (res->changes.cut) /* a commit of what the list holds would leave work behind */
		rc = repo_dirty(l->repo, l->zones, l->n_zones, 0, &l->candidates, NULL, e);
	if (rc == 0 && (say_notes(l, res->ready.notes) != 0 || res->capture_error != 0))
		rc = err_errno(e, res->capture_error != 0 ? -res->capture_error : ENOMEM, "cannot keep the output of %s",
		               l->config->role[role].name);
	return rc == 0 ? take_changes(l, res, e) : rc;
}

/* Starts one turn of a role; on success *res must be released. */
static int start_turn(struct round *r, unsigned int role, const char *prompt, size_t prompt_len, int log_fd,
                      struct turn_result *res, struct err *e)
{
	struct loop *l = r->l;
	const struct turn_watch watch = {.tick = tick, .cookie = &l->report};
	struct turn_request q = {
		.sock = l->sock,
		.role = role,
		.flags = l->proved[role] ? 0 : TURN_PROVE_LAYERS,
		.prompt = prompt,
		.prompt_len = prompt_len,
		.suite_log_fd = log_fd,
		.task = l->title,
		.iteration = r->n,
		.output_limit = l->config->limits.output,
		.idle_ms = l->config->role[role].idle_ms,
		.interrupt_fd = l->interrupt_fd,
		.watch = &watch,
		.stdout_file = -1,
		.stderr_file = -1,
	};
	unsigned int turn = 0;
	int rc = record_turn_begin(l->record, l->config->role[role].name, &turn, e);

	if (rc == 0 && prompt != NULL)
		rc = record_turn_file(l->record, "prompt", prompt, prompt_len, e);
	if (rc == 0 && loop_may_write_tasks(l, role))
		rc = loop_keep_tasks(l, e);
	if (rc == 0)
		rc = q.stdout_file = record_turn_open(l->record, "stdout", e);
	if (rc >= 0)
		rc = q.stderr_file = record_turn_open(l->record, "stderr", e);
	if (rc < 0) {
		fd_close(&q.stdout_file);
		return rc;
	}
	report_turn_begin(&l->report, r->n, role == CONFIG_RUNNER ? "suite" : l->config->role[role].name);
	rc = turn_run(&q, res, e);
	if (rc != 0) {
		turn_result_done(res);
		return err_wrap(e, "%s", l->config->role[role].name);
	}
	l->proved[role] = true;
	record_set_landlock_abi(l->record, res->ready.landlock_abi);
	l->n_turns++;
	l->n_denials += res->out.denials + res->err.denials;
	rc = take_result(l, role, res, e);
	if (rc != 0)
		turn_result_done(res);
	return err_stop(e, rc == 0 ? 0 : STOP_RECORD, rc);
}

static int interrupted(struct err *e)
{
	return err_stop(e, STOP_INTERRUPTED, err_set(e, EINTR, "interrupted: the work is kept, run `stint run` to go on"));
}

static void classify(const struct loop *l, unsigned int role, const struct turn_result *res, struct agent_result *ret)
{
	AUTO_FREE char *out = NULL;
	AUTO_FREE char *err = NULL;
	struct agent_exit x = {.wstatus = res->exited.wstatus, .flags = res->exited.flags, .idle = res->idle};

	if (l->config->role[role].command.n > 0)
		x.command = l->config->role[role].command.v[0];
	if (capture_read(&res->out, &out, &x.out_len) == 0)
		x.out = out;
	if (capture_read(&res->err, &err, &x.err_len) == 0)
		x.err = err;
	agent_classify(&x, (int64_t)time(NULL), ret);
	if (ret->outcome == AGENT_NOT_STARTED && res->exited.msg[0] != '\0')
		(void)snprintf(ret->why, sizeof(ret->why), "%.250s", res->exited.msg);
}

/* Waits for a stated reset or a growing pause; ended early by the person. */
static int back_off(struct loop *l, const struct agent_result *a, unsigned int tried, struct err *e)
{
	uint64_t s = a->retry_after_s > 0 ? a->retry_after_s : (uint64_t)BACKOFF_S << tried;
	struct pollfd p = {.fd = l->interrupt_fd, .events = POLLIN};

	report_note(&l->report, REPORT_PLAIN, "%s: waiting %llu s", a->why, (unsigned long long)s);
	for (; s > 0; s -= s > 3600 ? 3600 : s)
		if (poll(&p, 1, (int)(s > 3600 ? 3600 : s) * 1000) > 0)
			return interrupted(e);
	return 0;
}

static int agent_stop(const struct loop *l, unsigned int role, const struct agent_result *a, struct err *e)
{
	return err_stop(e, STOP_AGENT, err_set(e, ECHILD, "%s cannot be run: %s: its output is in %s: run `stint run` to go on",
	                                       l->config->role[role].name, a->why, record_turn_dir(l->record)));
}

/* What the reviewer left, as it left it, into its turn while that is open. */
static int keep_review(struct loop *l, struct err *e)
{
	struct review review = {0};
	int rc = review_load(&review, l->root_fd, e);

	if (rc == 0 && review.n_bytes > 0)
		rc = record_turn_file(l->record, "review.md", review.bytes, review.n_bytes, e);
	review_done(&review);
	return rc;
}

/* The record's word for how a turn ended. */
static const char *status_of(enum agent_outcome o)
{
	static const char *const words[] = {
		[AGENT_OK] = "ok", [AGENT_FAILED] = "failed", [AGENT_QUOTA] = "failed", [AGENT_OVERLOADED] = "failed",
		[AGENT_AUTH] = "failed", [AGENT_DEADLINE] = "deadline", [AGENT_CRASH] = "failed",
		[AGENT_NOT_STARTED] = "unconfined", [AGENT_ABORTED] = "aborted",
	};

	return words[o];
}

/* What the turn changed, against HEAD, into its folder. */
static int keep_diff(struct loop *l, const struct turn_result *res, struct err *e)
{
	AUTO_BUF struct buf paths = {0};
	AUTO_BUF struct buf diff = {0};
	const char *p = res->changes.records.data;
	const char *end = p == NULL ? NULL : p + res->changes.records.len;
	int rc = 0;

	for (; rc == 0 && p != NULL && p < end; p += strnlen(p, (size_t)(end - p)) + 1)
		if (p[0] != '!' && p[0] != '\0')
			rc = buf_add(&paths, p + 1, strlen(p + 1) + 1);
	if (rc != 0)
		return err_stop(e, STOP_RECORD, err_errno(e, -rc, "cannot keep the turn's diff"));
	if (paths.len == 0)
		return 0;
	rc = repo_diff(l->repo, paths.data, paths.len, DIFF_MAX, &diff, e);
	return rc == 0 ? record_turn_file(l->record, "diff", diff.data, diff.len, e) : rc;
}

/* One try of an agent's turn. *ret_result says whether it may be tried again. */
static int try_agent(struct round *r, unsigned int role, const struct buf *prompt, int log_fd, struct agent_result *a,
                     struct err *e)
{
	struct turn_result res = {0};
	struct loop *l = r->l;
	char verdict[200] = "";
	long changed;
	int rc = start_turn(r, role, prompt->data, prompt->len, log_fd, &res, e);

	if (rc != 0)
		return rc;
	classify(l, role, &res, a);
	if (a->outcome != AGENT_OK)
		(void)snprintf(verdict, sizeof(verdict), "%s: %.150s", agent_outcome_name(a->outcome), a->why);
	changed = (long)res.changes.n_changes;
	report_turn_end(&l->report, res.exited.wall_ms, changed, res.out.denials + res.err.denials, verdict,
	                a->outcome == AGENT_OK ? REPORT_PLAIN : REPORT_BAD);
	rc = keep_diff(l, &res, e);
	if (rc == 0 && role == CONFIG_REVIEWER)
		rc = keep_review(l, e);
	if (rc == 0)
		rc = record_result(l, &res, status_of(a->outcome), NULL, a->outcome == AGENT_OK ? NULL : a->why, e);
	if (rc == 0 && res.interrupted)
		rc = interrupted(e);
	turn_result_done(&res);
	return rc;
}

static int run_agent(struct round *r, unsigned int role, const char *findings, int log_fd, struct err *e)
{
	struct prompt_facts f = {.task = r->task_text, .task_len = r->task_len, .findings = findings, .iteration = r->n};
	AUTO_BUF struct buf prompt = {0};
	struct tasks before = {0};
	struct agent_result a = {0};
	int rc;

	if (log_fd >= 0) {
		f.suite_result = r->suite_line;
		f.suite_log = SANDBOX_SUITE_LOG;
	}
	rc = prompt_build(r->l->config, role, r->l->root_fd, &f, &prompt, e);
	if (rc == 0)
		rc = tasks_load(&before, r->l->root_fd, e);
	for (unsigned int tried = 0; rc == 0; tried++) {
		rc = try_agent(r, role, &prompt, log_fd, &a, e);
		if (loop_may_write_tasks(r->l, role)) { /* also when the turn was interrupted */
			struct err late = {0};
			int guarded = loop_guard_tasks(r->l, &before, rc == 0 ? e : &late);

			rc = rc == 0 ? guarded : rc;
		}
		if (rc != 0 || a.outcome == AGENT_OK)
			break;
		if (!agent_outcome_retry(a.outcome) || tried + 1 >= LOOP_RETRIES)
			rc = agent_stop(r->l, role, &a, e);
		else
			rc = back_off(r->l, &a, tried, e);
	}
	tasks_done(&before);
	return rc;
}

/* stdout, then stderr: what the reviewer may read of the suite. */
static int keep_log(struct round *r, const struct turn_result *res, const char *out, size_t n, struct err *e)
{
	AUTO_BUF struct buf log = {0};
	AUTO_FREE char *err = NULL;
	size_t err_len = 0;
	size_t from = n > LOG_MAX ? n - LOG_MAX : 0;
	int rc = capture_read(&res->err, &err, &err_len);

	if (rc == 0)
		rc = buf_add(&log, out + from, n - from);
	if (rc == 0 && err_len > 0)
		rc = buf_addf(&log, "\n--- standard error ---\n");
	if (rc == 0)
		rc = buf_add(&log, err, err_len > LOG_MAX ? LOG_MAX : err_len);
	if (rc != 0)
		return err_stop(e, STOP_RECORD, err_errno(e, -rc, "cannot keep the suite's log"));
	r->log_len = log.len;
	r->out_len = n - from;
	r->log = (char *)(uintptr_t)buf_str(&log);
	log = (struct buf){0};
	return record_turn_file(r->l->record, "suite.log", r->log, r->log_len, e);
}

static int judge(struct round *r, const struct turn_result *res, struct err *e)
{
	const struct config *c = r->l->config;
	AUTO_FREE char *out = NULL;
	struct suite_run run = {
		.truncated = capture_cut(&res->out),
		.wstatus = res->exited.wstatus,
		.deadline = (res->exited.flags & EXITED_DEADLINE) != 0,
	};
	int rc = capture_read(&res->out, &out, &run.out_len);

	if (rc != 0)
		return err_stop(e, STOP_RECORD, err_errno(e, -rc, "cannot read the suite's output"));
	run.out = out;
	rc = c->suite_format == SUITE_TAP ? verdict_tap(r->verdict, &run, e) : verdict_exit(r->verdict, &run, c->must_match, e);
	return rc == 0 ? keep_log(r, res, out, run.out_len, e) : rc;
}

static int run_suite(struct round *r, struct err *e)
{
	struct turn_result res = {0};
	struct loop *l = r->l;
	char text[160];
	int rc = start_turn(r, CONFIG_RUNNER, NULL, 0, -1, &res, e);

	if (rc != 0)
		return rc;
	if (res.interrupted) {
		rc = record_result(l, &res, "aborted", NULL, NULL, e);
		if (rc == 0)
			rc = interrupted(e);
	} else if ((res.exited.flags & EXITED_UNCONFINED) != 0) {
		rc = record_result(l, &res, "unconfined", NULL, res.exited.msg, e);
		if (rc == 0)
			rc = err_stop(e, STOP_CONFINE, err_set(e, EPERM, "the suite was not started: %.500s", res.exited.msg));
	} else {
		rc = judge(r, &res, e);
	}
	if (rc == 0) {
		(void)snprintf(text, sizeof(text), "%s  %.120s", r->verdict->passed ? "pass" : "FAIL", r->verdict->summary);
		(void)snprintf(r->suite_line, sizeof(r->suite_line), "The suite %s: %.150s.", r->verdict->passed ? "passed" : "failed",
		               r->verdict->summary);
		report_turn_end(&l->report, res.exited.wall_ms, -1, 0, text, r->verdict->passed ? REPORT_GOOD : REPORT_BAD);
		rc = record_result(l, &res, (res.exited.flags & EXITED_DEADLINE) != 0 ? "deadline" : "ok", r->verdict, NULL, e);
	}
	turn_result_done(&res);
	return rc;
}

static int run_reviewer(struct round *r, const char *findings, struct err *e)
{
	AUTO_FD log = fd_sealed_memfd("stint-suite-log", r->log, r->log_len);

	if (log < 0)
		return err_stop(e, STOP_RECORD, err_errno(e, -log, "cannot hand over the suite's log"));
	return run_agent(r, CONFIG_REVIEWER, findings, log, e);
}

/* A failed suite always leaves a finding, whether the reviewer wrote one or not. */
static int own_finding(struct round *r, struct err *e)
{
	struct buf *text = &r->l->own_finding;
	int rc;

	text->len = 0;
	rc = verdict_finding(text, r->verdict, r->log, r->out_len, r->log_len, e);
	if (rc == 0)
		rc = record_file(r->l->record, LOOP_FINDING, text->data, text->len, e);
	return rc == 0 ? review_write(r->l->root_fd, text->data, text->len, e) : rc;
}

/* The coordinator's own finding, and nobody added to it. */
static bool is_own(const struct round *r, const struct review *review)
{
	const struct buf *own = &r->l->own_finding;

	return own->len > 0 && review->n_bytes == own->len && memcmp(review->bytes, own->data, own->len) == 0;
}

/* It falls with its reason: when the suite passes, it is gone. */
static int withdraw_finding(struct round *r, struct err *e)
{
	struct review review = {0};
	int rc;

	if (!r->verdict->passed || r->l->own_finding.len == 0)
		return 0;
	rc = review_load(&review, r->l->root_fd, e);
	if (rc != 0)
		return rc;
	if (is_own(r, &review))
		rc = review_remove(r->l->root_fd, &review, e);
	review_done(&review);
	return rc;
}

/* What the reviewer left decides with the suite: pass, or findings for the next iteration. */
static int settle(struct round *r, struct iteration *ret, struct err *e)
{
	struct review review = {0};
	int rc = review_load(&review, r->l->root_fd, e);
	bool stale;

	if (rc != 0)
		return rc;
	ret->open_findings = review.n_open;
	ret->passed = r->verdict->passed && !review.open;
	stale = !r->verdict->passed && is_own(r, &review); /* of the last iteration */
	if (ret->passed)
		rc = review_remove(r->l->root_fd, &review, e);
	else if (!review.open || stale)
		rc = own_finding(r, e);
	if (review.open)
		report_note(&r->l->report, REPORT_BAD, "%zu open finding%s in REVIEW.md", review.n_open, review.n_open == 1 ? "" : "s");
	else if (!ret->passed)
		report_note(&r->l->report, REPORT_BAD, "the suite failed and the reviewer wrote nothing: finding added to REVIEW.md");
	review_done(&review);
	return rc;
}

static int copy_task_text(struct round *r, struct err *e)
{
	const struct task *task = NULL;
	struct tasks t = {0};
	int rc = loop_find_task(r->l, &t, &task, e);

	if (rc != 0)
		return rc;
	r->task_len = task->end - task->start;
	r->task_text = strndup(t.bytes + task->start, r->task_len);
	tasks_done(&t);
	return r->task_text != NULL ? 0 : err_errno(e, ENOMEM, "task");
}

int iteration_run(struct loop *l, unsigned int n, struct iteration *ret, struct err *e)
{
	struct round r = {.l = l, .n = n, .verdict = &ret->verdict};
	struct review review = {0};
	int rc = copy_task_text(&r, e);

	if (rc == 0)
		rc = review_load(&review, l->root_fd, e);
	if (rc == 0)
		rc = run_agent(&r, CONFIG_DEVELOPER, review.developer_text, -1, e);
	if (rc == 0)
		rc = run_agent(&r, CONFIG_TESTER, review.tester_text, -1, e);
	if (rc == 0)
		rc = run_suite(&r, e);
	if (rc == 0)
		rc = withdraw_finding(&r, e);
	if (rc == 0)
		rc = run_reviewer(&r, review.bytes, e);
	if (rc == 0)
		rc = settle(&r, ret, e);
	review_done(&review);
	free(r.task_text);
	free(r.log);
	return rc;
}
