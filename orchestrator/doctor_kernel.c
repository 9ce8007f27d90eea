/* `stint doctor`: what the running kernel enforces on a process: Landlock and seccomp. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
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
	{6, DOCTOR_OK, "landlock-scopes", "a turn has its own process and IPC namespaces"},
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

static void landlock(struct doctor_report *r)
{
	static const char why[] = "Landlock is one of the two mechanisms that hold the table";
	int abi = landlock_abi();

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
	doctor_add(r, DOCTOR_OK, "landlock", NULL, NULL, "ABI %d; stint uses up to %d", abi, LANDLOCK_ABI_KNOWN);
	for (const struct landlock_feature *f = landlock_features; f->abi != 0; f++)
		if (f->abi > abi)
			landlock_missing(r, f);
}

/* In a child: a filter cannot be taken off again. The filter allows everything. Returns 0 or a positive errno. */
static int seccomp_try(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
			_exit(errno);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

static void seccomp_filter(struct doctor_report *r)
{
	int rc = seccomp_try();

	if (rc == 0)
		doctor_add(r, DOCTOR_OK, "seccomp", NULL, NULL, "filters load");
	else
		doctor_add(r, DOCTOR_FAIL, "seccomp", "the filter closes what neither ACLs nor Landlock cover",
		           "run a kernel with CONFIG_SECCOMP_FILTER, outside a container that forbids seccomp(2)",
		           "a filter cannot be loaded: %s", strerror(rc));
}

void doctor_kernel(struct doctor_report *r)
{
	kernel_version(r);
	landlock(r);
	seccomp_filter(r);
}
