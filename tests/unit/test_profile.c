/* Profiles: every built-in one as BPF, instruction by instruction, for both architectures, against its rows judged without BPF and
 * against lists written by hand; files, flattened and refused. */
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

#define LAST 600

#define ROWS_DIFFER(p, d, got)                                                                                          \
	fail_msg("%s: call %d (0x%llx, 0x%llx, 0x%llx): %d is not what the rows say", (p)->name, (d)->nr,                \
	         (unsigned long long)(d)->args[0], (unsigned long long)(d)->args[1], (unsigned long long)(d)->args[2], got)
#include "tests/unit/rows.h"

/* ---- every number, as every kind of caller may say it */

static const struct entry {
	enum profile_arch arch;
	uint32_t native, foreign;
} entries[] = {
	{PROFILE_X86_64, AUDIT_ARCH_X86_64, AUDIT_ARCH_I386},
	{PROFILE_ARM64, AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM},
};

static void exactly(const struct profile *p, const struct entry *e, const struct filter *f)
{
	static const uint64_t values[] = {0, 1, 2, 3, 10, 16, 17, 0x5412, 0xffffffff, UINT64_MAX};
	struct rows rows;

	rows_begin(&rows, p, e->arch);
	for (int nr = 0; nr <= LAST; nr++) {
		struct seccomp_data d = {.nr = nr, .arch = e->native};

		same_for_rows(&rows, f, d);
		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			for (size_t a = 0; a < 6; a++)
				d.args[a] = values[v];
			d.arch = e->native;
			d.nr = nr;
			same(&rows, f, &d);
			/* Foreign entries: nothing gets through, whatever the number is there. */
			d.arch = e->foreign;
			assert_int_equal(verdict(f, &d), KILLED);
			d.arch = e->native == AUDIT_ARCH_X86_64 ? AUDIT_ARCH_AARCH64 : AUDIT_ARCH_X86_64;
			assert_int_equal(verdict(f, &d), KILLED);
			d.arch = e->native;
			d.nr = nr | X32; /* no call of arm64 has such a number: any refusal does */
			assert_int_not_equal(verdict(f, &d), 0);
			if (e->arch == PROFILE_X86_64)
				assert_int_equal(verdict(f, &d), KILLED);
		}
	}
}

/* For this machine and for the other kind, which is never loaded here. */
static void exactly_everywhere(const struct profile *p)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		struct profile_program made = {0};
		struct err e = {0};
		struct filter f;

		if (profile_compile_for(p, entries[i].arch, &made, &e) != 0)
			fail_msg("%s: %s", p->name, e.msg);
		f = (struct filter){p->name, false, made.n, made.insn, profile_hash(p)};
		exactly(p, &entries[i], &f);
		profile_program_done(&made);
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
			exactly(&p, &entries[PROFILE_NATIVE], f);
			exactly_everywhere(&p);
			profile_done(&p);
		}
	}
}

/* ---- the same by hand: what nobody may ever do, and all of the least profile */

static bool in(const long *list, size_t n, int nr)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == nr)
			return true;
	return false;
}
#define IN(list, nr) in(list, sizeof(list) / sizeof((list)[0]), nr)

static void never(const struct filter *f, const long *list, size_t n)
{
	static const uint64_t values[] = {0, 1, 2, 0x10, 0xff, 0x10000000, 0x7fffffff, 0xffffffff, UINT64_MAX};

	for (size_t i = 0; i < n; i++)
		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			struct seccomp_data d = {.nr = (int)list[i], .arch = NATIVE};

			for (size_t a = 0; a < 6; a++)
				d.args[a] = values[v];
			if (verdict(f, &d) == 0)
				fail_msg("%s allows call %ld", f->name, list[i]);
		}
}

static void by_hand(void **state)
{
	static const long nobody[] = {
		SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns,
		SYS_open_by_handle_at, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_init_module, SYS_finit_module, SYS_delete_module,
		SYS_kexec_load, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_acct, SYS_quotactl,
		SYS_syslog, SYS_settimeofday, SYS_clock_settime, SYS_io_uring_setup, SYS_io_uring_enter, SYS_fanotify_init, SYS_clone3,
		SYS_openat2, SYS_pidfd_getfd, SYS_move_mount, SYS_open_tree, SYS_fsopen, SYS_sethostname, SYS_vhangup,
	};
	static const long compute[] = {
		SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_mkdirat, SYS_unlinkat, SYS_renameat2, SYS_linkat, SYS_symlinkat,
		SYS_fchmodat, SYS_fchownat, SYS_utimensat, SYS_truncate, SYS_ftruncate, SYS_mknodat, SYS_setxattr, SYS_shmget, SYS_msgget,
		SYS_inotify_init1, SYS_execveat, SYS_wait4, SYS_setuid, SYS_unshare, SYS_seccomp, SYS_personality,
	};
	static const long strict[] = {
		SYS_read, SYS_write, SYS_close, SYS_execve, SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_set_tid_address,
		SYS_set_robust_list, SYS_rseq, SYS_prlimit64, SYS_getrandom, SYS_futex, SYS_exit, SYS_exit_group, SYS_rt_sigreturn,
		SYS_restart_syscall, SYS_faccessat, 439 /* faccessat2 */, SYS_pread64, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_openat,
#if defined(__x86_64__)
		SYS_arch_prctl, SYS_access, SYS_open,
#endif
	};
	static const char *const computing[] = {"python-stdlib-read-only", "numeric-compute", "pure-parse", "strict"};

	(void)state;
	for (const struct filter *f = filter_data; f->name != NULL; f++)
		never(f, nobody, sizeof(nobody) / sizeof(nobody[0]));
	for (size_t i = 0; i < sizeof(computing) / sizeof(computing[0]); i++)
		for (int net = 0; net <= 1; net++)
			never(filter_find(computing[i], net != 0), compute, sizeof(compute) / sizeof(compute[0]));
	for (int nr = 0; nr <= LAST; nr++) {
		struct seccomp_data d = {.nr = nr, .arch = NATIVE};

		assert_int_equal(verdict(filter_find("strict", true), &d) == 0, IN(strict, nr));
		assert_int_equal(verdict(filter_find("strict", false), &d) == 0, IN(strict, nr));
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
	f = (struct filter){p.name, false, made.n, made.insn, profile_hash(&p)};
	got = verdict(&f, &d);
	exactly_everywhere(&p);
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
	assert_int_equal(asks("extends: strict\ndefault: errno ENOTSUP\n", SYS_getpid, 0, 0, 0), ENOTSUP);
	assert_int_equal(asks("extends: strict\ndefault: errno EOPNOTSUPP\n", SYS_getpid, 0, 0, 0), EOPNOTSUPP);
	assert_int_equal(asks("extends: strict\ndefault: errno EWOULDBLOCK\n", SYS_getpid, 0, 0, 0), EAGAIN);
	assert_int_equal(asks("extends: strict\ndefault: notify\n", SYS_getpid, 0, 0, 0), NOTIFIED);
	assert_int_equal(asks("extends: strict\ndeny: [{call: read, errno: notify}]\n", SYS_read, 0, 0, 0), NOTIFIED);
}

/* A constant that another architecture has with another value is not compiled into its programs. */
static void constants(void **state)
{
	static const char text[] = "extends: strict\nallow: [{call: openat, if: {arg: 2, is: O_DIRECTORY}}]\n";
	struct profile_program made = {0};
	struct profile p = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(parse(&p, text, &e), 0);
	assert_int_equal(profile_compile(&p, &made, &e), 0);
	profile_program_done(&made);
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (entries[i].arch == PROFILE_NATIVE)
			continue;
		assert_int_equal(profile_compile_for(&p, entries[i].arch, &made, &e), -EINVAL);
		assert_non_null(strstr(e.msg, "x.yaml:2: openat: a constant has another value on"));
	}
	profile_done(&p);
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
	refused("extends: strict\ndeny: [dup, {call: dup, errno: ENOENT}]\n", "2:20", "refused in two ways");
	refused("extends: strict\ndeny: [\"@aio\", {call: io_setup, errno: kill}]\n", "2:23", "refused in two ways");
	refused("extends: strict\nallow: [{call: dup, if: {arg: 0, is: 1}}]\ndeny: [{call: dup, if: {arg: 0, is: 1}}]\n", "3:15",
	        "allowed and refused");
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
		cmocka_unit_test(builtins_exactly), cmocka_unit_test(by_hand), cmocka_unit_test(files), cmocka_unit_test(conditions), cmocka_unit_test(constants), cmocka_unit_test(mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
