/* The baseline filters: the generated programs run in an interpreter against a table written by hand, then live. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"
#include "sandbox/seccomp.h"
#include "tests/unit/bpf.h"

#define KILLED (-SIGSYS)

/* 0 allowed, an errno, or KILLED. */
static int verdict(const struct filter *f, const struct seccomp_data *d)
{
	uint32_t r = bpf_run(f, d);

	switch (r & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_KILL_PROCESS: return KILLED;
	case SECCOMP_RET_ERRNO: return (int)(r & SECCOMP_RET_DATA);
	default: assert_int_equal(r, SECCOMP_RET_ALLOW); return 0;
	}
}

/* ---- the table by hand */

#define HIGH 0xabcdef0100000000u /* what an int argument may carry in its upper half */

static const struct row {
	long nr;
	uint64_t arg[4];
	int agent; /* expected for agent with network */
	int nonet; /* … without */
	int owner; /* expected for owner with network */
} rows[] = {
#define SAME(nr, e, ...) {(nr), {__VA_ARGS__}, (e), (e), (e)}
#define OWNER(nr, e, ...) {(nr), {__VA_ARGS__}, 0, 0, (e)}
#define NET(nr, e, ...) {(nr), {__VA_ARGS__}, 0, (e), 0}
	SAME(SYS_read, 0, 0), SAME(SYS_execve, 0, 0), SAME(SYS_exit_group, 0, 0), SAME(SYS_futex, 0, 0),
	SAME(SYS_getrandom, 0, 0), SAME(SYS_renameat2, 0, 0), SAME(SYS_getdents64, 0, 0), SAME(SYS_statx, 0, 0),
	SAME(SYS_landlock_restrict_self, 0, 0), SAME(SYS_seccomp, 0, 0), SAME(SYS_rseq, 0, 0),
	SAME(SYS_pidfd_open, 0, 0), SAME(SYS_epoll_pwait2, 0, 0), SAME(SYS_close_range, 0, 0), SAME(454, 0, 0),
	SAME(462, 0, 0), SAME(464, 0, 0),
	/* unknown and absent */
	SAME(SYS_clone3, ENOSYS, 0), SAME(SYS_openat2, ENOSYS, 0), SAME(1000, ENOSYS, 0), SAME(470, ENOSYS, 0),
	/* never */
	SAME(SYS_mount, EPERM, 0), SAME(SYS_umount2, EPERM, 0), SAME(SYS_pivot_root, EPERM, 0),
	SAME(SYS_chroot, EPERM, 0),
	SAME(SYS_move_mount, EPERM, 0), SAME(SYS_open_tree, EPERM, 0), SAME(SYS_fsopen, EPERM, 0),
	SAME(SYS_mount_setattr, EPERM, 0), SAME(467, EPERM, 0), SAME(SYS_setns, EPERM, 0), SAME(SYS_ptrace, EPERM, 0),
	SAME(SYS_process_vm_readv, EPERM, 0), SAME(SYS_process_vm_writev, EPERM, 0),
	SAME(SYS_pidfd_getfd, EPERM, 0),
	SAME(SYS_kcmp, EPERM, 0), SAME(SYS_open_by_handle_at, EPERM, 0), SAME(SYS_io_uring_setup, EPERM, 0),
	SAME(SYS_io_uring_enter, EPERM, 0), SAME(SYS_io_uring_register, EPERM, 0), SAME(SYS_bpf, EPERM, 0),
	SAME(SYS_perf_event_open, EPERM, 0), SAME(SYS_userfaultfd, EPERM, 0), SAME(SYS_keyctl, EPERM, 0),
	SAME(SYS_add_key, EPERM, 0), SAME(SYS_request_key, EPERM, 0), SAME(SYS_kexec_load, EPERM, 0),
	SAME(SYS_init_module, EPERM, 0), SAME(SYS_finit_module, EPERM, 0), SAME(SYS_delete_module, EPERM, 0),
	SAME(SYS_reboot, EPERM, 0), SAME(SYS_swapon, EPERM, 0), SAME(SYS_acct, EPERM, 0),
	SAME(SYS_quotactl, EPERM, 0),
	SAME(SYS_syslog, EPERM, 0), SAME(SYS_sethostname, EPERM, 0), SAME(SYS_settimeofday, EPERM, 0),
	SAME(SYS_clock_settime, EPERM, 0), SAME(469, EPERM, 0),
	/* masked compares */
	SAME(SYS_ioctl, 0, 0, TCGETS), SAME(SYS_ioctl, 0, 0, HIGH | TCGETS), SAME(SYS_ioctl, EPERM, 0, TIOCSTI),
	SAME(SYS_ioctl, EPERM, 0, HIGH | TIOCSTI),
	SAME(SYS_ioctl, EPERM, 0, 0x541c), SAME(SYS_ioctl, EPERM, 0, HIGH | 0x541c),
	SAME(SYS_ioctl, EPERM, 0, TIOCSETD), SAME(SYS_ioctl, 0, 0, TIOCSTI + 1), SAME(SYS_ioctl, EPERM, 0, 0x40086602),
	SAME(SYS_unshare, 0, 0), SAME(SYS_unshare, 0, CLONE_FILES | CLONE_FS), SAME(SYS_unshare, EPERM, CLONE_NEWUSER),
	SAME(SYS_unshare, EPERM, HIGH | CLONE_NEWNS | CLONE_FILES), SAME(SYS_unshare, EPERM, CLONE_NEWPID),
	SAME(SYS_unshare, EPERM, CLONE_NEWNET), SAME(SYS_unshare, EPERM, CLONE_NEWIPC),
	SAME(SYS_unshare, EPERM, CLONE_NEWUTS),
	SAME(SYS_unshare, EPERM, CLONE_NEWCGROUP), SAME(SYS_unshare, EPERM, 0x80),
	SAME(SYS_clone, 0, SIGCHLD), SAME(SYS_clone, 0, 0x3d0f00) /* a glibc thread */,
	SAME(SYS_clone, EPERM, CLONE_NEWUSER | SIGCHLD), SAME(SYS_clone, EPERM, HIGH | CLONE_NEWNS | SIGCHLD),
	SAME(SYS_clone, EPERM, CLONE_NEWNET), SAME(SYS_clone, EPERM, CLONE_NEWPID),
	SAME(SYS_personality, 0, 0), SAME(SYS_personality, 0, 0xffffffff), SAME(SYS_personality, 0, 0x40000),
	SAME(SYS_personality, EPERM, 0x400000), SAME(SYS_personality, EPERM, 0x100000),
	SAME(SYS_personality, ENOSYS, 0x400001),
	/* set-id bits and devices */
	OWNER(SYS_fchmod, EPERM, 0, 0755), SAME(SYS_fchmod, EPERM, 0, 04755), SAME(SYS_fchmod, EPERM, 0, HIGH | 02755),
	OWNER(SYS_fchmodat, EPERM, 0, 0, 01777), SAME(SYS_fchmodat, EPERM, 0, 0, 06755), SAME(452, EPERM, 0, 0, 04755),
	SAME(SYS_openat, 0, 0, 0, O_CREAT | O_WRONLY, 0666), SAME(SYS_openat, EPERM, 0, 0, O_CREAT | O_WRONLY, 04755),
	SAME(SYS_openat, EPERM, 0, 0, HIGH | O_TMPFILE | O_RDWR, 02755), SAME(SYS_openat, 0, 0, 0, O_RDONLY, 04755),
	SAME(SYS_openat, 0, 0, 0, O_DIRECTORY, 04755),
	SAME(SYS_mknodat, 0, 0, 0, S_IFIFO | 0644), SAME(SYS_mknodat, 0, 0, 0, S_IFSOCK | 0644),
	SAME(SYS_mknodat, EPERM, 0, 0, S_IFCHR | 0644), SAME(SYS_mknodat, EPERM, 0, 0, HIGH | S_IFBLK | 0644),
	SAME(SYS_mknodat, EPERM, 0, 0, S_IFREG | 04755),
	/* metadata, for the owner */
	OWNER(SYS_fchown, EPERM, 0), OWNER(SYS_fchownat, EPERM, 0), OWNER(SYS_setxattr, EPERM, 0),
	OWNER(SYS_lsetxattr, EPERM, 0), OWNER(SYS_fsetxattr, EPERM, 0), OWNER(SYS_removexattr, EPERM, 0),
	OWNER(463, EPERM, 0),
	OWNER(466, EPERM, 0), OWNER(SYS_utimensat, EPERM, 0), SAME(SYS_getxattr, 0, 0),
	/* sockets */
	SAME(SYS_socket, 0, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC), SAME(SYS_socket, 0, HIGH | AF_UNIX, SOCK_SEQPACKET),
	NET(SYS_socket, EAFNOSUPPORT, AF_INET, SOCK_STREAM),
	NET(SYS_socket, EAFNOSUPPORT, AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK),
	NET(SYS_socket, EAFNOSUPPORT, HIGH | AF_INET, HIGH | SOCK_STREAM, HIGH | 6),
	NET(SYS_socket, EAFNOSUPPORT, AF_NETLINK, SOCK_RAW, 0),
	{SYS_socket, {AF_NETLINK, SOCK_RAW, 15}, EPERM, EAFNOSUPPORT, EPERM},
	{SYS_socket, {AF_NETLINK, SOCK_RAW, 12}, EPERM, EAFNOSUPPORT, EPERM},
	{SYS_socket, {AF_INET, SOCK_RAW, 1}, EPERM, EAFNOSUPPORT, EPERM},
	{SYS_socket, {HIGH | AF_INET6, HIGH | SOCK_RAW | SOCK_CLOEXEC, 58}, EPERM, EAFNOSUPPORT, EPERM},
	{SYS_socket, {AF_INET, SOCK_RAW, 255}, EPERM, EAFNOSUPPORT, EPERM},
	{SYS_socket, {AF_INET, SOCK_STREAM, 262}, EPROTONOSUPPORT, EAFNOSUPPORT, EPROTONOSUPPORT},
	{SYS_socket, {AF_INET, SOCK_DGRAM, 1}, EACCES, EAFNOSUPPORT, EACCES},
	{SYS_socket, {AF_INET, SOCK_SEQPACKET, 132}, EPROTONOSUPPORT, EAFNOSUPPORT, EPROTONOSUPPORT},
	SAME(SYS_socket, EAFNOSUPPORT, 40, SOCK_STREAM) /* vsock */, SAME(SYS_socket, EAFNOSUPPORT, AF_PACKET, SOCK_RAW),
	SAME(SYS_socket, EAFNOSUPPORT, 38, SOCK_SEQPACKET) /* alg */,
	SAME(SYS_socket, EAFNOSUPPORT, HIGH | 43, SOCK_STREAM),
	SAME(SYS_socket, ENOSYS, 200, SOCK_STREAM), SAME(SYS_socketpair, 0, AF_UNIX, SOCK_STREAM),
	SAME(SYS_socketpair, EAFNOSUPPORT, 30 /* tipc */, SOCK_STREAM),
	SAME(SYS_sendto, 0, 0, 0, 0, MSG_NOSIGNAL), SAME(SYS_sendto, EOPNOTSUPP, 0, 0, 0, MSG_NOSIGNAL | MSG_FASTOPEN),
	SAME(SYS_sendmsg, 0, 0, 0, MSG_NOSIGNAL), SAME(SYS_sendmsg, EOPNOTSUPP, 0, 0, HIGH | MSG_FASTOPEN),
	SAME(SYS_sendmmsg, EOPNOTSUPP, 0, 0, 0, MSG_FASTOPEN),
#ifdef SYS_open
	SAME(SYS_open, EPERM, 0, O_CREAT, 04755), SAME(SYS_open, 0, 0, O_CREAT, 0755),
	SAME(SYS_creat, EPERM, 0, 02755),
	SAME(SYS_chmod, EPERM, 0, 04755), OWNER(SYS_chmod, EPERM, 0, 0755), SAME(SYS_mknod, EPERM, 0, S_IFCHR),
	OWNER(SYS_utime, EPERM, 0), OWNER(SYS_chown, EPERM, 0), SAME(SYS_iopl, EPERM, 3),
	SAME(SYS_modify_ldt, ENOSYS, 0),
	SAME(SYS_fork, 0, 0), SAME(SYS_arch_prctl, 0, 0),
#endif
};

static const struct filter *need(const char *name, bool net)
{
	const struct filter *f = filter_find(name, net);

	assert_non_null(f);
	return f;
}

static void the_table_by_hand(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct seccomp_data d = {.nr = (int)r->nr, .arch = NATIVE};
		const int got[] = {verdict(need("agent", true), (memcpy(d.args, r->arg, sizeof(r->arg)), &d)),
		                   verdict(need("agent", false), &d), verdict(need("owner", true), &d)};

		if (got[0] != r->agent || got[1] != r->nonet || got[2] != r->owner)
			fail_msg("row %zu, system call %ld: got %d/%d/%d, want %d/%d/%d", i, r->nr, got[0], got[1], got[2],
			         r->agent, r->nonet, r->owner);
	}
}

static void foreign_entries_end_the_process(void **state)
{
	(void)state;
	for (const struct filter *f = filter_data; f->name != NULL; f++)
		for (int nr = 0; nr < 1024; nr++) {
			struct seccomp_data d = {.nr = nr, .arch = FOREIGN};

			assert_int_equal(verdict(f, &d), KILLED);
#if defined(__x86_64__)
			d = (struct seccomp_data){.nr = nr | 0x40000000, .arch = NATIVE};
			assert_int_equal(verdict(f, &d), KILLED);
#endif
		}
}

/* The owner's filter is nowhere more open than the agent's, and no network nowhere more open than network. */
static void stricter_variants_are_stricter(void **state)
{
	static const uint64_t args[] = {0, 1, 2, 3, 10, 16, 0755, 04755, 0x5412, 0x10000000};

	(void)state;
	for (int nr = 0; nr < 600; nr++)
		for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
			struct seccomp_data d = {.nr = nr, .arch = NATIVE, .args = {args[i], args[i], args[i], args[i]}};
			int agent = verdict(need("agent", true), &d);

			if (agent != 0) {
				assert_int_not_equal(verdict(need("owner", true), &d), 0);
				assert_int_not_equal(verdict(need("agent", false), &d), 0);
				assert_int_not_equal(verdict(need("owner", false), &d), 0);
			}
		}
}

static void unknown_filter(void **state)
{
	(void)state;
	assert_null(filter_find("agnet", true));
	assert_null(filter_find("", false));
}

/* ---- live */

/* The errno of one call in a child under the filter (NULL: none), or minus the signal that ended the child. */
static int live(const struct filter *f, long (*call)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)signal(SIGSEGV, SIG_DFL); /* cmocka catches it */
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || (f != NULL && filter_install(f, NULL) != 0))
			_exit(254);
		errno = 0;
		_exit(call() < 0 ? errno : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static long call_socket(void) { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }
static long call_unix(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }
static long call_tiocsti_high(void) { return syscall(SYS_ioctl, -1, HIGH | TIOCSTI, "x"); }
static long call_clone3(void) { return syscall(SYS_clone3, NULL, 0); }
static long call_keyctl(void) { return syscall(SYS_keyctl, 0, -3, 0); /* KEYCTL_GET_KEYRING_ID, session */ }
static long call_xattr(void) { return syscall(SYS_fremovexattr, -1, "user.x"); }

static void live_calls(void **state)
{
	(void)state;
	assert_int_equal(live(NULL, call_socket), 0);
	assert_int_equal(live(need("agent", true), call_socket), 0);
	assert_int_equal(live(need("agent", false), call_socket), EAFNOSUPPORT);
	assert_int_equal(live(need("agent", false), call_unix), 0);
	/* Without the filter each reaches the kernel's own check of its arguments. */
	assert_int_equal(live(NULL, call_tiocsti_high), EBADF);
	assert_int_equal(live(need("agent", true), call_tiocsti_high), EPERM);
	assert_int_equal(live(NULL, call_clone3), EINVAL);
	assert_int_equal(live(need("agent", true), call_clone3), ENOSYS);
	assert_int_not_equal(live(NULL, call_keyctl), EPERM);
	assert_int_equal(live(need("agent", true), call_keyctl), EPERM);
	assert_int_equal(live(NULL, call_xattr), EBADF);
	assert_int_equal(live(need("agent", true), call_xattr), EBADF);
	assert_int_equal(live(need("owner", true), call_xattr), EPERM);
}

#if defined(__x86_64__)
static long call_x32(void)
{
	return syscall(0x40000000L | SYS_getpid);
}

/* getpid by the 32-bit entry: number 20 there, writev in the native table. */
static long call_int80(void)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(20L) : "r8", "r9", "r10", "r11", "memory");
	return ret > 0 ? 0 : -1;
}

static void live_foreign_entries(void **state)
{
	(void)state;
	assert_int_equal(live(need("agent", true), call_x32), KILLED);
	assert_int_equal(live(need("owner", false), call_x32), KILLED);
	/* A kernel without the 32-bit entry answers with SIGSEGV, filter or not: nothing to hold there. */
	if (live(NULL, call_int80) == -SIGSEGV)
		return;
	assert_int_equal(live(NULL, call_int80), 0);
	assert_int_equal(live(need("agent", true), call_int80), KILLED);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_by_hand),
		cmocka_unit_test(foreign_entries_end_the_process),
		cmocka_unit_test(stricter_variants_are_stricter),
		cmocka_unit_test(unknown_filter),
		cmocka_unit_test(live_calls),
#if defined(__x86_64__)
		cmocka_unit_test(live_foreign_entries),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
