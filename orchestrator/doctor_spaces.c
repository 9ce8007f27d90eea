/* `stint doctor`: what a turn's surroundings are made of: namespaces, mounts in them, cgroup limits. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/doctor_report.h"
#include "sandbox/mnt.h"

#define NEW_MOUNTS "run Linux 5.13 or newer, outside a container whose seccomp filter refuses the new mount calls"

/* The steps of a turn's view, in order and by the same calls. A child dies at the first that fails and says which by its
 * exit status. */
enum step {
	STEPS_DONE, STEP_TRY, STEP_SPACES, STEP_PID, STEP_PRIVATE, STEP_COPY, STEP_TMPFS, STEP_ROOT, STEP_DEVPTS, STEP_PROC, STEP_COUNT
};

static const struct {
	const char *failed;
	const char *todo;
} step_says[STEP_COUNT] = {
	[STEP_TRY] = {"could not be tried", "free some memory or processes"},
	[STEP_SPACES] = {"cannot make pid, mount, IPC and network namespaces",
	                 "run on the machine itself, or in a container that has CAP_SYS_ADMIN and lets clone3 pass; if that is "
	                 "so, raise user.max_pid_namespaces and its like"},
	[STEP_PID] = {"a new pid namespace does not begin with pid 1", "run a kernel with CONFIG_PID_NS"},
	[STEP_PRIVATE] = {"cannot make the mounts private",
	                  "in a chroot, bind its folder onto itself first: / must be a mount point"},
	[STEP_COPY] = {"cannot copy a mount (open_tree, mount_setattr)", NEW_MOUNTS},
	[STEP_TMPFS] = {"cannot mount a tmpfs (fsopen, fsconfig, fsmount, move_mount)", NEW_MOUNTS},
	[STEP_ROOT] = {"cannot change to a root of its own (pivot_root, umount2)",
	               "run outside a container that forbids pivot_root(2)"},
	[STEP_DEVPTS] = {"cannot mount a private /dev/pts", "mount /dev and its /dev/pts first"},
	[STEP_PROC] = {"cannot mount a new /proc", "mount /proc whole first: a masked /proc forbids new ones"},
};

static void enter_root(void)
{
	AUTO_FD usr = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_FD copy = mnt_clone(AT_FDCWD, "/usr", true, MNT_RO | MNT_NOSUID | MNT_NODEV);
	AUTO_FD root = -1;

	if (copy < 0)
		_exit(STEP_COPY);
	root = mnt_tmpfs(65536, MNT_NOSUID | MNT_NODEV);
	if (root < 0 || mnt_attach(root, usr) != 0)
		_exit(STEP_TMPFS);
	if (fchdir(root) != 0 || mnt_become_root() != 0)
		_exit(STEP_ROOT);
}

static void __attribute__((noreturn)) try_mounts(void)
{
	if (getpid() != 1)
		_exit(STEP_PID);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		_exit(STEP_PRIVATE);
	enter_root();
	if (mkdir("/dev", 0755) != 0 || mkdir("/proc", 0755) != 0 || mkdir("/dev/pts", 0755) != 0)
		_exit(STEP_TRY);
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
	struct clone_args args = {
		.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET,
		.exit_signal = SIGCHLD,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0)
		return STEP_SPACES;
	if (pid == 0)
		try_mounts();
	return wait_for(pid);
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
		doctor_add(r, DOCTOR_OK, "namespaces", NULL, NULL, "pid, mount, IPC, network; a root, /dev/pts and /proc of their own");
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

/* A file of the hierarchy's root, malloc'ed, or NULL. */
static char *cgroup_file(int dir, const char *name)
{
	AUTO_FD fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t len = 0;

	return fd >= 0 && fd_read_all(fd, 65536, &text, &len) == 0 ? text : NULL;
}

/* Whether the warden can hand this controller to a turn's cgroup: what cgroup.c tries, without changing anything. A cgroup
 * that is not the machine's root (it has a type) and holds processes hands on nothing. */
static bool cgroup_hands_on(int dir, const char *name)
{
	AUTO_FREE char *offered = cgroup_file(dir, "cgroup.controllers");
	AUTO_FREE char *handed = cgroup_file(dir, "cgroup.subtree_control");
	AUTO_FREE char *type = cgroup_file(dir, "cgroup.type");
	AUTO_FREE char *processes = cgroup_file(dir, "cgroup.procs");

	if (offered == NULL || !has_word(offered, name) || (geteuid() == 0 && faccessat(dir, ".", W_OK, 0) != 0))
		return false;
	return (handed != NULL && has_word(handed, name)) || type == NULL || (processes != NULL && *processes == '\0');
}

static void cgroups(struct doctor_report *r)
{
	static const char why[] = "memory and process limits hold for a whole turn, not only for each process";
	static const char todo[] = "boot with the unified hierarchy (systemd.unified_cgroup_hierarchy=1), in a container mount it "
	                           "writable, or live with limits per process (RLIMIT_DATA) and per user (RLIMIT_NPROC)";
	AUTO_FREE char *point = cgroup_mount();
	AUTO_FD dir = -1;
	bool memory;
	bool pids;

	if (point == NULL) {
		doctor_add(r, DOCTOR_WARN, "cgroup", why, todo, "no cgroup v2 is mounted");
		return;
	}
	dir = open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memory = dir >= 0 && cgroup_hands_on(dir, "memory");
	pids = dir >= 0 && cgroup_hands_on(dir, "pids");
	if (memory && pids)
		doctor_add(r, DOCTOR_OK, "cgroup", NULL, NULL, "v2 at %s with memory and pids", point);
	else
		doctor_add(r, DOCTOR_WARN, "cgroup", why, todo, "v2 at %s hands on no %s to a turn", point,
		           memory ? "pids" : pids ? "memory" : "memory and no pids");
}

void doctor_spaces(struct doctor_report *r)
{
	namespaces(r);
	user_namespaces(r);
	cgroups(r);
}
