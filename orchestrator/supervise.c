/* The supervisor's loop: see supervise.h. */
#include "orchestrator/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "orchestrator/cmd.h"
#include "orchestrator/config_value.h"
#include "sandbox/descendants.h"

#define PROCESSES_MAX 1000000u
#define OUTPUT_MIN 1024u

struct loop {
	const struct supervise *s;
	struct keeper keeper;
	int signal_fd;
	struct supervise_end end;
	pid_t command; /* once it is known */
	bool over;
	bool heard;   /* the guard has sent its listener, or will not */
	bool told[2]; /* that stdout, stderr is being cut */
};

/* ---- what was asked for */

static int read_size(const char *option, const char *word, uint64_t min, uint64_t *ret, struct err *e)
{
	uint64_t v = 0;

	if (word == NULL)
		return 0;
	if (parse_size(word, &v) != 0 || v < min)
		return err_set(e, EINVAL, "--%s %s: a size of %llu bytes or more is needed, as 64KiB, 512MiB, 4GiB", option, word,
		               (unsigned long long)min);
	*ret = v;
	return 0;
}

static int read_count(const char *word, uint64_t *ret, struct err *e)
{
	char *end = NULL;
	unsigned long long v;

	if (word == NULL)
		return 0;
	errno = 0;
	v = strtoull(word, &end, 10);
	if (errno != 0 || word[0] < '0' || word[0] > '9' || *end != '\0' || v == 0 || v > PROCESSES_MAX)
		return err_set(e, EINVAL, "--max-procs %s: a number from 1 to %u is needed", word, PROCESSES_MAX);
	*ret = v;
	return 0;
}

int supervise_read(const struct guard_supervise *words, struct supervise_wants *ret, struct err *e)
{
	struct supervise_wants w = {0};
	int rc = 0;

	if (words->timeout != NULL && parse_duration(words->timeout, &w.timeout_ms) != 0)
		rc = err_set(e, EINVAL, "--timeout %s: a time of at most 30 days is needed, as 500ms, 90s, 5m, 1h30m", words->timeout);
	if (rc == 0)
		rc = read_size("max-memory", words->max_memory, 1u << 20, &w.memory, e);
	if (rc == 0)
		rc = read_size("max-output", words->max_output, OUTPUT_MIN, &w.output, e);
	if (rc == 0)
		rc = read_count(words->max_procs, &w.processes, e);
	if (rc == 0)
		*ret = w;
	return rc;
}

/* ---- the command's process */

static int enter(const struct supervise *s, struct err *e)
{
	const int keep[] = {s->o->prompt_fd, s->o->error_fd, s->o->probe_fd, s->o->result_fd, s->profile_fd, s->guard_fd};
	int rc = supervise_limits_enter(s->limits, e);

	for (size_t i = 0; rc == 0 && i < sizeof(keep) / sizeof(keep[0]); i++)
		if (keep[i] > 2 && fcntl(keep[i], F_SETFD, 0) != 0)
			rc = err_errno(e, errno, "cannot hand descriptor %d over", keep[i]);
	if (rc == 0 && s->output != NULL && output_enter(s->output) != 0)
		rc = err_errno(e, errno, "cannot limit the output");
	return rc;
}

static void become(void *cookie)
{
	const struct supervise *s = cookie;
	struct err e = {0};

	if (enter(s, &e) == 0) {
		(void)execv(s->path, s->words);
		(void)err_errno(&e, errno, "cannot start %s", s->path);
	}
	(void)log_err(&e, 0);
	_exit(RUN_UNCONFINED);
}

/* ---- events */

/* ^C and ^\ of the terminal go to the command as well: what they mean is its business, as in a shell. */
static bool is_terminals(const struct signalfd_siginfo *i)
{
	return i->ssi_code == SI_KERNEL && (i->ssi_signo == SIGINT || i->ssi_signo == SIGQUIT);
}

static void on_signal(struct loop *l)
{
	struct signalfd_siginfo i;

	while (read(l->signal_fd, &i, sizeof(i)) == (ssize_t)sizeof(i)) {
		if (is_terminals(&i))
			continue;
		if (l->end.signal == 0)
			l->end.signal = (int)i.ssi_signo;
		keeper_tell(&l->keeper);
	}
}

/* The keeper is gone without its last message: all that it kept is ours now. */
static int replace_keeper(struct loop *l, struct err *e)
{
	int wstatus = 0;

	l->end.lost_keeper = true;
	l->end.why = KEEPER_TOLD;
	return descendants_end(l->s->limits->cg.fd, 0, &wstatus, &l->end.last.ended, e);
}

static int on_keeper(struct loop *l, struct err *e)
{
	struct keeper_message m;
	int rc = keeper_read(&l->keeper, &m);

	if (rc == 1 && m.what == KEEPER_STARTED) {
		l->command = m.pid;
		return 0;
	}
	l->over = true;
	if (rc != 1)
		return replace_keeper(l, e);
	l->end.why = m.what;
	l->end.last = m;
	return m.msg[0] == '\0' ? 0 : err_set(e, EBUSY, "%s", m.msg);
}

/* Said once, when it begins. */
static void tell_cut(struct loop *l)
{
	char line[128];

	for (int i = 0; l->s->output != NULL && i < 2; i++) {
		if (l->told[i] || !output_cut(&l->s->output->stream[i]))
			continue;
		l->told[i] = true;
		(void)snprintf(line, sizeof(line), "std%s is over its limit: its end follows when the command is done",
		               i == 0 ? "out" : "err");
		l->s->tell(l->s->cookie, line);
	}
}

enum { POLL_KEEPER, POLL_SIGNAL, POLL_SOCKET, POLL_LISTENER, POLL_AUDIT, POLL_OUTPUT, N_POLLS = POLL_OUTPUT + OUTPUT_POLLS };

/* What to wait for; a negative descriptor is for nothing. */
static void fill_polls(const struct loop *l, struct pollfd p[N_POLLS])
{
	const struct watch *w = l->s->watch;
	bool listens = w != NULL && !l->over;

	p[POLL_KEEPER] = (struct pollfd){.fd = l->over ? -1 : l->keeper.status_fd, .events = POLLIN};
	p[POLL_SIGNAL] = (struct pollfd){.fd = l->signal_fd, .events = POLLIN};
	p[POLL_SOCKET] = (struct pollfd){.fd = listens && !l->heard ? l->s->socket_fd : -1, .events = POLLIN};
	p[POLL_LISTENER] = (struct pollfd){.fd = listens ? w->notify.listener : -1, .events = POLLIN};
	p[POLL_AUDIT] = (struct pollfd){.fd = listens ? w->audit.fd : -1, .events = POLLIN};
	for (unsigned int i = POLL_OUTPUT; i < N_POLLS; i++)
		p[i] = (struct pollfd){.fd = -1};
	if (l->s->output != NULL)
		output_poll(l->s->output, p + POLL_OUTPUT);
}

static int on_watch(struct loop *l, const struct pollfd p[N_POLLS], struct err *e)
{
	struct watch *w = l->s->watch;
	int rc = 0;

	if (p[POLL_SOCKET].revents != 0) {
		l->heard = true;
		rc = watch_accept(w, l->s->socket_fd, e);
	}
	if (rc == 0 && (p[POLL_LISTENER].revents & POLLIN) != 0)
		rc = watch_step(w, e);
	else if ((p[POLL_LISTENER].revents & (POLLHUP | POLLERR)) != 0)
		notify_done(&w->notify); /* no process is left that has the filter */
	if (rc == 0 && p[POLL_AUDIT].revents != 0)
		rc = audit_take(&w->audit, l->command, &w->violations) == 0 ? 0 : err_errno(e, ENOMEM, "cannot note what was refused");
	return rc;
}

static int step(struct loop *l, struct err *e)
{
	struct pollfd p[N_POLLS];
	int rc = 0;

	fill_polls(l, p);
	if (poll(p, N_POLLS, -1) < 0)
		return errno == EINTR ? 0 : err_errno(e, errno, "cannot supervise");
	if (p[POLL_SIGNAL].revents != 0)
		on_signal(l);
	if (l->s->output != NULL && output_move(l->s->output, p + POLL_OUTPUT) != 0)
		return err_errno(e, ENOMEM, "cannot pass the output on");
	tell_cut(l);
	if (l->s->watch != NULL)
		rc = on_watch(l, p, e);
	if (rc == 0 && p[POLL_KEEPER].revents != 0)
		rc = on_keeper(l, e);
	return rc;
}

/* Writes what is left of the output; a signal means that nobody wants it. */
static int finish_output(struct loop *l, struct err *e)
{
	int rc = 0;

	if (l->s->output == NULL)
		return 0;
	if (output_end(l->s->output) != 0)
		return err_errno(e, ENOMEM, "cannot pass the output on");
	while (rc == 0 && l->end.signal == 0 && output_left(l->s->output))
		rc = step(l, e);
	return rc;
}

int supervise_run(const struct supervise *s, struct supervise_end *ret, struct err *e)
{
	struct keeper_args a = {.timeout_ms = s->timeout_ms, .cgroup_fd = s->limits->cg.fd, .cgroup_name = s->limits->name,
	                        .become = become, .cookie = (void *)(uintptr_t)s, .gone = guard_tmp_gone};
	struct loop l = {.s = s, .signal_fd = -1};
	int rc = keeper_start(&l.keeper, &a, e);

	if (rc != 0)
		return rc;
	if (s->output != NULL)
		output_given(s->output);
	rc = cmd_watch_ends(&l.signal_fd, e);
	while (rc == 0 && !l.over)
		rc = step(&l, e);
	if (rc == 0)
		rc = finish_output(&l, e);
	if (rc == 0 && s->watch != NULL && audit_finish(&s->watch->audit, l.command, &s->watch->violations) != 0)
		rc = err_errno(e, ENOMEM, "cannot note what was refused");
	*ret = l.end;
	ret->counted = supervise_limits_counts(s->limits, &ret->counts);
	keeper_done(&l.keeper);
	fd_close(&l.signal_fd);
	return rc;
}
