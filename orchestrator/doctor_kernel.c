/* `stint doctor`: what the running kernel enforces on a process: Landlock and seccomp. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orchestrator/doctor_report.h"
#include "sandbox/landlock.h"

#define NEWER "run a newer kernel, if this matters here"

/* What a turn has instead of a Landlock feature. Absent: nothing is lost that stint uses. */
static const struct {
	int abi;
	enum doctor_status status;
	const char *id;
	const char *instead;
} fallback[] = {
	{2, DOCTOR_WARN, "landlock-refer", "inside a turn such a rename fails, tools that build by renaming fail with it"},
	{3, DOCTOR_OK, "landlock-truncate", "in a turn ACLs or read-only mounts refuse it; `stint guard` alone does not"},
	{4, DOCTOR_WARN, "landlock-tcp", "a role with ports does not start (the guard refuses it); one without has no network at all"},
	{5, DOCTOR_OK, "landlock-ioctl", "a turn sees only harmless devices"},
	{6, DOCTOR_WARN, "landlock-scopes", "a turn has its own process and IPC namespaces; but a role with ports reaches this "
	                                    "machine's abstract UNIX sockets"},
	{7, DOCTOR_OK, "landlock-audit", "refusals are seen in the agents' own output only"},
	{9, DOCTOR_OK, "landlock-unix", "a turn has its own /run and /tmp; `stint guard` alone has not"},
	{10, DOCTOR_WARN, "landlock-udp", "a role with ports can send UDP anywhere; one without has no network at all"},
};

static void kernel_version(struct doctor_report *r)
{
	struct utsname u;

	if (uname(&u) == 0)
		doctor_add(r, DOCTOR_OK, "kernel", NULL, NULL, "%s %s, %s", u.sysname, u.release, u.machine);
}

static void landlock_missing(struct doctor_report *r, const struct landlock_feature *f)
{
	for (size_t i = 0; i < sizeof(fallback) / sizeof(fallback[0]); i++)
		if (fallback[i].abi == f->abi)
			doctor_add(r, fallback[i].status, fallback[i].id, fallback[i].instead, NEWER,
			           "cannot %s (needs ABI %d)%s%s", f->lost, f->abi,
			           fallback[i].status == DOCTOR_OK ? "; " : "",
			           fallback[i].status == DOCTOR_OK ? fallback[i].instead : "");
}

/* In a child: what is entered cannot be left again. Returns 0 or a positive errno. */
static int try_entering(int (*enter)(int arg), int arg)
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ? errno : -enter(arg));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

static int enter_domain(int abi)
{
	struct landlock l = {.fd = -1};
	int rc = landlock_begin(&l, abi, landlock_rights_for(abi), NULL);

	if (rc == 0)
		rc = landlock_add_path(&l, "/", GRANT_READ, false, NULL);
	return rc == 0 ? landlock_enforce(&l, NULL) : rc;
}

static void landlock(struct doctor_report *r)
{
	static const char why[] = "Landlock is one of the two mechanisms that hold the table";
	int abi = landlock_abi();
	int rc;

	if (abi == -EOPNOTSUPP) {
		doctor_add(r, DOCTOR_FAIL, "landlock", why, "add landlock to lsm= on the kernel's command line and boot again",
		           "built in, but switched off at boot");
		return;
	}
	if (abi == -EPERM) {
		doctor_add(r, DOCTOR_FAIL, "landlock", why, "let the container's seccomp filter pass landlock_create_ruleset, "
		           "landlock_add_rule and landlock_restrict_self", "refused by a seccomp filter, as in a container");
		return;
	}
	if (abi < 0) {
		doctor_add(r, DOCTOR_FAIL, "landlock", why, "run a kernel with CONFIG_SECURITY_LANDLOCK (Linux 5.13 or newer)",
		           "not there: %s", strerror(-abi));
		return;
	}
	rc = try_entering(enter_domain, abi);
	if (rc != 0) {
		doctor_add(r, DOCTOR_FAIL, "landlock", why, "let the container's seccomp filter pass landlock_add_rule and "
		           "landlock_restrict_self", "ABI %d, but a domain cannot be entered: %s", abi, strerror(rc));
		return;
	}
	doctor_add(r, DOCTOR_OK, "landlock", NULL, NULL, "ABI %d; stint uses up to %d", abi, LANDLOCK_ABI_KNOWN);
	for (const struct landlock_feature *f = landlock_features; f->abi != 0; f++)
		if (f->abi > abi)
			landlock_missing(r, f);
}

/* The filter allows everything. */
static int enter_filter(int unused)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};

	(void)unused;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : -errno;
}

static void seccomp_filter(struct doctor_report *r)
{
	int rc = try_entering(enter_filter, 0);

	if (rc == 0)
		doctor_add(r, DOCTOR_OK, "seccomp", NULL, NULL, "filters load");
	else
		doctor_add(r, DOCTOR_FAIL, "seccomp", "the filter closes what neither ACLs nor Landlock cover",
		           "run a kernel with CONFIG_SECCOMP_FILTER, outside a container that forbids seccomp(2)",
		           "a filter cannot be loaded: %s", strerror(rc));
}

/* What a turn calls beside mounts, ACLs, Landlock and seccomp, which are really tried. The arguments are such that root gets
 * EINVAL, EFAULT or a call without effect. */
static const struct {
	const char *name;
	long number;
	long arg[5];
	bool may_lack; /* a kernel may be built without it, a filter must not refuse it */
} calls[] = {
	{"openat2", SYS_openat2, {0}, false},
	{"statx", SYS_statx, {-1, 0, 0, 0xffffffff, 0}, false},
	{"close_range", SYS_close_range, {1, 0}, false},
	{"memfd_create", SYS_memfd_create, {0, -1}, false},
	{"execveat", SYS_execveat, {-1, 0, 0, 0, 0}, false},
	{"capset", SYS_capset, {0, 0}, false},
	{"setgroups", SYS_setgroups, {-1, 0}, false},
	{"setresgid", SYS_setresgid, {-1, -1, -1}, false},
	{"setresuid", SYS_setresuid, {-1, -1, -1}, false},
	{"keyctl", SYS_keyctl, {-1}, true},
};

static bool is_refused(size_t i)
{
	const long *a = calls[i].arg;

	if (syscall(calls[i].number, a[0], a[1], a[2], a[3], a[4]) >= 0)
		return false;
	if (errno == ENOSYS)
		return !calls[i].may_lack;
	return errno == EPERM && (geteuid() == 0 || calls[i].number != SYS_setgroups); /* which only root may call */
}

static void system_calls(struct doctor_report *r)
{
	char refused[DOCTOR_WHAT_MAX] = "";
	size_t n = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (!is_refused(i))
			continue;
		n += (size_t)snprintf(refused + n, sizeof(refused) - n, "%s%s", n == 0 ? "" : ", ", calls[i].name);
	}
	if (n > 0)
		doctor_add(r, DOCTOR_FAIL, "system-calls", "a turn is made with them",
		           "run Linux 5.13 or newer; in a container, let its seccomp filter pass them", "refused here: %s", refused);
	else
		doctor_add(r, DOCTOR_OK, "system-calls", NULL, NULL, "those that a turn is made with are there");
}

void doctor_kernel(struct doctor_report *r)
{
	kernel_version(r);
	landlock(r);
	seccomp_filter(r);
	system_calls(r);
}
