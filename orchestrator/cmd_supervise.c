/* `stint guard --timeout …`, second step: the guard has handed its command line over; starts it again under supervision, and says
 * what became of the command. Called as
 *
 *   stint-coordinator supervise -- ARG…     ARG…: the guard's own words */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "orchestrator/cmd.h"
#include "orchestrator/profile_memfd.h"
#include "orchestrator/supervise.h"

#define OWN_WORDS 5 /* stint-guard --supervisor-fd N --profile-fd M */

struct supervised {
	struct guard_options o;
	struct supervise_wants wants;
	char path[PATH_MAX + 64];
	char supervisor_fd[16];
	char profile_fd[16];
	int profile;      /* owned, -1: built in */
	char **words;     /* owned */
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
	(void)snprintf(s->supervisor_fd, sizeof(s->supervisor_fd), "%d", 2);
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

static int prepare(struct supervised *s, int argc, char **argv, struct err *e)
{
	bool net;
	int rc = guard_parse(&s->o, argc - 1, argv + 1, e);

	if (rc == 0)
		rc = supervise_read(&s->o.supervise, &s->wants, e);
	if (rc == 0)
		rc = fd_sibling_path("stint-guard", s->path, sizeof(s->path), e);
	if (rc != 0)
		return rc;
	net = s->o.net_unrestricted || s->o.connect.n > 0 || s->o.bind.n > 0;
	if (s->o.profile_file != NULL) {
		s->profile = profile_memfd(s->o.profile_file, net, e);
		if (s->profile < 0)
			return s->profile;
	}
	return make_words(s, argc, argv, e);
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

static int status_of(const struct supervise_end *end)
{
	int w = end->last.wstatus;

	if (end->signal != 0) {
		(void)signal(end->signal, SIG_DFL);
		sigset_t set;

		(void)sigemptyset(&set);
		(void)sigaddset(&set, end->signal);
		(void)raise(end->signal);
		(void)sigprocmask(SIG_UNBLOCK, &set, NULL); /* ends here, as whoever sent it expects */
		return 128 + end->signal;
	}
	if (end->why == KEEPER_DEADLINE)
		return RUN_DEADLINE;
	if (end->lost_keeper)
		return RUN_UNCONFINED;
	return WIFSIGNALED(w) ? 128 + WTERMSIG(w) : WEXITSTATUS(w);
}

static int run(struct supervised *s)
{
	struct supervise_start start = {.words = s->words, .path = s->path, .o = &s->o, .profile_fd = s->profile};
	struct supervise_end end = {0};
	struct err e = {0};
	int rc = supervise_run(&start, &s->wants, &end, &e);

	if (rc != 0)
		(void)log_err(&e, RUN_UNCONFINED);
	tell(s, &end);
	return rc != 0 && end.why == KEEPER_ENDED ? RUN_UNCONFINED : status_of(&end);
}

int cmd_supervise(struct cmd *c, int argc, char **argv)
{
	struct supervised s = {.profile = -1};
	struct err e = {0};
	int status;

	(void)c;
	if (argc < 3 || !str_eq(argv[1], "--")) {
		log_note("supervise: this step is started by `stint guard --timeout D` and its like: call that");
		return RUN_UNCONFINED;
	}
	status = prepare(&s, argc, argv, &e) != 0 ? fail(&e) : run(&s);
	free(s.words);
	fd_close(&s.profile);
	guard_options_done(&s.o);
	return status;
}
