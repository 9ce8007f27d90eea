/* What libstint's files share: see stint.h. */
#ifndef STINT_SANDBOX_STINT_IMPL_H
#define STINT_SANDBOX_STINT_IMPL_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "sandbox/guard.h"
#include "sandbox/stint.h"

/* Hands e to the caller, and rc back. */
int stint_fail(struct stint_error *ret, const struct err *e, int rc);

struct stint_compiled {
	char *bytes; /* in the form of filter_file.h; NULL: there is none */
	size_t n;
};

struct stint_profile { /* nothing but holders ever changes */
	atomic_uint holders;
	char *name;
	bool builtin;
	struct stint_compiled plain;   /* no inet sockets; nor has a built-in either of these */
	struct stint_compiled sockets; /* for policies with ports */
};

/* A sealed memfd with the program that fits, for --profile-fd; -1 for a built-in. A negative errno else. */
int stint_profile_fd(const struct stint_profile *p, bool net, int *ret, struct err *e) MUST_CHECK;

struct stint_policy {
	char **words;            /* stint-guard's options; owned */
	size_t n_words;
	struct guard_options o;  /* the same for stint_confine(): paths (owned; theirs point into words), ports, flags, min_abi */
	struct stint_profile *profile; /* held, or NULL */
	char *programs;          /* NULL: this installation's */
};
bool stint_policy_net(const struct stint_policy *p);

/* The path of stint-guard: in folder, or where this library's installation has it. */
int stint_guard_path(const char *folder, char ret[PATH_MAX], struct err *e) MUST_CHECK;

/* ---- starting stint-guard */

#define STINT_CHILD_FDS 6

struct stint_start {
	const char *path;
	char *const *words;
	const char *folder;          /* NULL: the caller's */
	int fds[STINT_CHILD_FDS];    /* become 0, 1, 2, …; -1: none */
};

/* In a session of its own, with default signals and the caller's environment. The caller's other descriptors are closed by execve
 * or by --keeper-fd. */
int stint_start(const struct stint_start *s, pid_t *ret, struct err *e) MUST_CHECK;
/* The wait status, or -1 when somebody else has reaped it (a SIGCHLD handler of the program's). */
int stint_reap(pid_t pid);

/* ---- what a command writes */

/* Head and tail of a stream: the first half of max, and a ring of the last. */
struct stint_capture {
	size_t max;
	char *head;
	size_t n_head;
	size_t cap_head;
	char *tail;
	size_t n_tail;  /* all bytes that came to the tail; it holds the last of them */
	size_t cap_tail;
};

int stint_capture_add(struct stint_capture *c, const char *bytes, size_t n) MUST_CHECK; /* 0 or -ENOMEM */
/* Puts it together; -ENOMEM. */
int stint_capture_end(struct stint_capture *c, struct stint_output *ret) MUST_CHECK;
void stint_capture_done(struct stint_capture *c);

#endif
