/* Profiles: every built-in one as BPF, instruction by instruction, against its rows judged without BPF; files, flattened and refused. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "base/str.h"
#include "orchestrator/profile_file.h"
#include "sandbox/profiles.h"
#include "sandbox/sets.h"
#include "tests/unit/bpf.h"

#define KILLED (-SIGSYS)
#define HIGH UINT64_C(0xabcdef0100000000) /* what an int argument may carry in its upper half */
#define X32 0x40000000
#define LAST 600

/* ---- the rows' own verdict */

static bool holds(const struct profile_row *r, const struct seccomp_data *d)
{
	for (unsigned int i = 0; i < r->n_cond; i++) {
		uint64_t mask = r->cond[i].wide ? r->cond[i].mask : r->cond[i].mask & UINT32_MAX;

		if ((d->args[r->cond[i].arg] & mask) != (r->cond[i].value & mask))
			return false;
	}
	return true;
}

/* Of several refusals that hold, libseccomp decides which errno is seen: any of them is right. */
static bool as_listed(const struct profile *p, const struct seccomp_data *d, int got)
{
	bool allowed = false;
	bool refused = false;
	bool same = false;

	for (size_t i = 0; i < p->n; i++) {
		const struct profile_row *r = &p->row[i];

		if (profile_call_number(r->call) != d->nr || !holds(r, d))
			continue;
		allowed = allowed || r->action == PROFILE_ALLOW;
		refused = refused || r->action != PROFILE_ALLOW;
		same = same || (r->action == PROFILE_ERRNO && r->error == got) || (r->action == PROFILE_KILL && got == KILLED);
	}
	if (refused)
		return same;
	return allowed ? got == 0 : got == (p->otherwise == PROFILE_KILL ? KILLED : p->otherwise_error);
}

static int verdict(const struct filter *f, const struct seccomp_data *d)
{
	uint32_t r = bpf_run(f, d);

	switch (r & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_KILL_PROCESS: return KILLED;
	case SECCOMP_RET_ERRNO: return (int)(r & SECCOMP_RET_DATA);
	default: assert_int_equal(r, SECCOMP_RET_ALLOW); return 0;
	}
}

static void same(const struct profile *p, const struct filter *f, struct seccomp_data *d)
{
	int got = verdict(f, d);

	if (!as_listed(p, d, got))
		fail_msg("%s: call %d (0x%llx, 0x%llx, 0x%llx): %d is not what the rows say", p->name, d->nr,
		         (unsigned long long)d->args[0], (unsigned long long)d->args[1], (unsigned long long)d->args[2], got);
}

/* Every argument value that a row of this call asks for, alone and with bits that must not matter; and with one bit wrong. */
static void same_for_rows(const struct profile *p, const struct filter *f, int nr)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct profile_row *r = &p->row[i];
		struct seccomp_data d = {.nr = nr, .arch = NATIVE};

		if (r->n_cond == 0 || profile_call_number(r->call) != nr)
			continue;
		for (unsigned int k = 0; k < r->n_cond; k++)
			d.args[r->cond[k].arg] = r->cond[k].value;
		same(p, f, &d);
		for (unsigned int k = 0; k < r->n_cond; k++) {
			struct seccomp_data other = d;

			other.args[r->cond[k].arg] |= r->cond[k].wide ? 0 : HIGH;
			same(p, f, &other);
			other.args[r->cond[k].arg] ^= r->cond[k].mask & -r->cond[k].mask;
			same(p, f, &other);
			other.args[r->cond[k].arg] = ~d.args[r->cond[k].arg];
			same(p, f, &other);
		}
	}
}

static void exactly(const struct profile *p, const struct filter *f)
{
	static const uint64_t values[] = {0, 1, 2, 3, 10, 16, 17, 0x5412, 0xffffffff, UINT64_MAX};

	for (int nr = 0; nr <= LAST; nr++) {
		struct seccomp_data d = {.nr = nr, .arch = NATIVE};

		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			for (size_t a = 0; a < 6; a++)
				d.args[a] = values[v];
			same(p, f, &d);
		}
		same_for_rows(p, f, nr);
		/* Foreign entries: nothing gets through, whatever the number is there. */
		d = (struct seccomp_data){.nr = nr, .arch = FOREIGN};
		assert_int_equal(verdict(f, &d), KILLED);
#if defined(__x86_64__)
		d = (struct seccomp_data){.nr = nr | X32, .arch = NATIVE};
		assert_int_equal(verdict(f, &d), KILLED);
#endif
	}
}

static void builtins_exactly(void **state)
{
	(void)state;
	for (const struct profile_builtin *b = profile_builtins; b->name != NULL; b++) {
		for (int net = 0; net <= 1; net++) {
			const struct filter *f = filter_find(b->name, net != 0);
			struct profile p;
			struct err e = {0};

			assert_non_null(f);
			profile_begin(&p, b->name);
			assert_int_equal(profile_add_builtin(&p, b, net != 0, &e), 0);
			exactly(&p, f);
			profile_done(&p);
		}
	}
}

/* ---- files */

static int parse(struct profile *p, const char *text, struct err *e)
{
	return profile_parse(p, "x.yaml", text, strlen(text), false, e);
}

/* The answer to a call with up to three arguments. */
static int asks(const char *text, long nr, uint64_t a, uint64_t b, uint64_t c)
{
	struct seccomp_data d = {.nr = (int)nr, .arch = NATIVE, .args = {a, b, c}};
	struct profile_program made = {0};
	struct filter f;
	struct profile p = {0};
	struct err e = {0};
	int got;

	if (parse(&p, text, &e) != 0 || profile_compile(&p, &made, &e) != 0)
		fail_msg("%s: %s", text, e.msg);
	f = (struct filter){p.name, false, made.n, made.insn};
	got = verdict(&f, &d);
	exactly(&p, &f);
	profile_program_done(&made);
	profile_done(&p);
	return got;
}

static void files(void **state)
{
	(void)state;
	assert_int_equal(asks("extends: strict\n", SYS_read, 0, 0, 0), 0);
	assert_int_equal(asks("extends: strict\n", SYS_getpid, 0, 0, 0), ENOSYS);
	assert_int_equal(asks("extends: [strict]\nallow: [getpid]\n", SYS_getpid, 0, 0, 0), 0);
	assert_int_equal(asks("extends: [strict]\ndefault: errno EACCES\n", SYS_getpid, 0, 0, 0), EACCES);
	assert_int_equal(asks("extends: [strict]\ndefault: kill\n", SYS_getpid, 0, 0, 0), KILLED);
	assert_int_equal(asks("allow: ['@start', '@io']\n", SYS_write, 0, 0, 0), 0);
	/* a refusal of the file's own is seen with its errno, whatever the default */
	assert_int_equal(asks("extends: agent\ndeny: [getpid]\n", SYS_getpid, 0, 0, 0), EPERM);
	assert_int_equal(asks("extends: agent\ndeny: [{call: getpid, errno: ENOENT}]\n", SYS_getpid, 0, 0, 0), ENOENT);
	assert_int_equal(asks("extends: agent\ndeny: [{call: getpid, errno: kill}]\n", SYS_getpid, 0, 0, 0), KILLED);
	assert_int_equal(asks("extends: agent\ndeny: ['@aio']\n", SYS_io_setup, 0, 0, 0), EPERM);
	/* what the file allows stands in place of what it extends … */
	assert_int_equal(asks("extends: agent\n", SYS_ptrace, 0, 0, 0), EPERM);
	assert_int_equal(asks("extends: agent\nallow: [ptrace]\n", SYS_ptrace, 0, 0, 0), 0);
	/* … but for refusals that look at arguments */
	assert_int_equal(asks("extends: agent\nallow: [ioctl]\n", SYS_ioctl, 0, 0x5412, 0), EPERM);
	assert_int_equal(asks("extends: agent\nallow: [ioctl]\n", SYS_ioctl, 0, HIGH | 0x5412, 0), EPERM);
	assert_int_equal(asks("extends: agent\nallow: [{call: ioctl, if: [{arg: 1, is: TCGETS}]}]\n", SYS_ioctl, 0, 0x5401, 0), 0);
	assert_int_equal(asks("extends: agent\nallow: [{call: ioctl, if: [{arg: 1, is: TCGETS}]}]\n", SYS_ioctl, 0, 0x541b, 0), ENOSYS);
}

static void conditions(void **state)
{
#define KILL0 "extends: strict\nallow: [{call: kill, if: {arg: 1, is: 0}}]\n"
#define WIDE "extends: strict\nallow: [{call: lseek, if: {arg: 1, is: 0x100000002, bits: 64}}]\n"
#define MASK "extends: strict\nallow: [{call: dup2, if: [{arg: 0, is: 1, mask: 0xf1}, {arg: 1, is: 2}]}]\n"
	(void)state;
	assert_int_equal(asks(KILL0, SYS_kill, 7, 0, 0), 0);
	assert_int_equal(asks(KILL0, SYS_kill, 7, HIGH, 0), 0);
	assert_int_equal(asks(KILL0, SYS_kill, 7, 9, 0), ENOSYS);
	assert_int_equal(asks(WIDE, SYS_lseek, 0, 0x100000002, 0), 0);
	assert_int_equal(asks(WIDE, SYS_lseek, 0, 2, 0), ENOSYS);
#if defined(SYS_dup2)
	assert_int_equal(asks(MASK, SYS_dup2, 0x0f, 2, 0), 0);
	assert_int_equal(asks(MASK, SYS_dup2, 0x1f, 2, 0), ENOSYS);
	assert_int_equal(asks(MASK, SYS_dup2, 0x0f, 3, 0), ENOSYS);
#endif
	assert_int_equal(asks("extends: strict\nallow: [{call: socket, if: {arg: 0, is: AF_UNIX}}]\n", SYS_socket, AF_UNIX, 0, 0), 0);
}

static void refused(const char *text, const char *place, const char *words)
{
	struct profile p = {0};
	struct err e = {0};
	char begin[64];

	(void)snprintf(begin, sizeof(begin), "x.yaml:%s: ", place);
	if (parse(&p, text, &e) == 0)
		fail_msg("accepted: %s", text);
	if (!str_starts(e.msg, begin) || strstr(e.msg, words) == NULL)
		fail_msg("%s: %s", text, e.msg);
}

static void mistakes(void **state)
{
	(void)state;
	refused("", "1:1", "empty profile");
	refused("extends: strict\nallow: [getpud]\n", "2:9", "did you mean getpid?");
	refused("extends: strict\ndeny: [{call: xyzzyxyzzy}]\n", "2:15", "unknown system call");
	refused("extends: agnet\n", "1:10", "did you mean agent?");
	refused("extends: owner\n", "1:10", "unknown profile");
	refused("extends: strict\nallow: ['@file-reed']\n", "2:9", "did you mean @file-read?");
	refused("extends: strict\nalow: []\n", "2:1", "did you mean allow?");
	refused("extends: strict\ndefault: EPERM\n", "2:10", "errno NAME");
	refused("extends: strict\ndefault: errno EPREM\n", "2:10", "errno NAME");
	refused("extends: strict\nallow: [{if: {arg: 0, is: 1}}]\n", "2:9", "without call");
	refused("extends: strict\nallow: [{call: dup, if: {arg: 6, is: 1}}]\n", "2:31", "0 to 5");
	refused("extends: strict\nallow: [{call: dup, if: {arg: 0}}]\n", "2:25", "{arg: N, is: VALUE}");
	refused("extends: strict\nallow: [{call: dup, if: {arg: 0, is: -1}}]\n", "2:38", "no number");
	refused("extends: strict\nallow: [{call: dup, if: {arg: 0, is: 0x100000000}}]\n", "2:25", "bits: 64");
	refused("extends: strict\nallow: [{call: dup, if: {arg: 0, is: 2, mask: 1}}]\n", "2:25", "never holds");
	refused("extends: strict\nallow: [{call: dup, if: [{arg: 0, is: 1}, {arg: 0, is: 2}]}]\n", "2:43", "twice");
	refused("extends: strict\nallow: [{call: '@io', if: {arg: 0, is: 1}}]\n", "2:16", "conditions belong to one call");
	refused("extends: strict\nallow: [{call: dup, errno: EPERM}]\n", "2:21", "belongs to an entry of deny");
	refused("extends: strict\nallow: [dup]\ndeny: [dup]\n", "3:8", "allowed and refused");
	refused("extends: strict\nname: agent\n", "2:7", "built-in");
	refused("extends: strict\nallow: [{call: socket, if: {arg: 0, is: AF_UNX}}]\n", "2:41", "did you mean AF_UNIX?");
	refused("allow: [read]\n", "1:1", "execve is not allowed");
	refused("extends: agent\ndeny: [execve]\n", "1:1", "execve is not allowed");
	refused("extends: strict\ndefault: []\n", "2:10", "errno NAME");
	refused("extends: strict\nallow: [~]\n", "2:9", "unknown system call");
	refused("allow: &a [read]\n", "1:8", "anchors");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builtins_exactly), cmocka_unit_test(files), cmocka_unit_test(conditions), cmocka_unit_test(mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
