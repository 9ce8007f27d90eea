/* `stint doctor`: what a turn's surroundings are made of: namespaces, mounts in them, cgroup limits. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/doctor_report.h"

/* The steps of a turn's view, in order. A child dies at the first that fails and says which by its exit status. */
enum step {
	STEPS_DONE, STEP_TRY, STEP_UNSHARE, STEP_FORK, STEP_PID, STEP_PRIVATE, STEP_TMPFS, STEP_DEVPTS, STEP_PROC, STEP_COUNT
};

static const struct {
	const char *failed;
	const char *todo;
} step_says[STEP_COUNT] = {
	[STEP_TRY] = {"could not be tried", "free some memory or processes"},
	[STEP_UNSHARE] = {"cannot make pid, mount, IPC and network namespaces",
	                  "run on the machine itself, or in a container that has CAP_SYS_ADMIN"},
	[STEP_FORK] = {"cannot start a process in a new pid namespace", "raise user.max_pid_namespaces"},
	[STEP_PID] = {"a new pid namespace does not begin with pid 1", "run a kernel with CONFIG_PID_NS"},
	[STEP_PRIVATE] = {"cannot make the mounts private",
	                  "in a chroot, bind its folder onto itself first: / must be a mount point"},
	[STEP_TMPFS] = {"cannot mount a private /tmp",
	                "run a kernel with CONFIG_TMPFS, outside a container that forbids mount(2)"},
	[STEP_DEVPTS] = {"cannot mount a private /dev/pts", "mount /dev and its /dev/pts first"},
	[STEP_PROC] = {"cannot mount a new /proc", "mount /proc whole first: a masked /proc forbids new ones"},
};

static void __attribute__((noreturn)) try_mounts(void)
{
	if (getpid() != 1)
		_exit(STEP_PID);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		_exit(STEP_PRIVATE);
	if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=64k") != 0)
		_exit(STEP_TMPFS);
	if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620") != 0)
		_exit(STEP_DEVPTS);
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
		_exit(STEP_PROC);
	_exit(STEPS_DONE);
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return STEP_TRY;
	return WIFEXITED(status) ? WEXITSTATUS(status) : STEP_TRY;
}

/* STEPS_DONE, or the step that failed. */
static int try_namespaces(void)
{
	pid_t inner;
	pid_t pid = fork();

	if (pid < 0)
		return STEP_TRY;
	if (pid > 0)
		return wait_for(pid);
	if (unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET) != 0)
		_exit(STEP_UNSHARE);
	inner = fork();
	if (inner < 0)
		_exit(STEP_FORK);
	if (inner == 0)
		try_mounts();
	_exit(wait_for(inner));
}

static void namespaces(struct doctor_report *r)
{
	static const char why[] = "each turn has its own processes, network, /tmp and covers over sealed entries";
	int step;

	if (geteuid() != 0) {
		doctor_add(r, DOCTOR_WARN, "namespaces", why, "run sudo stint doctor", "not tried: only root may");
		return;
	}
	step = try_namespaces();
	if (step >= STEP_COUNT)
		step = STEP_TRY;
	if (step == STEPS_DONE)
		doctor_add(r, DOCTOR_OK, "namespaces", NULL, NULL, "pid, mount, IPC, network; private /tmp, /dev/pts, /proc");
	else
		doctor_add(r, DOCTOR_FAIL, "namespaces", why, step_says[step].todo, "%s", step_says[step].failed);
}

/* Not needed by stint. Said because an agent that brings a sandbox of its own may want it. */
static void user_namespaces(struct doctor_report *r)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
	if (pid > 0)
		doctor_add(r, DOCTOR_OK, "user-namespaces", NULL, NULL, "%s; stint does not need them",
		           wait_for(pid) == 0 ? "there" : "not there");
}

/* The first cgroup2 mount point, malloc'ed, or NULL. Source: proc_pid_mountinfo(5), field 5 and the
 * one behind " - ". */
static char *cgroup_mount(void)
{
	AUTO_FREE char *text = NULL;
	AUTO_FD fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	char *save = NULL;
	size_t len = 0;

	if (fd < 0 || fd_read_all(fd, 4u << 20, &text, &len) != 0)
		return NULL;
	for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
		char point[1024];

		if (strstr(line, " - cgroup2 ") != NULL && sscanf(line, "%*s %*s %*s %*s %1023s", point) == 1)
			return strdup(point);
	}
	return NULL;
}

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
		if ((at == list || at[-1] == ' ') && (at[n] == '\0' || at[n] == ' ' || at[n] == '\n'))
			return true;
	return false;
}

static void cgroups(struct doctor_report *r)
{
	static const char why[] = "memory and process limits hold for a whole turn, not only for each process";
	static const char todo[] = "boot with the unified hierarchy (systemd.unified_cgroup_hierarchy=1), or live with limits "
	                           "per process (RLIMIT_DATA) and per user (RLIMIT_NPROC)";
	AUTO_FREE char *point = cgroup_mount();
	AUTO_FREE char *list = NULL;
	AUTO_FD fd = -1;
	char path[1100];
	size_t len = 0;
	bool memory;
	bool pids;

	if (point == NULL) {
		doctor_add(r, DOCTOR_WARN, "cgroup", why, todo, "no cgroup v2 is mounted");
		return;
	}
	(void)snprintf(path, sizeof(path), "%s/cgroup.controllers", point);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fd_read_all(fd, 65536, &list, &len) != 0) {
		doctor_add(r, DOCTOR_WARN, "cgroup", why, todo, "%s cannot be read", path);
		return;
	}
	memory = has_word(list, "memory");
	pids = has_word(list, "pids");
	if (memory && pids)
		doctor_add(r, DOCTOR_OK, "cgroup", NULL, NULL, "v2 at %s with memory and pids", point);
	else
		doctor_add(r, DOCTOR_WARN, "cgroup", why, todo, "v2 at %s without %s", point,
		           memory ? "pids" : pids ? "memory" : "memory and pids");
}

void doctor_spaces(struct doctor_report *r)
{
	namespaces(r);
	user_namespaces(r);
	cgroups(r);
}
