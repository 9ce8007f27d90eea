/* A system call profile in YAML, from the file to the programs that kernels load.
 *
 * Checked, beside memory: a refusal is one safe line that begins with file, line and column inside the file; what is accepted can
 * start a command, has no row without a known call, is the same the second time; the programs for both architectures say what
 * the rows say, of every call that a row names and of numbers around, and let no foreign entry through. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "base/err.h"

#define BPF_TRUE(condition) CHECK(condition)
#define ROWS_DIFFER(p, d, got)                                                                                           \
	do {                                                                                                                 \
		(void)dprintf(2, "call %d (0x%llx, 0x%llx, 0x%llx): %d\n", (d)->nr, (unsigned long long)(d)->args[0],            \
		              (unsigned long long)(d)->args[1], (unsigned long long)(d)->args[2], (got));                        \
		CHECK((p) == NULL && "what the rows say");                                                                       \
	} while (0)
#include "orchestrator/profile_file.h"
#include "tests/unit/rows.h"

#define FILE_NAME "fuzz.yaml"
#define CALLS 24 /* of the rows */
#define ROWS_SHORT 200 /* longer ones take long to compile: some of them only */

static void check_rows(const struct profile *p)
{
	bool starts = false;

	CHECK(p->name[0] != '\0' && p->otherwise != PROFILE_ALLOW && p->n <= PROFILE_ROWS_MAX);
	CHECK(p->otherwise != PROFILE_ERRNO || (p->otherwise_error > 0 && p->otherwise_error < 4096));
	for (size_t i = 0; i < p->n; i++) {
		const struct profile_row *r = &p->row[i];

		CHECK(profile_call_number(r->call) != -2 && r->from[0] != '\0' && r->n_cond <= PROFILE_CONDS);
		CHECK(r->action != PROFILE_ERRNO || (r->error > 0 && r->error < 4096));
		for (unsigned int k = 0; k < r->n_cond; k++)
			CHECK(r->cond[k].arg < PROFILE_CONDS);
		starts = starts || (r->action == PROFILE_ALLOW && str_eq(r->call, "execve"));
	}
	CHECK(starts);
}

static void check_program(const struct profile *p, enum profile_arch arch)
{
	const uint32_t native = arch == PROFILE_X86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64;
	struct profile_program made = {0};
	struct err e = {0};
	struct rows rows;
	struct filter f;
	int rc = profile_compile_for(p, arch, &made, &e);

	if (rc != 0) { /* too long, or a constant of one architecture */
		CHECK(rc == -E2BIG || (rc == -EINVAL && arch != PROFILE_NATIVE));
		fuzz_check_err(&e, rc);
		return;
	}
	CHECK(made.n > 0 && made.n <= PROFILE_INSNS_MAX);
	f = (struct filter){p->name, false, made.n, made.insn, 0};
	rows_begin(&rows, p, arch);
	for (size_t i = 0; i < p->n; i += 1 + p->n / CALLS) {
		struct seccomp_data d = {.nr = rows.number[i], .arch = native};

		if (d.nr < 0)
			continue;
		same(&rows, &f, &d);
		same_for_rows(&rows, &f, d);
		d.nr++;
		same(&rows, &f, &d);
		d.arch = arch == PROFILE_X86_64 ? AUDIT_ARCH_I386 : AUDIT_ARCH_ARM;
		CHECK(verdict(&f, &d) == KILLED);
		d.arch = native;
		d.nr |= X32;
		CHECK(verdict(&f, &d) != 0);
	}
	profile_program_done(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *bytes = n == 0 ? "" : (const char *)data;
	struct profile p, again;
	struct err e = {0};
	int rc = profile_parse(&p, FILE_NAME, bytes, n, n % 2 == 0, &e);

	if (rc != 0) {
		fuzz_check_err(&e, rc);
		CHECK(e.exit == STOP_USAGE);
		if (rc == -EINVAL)
			fuzz_check_place(FILE_NAME, &e, bytes, n);
		return 0;
	}
	check_rows(&p);
	CHECK(profile_parse(&again, FILE_NAME, bytes, n, n % 2 == 0, &e) == 0 && profile_hash(&again) == profile_hash(&p));
	profile_done(&again);
	if (p.n <= ROWS_SHORT || n % 16 < 2) {
		check_program(&p, PROFILE_X86_64);
		check_program(&p, PROFILE_ARM64);
	}
	profile_done(&p);
	return 0;
}
