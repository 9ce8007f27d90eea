/* What a profile's rows say of a call, judged without BPF, and whether a program says the same: for the unit test and the fuzz
 * target.
 * BPF_TRUE as in bpf.h; ROWS_DIFFER(profile, data, got) ends the test with what differs. */
#ifndef STINT_TESTS_ROWS_H
#define STINT_TESTS_ROWS_H

#include <errno.h>
#include <signal.h>

#include "sandbox/profile.h"
#include "tests/unit/bpf.h"

#define KILLED (-SIGSYS)
#define NOTIFIED (-1000)
#define HIGH UINT64_C(0xabcdef0100000000) /* what an int argument may carry in its upper half */
#define X32 0x40000000

/* A profile's rows with each call's number on one architecture (-1: it lacks the call). */
struct rows {
	const struct profile *p;
	enum profile_arch arch;
	int number[PROFILE_ROWS_MAX];
};

static inline void rows_begin(struct rows *r, const struct profile *p, enum profile_arch arch)
{
	r->p = p;
	r->arch = arch;
	for (size_t i = 0; i < p->n; i++)
		r->number[i] = profile_call_number_on(arch, p->row[i].call);
}

/* The program's answer: 0, an errno, KILLED or NOTIFIED. */
static inline int verdict(const struct filter *f, const struct seccomp_data *d)
{
	uint32_t r = bpf_run(f, d);

	switch (r & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_KILL_PROCESS: return KILLED;
	case SECCOMP_RET_USER_NOTIF: return NOTIFIED;
	case SECCOMP_RET_ERRNO: return (int)(r & SECCOMP_RET_DATA);
	default: BPF_TRUE(r == SECCOMP_RET_ALLOW); return 0;
	}
}

static inline bool row_holds(const struct profile_row *r, const struct seccomp_data *d)
{
	for (unsigned int i = 0; i < r->n_cond; i++) {
		uint64_t mask = r->cond[i].wide ? r->cond[i].mask : r->cond[i].mask & UINT32_MAX;

		if ((d->args[r->cond[i].arg] & mask) != (r->cond[i].value & mask))
			return false;
	}
	return true;
}

static inline int row_answer(enum profile_action action, int error)
{
	return action == PROFILE_ALLOW ? 0 : action == PROFILE_KILL ? KILLED : action == PROFILE_NOTIFY ? NOTIFIED : error;
}

/* Of several refusals that hold, libseccomp decides which answer is seen: any of them is right. */
static inline bool as_listed(const struct rows *rows, const struct seccomp_data *d, int got)
{
	const struct profile *p = rows->p;
	bool allowed = false;
	bool refused = false;
	bool same = false;

	for (size_t i = 0; i < p->n; i++) {
		const struct profile_row *r = &p->row[i];

		if (rows->number[i] != d->nr || !row_holds(r, d))
			continue;
		allowed = allowed || r->action == PROFILE_ALLOW;
		refused = refused || r->action != PROFILE_ALLOW;
		same = same || (r->action != PROFILE_ALLOW && row_answer(r->action, r->error) == got);
	}
	if (refused)
		return same;
	return got == (allowed ? 0 : row_answer(p->otherwise, p->otherwise_error));
}

static inline void same(const struct rows *rows, const struct filter *f, const struct seccomp_data *d)
{
	int got = verdict(f, d);

	if (!as_listed(rows, d, got))
		ROWS_DIFFER(rows->p, d, got);
}

/* Every argument value that a row of this call asks for: alone, with bits that must not matter, with one bit wrong, all wrong. */
static inline void same_for_rows(const struct rows *rows, const struct filter *f, struct seccomp_data d)
{
	for (size_t i = 0; i < rows->p->n; i++) {
		const struct profile_row *r = &rows->p->row[i];

		if (r->n_cond == 0 || rows->number[i] != d.nr)
			continue;
		memset(d.args, 0, sizeof(d.args));
		for (unsigned int k = 0; k < r->n_cond; k++)
			d.args[r->cond[k].arg] = r->cond[k].value;
		same(rows, f, &d);
		for (unsigned int k = 0; k < r->n_cond; k++) {
			struct seccomp_data other = d;

			other.args[r->cond[k].arg] |= r->cond[k].wide ? 0 : HIGH;
			same(rows, f, &other);
			other.args[r->cond[k].arg] ^= r->cond[k].mask & -r->cond[k].mask;
			same(rows, f, &other);
			other.args[r->cond[k].arg] = ~d.args[r->cond[k].arg];
			same(rows, f, &other);
		}
	}
}

#endif
