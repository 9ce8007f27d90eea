/* Walking a skill: see cmd_skill_walk.h. What is shown is what runs: skill_load() lets nothing through that a terminal would not
 * show, and what a step prints stands behind a bar, escaped, so that it cannot look like a question. */
#include "orchestrator/cmd_skill_walk.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/str.h"
#include "orchestrator/denials.h"
#include "orchestrator/job.h"

#define KEEP (32u << 10)
#define BAR "  | "

/* ---- showing */

static void show_lines(FILE *out, const char *before, const char *text)
{
	for (const char *p = text; *p != '\0';) {
		size_t n = strcspn(p, "\n");

		(void)fprintf(out, "%s%.*s\n", before, (int)n, p);
		p += n + (p[n] == '\n' ? 1 : 0);
	}
}

/* The guard's words in the order in which they were given, as they could be typed. */
static void show_guard(const struct skill_walk *w, const struct skill_step *s)
{
	if (!w->guarded) {
		(void)fprintf(w->out, "  guard:   none (--unsafe-no-guard): it may do whatever you may\n");
		return;
	}
	(void)fprintf(w->out, "  guard:   %s\n", s->guard.n == 0 ? "the system's folders can be read, nothing else"
	                                                        : "what is named here, and the system's folders can be read");
	for (size_t i = 0; i + 1 < s->guard.n; i += 2) {
		(void)fprintf(w->out, "           %-15s ", s->guard.v[i] + 2);
		for (const char *p = s->guard.v[i + 1]; *p != '\0'; p++)
			(void)fprintf(w->out, *p == '\n' ? "\\n" : "%c", *p);
		(void)fprintf(w->out, "\n");
	}
	if (s->profile_word != NULL && s->profile_fd >= 0)
		(void)fprintf(w->out, "           %-15s %s\n", "profile", s->profile_word);
}

static void show_step(const struct skill_walk *w, size_t i)
{
	const struct skill_step *s = &w->skill->step[i];

	(void)fprintf(w->out, "\nstep %zu of %zu: %s\n", i + 1, w->skill->n_steps, s->id);
	show_lines(w->out, "    ", s->command);
	for (size_t k = 0; k < s->env.n; k++)
		show_lines(w->out, k == 0 ? "  env:     " : "           ", s->env.v[k]);
	show_guard(w, s);
	(void)fprintf(w->out, "  ends:    after %llu s at the latest; exit status %u is right\n",
	              (unsigned long long)(s->timeout_ms / 1000), s->target);
	(void)fflush(w->out);
}

/* What a step prints, as it comes. */
struct echo {
	FILE *out;
	bool in_line;
	char part[4];   /* of a character whose rest has not come */
	size_t n_part;
};

static void echo_bytes(struct echo *e, const char *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		const char *nl = memchr(p + i, '\n', n - i);
		size_t len = nl != NULL ? (size_t)(nl - p) - i : n - i;
		AUTO_BUF struct buf b = {0};

		if (!e->in_line)
			(void)fputs(BAR, e->out);
		e->in_line = nl == NULL;
		if (buf_add_escaped(&b, p + i, len, true) == 0 && b.len > 0)
			(void)fwrite(b.data, 1, b.len, e->out);
		if (nl != NULL)
			(void)fputc('\n', e->out);
		i += len + (nl != NULL ? 1 : 0);
	}
}

/* How many bytes at the end begin a character and do not end it. */
static size_t unfinished(const char *p, size_t n)
{
	for (size_t k = 1; k <= 3 && k <= n; k++) {
		unsigned char c = (unsigned char)p[n - k];

		if ((c & 0xc0u) == 0x80u)
			continue;
		return c >= 0xc2 && (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) > k ? k : 0;
	}
	return 0;
}

static void echo_seen(void *cookie, bool is_err, const char *bytes, size_t n)
{
	struct echo *e = cookie;
	AUTO_BUF struct buf b = {0};
	size_t rest;

	(void)is_err;
	if (buf_add(&b, e->part, e->n_part) != 0 || buf_add(&b, bytes, n) != 0)
		return;
	rest = unfinished(b.data, b.len);
	e->n_part = rest;
	memcpy(e->part, b.data + b.len - rest, rest);
	echo_bytes(e, b.data, b.len - rest);
	(void)fflush(e->out);
}

static void echo_end(struct echo *e)
{
	if (e->n_part > 0)
		echo_bytes(e, e->part, e->n_part);
	if (e->in_line)
		(void)fputc('\n', e->out);
}

/* ---- asking */

enum answer { ANSWER_YES, ANSWER_NO, ANSWER_SIGNAL };

/* What was typed before the question was there is no answer to it. */
static enum answer ask(const struct skill_walk *w)
{
	char line[256];
	ssize_t n;

	if (w->yes)
		return ANSWER_YES;
	(void)tcflush(w->terminal_fd, TCIFLUSH);
	(void)fprintf(w->out, "run it? y, or Enter for no: ");
	(void)fflush(w->out);
	for (;;) {
		struct pollfd p[] = {{.fd = w->terminal_fd, .events = POLLIN}, {.fd = w->signal_fd, .events = POLLIN}};

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return ANSWER_NO;
		if (p[1].revents != 0)
			return ANSWER_SIGNAL;
		if (p[0].revents != 0)
			break;
	}
	n = read(w->terminal_fd, line, sizeof(line));
	return n == 2 && line[0] == 'y' && line[1] == '\n' ? ANSWER_YES : ANSWER_NO;
}

/* ---- running */

static int run_job(const struct skill_walk *w, const struct skill_step *s, struct jobs *jobs, struct job_result *ret, struct err *e)
{
	const char *const argv[] = {"/bin/sh", "-c", s->command, NULL};
	struct echo echo = {.out = w->out};
	struct job_spec spec = {.argv = argv, .guarded = w->guarded, .guard = (const char *const *)(uintptr_t)s->guard.v,
	                        .profile_fd = s->profile_fd, .timeout_ms = s->timeout_ms, .keep = KEEP, .merged = true,
	                        .seen = echo_seen, .cookie = &echo};
	const char **env = NULL;
	size_t n = 0;
	int rc;

	for (n = 0; environ[n] != NULL; n++)
		continue;
	env = calloc(n + s->env.n + 1, sizeof(*env));
	if (env == NULL)
		return err_errno(e, ENOMEM, "cannot run step %s", s->id);
	n = 0;
	for (char **v = environ; *v != NULL; v++) {
		bool replaced = false;

		for (size_t k = 0; k < s->env.n; k++)
			replaced = replaced || strncmp(*v, s->env.v[k], strcspn(s->env.v[k], "=") + 1) == 0;
		if (!replaced)
			env[n++] = *v;
	}
	for (size_t k = 0; k < s->env.n; k++)
		env[n++] = s->env.v[k];
	spec.env = env;
	rc = job_run(jobs, &spec, w->signal_fd, ret, e);
	free(env);
	echo_end(&echo);
	return rc;
}

static const char *status_of(const struct skill_step *s, const struct job_result *r)
{
	if (r->why == JOB_EXITED)
		return r->code == (int)s->target ? "pass" : "fail";
	return r->why == JOB_TIMEOUT ? "timeout" : r->why == JOB_LIMIT ? "limit" : "error";
}

static void reason_of(const struct skill_step *s, const struct job_result *r, char ret[JOB_REASON_MAX])
{
	ret[0] = '\0';
	if (r->why == JOB_EXITED && r->code != (int)s->target)
		(void)snprintf(ret, JOB_REASON_MAX, "exit status %d, not %u", r->code, s->target);
	else if (r->why == JOB_SIGNALED)
		(void)snprintf(ret, JOB_REASON_MAX, "signal %d (%s)%s", r->code, strsignal(r->code),
		               r->code == SIGSYS ? ": a system call that its profile ends it for" : "");
	else if (r->why == JOB_TIMEOUT)
		(void)snprintf(ret, JOB_REASON_MAX, "not done after %llu s: %u processes ended", (unsigned long long)(s->timeout_ms / 1000),
		               r->left);
	else if (r->why == JOB_ENDED)
		(void)snprintf(ret, JOB_REASON_MAX, "interrupted");
	else
		(void)snprintf(ret, JOB_REASON_MAX, "%s", r->reason);
}

static int record_step(const struct skill_walk *w, const struct skill_step *s, const struct job_result *r, const char *status,
                       const char *reason, struct err *e)
{
	struct record_result result = {.id = s->id, .input = s->command, .target = s->target, .scorer = "exit_status", .status = status,
	                               .reason = reason[0] != '\0' ? reason : NULL};
	struct denials d = {0};
	int rc = 0;

	if (r != NULL) {
		result.ran = true;
		result.exit = r->exit;
		result.output = r->out.bytes;
		result.n_output = r->out.n;
		result.total = r->out.total;
		result.hash = r->out.hash;
		result.wall_ms = r->wall_ms;
		if (w->guarded && denials_add(&d, r->out.bytes, r->out.n) != 0)
			rc = err_errno(e, ENOMEM, "cannot record step %s", s->id);
		result.refusals = (const char *const *)(uintptr_t)d.line;
	}
	if (rc == 0)
		rc = record_file_add(w->record, &result, e);
	denials_done(&d);
	return rc;
}

/* *ret_on: the next step may follow. */
static int run_step(const struct skill_walk *w, size_t i, struct jobs *jobs, bool *ret_on, int *ret_stop, char reason[256],
                    struct err *e)
{
	const struct skill_step *s = &w->skill->step[i];
	struct job_result r = {0};
	AUTO_BUF struct buf safe = {0};
	char why[JOB_REASON_MAX];
	const char *status;
	int rc = run_job(w, s, jobs, &r, e);

	if (rc != 0)
		return rc;
	status = status_of(s, &r);
	reason_of(s, &r, why);
	rc = record_step(w, s, &r, status, why, e);
	*ret_on = str_eq(status, "pass");
	if (rc == 0 && buf_add_escaped(&safe, why, strlen(why), false) == 0 && buf_str(&safe) != NULL)
		(void)fprintf(w->out, "  %s: %s%s%s (%.1f s)\n", s->id, status, why[0] != '\0' ? ": " : "", safe.data,
		              (double)r.wall_ms / 1000.0);
	if (!*ret_on) {
		*ret_stop = r.why == JOB_ENDED ? STOP_INTERRUPTED : STOP_UNFINISHED;
		(void)snprintf(reason, 256, "step %s: %s", s->id, r.why == JOB_ENDED ? "interrupted" : status);
	}
	job_result_done(&r);
	return rc;
}

int skill_walk(const struct skill_walk *w, int *ret_stop, char reason[256], struct err *e)
{
	struct jobs jobs = {0};
	bool on = true;
	int rc = 0;

	*ret_stop = STOP_DONE;
	reason[0] = '\0';
	for (size_t i = w->from; rc == 0 && on && i < w->skill->n_steps; i++) {
		const struct skill_step *s = &w->skill->step[i];
		enum answer answer;

		show_step(w, i);
		answer = ask(w);
		if (answer == ANSWER_YES) {
			rc = run_step(w, i, &jobs, &on, ret_stop, reason, e);
			continue;
		}
		on = false;
		*ret_stop = answer == ANSWER_SIGNAL ? STOP_INTERRUPTED : STOP_UNFINISHED;
		(void)snprintf(reason, 256, "step %s: %s", s->id, answer == ANSWER_SIGNAL ? "interrupted" : "declined");
		(void)fprintf(w->out, "\n  %s: %s: nothing after it runs\n", s->id, answer == ANSWER_SIGNAL ? "interrupted" : "declined");
		/* A record of nothing that ran is empty. */
		if (answer == ANSWER_NO && i > w->from)
			rc = record_step(w, s, NULL, "declined", "", e);
	}
	return rc;
}
