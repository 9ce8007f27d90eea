/* Profiles and their compilation: see profile.h. */
#include "sandbox/profile.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

#define ROWS_FIRST 64u
#define INSNS_BYTES (PROFILE_INSNS_MAX * sizeof(struct sock_filter))

void profile_begin(struct profile *ret, const char *name)
{
	*ret = (struct profile){.otherwise = PROFILE_ERRNO, .otherwise_error = ENOSYS};
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
}

void profile_done(struct profile *p)
{
	free(p->row);
	p->row = NULL;
	p->n = 0;
}

int profile_add(struct profile *p, const struct profile_row *row, struct err *e)
{
	bool full = p->n % ROWS_FIRST == 0 && (p->n & (p->n - 1)) == 0; /* room doubles: 64, 128, 256, … */
	struct profile_row *more = p->row;

	if (p->n == PROFILE_ROWS_MAX)
		return err_set(e, E2BIG, "profile %s has more than %u rows: use sets", p->name, PROFILE_ROWS_MAX);
	if (full)
		more = reallocarray(p->row, p->n == 0 ? ROWS_FIRST : 2 * p->n, sizeof(*more));
	if (more == NULL)
		return err_errno(e, ENOMEM, "cannot read profile %s", p->name);
	p->row = more;
	more[p->n++] = *row;
	return 0;
}

const struct profile_row *profile_find(const struct profile *p, const char *call, size_t at)
{
	for (size_t i = at; i < p->n; i++)
		if (str_eq(p->row[i].call, call))
			return &p->row[i];
	return NULL;
}

/* FNV-1a: profiles are told apart, nobody gains anything by two that are alike. */
static uint64_t hash_add(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

uint64_t profile_hash(const struct profile *p)
{
	uint64_t head[] = {p->otherwise, p->otherwise_error, p->n};
	uint64_t h = hash_add(UINT64_C(0xcbf29ce484222325), head, sizeof(head));

	for (size_t i = 0; i < p->n; i++) {
		const struct profile_row *r = &p->row[i];
		uint64_t row[] = {r->action, r->error, r->n_cond};

		h = hash_add(h, r->call, strlen(r->call) + 1);
		h = hash_add(h, row, sizeof(row));
		for (unsigned int k = 0; k < r->n_cond; k++) {
			uint64_t cond[] = {r->cond[k].arg, r->cond[k].wide, r->cond[k].mask, r->cond[k].value};

			h = hash_add(h, cond, sizeof(cond));
		}
	}
	return h;
}

/* ---- compiling */

static uint32_t action_of(enum profile_action action, uint16_t error)
{
	switch (action) {
	case PROFILE_ALLOW:
		return SCMP_ACT_ALLOW;
	case PROFILE_ERRNO:
		return SCMP_ACT_ERRNO(error);
	case PROFILE_NOTIFY:
		return SCMP_ACT_NOTIFY;
	case PROFILE_KILL:
	default:
		return SCMP_ACT_KILL_PROCESS;
	}
}

/* True when an unconditional row of the same half has this call: libseccomp would answer EEXIST or mix the actions. */
static bool always(const struct profile *p, const struct profile_row *row)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->row[i].n_cond == 0 && (p->row[i].action == PROFILE_ALLOW) == (row->action == PROFILE_ALLOW) &&
		    str_eq(p->row[i].call, row->call))
			return true;
	return false;
}

static int add_rule(scmp_filter_ctx ctx, const struct profile *p, enum profile_arch arch, const struct profile_row *row,
                    struct err *e)
{
	struct scmp_arg_cmp cmp[PROFILE_CONDS];
	int nr = profile_call_number_on(arch, row->call);
	int rc;

	if (nr == -2)
		return err_set(e, EINVAL, "profile %s: %s: unknown system call: %s", p->name, row->from, row->call);
	if (nr < 0 || (row->n_cond > 0 && always(p, row)))
		return 0;
	for (unsigned int i = 0; i < row->n_cond; i++) {
		const struct profile_cond *c = &row->cond[i];
		uint64_t mask = c->wide ? c->mask : c->mask & UINT32_MAX;

		if (c->here && arch != PROFILE_NATIVE)
			return err_set(e, EINVAL, "profile %s: %s: %s: a constant has another value on %s: write the number", p->name,
			               row->from, row->call, profile_arch_name(arch));
		cmp[i] = (struct scmp_arg_cmp){c->arg, SCMP_CMP_MASKED_EQ, mask, c->value & mask};
	}
	rc = seccomp_rule_add_array(ctx, action_of(row->action, row->error), nr, row->n_cond, cmp);
	return rc == 0 || rc == -EEXIST ? 0 : err_errno(e, -rc, "profile %s: %s: %s cannot be compiled", p->name, row->from,
	                                                row->call);
}

/* Appends the context's program to ret. */
static int export(scmp_filter_ctx ctx, const struct profile *p, struct buf *ret, struct err *e)
{
	AUTO_FD fd = memfd_create("bpf", MFD_CLOEXEC);
	AUTO_FREE char *bytes = NULL;
	size_t n = 0;
	int rc;

	if (fd < 0)
		return err_errno(e, errno, "profile %s: cannot compile", p->name);
	rc = seccomp_export_bpf(ctx, fd);
	if (rc != 0 || lseek(fd, 0, SEEK_SET) != 0)
		return err_errno(e, rc != 0 ? -rc : errno, "profile %s: cannot compile", p->name);
	rc = fd_read_all(fd, 2 * INSNS_BYTES, &bytes, &n);
	if (rc == 0)
		rc = buf_add(ret, bytes, n);
	if (rc == 0 && ret->len <= INSNS_BYTES)
		return 0;
	if (rc == 0 || rc == -EFBIG)
		return err_set(e, E2BIG, "profile %s is longer than the %d instructions that the kernel takes: drop conditions",
		               p->name, PROFILE_INSNS_MAX);
	return err_errno(e, -rc, "profile %s: cannot compile", p->name);
}

/* One half: what refuses, or what allows. For another architecture this one's program is made, with that one's numbers: libseccomp
 * would translate numbers by name, and does not know the names of all of them. */
static int compile(const struct profile *p, enum profile_arch arch, bool allow, struct buf *ret, struct err *e)
{
	uint32_t otherwise = allow ? action_of(p->otherwise, p->otherwise_error) : SCMP_ACT_ALLOW;
	scmp_filter_ctx ctx = seccomp_init(otherwise);
	int rc = 0;

	/* A foreign entry (int 0x80, x32 numbers) ends the process: every call would mean something else. */
	if (ctx == NULL || seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) != 0 ||
	    seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2) != 0)
		rc = err_set(e, ENOSYS, "libseccomp refuses an attribute: version 2.5 or newer is needed");
	for (size_t i = 0; rc == 0 && i < p->n; i++)
		if ((p->row[i].action == PROFILE_ALLOW) == allow)
			rc = add_rule(ctx, p, arch, &p->row[i], e);
	if (rc == 0)
		rc = export(ctx, p, ret, e);
	if (ctx != NULL)
		seccomp_release(ctx);
	return rc;
}

/* libseccomp cannot say "every value of an argument but these", so there are two of its programs, one after the other: where the
 * first, which refuses, would allow, it goes on to the second, which allows. */
static void chain(struct sock_filter *insn, size_t n_first)
{
	for (size_t i = 0; i < n_first; i++)
		if (insn[i].code == (BPF_RET | BPF_K) && insn[i].k == SECCOMP_RET_ALLOW)
			insn[i] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(n_first - i - 1));
}

int profile_compile_for(const struct profile *p, enum profile_arch arch, struct profile_program *ret, struct err *e)
{
	struct profile_program made;
	AUTO_BUF struct buf b = {0};
	size_t first;
	int rc;

	/* What the machine that runs the command supports is its business, not that of the one that compiles. */
	if (seccomp_api_set(5) != 0)
		return err_set(e, ENOSYS, "libseccomp is older than 2.5: install a newer one");
	rc = compile(p, arch, false, &b, e);
	first = b.len / sizeof(struct sock_filter);
	if (rc == 0)
		rc = compile(p, arch, true, &b, e);
	if (rc != 0)
		return rc;
	made.insn = (struct sock_filter *)(void *)b.data;
	made.n = (unsigned short)(b.len / sizeof(struct sock_filter));
	b = (struct buf){0};
	chain(made.insn, first);
	rc = profile_retarget(&made, arch, e);
	if (rc != 0) {
		profile_program_done(&made);
		return err_wrap(e, "profile %s", p->name);
	}
	*ret = made;
	return 0;
}

int profile_compile(const struct profile *p, struct profile_program *ret, struct err *e)
{
	return profile_compile_for(p, PROFILE_NATIVE, ret, e);
}

void profile_program_done(struct profile_program *p)
{
	free(p->insn);
	*p = (struct profile_program){0};
}
