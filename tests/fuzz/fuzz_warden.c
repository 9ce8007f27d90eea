/* Frames from a coordinator that is not to be trusted, against the warden's own state machine (sandbox/warden_loop.c, taken
 * in whole), with everything that touches the machine replaced by a model that checks the order.
 *
 * Input: one step after another, each an opcode and its bytes: frames well-formed and raw, with any number of descriptors; the
 * command's end; the clock; a signal; parts that fail. Then the coordinator is gone. Checked, beside memory:
 * - nothing is flipped before a policy, nothing flipped or reclaimed while something of the agent user may live, nothing
 *   spawned unless this role's turn is flipped and proved, and each turn is reclaimed before the next;
 * - however it ends: the command is killed, the tree reclaimed and restored once it was opened, no descriptor is left;
 * - answers are those of docs/architecture.md, in its order, and a refusal is the last one. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "protocol/frames.h"
#include "sandbox/warden.h"

#define AGENT 4000000001u
#define AGENT_GID 4000000002u
#define WRITERS 61005
#define OWNER 4000000000u
#define N_ROLES 3u

enum part { P_USERS, P_KILL, P_OPEN, P_REPAIR, P_FLIP, P_PROVE, P_SPAWN, P_RECLAIM, P_RESTORE, P_WAIT };

static struct model {
	const uint8_t *p;            /* steps to come */
	size_t n;
	int peer;                    /* the coordinator's end */
	int signals;
	int exited;                  /* readable: the command has ended */
	uint64_t clock_ms;
	unsigned int fails;          /* bit of enum part: fails from now on */
	bool bad_proof;
	bool alive;                  /* something of the agent user may live */
	bool opened, repaired, flipped, proved, spawned, restored;
	unsigned int role;
} m;

static int run_dir = -1;
static char run_path[64];
static int policy_fd = -1;       /* sealed and right */
static int garbage_fd = -1;      /* sealed and wrong */
static int open_fd = -1;         /* not sealed */

static int fails(enum part part, struct err *e)
{
	return (m.fails & (1u << part)) != 0 ? err_set(e, EIO, "part %d fails", part) : 0;
}

/* ---- what the warden calls */

int users_find(int state_dir_fd, const char *name, struct acl_agent *ret, struct err *e)
{
	CHECK(state_dir_fd == 1000 && str_eq(name, "agent"));
	*ret = (struct acl_agent){AGENT, AGENT_GID, WRITERS};
	return fails(P_USERS, e);
}

int kill_all_of(uid_t uid, struct err *e)
{
	CHECK(uid == AGENT && !m.spawned);
	if (fails(P_KILL, e) != 0)
		return -EIO;
	m.alive = false;
	return 0;
}

int tree_open(struct tree **ret, int root_fd, const char *path, const struct policy *p, const struct tree_owner *who,
              struct err *e)
{
	CHECK(root_fd == 1001 && str_eq(path, "/project") && p->n_roles == N_ROLES && !m.opened && !m.alive);
	CHECK(who->owner == OWNER && who->agent.uid == AGENT && who->agent.gid == AGENT_GID && who->agent.writers == WRITERS);
	if (fails(P_OPEN, e) != 0)
		return -EIO;
	m.opened = true;
	*ret = (struct tree *)(void *)&m;
	return 0;
}

void tree_free(struct tree *t)
{
	CHECK(t == NULL || (m.opened && !m.spawned));
}

int tree_repair(struct tree *t, struct err *e)
{
	CHECK(t != NULL && m.opened && !m.repaired && !m.alive);
	m.repaired = true;
	return fails(P_REPAIR, e);
}

gid_t tree_writers(const struct tree *t, unsigned int role)
{
	CHECK(t != NULL && role < N_ROLES);
	return role == 0 ? WRITERS : 0;
}

int tree_flip(struct tree *t, unsigned int role, struct err *e)
{
	CHECK(t != NULL && m.repaired && !m.flipped && !m.alive && !m.restored && role < N_ROLES);
	m.flipped = true; /* even half of it must be taken back */
	m.role = role;
	return fails(P_FLIP, e);
}

int tree_refuse_links(const struct tree *t, unsigned int role, struct err *e)
{
	CHECK(t == NULL && role >= N_ROLES); /* the policy has the layer acl */
	return err_set(e, EIO, "no acl");
}

int prove_role(struct warden *w, unsigned int role, unsigned int layers, struct buf *cells, uint32_t *n_bad, struct err *e)
{
	struct prove_cell cell = {.role = role, .layers = layers, .op = OP_READ, .expected = 1, .observed = !m.bad_proof, .path = "src"};

	CHECK(w->state == WARDEN_IDLE && m.flipped && role == m.role && !m.alive);
	m.proved = !m.bad_proof;
	*n_bad += m.bad_proof ? 1 : 0;
	return buf_add(cells, &cell, sizeof(cell)) != 0 ? -ENOMEM : fails(P_PROVE, e);
}

int spawn_start(struct spawn *ret, const struct spawn_spec *s, struct err *e)
{
	CHECK(m.flipped && m.proved && !m.spawned && !m.alive && s->role == m.role);
	CHECK(s->uid == AGENT && s->gid == AGENT_GID && s->writers == (s->role == 0 ? WRITERS : 0));
	CHECK(s->probe_fd == -1 && s->covers && s->layers == LAYER_ALL);
	CHECK(s->fds[0] >= 0 && s->fds[1] >= 0 && memchr(s->task, '\0', sizeof(s->task)) != NULL);
	if (fails(P_SPAWN, e) != 0)
		return -EIO;
	*ret = (struct spawn){.init = 1, .pidfd = m.exited};
	m.spawned = m.alive = true;
	return 0;
}

void spawn_kill(struct spawn *s)
{
	CHECK(m.spawned && s->pidfd == m.exited);
}

int spawn_wait(struct spawn *s, struct frame_exited *ret, struct err *e)
{
	uint64_t n;

	CHECK(m.spawned && s->pidfd == m.exited);
	(void)!read(m.exited, &n, sizeof(n));
	m.spawned = false;
	*s = (struct spawn){0};
	ret->wstatus = 0;
	return fails(P_WAIT, e);
}

unsigned int spawn_landlock_abi(void)
{
	return 7;
}

void spawn_notes(const struct policy *p, unsigned int role, unsigned int layers, char *msg, unsigned int size)
{
	CHECK(role < p->n_roles && layers == LAYER_ALL && size == FRAME_MSG_MAX);
	(void)snprintf(msg, size, "notes");
}

int tree_reclaim(struct tree *t, struct tree_changes *ret, struct err *e)
{
	CHECK(t != NULL && !m.alive && !m.spawned && !m.restored);
	if (fails(P_RECLAIM, e) != 0)
		return -EIO;
	m.flipped = m.proved = false;
	ret->n_changes = 1;
	return buf_add(&ret->records, "Msrc/a.c", 9);
}

void tree_changes_done(struct tree_changes *c)
{
	buf_done(&c->records);
	*c = (struct tree_changes){0};
}

int tree_restore(struct tree *t, struct err *e)
{
	CHECK(t != NULL && m.opened && !m.alive && !m.restored);
	CHECK(!m.flipped || (m.fails & (1u << P_RECLAIM)) != 0);
	m.restored = true;
	return fails(P_RESTORE, e);
}

/* ---- what the warden asks of the kernel */

static int model_kill(pid_t pid, int signal)
{
	CHECK(pid == 77 && signal == SIGTERM);
	return 0;
}

static int model_clock(clockid_t id, struct timespec *ret)
{
	CHECK(id == CLOCK_MONOTONIC);
	*ret = (struct timespec){.tv_sec = (time_t)(m.clock_ms / 1000), .tv_nsec = (long)(m.clock_ms % 1000) * 1000000};
	return 0;
}

static uint8_t next_byte(void)
{
	if (m.n == 0)
		return 0;
	m.n--;
	return *m.p++;
}

static void send_raw(const void *bytes, size_t n, const int *fds, size_t n_fds)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * 8)];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (n_fds > 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * n_fds);
	}
	(void)!sendmsg(m.peer, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* A frame of the right size: role, flags or count, and text from the input. */
static void send_frame(uint32_t type, unsigned int n_fds)
{
	int fds[8] = {policy_fd, open_fd, open_fd, open_fd, open_fd, open_fd, open_fd, open_fd};
	union frame f = {.type = type};
	size_t n = frame_size(type);

	if (type == FRAME_POLICY) {
		static int *const choice[] = {&policy_fd, &policy_fd, &policy_fd, &garbage_fd, &open_fd};

		fds[0] = *choice[next_byte() % 5];
	} else if (type == FRAME_TURN) {
		f.turn.role = next_byte();
		f.turn.flags = next_byte();
	} else if (type == FRAME_SPAWN) {
		f.spawn.n_fds = n_fds;
		f.spawn.iteration = next_byte();
		memset(f.spawn.task, next_byte(), sizeof(f.spawn.task));
	}
	send_raw(&f, n == 0 ? 1 : n, fds, n_fds);
}

static void send_bytes(size_t n, unsigned int n_fds)
{
	int fds[8] = {open_fd, open_fd, open_fd, open_fd, open_fd, open_fd, open_fd, open_fd};
	uint8_t bytes[2 * sizeof(union frame)] = {0};

	for (size_t i = 0; i < n && i < 24; i++)
		bytes[i] = next_byte();
	send_raw(bytes, n < 1 ? 1 : n < sizeof(bytes) ? n : sizeof(bytes), fds, n_fds);
}

/* One step of the input: something becomes readable, or time passes. */
static void step(void)
{
	static const uint32_t orderly[] = {FRAME_POLICY, FRAME_TURN, FRAME_SPAWN, FRAME_END};
	struct signalfd_siginfo info = {.ssi_signo = SIGTERM};
	uint8_t op = next_byte();
	uint64_t one = 1;

	switch (op % 16) {
	case 0: case 1: case 2: case 3:
		send_frame(orderly[op % 4], op % 4 == 0 ? 1 : op % 4 == 2 ? 2 + op / 16 % 3 : 0);
		break;
	case 4: send_frame(op / 16, next_byte() % 9); break;
	case 5: send_bytes((size_t)next_byte() * 8 + next_byte() % 8, op / 16 % 9); break;
	case 6: CHECK(!m.spawned || write(m.exited, &one, sizeof(one)) == sizeof(one)); break;
	case 7: m.clock_ms += (uint64_t)next_byte() * 1000; break;
	case 8: (void)!write(m.signals, &info, op / 16 == 15 ? 1 : sizeof(info)); break;
	case 9: m.fails ^= 1u << (next_byte() % 10); break;
	case 10: m.bad_proof = !m.bad_proof; break;
	default: send_frame(orderly[op / 16 % 4], op / 16 % 4 == 0 ? 1 : op / 16 % 4 == 2 ? 3 : 0); break;
	}
}

/* Waits for nothing: where the kernel would, the next step is taken, and without one the coordinator goes. */
static int model_poll(struct pollfd *p, nfds_t n, int timeout)
{
	for (;;) {
		uint64_t before = m.clock_ms;
		int got = poll(p, n, 0);

		if (got != 0 || timeout == 0)
			return got;
		if (m.n == 0) /* its end of file; answers can still be read */
			CHECK(shutdown(m.peer, SHUT_WR) == 0);
		else
			step();
		if (timeout > 0 && m.clock_ms - before >= (uint64_t)timeout)
			return poll(p, n, 0);
	}
}

#undef SANDBOX_RUN_DIR
#define SANDBOX_RUN_DIR run_path
#define kill model_kill
#define poll(p, n, timeout) model_poll(p, n, timeout)
#define clock_gettime model_clock
#include "sandbox/warden_loop.c"
#undef kill
#undef poll
#undef clock_gettime

/* ---- the target */

static void make_policy(void)
{
	static const char *const names[N_ROLES] = {"developer", "tester", "reviewer"};
	struct policy_builder b = {0};
	struct err e = {0};
	uint32_t off = 0;

	CHECK(policy_begin(&b) == 0);
	CHECK(policy_add_str(&b, "agent", &off) == 0);
	b.p->agent_user = off;
	CHECK(policy_add_str(&b, "src", &off) == 0);
	b.p->entry[0] = (struct policy_entry){.path = off, .kind = POLICY_DIR, .level = {LEVEL_RW}};
	b.p->n_entries = 1;
	b.p->umask = 022;
	b.p->layers = LAYER_ALL;
	b.p->n_roles = N_ROLES;
	for (size_t i = 0; i < N_ROLES; i++)
		memcpy(b.p->role[i].name, names[i], strlen(names[i]));
	b.p->role[1].deadline_ms = 60000;
	b.p->limits = (struct policy_limits){.memory = 1, .file = 1, .processes = 1, .open_files = 1};
	policy_fd = policy_seal(&b, &e);
	garbage_fd = fd_sealed_memfd("garbage", b.p, sizeof(*b.p) + 1);
	open_fd = memfd_create("open", MFD_CLOEXEC);
	CHECK(policy_fd >= 0 && garbage_fd >= 0 && open_fd >= 0);
	policy_done(&b);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char link[64];
	ssize_t n;

	(void)argc, (void)argv;
	run_dir = fuzz_folder();
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", run_dir);
	n = readlink(link, run_path, sizeof(run_path) - 1);
	CHECK(n > 0);
	make_policy();
	return 0;
}

/* The answers: READY to the policy; then for each turn READY, EXITED or none, CHANGED. A refusal is the last. */
static void check_answers(int peer)
{
	enum { POLICY, TURN, SPAWN, RUNNING, REFUSED } at = POLICY;
	int fds[FRAME_MAX_FDS];
	union frame f;

	while (frame_recv(peer, &f, fds) == 0) {
		for (size_t i = 0; i < FRAME_MAX_FDS; i++)
			fd_close(&fds[i]);
		CHECK(at != REFUSED);
		if (f.type == FRAME_READY) {
			CHECK(at == POLICY || at == TURN);
			at = f.ready.status != 0 ? REFUSED : at == POLICY ? TURN : SPAWN;
		} else if (f.type == FRAME_EXITED) {
			CHECK(at == SPAWN);
			at = RUNNING;
		} else {
			CHECK(f.type == FRAME_CHANGED && (at == SPAWN || at == RUNNING));
			at = f.changed.status != 0 ? REFUSED : TURN;
		}
	}
}

static unsigned int open_descriptors(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 48; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void check_end(const struct warden *w, int rc, const struct err *e)
{
	bool stuck = (m.fails & (1u << P_KILL)) != 0;

	CHECK(w->sock == -1 && w->lock_fd == -1 && w->policy == NULL && w->tree == NULL && !w->spawned && !m.spawned);
	if (m.opened && !stuck)
		CHECK(m.restored && !m.alive);
	if (m.opened && (m.fails & (1u << P_KILL | 1u << P_RECLAIM | 1u << P_RESTORE)) != 0)
		CHECK(rc != 0 && e->msg[0] != '\0');
	else
		CHECK(rc == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct warden w = {.root_fd = 1001, .root_path = "/project", .state_dir_fd = 1000, .guard_fd = 1002, .lock_fd = -1,
	                   .coordinator = 77, .who = {.owner = OWNER, .owner_gid = OWNER}};
	unsigned int before = open_descriptors();
	struct err e = {0};
	int sock[2], pipes[2];
	int rc;

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) == 0 && pipe2(pipes, O_CLOEXEC | O_NONBLOCK) == 0);
	m = (struct model){.p = data, .n = n, .peer = sock[1], .signals = pipes[1], .exited = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
	                   .clock_ms = 1000, .alive = true};
	w.sock = sock[0];
	w.signal_fd = pipes[0];
	rc = warden_serve(&w, &e);
	check_end(&w, rc, &e);
	check_answers(sock[1]);
	CHECK(close(sock[1]) == 0 && close(pipes[0]) == 0 && close(pipes[1]) == 0 && close(m.exited) == 0);
	CHECK(open_descriptors() == before);
	return 0;
}
