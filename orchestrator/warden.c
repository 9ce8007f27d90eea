/* The coordinator's side of the frames: see warden.h. */
#include "orchestrator/warden.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"

#define LIST_MAX (256u << 20) /* bytes of a change list: ten million short paths */

static int gone(struct err *e)
{
	return err_stop(e, STOP_CONFINE, err_set(e, EPIPE, "the warden is gone: the run is over and its agent is dead: run "
	                                         "`sudo stint restore` if nothing else did, then start again"));
}

static int send_frame(int sock, const union frame *f, const int *fds, unsigned int n, struct err *e)
{
	int rc = frame_send(sock, f, fds, n);

	if (rc == -EPIPE || rc == -ECONNRESET)
		return gone(e);
	if (rc != 0)
		return err_stop(e, STOP_CONFINE, err_errno(e, -rc, "cannot send %s to the warden", frame_name(f->type)));
	return 0;
}

/* Receives the one answer that may come now; a first descriptor goes to *ret_fd (-1 when none). */
static int recv_frame(int sock, uint32_t type, union frame *ret, int *ret_fd, struct err *e)
{
	int fds[FRAME_MAX_FDS] = {-1, -1, -1, -1};
	int rc = frame_recv(sock, ret, fds);

	if (rc == 0)
		*ret_fd = fd_take(&fds[0]);
	for (unsigned int i = 0; i < FRAME_MAX_FDS; i++)
		fd_close(&fds[i]);
	if (rc == 1 || rc == -ECONNRESET)
		return gone(e);
	if (rc == 0 && ret->type != type) {
		fd_close(ret_fd);
		rc = -EPROTO;
	}
	if (rc != 0)
		return err_stop(e, STOP_CONFINE, err_errno(e, -rc, "expected %s from the warden", frame_name(type)));
	return 0;
}

static int read_memfd(int fd, struct buf *ret, struct err *e)
{
	AUTO_FREE char *bytes = NULL;
	size_t n = 0;
	int rc;

	if (fd < 0)
		return 0;
	rc = lseek(fd, 0, SEEK_SET) == 0 ? fd_read_all(fd, LIST_MAX, &bytes, &n) : -errno;
	if (rc == 0)
		rc = buf_add(ret, bytes, n);
	return rc == 0 ? 0 : err_stop(e, STOP_CONFINE, err_errno(e, -rc, "cannot read what the warden handed over"));
}

static int ready_error(const struct frame_ready *r, struct err *e)
{
	if (r->status == 0)
		return 0;
	return err_stop(e, r->stop, err_set(e, r->status, "%.*s", (int)sizeof(r->msg) - 1, r->msg));
}

int warden_policy(int sock, int policy_fd, struct err *e)
{
	union frame f = {.policy = {.type = FRAME_POLICY}};
	AUTO_FD fd = -1;
	int rc = send_frame(sock, &f, &policy_fd, 1, e);

	if (rc == 0)
		rc = recv_frame(sock, FRAME_READY, &f, &fd, e);
	return rc == 0 ? ready_error(&f.ready, e) : rc;
}

void warden_ready_done(struct warden_ready *r)
{
	buf_done(&r->cells);
}

int warden_turn(int sock, unsigned int role, uint32_t flags, struct warden_ready *ret, struct err *e)
{
	union frame f = {.turn = {.type = FRAME_TURN, .role = role, .flags = flags}};
	AUTO_FD fd = -1;
	int rc = send_frame(sock, &f, NULL, 0, e);

	if (rc == 0)
		rc = recv_frame(sock, FRAME_READY, &f, &fd, e);
	if (rc != 0)
		return rc;
	rc = read_memfd(fd, &ret->cells, e);
	ret->n_cells = f.ready.n_cells;
	ret->n_bad = f.ready.n_bad;
	ret->landlock_abi = f.ready.landlock_abi;
	if (f.ready.status == 0)
		(void)snprintf(ret->notes, sizeof(ret->notes), "%.*s", (int)sizeof(f.ready.msg) - 1, f.ready.msg);
	return rc == 0 ? ready_error(&f.ready, e) : rc;
}

/* A title in an environment variable: one line, no control characters, cut at a whole character. */
static void clean_task(char ret[256], const char *task)
{
	AUTO_BUF struct buf b = {0};
	size_t n = task == NULL ? 0 : strlen(task);
	const char *s;
	size_t len;

	if (n == 0 || buf_add_escaped(&b, task, n, false) != 0 || (s = buf_str(&b)) == NULL)
		return;
	len = b.len;
	if (len > 255)
		for (len = 255; len > 0 && ((unsigned char)s[len] & 0xc0) == 0x80; len--)
			;
	memcpy(ret, s, len);
}

int warden_spawn(int sock, const struct warden_command *c, struct err *e)
{
	union frame f = {.spawn = {.type = FRAME_SPAWN, .iteration = c->iteration}};
	AUTO_FD empty = fd_sealed_memfd("stint-empty", "", 0);
	int fds[FRAME_MAX_FDS] = {[SPAWN_STDOUT] = c->stdout_fd, [SPAWN_STDERR] = c->stderr_fd};

	if (empty < 0)
		return err_stop(e, STOP_CONFINE, err_errno(e, -empty, "cannot make a memory file"));
	fds[SPAWN_PROMPT] = c->prompt_fd >= 0 ? c->prompt_fd : empty;
	fds[SPAWN_SUITE_LOG] = c->suite_log_fd >= 0 ? c->suite_log_fd : empty;
	f.spawn.n_fds = FRAME_MAX_FDS;
	clean_task(f.spawn.task, c->task);
	return send_frame(sock, &f, fds, FRAME_MAX_FDS, e);
}

int warden_exited(int sock, struct frame_exited *ret, struct err *e)
{
	AUTO_FD fd = -1;
	union frame f;
	int rc = recv_frame(sock, FRAME_EXITED, &f, &fd, e);

	if (rc == 0)
		*ret = f.exited;
	return rc;
}

void warden_changes_done(struct warden_changes *c)
{
	buf_done(&c->records);
}

int warden_end(int sock, bool running, struct frame_exited *ret_exited, struct warden_changes *ret, struct err *e)
{
	union frame f = {.end = {.type = FRAME_END}};
	AUTO_FD fd = -1;
	int rc = send_frame(sock, &f, NULL, 0, e);

	if (rc == 0 && running)
		rc = warden_exited(sock, ret_exited, e);
	if (rc == 0)
		rc = recv_frame(sock, FRAME_CHANGED, &f, &fd, e);
	if (rc != 0)
		return rc;
	if (f.changed.status != 0)
		return err_stop(e, STOP_CONFINE, err_set(e, f.changed.status, "%.*s", (int)sizeof(f.changed.msg) - 1, f.changed.msg));
	ret->n_changes = f.changed.n_changes;
	ret->n_anomalies = f.changed.n_anomalies;
	ret->cut = (f.changed.flags & CHANGED_CUT) != 0;
	return read_memfd(fd, &ret->records, e);
}
