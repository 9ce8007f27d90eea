/* The policy's rules and the wire: every bound is tried from both sides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "protocol/frames.h"
#include "protocol/policy.h"
#include "roles/path.h"

struct fixture {
	struct policy_builder b;
	struct err e;
};

static uint32_t str(struct fixture *f, const char *s)
{
	uint32_t off = 0;

	assert_int_equal(policy_add_str(&f->b, s, &off), 0);
	return off;
}

static struct policy_list list(struct fixture *f, const char *const *v, uint32_t n)
{
	struct policy_list l = {0};

	assert_int_equal(policy_add_list(&f->b, v, n, &l), 0);
	return l;
}

static void entry(struct fixture *f, const char *path, int kind, int first, int second)
{
	uint32_t off = str(f, path);
	struct policy_entry *e = &f->b.p->entry[f->b.p->n_entries++];

	e->path = off;
	e->kind = (uint8_t)kind;
	e->level[0] = (uint8_t)first;
	e->level[1] = (uint8_t)second;
}

/* Two roles, three entries, one scratch folder: correct in everything. */
static int setup(void **state)
{
	static const char *const argv[] = {"agent", "-p", "{prompt}"};
	static const char *const env[] = {"A=1", "PATH=/bin:/usr/bin", "EMPTY="};
	static const char *const reads[] = {"/opt/node"};
	static const char *const scratch[] = {"build", "web/cache"};
	struct fixture *f = calloc(1, sizeof(*f));
	struct policy *p;
	struct policy_list l;

	assert_non_null(f);
	assert_int_equal(policy_begin(&f->b), 0);
	f->b.p->agent_user = str(f, "stint-agent");
	l = list(f, argv, 3), f->b.p->role[0].argv = l;
	l = list(f, env, 3), f->b.p->role[0].env = l;
	l = list(f, reads, 1), f->b.p->role[0].read = l;
	l = list(f, scratch, 2), f->b.p->scratch = l;
	p = f->b.p;
	p->umask = 022;
	p->layers = LAYER_ALL;
	p->n_roles = 2;
	strcpy(p->role[0].name, "developer");
	strcpy(p->role[1].name, "tester");
	p->role[0].n_ports = 1;
	p->role[0].ports[0] = 443;
	p->role[0].deadline_ms = 1000;
	p->limits = (struct policy_limits){.memory = 1, .file = 1, .processes = 1, .open_files = 1};
	entry(f, "src", POLICY_DIR, LEVEL_RW, LEVEL_NONE);
	entry(f, "tests", POLICY_DIR, LEVEL_NONE, LEVEL_RW);
	entry(f, "lib/core/TASKS.md", POLICY_FILE, LEVEL_R, LEVEL_R);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	policy_done(&f->b);
	free(f);
	return 0;
}

/* Seals, and says whether that was accepted. */
static int verdict(struct fixture *f)
{
	int fd = policy_seal(&f->b, &f->e);

	if (fd >= 0)
		close(fd);
	else
		assert_int_equal(f->e.exit, STOP_USAGE);
	return fd >= 0 ? 0 : fd;
}

/* The change makes a good policy a bad one: the fixture as it was is accepted first. */
#define BREAKS(state, change)                                   \
	do {                                                        \
		struct fixture *f = *(state);                           \
		struct policy *p = f->b.p;                              \
		assert_int_equal(verdict(f), 0);                        \
		change;                                                 \
		(void)p;                                                \
		assert_int_equal(verdict(f), -EINVAL);                  \
		teardown(state);                                        \
		setup(state);                                           \
	} while (0)

static void test_round_trip(void **state)
{
	struct fixture *f = *state;
	const struct policy *p = NULL;
	int fd = policy_seal(&f->b, &f->e);

	assert_true(fd >= 0);
	assert_int_equal(policy_map(fd, &p, &f->e), 0);
	assert_string_equal(policy_str(p, p->agent_user), "stint-agent");
	assert_string_equal(policy_item(p, p->role[0].argv, 2), "{prompt}");
	assert_string_equal(policy_item(p, p->role[0].env, 2), "EMPTY=");
	assert_string_equal(policy_item(p, p->scratch, 1), "web/cache");
	assert_string_equal(policy_str(p, p->entry[2].path), "lib/core/TASKS.md");
	assert_int_equal(policy_role_find(p, "tester"), 1);
	assert_int_equal(policy_role_find(p, "reviewer"), -1);
	policy_unmap(p);
	close(fd);
}

static void test_map_wants_a_seal(void **state)
{
	struct fixture *f = *state;
	const struct policy *p = NULL;
	int sealed = policy_seal(&f->b, &f->e);
	size_t n = sizeof(*f->b.p) + f->b.pool_len;
	int open_fd = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int cut;

	assert_int_equal(policy_map(sealed, &p, &f->e), 0);
	policy_unmap(p);
	assert_int_equal(fd_write_all(open_fd, f->b.p, n), 0);
	assert_int_equal(policy_map(open_fd, &p, &f->e), -EINVAL);
	cut = fd_sealed_memfd("cut", f->b.p, n - 1);
	assert_true(cut >= 0);
	assert_int_equal(policy_map(cut, &p, &f->e), -EINVAL);
	close(cut);
	close(open_fd);
	close(sealed);
}

static void test_header(void **state)
{
	BREAKS(state, p->n_roles = 0);
	BREAKS(state, p->n_roles = ROLE_MAX + 1);
	BREAKS(state, p->n_entries = POLICY_MAX_ENTRIES + 1);
	BREAKS(state, p->umask = 01000);
	BREAKS(state, p->layers = 0);
	BREAKS(state, p->layers = 8);
	BREAKS(state, p->agent_user = 0);
	BREAKS(state, p->agent_user = (uint32_t)f->b.pool_len);
	BREAKS(state, p->limits.memory = 0);
	BREAKS(state, p->limits.open_files = 0);
}

static void test_check_lengths(void **state)
{
	struct fixture *f = *state;
	size_t n = sizeof(*f->b.p) + f->b.pool_len;

	assert_int_equal(verdict(f), 0);
	assert_int_equal(policy_check(f->b.p, n, &f->e), 0);
	assert_int_equal(policy_check(f->b.p, n - 1, &f->e), -EINVAL);
	assert_int_equal(policy_check(f->b.p, sizeof(*f->b.p), &f->e), -EINVAL);
	assert_int_equal(policy_check(f->b.p, 0, &f->e), -EINVAL);
	f->b.p->magic++;
	assert_int_equal(policy_check(f->b.p, n, &f->e), -EINVAL);
	f->b.p->magic--;
	f->b.p->pool[f->b.pool_len - 1] = 'x';
	assert_int_equal(policy_check(f->b.p, n, &f->e), -EINVAL);
}

static void test_roles(void **state)
{
	BREAKS(state, strcpy(p->role[1].name, "developer"));
	BREAKS(state, strcpy(p->role[1].name, ""));
	BREAKS(state, strcpy(p->role[1].name, "../x"));
	BREAKS(state, memset(p->role[1].name, 'a', sizeof(p->role[1].name)));
	BREAKS(state, p->role[0].flags = 1u << 3);
	BREAKS(state, p->role[0].n_ports = POLICY_MAX_PORTS + 1);
	BREAKS(state, p->role[0].n_ports = 2);
	BREAKS(state, p->role[0].deadline_ms = UINT64_MAX);
	BREAKS(state, p->role[0].argv.n = POLICY_MAX_LIST);
	BREAKS(state, p->role[0].argv.off = UINT32_MAX);
	BREAKS(state, p->role[0].env.n = UINT32_MAX);
}

static void breaks_list(void **state, struct policy_list *(*pick)(struct policy *), const char *word)
{
	struct fixture *f = *state;
	struct policy_list l;

	assert_int_equal(verdict(f), 0);
	l = list(f, &word, 1);
	*pick(f->b.p) = l;
	assert_int_equal(verdict(f), -EINVAL);
	teardown(state);
	setup(state);
}

static struct policy_list *the_env(struct policy *p) { return &p->role[1].env; }
static struct policy_list *the_read(struct policy *p) { return &p->role[1].read; }
static struct policy_list *the_argv(struct policy *p) { return &p->role[1].argv; }
static struct policy_list *the_scratch(struct policy *p) { return &p->scratch; }

static void test_lists(void **state)
{
	static const char *const envs[] = {"A", "=x", "1A=x", "A-B=x", "LD_PRELOAD=x", "GLIBC_TUNABLES=x", ""};
	static const char *const reads[] = {"opt", "/", "/opt/", "/opt//x", "/opt/../etc", "/./opt", ""};
	static const char *const folders[] = {"/tmp", "..", "a/../b", "a/", "", ".git/x", ".stint", "src", "src/build", "lib"};

	for (size_t i = 0; i < sizeof(envs) / sizeof(envs[0]); i++)
		breaks_list(state, the_env, envs[i]);
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++)
		breaks_list(state, the_read, reads[i]);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		breaks_list(state, the_scratch, folders[i]);
	breaks_list(state, the_argv, "");
}

static void test_entry_paths(void **state)
{
	static const char *const bad[] = {"/etc", "..", "a/..", "./a", "a//b", "a/", ".git", ".stint", ".git/hooks", "x/.git",
	                                  "src", "src/inner", "lib/core", "lib"};
	static const char *const good[] = {"a", "srcs", "lib/corex", ".gitignore", "a.b/c d", ".stintx", "x/.stint"};
	char longest[POLICY_PATH_MAX + 2];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		BREAKS(state, entry(f, bad[i], POLICY_DIR, LEVEL_R, LEVEL_NONE));
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		entry(*state, good[i], POLICY_DIR, LEVEL_R, LEVEL_NONE);
		assert_int_equal(verdict(*state), 0);
	}
	memset(longest, 'a', sizeof(longest));
	longest[POLICY_PATH_MAX + 1] = '\0';
	BREAKS(state, entry(f, longest, POLICY_DIR, LEVEL_R, LEVEL_R));
	longest[POLICY_PATH_MAX] = '\0';
	entry(*state, longest, POLICY_DIR, LEVEL_R, LEVEL_R);
	assert_int_equal(verdict(*state), 0);
}

static void test_entry_fields(void **state)
{
	struct fixture *good;

	BREAKS(state, p->entry[0].level[0] = 3);
	BREAKS(state, p->entry[0].level[2] = LEVEL_R);
	BREAKS(state, p->entry[0].kind = 2);
	BREAKS(state, p->entry[0].flags = 2);
	BREAKS(state, p->entry[0].path = 0);
	BREAKS(state, p->entry[0].path = UINT32_MAX);
	good = *state;
	good->b.p->entry[2].flags = ENTRY_NAMED;
	entry(good, ".git", POLICY_DIR, LEVEL_NONE, LEVEL_NONE);
	assert_int_equal(verdict(good), 0);
}

static void test_builder_bounds(void **state)
{
	struct fixture *f = *state;
	const char *words[POLICY_MAX_LIST + 1];
	struct policy_list l;
	char *huge = malloc(POLICY_MAX_BYTES + 1);
	uint32_t off;

	for (size_t i = 0; i < POLICY_MAX_LIST + 1; i++)
		words[i] = "x";
	assert_int_equal(policy_add_list(&f->b, words, POLICY_MAX_LIST, &l), 0);
	assert_int_equal(policy_add_list(&f->b, words, POLICY_MAX_LIST + 1, &l), -E2BIG);
	assert_non_null(huge);
	memset(huge, 'x', POLICY_MAX_BYTES);
	huge[POLICY_MAX_BYTES] = '\0';
	assert_int_equal(policy_add_str(&f->b, huge, &off), -E2BIG);
	huge[POLICY_MAX_BYTES / 2] = '\0';
	assert_int_equal(policy_add_str(&f->b, huge, &off), 0);
	assert_int_equal(policy_add_str(&f->b, "", &off), 0);
	assert_int_equal(off, 0);
	free(huge);
	assert_int_equal(verdict(f), 0);
}

static void test_paths(void **state)
{
	(void)state;
	assert_true(path_overlap("a", "a/b"));
	assert_true(path_overlap("a/b", "a"));
	assert_true(path_overlap("a", "a"));
	assert_false(path_overlap("a", "ab"));
	assert_false(path_overlap("a/b", "a/c"));
	assert_true(path_private("a/.git/b"));
	assert_false(path_private("a/.gitx"));
	assert_false(path_private("a/.stint"));
}

/* ---- the wire */

static int n_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 64; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void pair(int sv[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
}

static void test_frame_round_trip(void **state)
{
	union frame f = {0};
	union frame got;
	int fds[FRAME_MAX_FDS];
	int sv[2];

	(void)state;
	pair(sv);
	for (uint32_t type = FRAME_POLICY; type < FRAME_TYPES; type++) {
		f.type = type;
		assert_int_equal(frame_send(sv[0], &f, (int[]){0, 1}, 2), 0);
		assert_int_equal(frame_recv(sv[1], &got, fds), 0);
		assert_int_equal(got.type, type);
		assert_true(fds[0] >= 0 && fds[1] >= 0 && fds[2] == -1 && fds[3] == -1);
		assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
		close(fds[0]);
		close(fds[1]);
	}
	close(sv[0]);
	assert_int_equal(frame_recv(sv[1], &got, fds), 1);
	assert_int_equal(frame_send(sv[1], &f, NULL, 0), -EPIPE);
	close(sv[1]);
}

/* A peer that never reads is an error, not a wait without end. */
static void test_frame_send_does_not_wait(void **state)
{
	union frame f = {.ready = {.type = FRAME_READY}};
	int sv[2];
	int rc = 0;

	(void)state;
	pair(sv);
	for (int i = 0; rc == 0 && i < 100000; i++)
		rc = frame_send(sv[0], &f, NULL, 0);
	assert_int_equal(rc, -EAGAIN);
	close(sv[0]);
	close(sv[1]);
}

static void test_frame_text_ends(void **state)
{
	union frame f = {.ready = {.type = FRAME_READY}};
	union frame got;
	int fds[FRAME_MAX_FDS];
	int sv[2];

	(void)state;
	pair(sv);
	memset(f.ready.msg, 'x', sizeof(f.ready.msg));
	assert_int_equal(frame_send(sv[0], &f, NULL, 0), 0);
	assert_int_equal(frame_recv(sv[1], &got, fds), 0);
	assert_int_equal(strlen(got.ready.msg), FRAME_MSG_MAX - 1);
	close(sv[0]);
	close(sv[1]);
}

/* Sends n raw bytes with n_fds descriptors and expects -EPROTO and no descriptor left behind. */
static void refused(const void *bytes, size_t n, size_t n_fds)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * 8)];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	union frame got;
	int fds[FRAME_MAX_FDS];
	int sv[2];
	int before;

	pair(sv);
	if (n_fds > 0) {
		int zeros[8] = {0};

		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(&control.header), zeros, sizeof(int) * n_fds);
	}
	before = n_open();
	assert_int_equal(sendmsg(sv[0], &msg, 0), n);
	assert_int_equal(frame_recv(sv[1], &got, fds), -EPROTO);
	assert_int_equal(n_open(), before);
	assert_int_equal(fds[0], -1);
	close(sv[0]);
	close(sv[1]);
}

static void test_frame_refusals(void **state)
{
	union frame f = {.type = FRAME_TURN};
	union frame unknown = {.type = FRAME_TYPES};
	char big[sizeof(union frame) + 64] = {0};

	(void)state;
	refused(&f, frame_size(FRAME_TURN) - 1, 0);
	refused(&f, frame_size(FRAME_TURN) + 1, 1);
	refused(&f, 1, 0);
	refused(&unknown, sizeof(unknown), 1);
	refused(&f, frame_size(FRAME_TURN), FRAME_MAX_FDS + 1);
	memcpy(big, &f, sizeof(f.type));
	refused(big, sizeof(big), 2);
	assert_int_equal(frame_size(FRAME_NONE), 0);
	assert_int_equal(frame_size(FRAME_TYPES), 0);
	assert_int_equal(frame_send(-1, &unknown, NULL, 0), -EINVAL);
	assert_string_equal(frame_name(FRAME_TYPES), "unknown");
	assert_string_equal(frame_name(FRAME_TURN), "TURN");
	assert_string_equal(prove_op_name(OP_DELETE), "delete");
	assert_string_equal(prove_op_name(OP_COUNT), "unknown");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_round_trip), CASE(test_map_wants_a_seal), CASE(test_header), CASE(test_check_lengths),
		CASE(test_roles), CASE(test_lists), CASE(test_entry_paths), CASE(test_entry_fields),
		CASE(test_builder_bounds), cmocka_unit_test(test_paths),
		cmocka_unit_test(test_frame_round_trip), cmocka_unit_test(test_frame_text_ends),
		cmocka_unit_test(test_frame_refusals), cmocka_unit_test(test_frame_send_does_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
