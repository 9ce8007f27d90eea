/* The warden's state machine: see warden.h. */
#include "sandbox/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"

#define PERMIT(frame) (1u << (frame))

#define LOCK_WAIT_MS 3000u   /* for a restore elsewhere to let go of the account */
#define LOCK_STEP_MS 50u
#define STOP_GRACE_MS 10000u /* after a signal, for the coordinator to end the run in order */

/* Which frame each state permits. Absent means the run is over. */
static const uint32_t permits[WARDEN_STATES] = {
	[WARDEN_START] = PERMIT(FRAME_POLICY),
	[WARDEN_IDLE] = PERMIT(FRAME_TURN),
	[WARDEN_READY] = PERMIT(FRAME_SPAWN) | PERMIT(FRAME_END),
	[WARDEN_RUNNING] = PERMIT(FRAME_END),
	[WARDEN_EXITED] = PERMIT(FRAME_END),
	[WARDEN_OVER] = 0,
};

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

/* The error becomes the answer's reason; the run ends after it. */
static void refuse(struct warden *w, uint32_t type, const struct err *e)
{
	union frame f = {.type = type};

	if (type == FRAME_CHANGED) {
		f.changed.status = e->code > 0 ? e->code : EPROTO;
		(void)snprintf(f.changed.msg, sizeof(f.changed.msg), "%s", e->msg);
	} else {
		f.ready.status = e->code > 0 ? e->code : EPROTO;
		f.ready.stop = e->exit > 0 ? e->exit : STOP_CONFINE;
		(void)snprintf(f.ready.msg, sizeof(f.ready.msg), "%s", e->msg);
	}
	(void)!frame_send(w->sock, &f, NULL, 0);
	w->state = WARDEN_OVER;
}

static int lock_within(int fd, unsigned int wait_ms)
{
	const struct timespec step = {.tv_nsec = LOCK_STEP_MS * 1000000L};
	int rc = flock(fd, LOCK_EX | LOCK_NB);

	for (unsigned int waited = 0; rc != 0 && errno == EWOULDBLOCK && waited < wait_ms; waited += LOCK_STEP_MS) {
		(void)nanosleep(&step, NULL);
		rc = flock(fd, LOCK_EX | LOCK_NB);
	}
	return rc;
}

int warden_lock_user(uid_t uid, unsigned int wait_ms, struct err *e)
{
	AUTO_FD dir = -1;
	AUTO_FD fd = -1;
	char name[48];

	if (mkdir(SANDBOX_RUN_DIR, 0755) != 0 && errno != EEXIST)
		return err_errno(e, errno, "cannot make %s", SANDBOX_RUN_DIR);
	dir = open(SANDBOX_RUN_DIR, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return err_errno(e, errno, "cannot open %s", SANDBOX_RUN_DIR);
	(void)snprintf(name, sizeof(name), "uid-%u.lock", uid);
	fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(e, errno, "cannot open the lock %s/%s", SANDBOX_RUN_DIR, name);
	if (lock_within(fd, wait_ms) != 0)
		return err_stop(e, STOP_CONFINE,
		                err_set(e, EBUSY, "agent user %u is in use: another run holds %s/%s: wait for it, or give this "
		                        "project its own agent_user (`stint setup --user NAME`)", uid, SANDBOX_RUN_DIR, name));
	return fd_take(&fd);
}

static int take_policy(struct warden *w, int fd, struct err *e)
{
	int rc = policy_map(fd, &w->policy, e);

	if (rc != 0)
		return rc;
	w->who.umask = (mode_t)(w->policy->umask & 0777u);
	rc = users_find(w->state_dir_fd, policy_str(w->policy, w->policy->agent_user), &w->who.agent, e);
	if (rc != 0)
		return err_stop(e, STOP_USAGE, rc);
	if (w->who.agent.uid == w->who.owner)
		return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "agent user %s owns the project: roles could not be told apart: "
		                                       "choose another agent_user", policy_str(w->policy, w->policy->agent_user)));
	w->lock_fd = warden_lock_user(w->who.agent.uid, LOCK_WAIT_MS, e);
	if (w->lock_fd < 0)
		return w->lock_fd;
	rc = kill_all_of(w->who.agent.uid, e);
	if (rc == 0)
		rc = tree_open(&w->tree, w->root_fd, w->root_path, w->policy, &w->who, e);
	if (rc == 0)
		rc = tree_repair(w->tree, e);
	return rc;
}

static void on_policy(struct warden *w, const union frame *f, const int *fds)
{
	union frame answer = {.type = FRAME_READY};
	struct err e = {0};

	(void)f;
	if (take_policy(w, fds[0], &e) != 0) {
		refuse(w, FRAME_READY, &e);
		return;
	}
	w->state = frame_send(w->sock, &answer, NULL, 0) == 0 ? WARDEN_IDLE : WARDEN_OVER;
}

static int prove_turn(struct warden *w, uint32_t flags, struct buf *cells, uint32_t *bad, struct err *e)
{
	int rc = prove_role(w, w->role, w->policy->layers, cells, bad, e);

	if (rc == 0 && (flags & TURN_PROVE_LAYERS) != 0 && w->policy->layers == LAYER_ALL) {
		rc = prove_role(w, w->role, LAYER_ACL, cells, bad, e);
		if (rc == 0)
			rc = prove_role(w, w->role, LAYER_LANDLOCK, cells, bad, e);
	}
	return rc;
}

static const struct prove_cell *first_bad(const struct buf *cells)
{
	const struct prove_cell *c = (const struct prove_cell *)(const void *)cells->data;

	for (size_t i = 0; i < cells->len / sizeof(*c); i++)
		if (c[i].expected != c[i].observed)
			return &c[i];
	return NULL;
}

static void describe_bad(struct warden *w, const struct buf *cells, struct frame_ready *ready)
{
	const struct prove_cell *c = first_bad(cells);

	if (c == NULL)
		return;
	ready->status = EPERM;
	ready->stop = STOP_CONFINE;
	(void)snprintf(ready->msg, sizeof(ready->msg),
	               "proof differs: %s may%s %s %s with layers 0x%x, the table says the opposite (errno %d): nothing was "
	               "started: run `stint matrix --prove` and `stint doctor`",
	               w->policy->role[c->role].name, c->observed ? "" : " not", prove_op_name(c->op), c->path, c->layers,
	               c->err);
}

static void on_turn(struct warden *w, const union frame *f, const int *fds)
{
	union frame answer = {.type = FRAME_READY};
	AUTO_BUF struct buf cells = {0};
	AUTO_FD memfd = -1;
	struct err e = {0};
	int rc;

	(void)fds;
	if (f->turn.role >= w->policy->n_roles) {
		w->state = WARDEN_OVER;
		return;
	}
	w->role = f->turn.role;
	rc = kill_all_of(w->who.agent.uid, &e);
	if (rc == 0)
		rc = (w->policy->layers & LAYER_ACL) != 0 ? tree_flip(w->tree, w->role, &e) : tree_refuse_links(w->tree, w->role, &e);
	if (rc == 0)
		rc = prove_turn(w, f->turn.flags, &cells, &answer.ready.n_bad, &e);
	if (rc == 0) {
		memfd = fd_sealed_memfd("stint-cells", cells.data, cells.len);
		rc = memfd < 0 ? err_errno(&e, -memfd, "cannot hand over the proof") : 0;
	}
	if (rc != 0) {
		refuse(w, FRAME_READY, &e);
		return;
	}
	answer.ready.landlock_abi = spawn_landlock_abi();
	answer.ready.n_cells = (uint32_t)(cells.len / sizeof(struct prove_cell));
	spawn_notes(w->policy, w->role, w->policy->layers, answer.ready.msg, sizeof(answer.ready.msg));
	if (answer.ready.n_bad > 0)
		describe_bad(w, &cells, &answer.ready);
	rc = frame_send(w->sock, &answer, &memfd, 1);
	w->state = rc == 0 && answer.ready.n_bad == 0 ? WARDEN_READY : WARDEN_OVER;
}

static void on_spawn(struct warden *w, const union frame *f, const int *fds)
{
	bool as_agent = (w->policy->layers & LAYER_ACL) != 0;
	struct spawn_spec spec = {
		.policy = w->policy,
		.role = w->role,
		.layers = w->policy->layers,
		.covers = (w->policy->layers & LAYER_LANDLOCK) != 0,
		.root_fd = w->root_fd,
		.root_path = w->root_path,
		.uid = as_agent ? w->who.agent.uid : w->who.owner,
		.gid = as_agent ? w->who.agent.gid : w->who.owner_gid,
		.writers = as_agent ? tree_writers(w->tree, w->role) : 0,
		.owner = w->who.owner,
		.owner_gid = w->who.owner_gid,
		.agent = w->who.agent.uid,
		.guard_fd = w->guard_fd,
		.probe_fd = -1,
		.iteration = f->spawn.iteration,
	};
	struct err e = {0};

	memcpy(spec.fds, fds, sizeof(spec.fds));
	memcpy(spec.task, f->spawn.task, sizeof(spec.task));
	spec.task[sizeof(spec.task) - 1] = '\0';
	if (spawn_start(&w->spawn, &spec, &e) != 0) {
		union frame answer = {.exited = {.type = FRAME_EXITED, .flags = EXITED_UNCONFINED}};

		(void)snprintf(answer.exited.msg, sizeof(answer.exited.msg), "%s", e.msg);
		w->state = frame_send(w->sock, &answer, NULL, 0) == 0 ? WARDEN_EXITED : WARDEN_OVER;
		return;
	}
	w->spawned = true;
	w->exited_flags = 0;
	w->deadline_ms = w->policy->role[w->role].deadline_ms;
	if (w->deadline_ms > 0)
		w->deadline_ms += now_ms();
	w->state = WARDEN_RUNNING;
}

/* The command and everything it started are gone after this. */
static void reap(struct warden *w)
{
	union frame answer = {.type = FRAME_EXITED};
	struct err e = {0};

	if (spawn_wait(&w->spawn, &answer.exited, &e) != 0) {
		answer.exited.flags |= EXITED_UNCONFINED;
		(void)snprintf(answer.exited.msg, sizeof(answer.exited.msg), "%s", e.msg);
	}
	answer.exited.type = FRAME_EXITED;
	answer.exited.flags |= w->exited_flags;
	w->spawned = false;
	w->state = frame_send(w->sock, &answer, NULL, 0) == 0 ? WARDEN_EXITED : WARDEN_OVER;
}

static void on_end(struct warden *w, const union frame *f, const int *fds)
{
	union frame answer = {.type = FRAME_CHANGED};
	struct tree_changes changes = {0};
	AUTO_FD memfd = -1;
	struct err e = {0};
	int rc;

	(void)f;
	(void)fds;
	if (w->spawned) {
		w->exited_flags |= EXITED_ABORTED;
		spawn_kill(&w->spawn);
		reap(w);
	}
	rc = kill_all_of(w->who.agent.uid, &e);
	if (rc == 0 && (w->policy->layers & LAYER_ACL) != 0)
		rc = tree_reclaim(w->tree, &changes, &e);
	if (rc == 0) {
		memfd = fd_sealed_memfd("stint-changes", changes.records.data, changes.records.len);
		rc = memfd < 0 ? err_errno(&e, -memfd, "cannot hand over the change list") : 0;
	}
	answer.changed.n_changes = changes.n_changes;
	answer.changed.n_anomalies = changes.n_anomalies;
	answer.changed.flags = changes.cut ? CHANGED_CUT : 0;
	tree_changes_done(&changes);
	if (rc != 0) {
		refuse(w, FRAME_CHANGED, &e);
		return;
	}
	rc = frame_send(w->sock, &answer, &memfd, 1);
	w->state = rc == 0 && w->state != WARDEN_OVER ? WARDEN_IDLE : WARDEN_OVER;
}

/* One row a request: how many descriptors come with it, and who answers. */
static const struct {
	unsigned int min_fds;
	unsigned int max_fds;
	void (*run)(struct warden *w, const union frame *f, const int *fds);
} requests[FRAME_TYPES] = {
	[FRAME_POLICY] = {1, 1, on_policy},
	[FRAME_TURN] = {0, 0, on_turn},
	[FRAME_SPAWN] = {2, FRAME_MAX_FDS, on_spawn},
	[FRAME_END] = {0, 0, on_end},
};

static void receive(struct warden *w)
{
	int fds[FRAME_MAX_FDS] = {-1, -1, -1, -1};
	unsigned int n = 0;
	union frame f;
	int rc = frame_recv(w->sock, &f, fds);

	while (rc == 0 && n < FRAME_MAX_FDS && fds[n] >= 0)
		n++;
	if (rc != 0 || (permits[w->state] & PERMIT(f.type)) == 0 || n < requests[f.type].min_fds ||
	    n > requests[f.type].max_fds)
		w->state = WARDEN_OVER;
	else
		requests[f.type].run(w, &f, fds);
	for (unsigned int i = 0; i < FRAME_MAX_FDS; i++)
		fd_close(&fds[i]);
}

/* When the next thing is due by the clock; 0: nothing. */
static uint64_t due(const struct warden *w)
{
	uint64_t deadline = w->spawned ? w->deadline_ms : 0;

	return deadline == 0 || (w->stop_ms != 0 && w->stop_ms < deadline) ? w->stop_ms : deadline;
}

static int timeout_of(const struct warden *w)
{
	uint64_t now = now_ms();
	uint64_t end = due(w);

	if (end == 0)
		return -1;
	if (end <= now)
		return 0;
	return end - now > 3600000u ? 3600000 : (int)(end - now);
}

/* The first signal is the coordinator's, which ends its turn, writes its record and closes; the second ends the run. */
static void on_signal(struct warden *w)
{
	struct signalfd_siginfo info;

	if (w->stop_ms != 0 || read(w->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info) || w->coordinator <= 0 ||
	    kill(w->coordinator, SIGTERM) != 0)
		w->state = WARDEN_OVER;
	w->stop_ms = now_ms() + STOP_GRACE_MS;
}

static void serve_once(struct warden *w)
{
	struct pollfd p[3] = {
		{.fd = w->sock, .events = POLLIN},
		{.fd = w->signal_fd, .events = POLLIN},
		{.fd = w->spawned ? w->spawn.pidfd : -1, .events = POLLIN},
	};
	int n = poll(p, 3, timeout_of(w));

	if (n < 0 && errno != EINTR)
		w->state = WARDEN_OVER;
	if (n < 0)
		return;
	if (w->stop_ms > 0 && now_ms() >= w->stop_ms) {
		w->state = WARDEN_OVER;
	} else if (w->spawned && w->deadline_ms > 0 && now_ms() >= w->deadline_ms) {
		w->exited_flags |= EXITED_DEADLINE;
		spawn_kill(&w->spawn);
		reap(w);
	} else if (p[2].revents != 0) {
		reap(w);
	} else if (p[1].revents != 0) {
		on_signal(w);
	} else if (p[0].revents != 0) {
		receive(w);
	}
}

/* Whatever ended the run: processes dead, ownership back, ACLs as before. */
static int put_back(struct warden *w, struct err *e)
{
	struct tree_changes changes = {0};
	struct frame_exited gone;
	struct err first = {0};
	int rc;

	if (w->spawned) {
		spawn_kill(&w->spawn);
		(void)!spawn_wait(&w->spawn, &gone, NULL);
		w->spawned = false;
	}
	if (w->lock_fd < 0 || w->tree == NULL)
		return 0;
	rc = kill_all_of(w->who.agent.uid, e);
	if (rc != 0)
		return rc;
	rc = tree_reclaim(w->tree, &changes, &first);
	tree_changes_done(&changes);
	if (rc != 0 && e != NULL)
		*e = first;
	if (tree_restore(w->tree, rc == 0 ? e : &first) != 0 && rc == 0)
		rc = e != NULL && e->code > 0 ? -e->code : -EIO;
	return rc;
}

int warden_serve(struct warden *w, struct err *e)
{
	int rc;

	while (w->state != WARDEN_OVER)
		serve_once(w);
	rc = put_back(w, e);
	fd_close(&w->sock); /* the coordinator's end of file: everything is back in place */
	tree_free(w->tree);
	w->tree = NULL;
	if (w->policy != NULL)
		policy_unmap(w->policy);
	w->policy = NULL;
	fd_close(&w->lock_fd);
	return rc;
}
