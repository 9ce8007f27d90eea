/* Reading a held process: see held.h. Source: proc(5). */
#include "orchestrator/held.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define PAGE 4096u

static pid_t process_of(pid_t thread)
{
	char path[64];
	char text[1024];
	AUTO_FD fd = -1;
	const char *at;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return thread;
	text[n] = '\0';
	at = strstr(text, "\nTgid:\t");
	return at != NULL ? (pid_t)strtol(at + strlen("\nTgid:\t"), NULL, 10) : thread;
}

void held_open(struct held *ret, const struct seccomp_notif *n)
{
	char path[64];
	ssize_t len;

	*ret = (struct held){.n = n, .thread = (pid_t)n->pid, .process = process_of((pid_t)n->pid)};
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)n->pid);
	ret->mem = open(path, O_RDONLY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)n->pid);
	len = readlink(path, ret->program, sizeof(ret->program) - 1);
	ret->program[len > 0 ? len : 0] = '\0';
}

void held_done(struct held *h)
{
	fd_close(&h->mem);
}

int held_bytes(const struct held *h, uint64_t address, void *ret, size_t n)
{
	return h->mem >= 0 && pread(h->mem, ret, n, (off_t)address) == (ssize_t)n ? 0 : -EFAULT;
}

/* Page by page: what follows the string may not be mapped. */
int held_string(const struct held *h, uint64_t address, char *ret, size_t size)
{
	size_t done = 0;

	while (done < size - 1) {
		size_t part = PAGE - (size_t)((address + done) % PAGE);
		ssize_t n;

		if (part > size - 1 - done)
			part = size - 1 - done;
		n = h->mem < 0 ? -1 : pread(h->mem, ret + done, part, (off_t)(address + done));
		if (n <= 0)
			return -EFAULT;
		if (memchr(ret + done, '\0', (size_t)n) != NULL)
			return 0;
		done += (size_t)n;
	}
	ret[done] = '\0';
	return -ENAMETOOLONG;
}
