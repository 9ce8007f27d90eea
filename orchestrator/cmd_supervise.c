/* `stint guard --timeout …`, second step: the guard has handed its command line over; starts it again under supervision, and says
 * what became of the command. Called as
 *
 *   stint-coordinator supervise -- ARG…     ARG…: the guard's own words */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "orchestrator/cmd.h"
#include "orchestrator/profile_memfd.h"
#include "orchestrator/supervise.h"
#include "orchestrator/supervise_report.h"

#define OWN_WORDS 5 /* stint-guard --supervisor-fd N --profile-fd M */

struct supervised {
	struct guard_options o;
	struct supervise_wants wants;
	char path[PATH_MAX + 64];
	char supervisor_fd[16];
	char profile_fd[16];
	int profile;      /* owned, -1: built in */
	int socket[2];    /* owned: ours, the guard's */
	char **words;     /* owned */
	struct supervise_limits limits;
	struct output output; /* with wants.output */
	struct watch *watch;  /* owned, NULL: nothing is listened to */
	int report;       /* owned, -1: not asked for */
	char started[SUPERVISE_TIME_MAX];
	int signal;       /* that told us to end, or 0 */
};

static int fail(const struct err *e)
{
	(void)log_err(e, RUN_UNCONFINED);
	return RUN_UNCONFINED;
}

/* The guard's command line, ours in front: it knows by them that its supervisor is there. */
static int make_words(struct supervised *s, int argc, char **argv, struct err *e)
{
	size_t n = 0;

	s->words = calloc((size_t)argc + OWN_WORDS + 1, sizeof(*s->words));
	if (s->words == NULL)
		return err_errno(e, ENOMEM, "cannot supervise");
	(void)snprintf(s->supervisor_fd, sizeof(s->supervisor_fd), "%d", s->socket[1]);
	(void)snprintf(s->profile_fd, sizeof(s->profile_fd), "%d", s->profile);
	s->words[n++] = (char *)(uintptr_t)"stint-guard";
	s->words[n++] = (char *)(uintptr_t)"--supervisor-fd";
	s->words[n++] = s->supervisor_fd;
	if (s->profile >= 0) {
		s->words[n++] = (char *)(uintptr_t)"--profile-fd";
		s->words[n++] = s->profile_fd;
	}
	memcpy(s->words + n, argv + 2, (size_t)(argc - 2) * sizeof(*argv));
	return 0;
}

static void say(void *cookie, const char *line)
{
	const struct supervised *s = cookie;

	if (!s->o.quiet)
		log_note("guard: %s", line);
}

/* Opened before the command runs: it must not decide where the report goes, and a mistake shows at once. */
static int open_file(const char *option, const char *file, int *ret, struct err *e)
{
	*ret = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	return *ret >= 0 ? 0 : err_errno(e, errno, "--%s %s", option, file);
}

static int prepare_watch(struct supervised *s, struct err *e)
{
	int rc;

	if (s->o.supervise.report == NULL)
		return 0;
	s->watch = calloc(1, sizeof(*s->watch));
	if (s->watch == NULL)
		return err_errno(e, ENOMEM, "cannot supervise");
	rc = watch_open(s->watch, &s->o, s->path, e);
	s->watch->violations.tell = say;
	s->watch->violations.cookie = s;
	return rc == 0 ? open_file("report", s->o.supervise.report, &s->report, e) : rc;
}

static int prepare_profile(struct supervised *s, struct err *e)
{
	bool net = s->o.net_unrestricted || s->o.connect.n > 0 || s->o.bind.n > 0;

	if (s->watch != NULL)
		s->profile = watch_profile(s->watch, e);
	else if (s->o.profile_file != NULL)
		s->profile = profile_memfd(s->o.profile_file, net, e);
	else
		return 0;
	return s->profile >= 0 ? 0 : s->profile;
}

static int prepare(struct supervised *s, int argc, char **argv, struct err *e)
{
	int rc = guard_parse(&s->o, argc - 1, argv + 1, e);

	if (rc == 0)
		rc = supervise_read(&s->o.supervise, &s->wants, e);
	if (rc == 0)
		rc = fd_sibling_path("stint-guard", s->path, sizeof(s->path), e);
	if (rc == 0)
		rc = prepare_watch(s, e);
	if (rc == 0)
		rc = prepare_profile(s, e);
	if (rc != 0)
		return rc;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s->socket) != 0)
		return err_errno(e, errno, "cannot supervise");
	rc = supervise_limits_open(&s->limits, s->wants.memory, s->wants.processes, 0, e);
	if (rc == 0 && s->wants.output > 0)
		rc = output_open(&s->output, s->wants.output, e);
	return rc == 0 ? make_words(s, argc, argv, e) : rc;
}

static void release(struct supervised *s)
{
	free(s->words);
	fd_close(&s->profile);
	fd_close(&s->report);
	fd_close(&s->socket[0]);
	fd_close(&s->socket[1]);
	if (s->wants.output > 0)
		output_done(&s->output);
	supervise_limits_close(&s->limits);
	if (s->watch != NULL)
		watch_close(s->watch);
	free(s->watch);
	guard_options_done(&s->o);
}

static void say_limits(struct supervised *s)
{
	AUTO_BUF struct buf b = {0};

	if (supervise_limits_say(&s->limits, &b) == 0 && b.len > 0)
		say(s, buf_str(&b));
}

/* What people are told of the end, one line. */
static void tell(const struct supervised *s, const struct supervise_end *end)
{
	const char *word = end->last.ended == 1 ? "process" : "processes";

	if (s->o.quiet)
		return;
	if (end->why == KEEPER_DEADLINE)
		log_note("guard: not done after %s: %u %s ended", s->o.supervise.timeout, end->last.ended, word);
	else if (end->lost_keeper)
		log_note("guard: the keeper was killed: everything that it kept has been ended");
	else if (end->why == KEEPER_ENDED && end->last.ended > 0)
		log_note("guard: the command left %u %s behind, which %s been ended", end->last.ended, word,
		         end->last.ended == 1 ? "has" : "have");
}

/* As whoever sent the signal expects. */
static int die_of(int sig)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, sig);
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	return 128 + sig;
}

static int status_of(const struct supervised *s, const struct supervise_end *end)
{
	int w = end->last.wstatus;

	if (end->signal != 0)
		return 128 + end->signal;
	if (end->why == KEEPER_DEADLINE)
		return RUN_DEADLINE;
	if (end->lost_keeper)
		return RUN_UNCONFINED;
	/* As the kernel ends a process whose filter says so. */
	if (s->watch != NULL && s->watch->killed == end->last.pid && WIFSIGNALED(w))
		return 128 + SIGSYS;
	return WIFSIGNALED(w) ? 128 + WTERMSIG(w) : WEXITSTATUS(w);
}

/* Returns the exit status; one that cannot be told is no success. */
static int report(struct supervised *s, const struct supervise_end *end, int status)
{
	struct supervise_report r = {.o = &s->o, .end = end, .limits = &s->limits, .watch = s->watch, .status = status,
	                             .output = s->wants.output > 0 ? &s->output : NULL};
	struct err e = {0};

	if (s->watch != NULL)
		violations_say_counts(&s->watch->violations);
	if (s->report < 0)
		return status;
	memcpy(r.started, s->started, sizeof(r.started));
	return supervise_report_write(s->report, &r, &e) == 0 ? status : fail(&e);
}

static int run(struct supervised *s)
{
	struct supervise what = {.words = s->words, .path = s->path, .o = &s->o, .profile_fd = s->profile, .socket_fd = s->socket[0],
	                         .guard_fd = s->socket[1],
	                         .timeout_ms = s->wants.timeout_ms, .limits = &s->limits,
	                         .output = s->wants.output > 0 ? &s->output : NULL, .watch = s->watch, .tell = say, .cookie = s};
	struct supervise_end end = {0};
	struct err e = {0};
	int rc;

	say_limits(s);
	supervise_report_time(s->started);
	rc = supervise_run(&what, &end, &e);

	if (rc != 0)
		(void)log_err(&e, RUN_UNCONFINED);
	tell(s, &end);
	s->signal = end.signal;
	return report(s, &end, rc != 0 && end.why == KEEPER_ENDED ? RUN_UNCONFINED : status_of(s, &end));
}

int cmd_supervise(struct cmd *c, int argc, char **argv)
{
	struct supervised s = {.profile = -1, .report = -1, .socket = {-1, -1}, .limits = {.cg = {.fd = -1}}, .output = OUTPUT_NONE};
	struct err e = {0};
	int status;

	(void)c;
	if (argc < 3 || !str_eq(argv[1], "--")) {
		log_note("supervise: this step is started by `stint guard --timeout D` and its like: call that");
		return RUN_UNCONFINED;
	}
	status = prepare(&s, argc, argv, &e) != 0 ? fail(&e) : run(&s);
	release(&s);
	return s.signal != 0 ? die_of(s.signal) : status;
}
