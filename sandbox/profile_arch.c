/* System call names and numbers, and programs for another architecture than this one: see profile.h. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/profile.h"
#include "sandbox/sets.h"

#define X32_BIT 0x40000000u
#define NO_CALL 0xffffffffu /* -1, what a tracer leaves of a call that it skips */

static const struct arch {
	const char *name;
	const char *other; /* the kernel's own word */
	uint32_t token;    /* libseccomp's */
	uint32_t audit;    /* the kernel's */
} archs[] = {
	[PROFILE_X86_64] = {"x86-64", "x86_64", SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64},
	[PROFILE_ARM64] = {"arm64", "aarch64", SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64},
};
#define N_ARCHS (sizeof(archs) / sizeof(archs[0]))

bool profile_arch_find(const char *word, enum profile_arch *ret)
{
	for (size_t i = 0; i < N_ARCHS; i++)
		if (str_eq(word, archs[i].name) || str_eq(word, archs[i].other)) {
			*ret = (enum profile_arch)i;
			return true;
		}
	return false;
}

const char *profile_arch_name(enum profile_arch arch)
{
	return archs[arch].name;
}

/* ---- names */

int profile_call_number_on(enum profile_arch arch, const char *call)
{
	int nr = seccomp_syscall_resolve_name_arch(archs[arch].token, call);

	if (nr >= 0)
		return nr;
	if (nr != __NR_SCMP_ERROR) /* known elsewhere: libseccomp's negative pseudo number */
		return -1;
	for (const struct sys_number *n = sys_numbers; n->name != NULL; n++)
		if (str_eq(n->name, call))
			return n->number;
	return -2;
}

int profile_call_number(const char *call)
{
	return profile_call_number_on(PROFILE_NATIVE, call);
}

void profile_call_name(int nr, char ret[PROFILE_CALL_MAX])
{
	char *name = seccomp_syscall_resolve_num_arch(archs[PROFILE_NATIVE].token, nr);
	const char *found = name;

	for (const struct sys_number *n = sys_numbers; found == NULL && n->name != NULL; n++)
		if (n->number == nr)
			found = n->name;
	(void)snprintf(ret, PROFILE_CALL_MAX, "%s", found != NULL ? found : "");
	free(name);
}

bool profile_nearest_call(const char *call, char ret[PROFILE_CALL_MAX])
{
	static const size_t width = PROFILE_CALL_MAX;
	AUTO_FREE char *names = calloc(PROFILE_NUMBERS, width);
	AUTO_FREE const char **list = calloc(PROFILE_NUMBERS + 1, sizeof(*list));
	const char *near = NULL;
	size_t n = 0;

	for (int nr = 0; names != NULL && list != NULL && nr < PROFILE_NUMBERS; nr++) {
		char *name = names + (size_t)nr * width;

		profile_call_name(nr, name);
		if (name[0] != '\0')
			list[n++] = name;
	}
	if (n > 0)
		near = str_nearest(call, list);
	if (near == NULL)
		return false;
	(void)snprintf(ret, width, "%s", near);
	return true;
}

/* ---- another architecture */

/* Where libseccomp's program asks for this architecture it is to ask for another: the numbers in it are that one's already. */
static void ask_for(struct sock_filter *insn, size_t n, uint32_t audit)
{
	for (size_t i = 1; i < n; i++)
		if (insn[i - 1].code == (BPF_LD | BPF_W | BPF_ABS) && insn[i - 1].k == offsetof(struct seccomp_data, arch) &&
		    insn[i].code == (BPF_JMP | BPF_JEQ | BPF_K) && insn[i].k == archs[PROFILE_NATIVE].audit)
			insn[i].k = audit;
}

int profile_retarget(struct profile_program *p, enum profile_arch arch, struct err *e)
{
	/* Without it libseccomp's own, which it adds where x86-64 is native: x32 numbers have x86-64's architecture. */
	static const struct sock_filter x32[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NO_CALL, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	static const size_t n_x32 = sizeof(x32) / sizeof(x32[0]);
	struct sock_filter *more;

	if (seccomp_arch_native() != archs[PROFILE_NATIVE].token)
		return err_set(e, ENOTSUP, "system call profiles know x86-64 and arm64, not this machine");
	if (arch == PROFILE_NATIVE)
		return 0;
	ask_for(p->insn, p->n, archs[arch].audit);
	if (arch != PROFILE_X86_64)
		return 0;
	if (p->n + n_x32 > PROFILE_INSNS_MAX)
		return err_set(e, E2BIG, "more instructions than the %d that the kernel takes: drop conditions", PROFILE_INSNS_MAX);
	more = reallocarray(NULL, p->n + n_x32, sizeof(*more));
	if (more == NULL)
		return err_errno(e, ENOMEM, "cannot compile");
	memcpy(more, x32, sizeof(x32));
	memcpy(more + n_x32, p->insn, p->n * sizeof(*more));
	free(p->insn);
	p->insn = more;
	p->n = (unsigned short)(p->n + n_x32);
	return 0;
}
