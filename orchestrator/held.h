/* Looking at a process whose system call is held: all of it is only for telling people, never for judging. What is
 * read belongs to the call only if notify_holds() says so afterwards. */
#ifndef STINT_ORCHESTRATOR_HELD_H
#define STINT_ORCHESTRATOR_HELD_H

#include <linux/seccomp.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

struct held {
	const struct seccomp_notif *n;
	pid_t thread;
	pid_t process;
	int mem;                /* owned, /proc/…/mem; -1: not to be read */
	char program[PATH_MAX]; /* what it runs, "" when not known */
};

void held_open(struct held *ret, const struct seccomp_notif *n);
void held_done(struct held *h);

/* Exactly n bytes at an address, or -EFAULT. */
int held_bytes(const struct held *h, uint64_t address, void *ret, size_t n) MUST_CHECK;
/* A string of less than size bytes with its NUL; -EFAULT, or -ENAMETOOLONG when it is longer (ret has its beginning). */
int held_string(const struct held *h, uint64_t address, char *ret, size_t size) MUST_CHECK;

/* What the call looked like, as in strace(1): "openat(AT_FDCWD, \"/etc/x\", O_RDONLY|O_CLOEXEC)"; text from the process is
 * escaped. A call whose arguments are not known here has them as six hexadecimal numbers. name: of the call. -ENOMEM. */
int held_describe(const struct held *h, const char *name, struct buf *ret) MUST_CHECK;

#endif
