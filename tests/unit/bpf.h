/* Classic BPF as the kernel restricts it for seccomp, in an interpreter: a program's answer to a call without making it.
 * BPF_TRUE(condition) ends the test when it does not hold: cmocka's unless defined before (fuzz targets have no cmocka). */
#ifndef STINT_TESTS_BPF_H
#define STINT_TESTS_BPF_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef BPF_TRUE
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#define BPF_TRUE(condition) assert_true(condition)
#endif

#include "sandbox/seccomp.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define FOREIGN AUDIT_ARCH_I386
#else
#define NATIVE AUDIT_ARCH_AARCH64
#define FOREIGN AUDIT_ARCH_ARM
#endif

static inline bool bpf_jump(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGT:
		return a > k;
	case BPF_JGE:
		return a >= k;
	default:
		BPF_TRUE(BPF_OP(code) == BPF_JSET);
		return (a & k) != 0;
	}
}

static inline uint32_t bpf_run(const struct filter *p, const struct seccomp_data *d)
{
	uint32_t a = 0;

	for (unsigned int pc = 0; pc < p->n; pc++) {
		const struct sock_filter *i = &p->insn[pc];

		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			BPF_TRUE(i->code == (BPF_LD | BPF_W | BPF_ABS));
			BPF_TRUE(i->k + 4 <= sizeof(*d));
			memcpy(&a, (const char *)d + i->k, 4);
			break;
		case BPF_ALU:
			BPF_TRUE(i->code == (BPF_ALU | BPF_AND | BPF_K));
			a &= i->k;
			break;
		case BPF_JMP:
			pc += BPF_OP(i->code) == BPF_JA ? i->k : bpf_jump(i->code, a, i->k) ? i->jt : i->jf;
			break;
		default:
			BPF_TRUE(i->code == (BPF_RET | BPF_K));
			return i->k;
		}
	}
	BPF_TRUE(p->n == 0 && "a program ran off its end");
	return 0;
}

#endif
