/* One turn: see turn.h. */
#include "orchestrator/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"

#define TICK_MS 200
#define DRAIN_MS 2000 /* how long output may still come after the last process is gone: none can write, so this is never reached */

struct pump {
	const struct turn_request *q;
	struct turn_result *r;
	int fd[2];                   /* read ends: stdout, stderr; owned */
	uint64_t started_ms;
	uint64_t last_output_ms;
	bool exited;
	bool ended;                  /* END was sent already, so the EXITED frame came with it */
};

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

static void take_output(struct pump *p, int which)
{
	struct capture *c = which == 0 ? &p->r->out : &p->r->err;
	char chunk[65536];
	ssize_t n = read(p->fd[which], chunk, sizeof(chunk));
	int rc;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		fd_close(&p->fd[which]);
		return;
	}
	p->last_output_ms = now_ms();
	rc = capture_add(c, chunk, (size_t)n);
	if (rc != 0 && p->r->capture_error == 0)
		p->r->capture_error = rc;
	if (p->q->watch != NULL && p->q->watch->output != NULL)
		p->q->watch->output(p->q->watch->cookie, which == 1, chunk, (size_t)n);
}

/* Ends the running command through END; what is left in the pipes is read by the caller. */
static int stop_command(struct pump *p, struct err *e)
{
	p->ended = true;
	p->exited = true;
	return warden_end(p->q->sock, true, &p->r->exited, &p->r->changes, e);
}

static int pump_once(struct pump *p, struct err *e)
{
	struct pollfd fds[4] = {
		{.fd = p->fd[0], .events = POLLIN},
		{.fd = p->fd[1], .events = POLLIN},
		{.fd = p->exited ? -1 : p->q->sock, .events = POLLIN},
		{.fd = p->exited ? -1 : p->q->interrupt_fd, .events = POLLIN},
	};
	int n = poll(fds, 4, p->exited ? DRAIN_MS : TICK_MS);

	if (n < 0)
		return errno == EINTR ? 0 : err_errno(e, errno, "cannot wait for the command");
	if (n == 0 && p->exited) {
		fd_close(&p->fd[0]);
		fd_close(&p->fd[1]);
	}
	for (int i = 0; i < 2; i++)
		if (fds[i].revents != 0)
			take_output(p, i);
	if (p->q->watch != NULL && p->q->watch->tick != NULL)
		p->q->watch->tick(p->q->watch->cookie, now_ms() - p->started_ms, p->r->out.denials + p->r->err.denials);
	if (fds[2].revents != 0) {
		p->exited = true;
		return warden_exited(p->q->sock, &p->r->exited, e);
	}
	if (fds[3].revents != 0) {
		p->r->interrupted = true;
		return stop_command(p, e);
	}
	if (!p->exited && p->q->idle_ms > 0 && now_ms() - p->last_output_ms > p->q->idle_ms) {
		p->r->idle = true;
		return stop_command(p, e);
	}
	return 0;
}

static int pump_all(struct pump *p, struct err *e)
{
	int rc = 0;

	while (rc == 0 && (!p->exited || p->fd[0] >= 0 || p->fd[1] >= 0))
		rc = pump_once(p, e);
	if (rc == 0 && p->r->capture_error == 0)
		p->r->capture_error = capture_end(&p->r->out);
	if (rc == 0 && p->r->capture_error == 0)
		p->r->capture_error = capture_end(&p->r->err);
	return rc;
}

static int start(const struct turn_request *q, struct pump *p, struct err *e)
{
	AUTO_FD prompt = -1;
	AUTO_FD out = -1;
	AUTO_FD err = -1;
	int pair[2];
	struct warden_command c = {.task = q->task, .iteration = q->iteration, .suite_log_fd = q->suite_log_fd, .prompt_fd = -1};

	if (q->prompt != NULL) {
		prompt = fd_sealed_memfd("stint-prompt", q->prompt, q->prompt_len);
		if (prompt < 0)
			return err_errno(e, -prompt, "cannot hand over the prompt");
		c.prompt_fd = prompt;
	}
	if (pipe2(pair, O_CLOEXEC) != 0)
		return err_errno(e, errno, "cannot make a pipe");
	p->fd[0] = pair[0];
	out = pair[1];
	if (pipe2(pair, O_CLOEXEC) != 0)
		return err_errno(e, errno, "cannot make a pipe");
	p->fd[1] = pair[0];
	err = pair[1];
	c.stdout_fd = out;
	c.stderr_fd = err;
	return warden_spawn(q->sock, &c, e);
}

int turn_run(const struct turn_request *q, struct turn_result *ret, struct err *e)
{
	struct pump p = {.q = q, .r = ret, .fd = {-1, -1}};
	int rc;

	capture_begin(&ret->out, q->stdout_file, q->output_limit);
	capture_begin(&ret->err, q->stderr_file, q->output_limit);
	rc = warden_turn(q->sock, q->role, q->flags, &ret->ready, e);
	if (rc == 0)
		rc = start(q, &p, e);
	p.started_ms = now_ms();
	p.last_output_ms = p.started_ms;
	if (rc == 0)
		rc = pump_all(&p, e);
	fd_close(&p.fd[0]);
	fd_close(&p.fd[1]);
	if (rc == 0 && !p.ended)
		rc = warden_end(q->sock, false, NULL, &ret->changes, e);
	return rc;
}

void turn_result_done(struct turn_result *r)
{
	warden_ready_done(&r->ready);
	warden_changes_done(&r->changes);
	capture_done(&r->out);
	capture_done(&r->err);
}

int turn_exit(const struct turn_result *r)
{
	if ((r->exited.flags & EXITED_UNCONFINED) != 0)
		return RUN_UNCONFINED;
	if ((r->exited.flags & EXITED_DEADLINE) != 0 || r->idle)
		return RUN_DEADLINE;
	if (WIFSIGNALED(r->exited.wstatus))
		return 128 + WTERMSIG(r->exited.wstatus);
	return WEXITSTATUS(r->exited.wstatus);
}
