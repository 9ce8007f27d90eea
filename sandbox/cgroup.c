/* Cgroups: see cgroup.h. Source: the kernel's admin-guide/cgroup-v2. */
#include "sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

#define REMOVE_TRIES 200
#define REMOVE_PAUSE_NS 10000000L

static int write_text(int dir_fd, const char *name, const char *text)
{
	AUTO_FD fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

static int write_number(int dir_fd, const char *name, uint64_t value)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return write_text(dir_fd, name, text);
}

/* True when the space-separated list in the file has the word. */
static bool file_has(int dir_fd, const char *name, const char *word)
{
	AUTO_FD fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	char text[1024];
	char *save = NULL;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	for (char *w = strtok_r(text, " \n", &save); w != NULL; w = strtok_r(NULL, " \n", &save))
		if (str_eq(w, word))
			return true;
	return false;
}

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s != '\0'; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] != '\0' && s[3] != '\0') {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

int cgroup_root(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	AUTO_FREE char *line = NULL;
	size_t cap = 0;
	int fd = -1;

	while (f != NULL && fd < 0 && getline(&line, &cap, f) > 0) {
		char *save = NULL;
		char *point = NULL;

		if (strstr(line, " - cgroup2 ") == NULL)
			continue;
		(void)strtok_r(line, " ", &save);
		for (int i = 0; i < 4; i++) /* parent, device, root, mount point */
			point = strtok_r(NULL, " ", &save);
		if (point == NULL)
			continue;
		unescape(point);
		fd = open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (f != NULL)
		(void)fclose(f);
	return fd;
}

static bool offer(int root, const char *name, const char *enable)
{
	if (root < 0 || !file_has(root, "cgroup.controllers", name))
		return false;
	if (faccessat(root, ".", W_OK, 0) != 0) /* mounted read-only, as in containers */
		return false;
	/* Refused where processes live in this cgroup (a container's own root): then it is not offered. */
	return file_has(root, "cgroup.subtree_control", name) || write_text(root, "cgroup.subtree_control", enable) == 0;
}

void cgroup_offers(bool *ret_memory, bool *ret_processes)
{
	AUTO_FD root = cgroup_root();

	*ret_memory = offer(root, "memory", "+memory");
	*ret_processes = offer(root, "pids", "+pids");
}

void cgroup_turn_name(char ret[CGROUP_NAME_MAX], uid_t uid)
{
	(void)snprintf(ret, CGROUP_NAME_MAX, "stint-%u", uid);
}

void cgroup_make(struct cgroup *ret, int parent, const char *name, uint64_t memory, uint64_t processes)
{
	bool has_memory = memory > 0 && offer(parent, "memory", "+memory");
	bool has_processes = processes > 0 && offer(parent, "pids", "+pids");

	*ret = (struct cgroup){.fd = -1};
	if (parent < 0 || (mkdirat(parent, name, 0755) != 0 && errno != EEXIST))
		return;
	ret->fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->fd < 0)
		return;
	cgroup_kill(ret->fd); /* a killed run's leftovers */
	ret->memory = has_memory && write_number(ret->fd, "memory.max", memory) == 0;
	if (ret->memory)
		(void)!write_text(ret->fd, "memory.swap.max", "0"); /* absent on a machine without swap accounting */
	ret->processes = has_processes && write_number(ret->fd, "pids.max", processes) == 0;
}

void cgroup_open(struct cgroup *ret, uid_t uid, const struct policy_limits *limits)
{
	AUTO_FD root = cgroup_root();
	char name[CGROUP_NAME_MAX];

	*ret = (struct cgroup){.fd = -1};
	if (!offer(root, "memory", "+memory") && !offer(root, "pids", "+pids"))
		return;
	cgroup_turn_name(name, uid);
	/* One more for init, which is in it too. */
	cgroup_make(ret, root, name, limits->memory, limits->processes > 0 ? (uint64_t)limits->processes + 1 : 0);
	if (!ret->memory && !ret->processes)
		cgroup_remove(&ret->fd, name);
}

void cgroup_kill(int cgroup_fd)
{
	if (cgroup_fd >= 0)
		(void)!write_text(cgroup_fd, "cgroup.kill", "1"); /* since Linux 5.14; the pid namespace ends them too */
}

void cgroup_remove(int *cgroup_fd, const char *name)
{
	AUTO_FD fd = fd_take(cgroup_fd);
	AUTO_FD parent = fd < 0 ? -1 : openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_NS};

	if (parent < 0)
		return;
	cgroup_kill(fd);
	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
			return;
		(void)nanosleep(&pause, NULL);
	}
}
