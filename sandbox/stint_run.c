/* libstint: running a command. stint-guard is started as the keeper of a child that becomes the command (--keeper-fd), so that
 * nothing about the calling process changes: no fork of a threaded program, no orphans in its hands. See stint.h. */
#include "sandbox/stint_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "sandbox/keeper.h"

/* Of the guard's command line, by their position among the child's descriptors. */
#define ERROR_FD "3"
#define PROFILE_FD "4"
#define KEEP_FD "5"
#define OWN_WORDS 10 /* stint-guard --keeper-fd N --error-fd N --quiet --profile(-fd) W -- NULL */

#define CHUNK 65536u
#define DRAIN_MAX (1u << 20) /* what a pipe can hold */
#define KEEPER_PATIENCE_MS 30000 /* it gives up after ten seconds itself */

enum { OUT, ERR, WHY, KEEP, N_OURS }; /* our ends */

struct run {
	int child[STINT_CHILD_FDS]; /* owned: what becomes its 0, 1, 2, … */
	int ours[N_OURS];           /* owned, non-blocking */
	char path[PATH_MAX];
	const char **words;         /* owned */
	struct stint_capture out;
	struct stint_capture err;
	struct stint_capture why;   /* the guard's sentence when the command was not started */
	uint64_t end_ms;            /* the deadline, 0: none */
	bool told;                  /* the keeper, to end everything */
	bool over;
	struct keeper_message last; /* what is KEEPER_STARTED until there was one */
};

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

/* ---- before */

static int make_words(struct run *r, const struct stint_policy *p, const struct stint_command *c, struct err *e)
{
	bool file = r->child[4] >= 0;
	const char *first[] = {"stint-guard", "--keeper-fd", KEEP_FD, "--error-fd", ERROR_FD, "--quiet",
	                       file ? "--profile-fd" : "--profile",
	                       file ? PROFILE_FD : p->profile != NULL ? p->profile->name : "agent"};
	size_t argc = 0;
	size_t n = sizeof(first) / sizeof(first[0]);

	while (c->argv[argc] != NULL)
		argc++;
	r->words = calloc(OWN_WORDS + p->n_words + argc, sizeof(*r->words));
	if (r->words == NULL)
		return err_errno(e, ENOMEM, "cannot run %s", c->argv[0]);
	memcpy(r->words, first, sizeof(first));
	for (size_t i = 0; i < p->n_words; i++)
		r->words[n++] = p->words[i];
	r->words[n++] = "--";
	for (size_t i = 0; i < argc; i++)
		r->words[n++] = c->argv[i];
	return 0;
}

/* A pipe whose end `which` (1: writing) is the child's. */
static int open_pipe(int *ret_ours, int *ret_child, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_errno(e, errno, "cannot make a pipe");
	*ret_ours = ends[0];
	*ret_child = ends[1];
	return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 ? 0 : err_errno(e, errno, "cannot make a pipe");
}

/* Its input lies there complete: it neither waits for us nor gets a SIGPIPE to us. */
static int open_input(const struct stint_command *c, struct err *e)
{
	int fd = c->input_length == 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC)
	                              : fd_sealed_memfd("input", c->input, c->input_length);

	if (fd == -1)
		fd = -errno;
	return fd < 0 ? err_errno(e, -fd, "cannot hand the input over") : fd;
}

static int open_fds(struct run *r, const struct stint_policy *p, const struct stint_command *c, struct err *e)
{
	int pair[2];
	int rc = open_input(c, e);

	if (rc < 0)
		return rc;
	r->child[0] = rc;
	rc = open_pipe(&r->ours[OUT], &r->child[1], e);
	if (rc == 0)
		rc = open_pipe(&r->ours[ERR], &r->child[2], e);
	if (rc == 0)
		rc = open_pipe(&r->ours[WHY], &r->child[3], e);
	if (rc == 0 && p->profile != NULL)
		rc = stint_profile_fd(p->profile, stint_policy_net(p), &r->child[4], e);
	if (rc != 0)
		return rc;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_errno(e, errno, "cannot make a socket");
	r->ours[KEEP] = pair[0];
	r->child[5] = pair[1];
	return 0;
}

static int check(const struct stint_policy *p, const struct stint_command *c, struct err *e)
{
	if (p == NULL || c == NULL || c->argv == NULL || c->argv[0] == NULL)
		return err_set(e, EINVAL, "a policy and a command are needed");
	if (c->input_length > 0 && c->input == NULL)
		return err_set(e, EINVAL, "the input has a length and no bytes");
	if (c->supervised)
		return err_set(e, ENOTSUP, "supervised runs are not supported by this libstint");
	return 0;
}

/* ---- meanwhile */

/* Reads what is there, at most max bytes; closes the descriptor at its end. */
static int read_stream(int *fd, struct stint_capture *to, size_t max, char *chunk, struct err *e)
{
	size_t done = 0;

	while (*fd >= 0 && done < max) {
		ssize_t n = read(*fd, chunk, CHUNK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0) {
			fd_close(fd);
			return 0;
		}
		done += (size_t)n;
		if (stint_capture_add(to, chunk, (size_t)n) != 0)
			return err_errno(e, ENOMEM, "cannot keep the command's output");
	}
	return 0;
}

static int read_streams(struct run *r, size_t max, char *chunk, struct err *e)
{
	int rc = read_stream(&r->ours[OUT], &r->out, max, chunk, e);

	if (rc == 0)
		rc = read_stream(&r->ours[ERR], &r->err, max, chunk, e);
	return rc == 0 ? read_stream(&r->ours[WHY], &r->why, max, chunk, e) : rc;
}

/* A message from the keeper, or its end. */
static void hear_keeper(struct run *r)
{
	struct keeper_message m;
	ssize_t n = recv(r->ours[KEEP], &m, sizeof(m), MSG_DONTWAIT);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n == (ssize_t)sizeof(m) && m.what == KEEPER_STARTED)
		return;
	if (n == (ssize_t)sizeof(m))
		r->last = m;
	r->over = true;
}

static int remaining(const struct run *r)
{
	uint64_t now = now_ms();

	if (r->told)
		return KEEPER_PATIENCE_MS;
	if (r->end_ms == 0)
		return -1;
	return r->end_ms <= now ? 0 : r->end_ms - now > INT_MAX ? INT_MAX : (int)(r->end_ms - now);
}

static int watch(struct run *r, char *chunk, struct err *e)
{
	int rc = 0;

	while (rc == 0 && !r->over) {
		struct pollfd p[N_OURS];
		int n;

		for (int i = 0; i < N_OURS; i++)
			p[i] = (struct pollfd){.fd = r->ours[i], .events = POLLIN};
		n = poll(p, N_OURS, remaining(r));
		if (n < 0 && errno != EINTR)
			return err_errno(e, errno, "cannot watch the command");
		if (n == 0 && r->told)
			return err_set(e, EBUSY, "the command's keeper does not answer: processes may be left");
		if (!r->told && remaining(r) == 0) {
			(void)shutdown(r->ours[KEEP], SHUT_WR);
			r->told = true;
		}
		if (n > 0 && p[KEEP].revents != 0)
			hear_keeper(r);
		if (n > 0)
			rc = read_streams(r, DRAIN_MAX, chunk, e);
	}
	/* All its processes are gone; what a stranger still holds open is not waited for. */
	return rc == 0 ? read_streams(r, DRAIN_MAX, chunk, e) : rc;
}

/* ---- afterwards */

/* Why there is no result: nothing was started, or nobody knows what became of it. */
static int judge(struct run *r, int wstatus, struct err *e)
{
	struct stint_output why = {NULL, 0, 0};
	int status = r->last.what != KEEPER_STARTED ? r->last.wstatus : wstatus;
	int code = WIFEXITED(status) && WEXITSTATUS(status) == RUN_NOT_FOUND        ? ENOENT
	           : WIFEXITED(status) && WEXITSTATUS(status) == RUN_NOT_EXECUTABLE ? EACCES
	                                                                            : EPERM;

	if (stint_capture_end(&r->why, &why) != 0)
		return err_errno(e, ENOMEM, "cannot keep the command's output");
	if (why.length > 0)
		(void)err_set(e, code, "%s", why.bytes);
	else if (r->last.what == KEEPER_STARTED)
		(void)err_set(e, ECHILD, "the command's keeper was killed: processes may be left: nothing is known of the command");
	else if (r->last.msg[0] != '\0')
		(void)err_set(e, EBUSY, "%.*s", (int)sizeof(r->last.msg), r->last.msg);
	free(why.bytes);
	return -e->code;
}

static uint64_t microseconds(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000u + (uint64_t)t->tv_usec;
}

static int note_violation(struct stint_result *ret, struct err *e)
{
	struct stint_violation *v = calloc(1, sizeof(*v));

	if (v == NULL)
		return err_errno(e, ENOMEM, "cannot note the violation");
	v->kind = STINT_SYSCALL;
	v->number = -1;
	(void)snprintf(v->message, sizeof(v->message), "ended by SIGSYS: a system call that the profile ends a process for, or one "
	               "by the entry of another architecture");
	ret->violations = v;
	ret->n_violations = 1;
	return 0;
}

static int fill(struct run *r, struct stint_result *ret, struct err *e)
{
	const struct keeper_message *m = &r->last;
	int w = m->wstatus;
	int rc = 0;

	ret->timed_out = r->told && m->what == KEEPER_TOLD;
	ret->signal = WIFSIGNALED(w) ? WTERMSIG(w) : 0;
	ret->status = ret->timed_out ? RUN_DEADLINE : WIFSIGNALED(w) ? 128 + WTERMSIG(w) : WEXITSTATUS(w);
	ret->left = m->ended;
	ret->wall_ms = m->wall_ms;
	ret->user_us = microseconds(&m->usage.ru_utime);
	ret->system_us = microseconds(&m->usage.ru_stime);
	ret->peak_kib = (uint64_t)m->usage.ru_maxrss;
	if (stint_capture_end(&r->out, &ret->out) != 0 || stint_capture_end(&r->err, &ret->err) != 0)
		rc = err_errno(e, ENOMEM, "cannot keep the command's output");
	if (rc == 0 && ret->signal == SIGSYS)
		rc = note_violation(ret, e);
	return rc;
}

void stint_result_done(struct stint_result *r)
{
	if (r == NULL)
		return;
	free(r->out.bytes);
	free(r->err.bytes);
	free(r->violations);
	*r = (struct stint_result){0};
}

static void run_done(struct run *r)
{
	for (int i = 0; i < STINT_CHILD_FDS; i++)
		fd_close(&r->child[i]);
	for (int i = 0; i < N_OURS; i++)
		fd_close(&r->ours[i]);
	free(r->words);
	stint_capture_done(&r->out);
	stint_capture_done(&r->err);
	stint_capture_done(&r->why);
}

static int start(struct run *r, const struct stint_policy *p, const struct stint_command *c, pid_t *ret, struct err *e)
{
	struct stint_start s = {.path = r->path, .folder = c->folder};
	int rc = stint_guard_path(p->programs, r->path, e);

	if (rc == 0)
		rc = open_fds(r, p, c, e);
	if (rc == 0)
		rc = make_words(r, p, c, e);
	if (rc != 0)
		return rc;
	s.words = (char *const *)(uintptr_t)r->words;
	memcpy(s.fds, r->child, sizeof(s.fds));
	rc = stint_start(&s, ret, e);
	/* The pipes end with the command. */
	for (int i = 0; i < STINT_CHILD_FDS; i++)
		fd_close(&r->child[i]);
	return rc;
}

static int run(struct run *r, const struct stint_policy *p, const struct stint_command *c, struct stint_result *ret, struct err *e)
{
	AUTO_FREE char *chunk = malloc(CHUNK);
	pid_t pid = 0;
	int wstatus;
	int rc = chunk != NULL ? start(r, p, c, &pid, e) : err_errno(e, ENOMEM, "cannot run %s", c->argv[0]);

	if (rc != 0)
		return rc;
	r->end_ms = c->timeout_ms > 0 ? now_ms() + c->timeout_ms : 0;
	rc = watch(r, chunk, e);
	/* Whatever came of it: at the end of the socket the keeper ends what is left, and itself. A child that another thread has
	 * forked meanwhile may hold the socket, too. */
	(void)shutdown(r->ours[KEEP], SHUT_RDWR);
	fd_close(&r->ours[KEEP]);
	wstatus = stint_reap(pid);
	if (rc == 0)
		rc = judge(r, wstatus, e);
	return rc == 0 ? fill(r, ret, e) : rc;
}

int stint_run(const struct stint_policy *p, const struct stint_command *c, struct stint_result *ret, struct stint_error *error)
{
	struct run r = {.child = {-1, -1, -1, -1, -1, -1}, .ours = {-1, -1, -1, -1}, .why = {.max = ERR_MSG_MAX}};
	struct stint_result result = {0};
	struct err e = {0};
	int rc = check(p, c, &e);

	if (rc == 0) {
		r.out.max = r.err.max = c->output_max > 0 ? c->output_max : STINT_OUTPUT_DEFAULT;
		rc = run(&r, p, c, &result, &e);
	}
	run_done(&r);
	if (rc == 0)
		*ret = result;
	else
		stint_result_done(&result);
	return stint_fail(error, &e, rc);
}
