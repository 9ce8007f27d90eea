/* The program of a supervised command, and what a program says: see notify.h. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/str.h"
#include "orchestrator/notify.h"

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define LOAD_LOW(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (i)))
#define LOAD_HIGH(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (i) + 4))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, (skip))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))

static int add(struct buf *b, const struct sock_filter *insn, size_t n)
{
	return buf_add(b, insn, n * sizeof(*insn));
}

/* The one call that passes whatever the profile says: the guard's own, with the key. */
static int add_pass(struct buf *b, const uint64_t key[2])
{
	const struct sock_filter insn[] = {
		LOAD(arch), UNLESS(NOTIFY_ARCH, 11), LOAD(nr), UNLESS(SYS_sendmsg, 9), LOAD_LOW(4), UNLESS((uint32_t)key[0], 7),
		LOAD_HIGH(4), UNLESS(key[0] >> 32, 5), LOAD_LOW(5), UNLESS((uint32_t)key[1], 3), LOAD_HIGH(5),
		UNLESS(key[1] >> 32, 1), RETURN(SECCOMP_RET_ALLOW),
	};

	return add(b, insn, sizeof(insn) / sizeof(insn[0]));
}

/* Held whatever the profile says; a foreign call goes to the profile's program. */
static int add_calls(struct buf *b, const struct notify_calls *calls)
{
	const struct sock_filter head[] = {
		LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NOTIFY_ARCH, 1, 0),
		BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(2 * calls->n + 1)), LOAD(nr),
	};
	int rc = calls->n == 0 ? 0 : add(b, head, sizeof(head) / sizeof(head[0]));

	for (size_t i = 0; rc == 0 && i < calls->n; i++) {
		const struct sock_filter one[] = {UNLESS(calls->number[i], 1), RETURN(SECCOMP_RET_USER_NOTIF)};

		rc = add(b, one, sizeof(one) / sizeof(one[0]));
	}
	return rc;
}

/* Whatever ends in anything but "allow" is held. */
static int add_profile(struct buf *b, const struct profile_program *made)
{
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < made->n; i++) {
		struct sock_filter insn = made->insn[i];

		if (insn.code == (BPF_RET | BPF_K) && insn.k != SECCOMP_RET_ALLOW)
			insn.k = SECCOMP_RET_USER_NOTIF;
		rc = add(b, &insn, 1);
	}
	return rc;
}

int notify_program(const struct profile_program *made, const struct notify_calls *calls, const uint64_t key[2],
                   struct profile_program *ret, struct err *e)
{
	AUTO_BUF struct buf b = {0};
	int rc = add_pass(&b, key);

	if (rc == 0)
		rc = add_calls(&b, calls);
	if (rc == 0)
		rc = add_profile(&b, made);
	if (rc != 0)
		return err_errno(e, ENOMEM, "cannot supervise");
	if (b.len / sizeof(struct sock_filter) > PROFILE_INSNS_MAX)
		return err_set(e, E2BIG, "the profile is too long to be supervised: drop conditions");
	ret->insn = (struct sock_filter *)(void *)b.data;
	ret->n = (unsigned short)(b.len / sizeof(struct sock_filter));
	b = (struct buf){0};
	return 0;
}

/* ---- what a program says */

static bool jumps(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ: return a == k;
	case BPF_JGT: return a > k;
	case BPF_JGE: return a >= k;
	default: return (a & k) != 0; /* BPF_JSET */
	}
}

uint32_t notify_evaluate(const struct profile_program *p, const struct seccomp_data *d)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < p->n; pc++) {
		const struct sock_filter *i = &p->insn[pc];

		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			if (i->k > sizeof(*d) - sizeof(a))
				return SECCOMP_RET_KILL_PROCESS;
			memcpy(&a, (const char *)d + i->k, sizeof(a));
			break;
		case BPF_ALU: /* libseccomp knows no other than "and" */
			a &= i->k;
			break;
		case BPF_JMP:
			pc += BPF_OP(i->code) == BPF_JA ? i->k : jumps(i->code, a, i->k) ? i->jt : i->jf;
			break;
		default:
			return BPF_CLASS(i->code) == BPF_RET ? i->k : SECCOMP_RET_KILL_PROCESS;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}
