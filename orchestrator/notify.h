/* System calls that the kernel holds until the supervisor answers: the program that sends them here, and the listener they come
 * from. Source: seccomp_unotify(2); Documentation/userspace-api/seccomp_filter.rst.
 *
 * The answer never depends on memory of the command: what its profile refuses is refused by the words of the call, what it allows
 * goes on, and Landlock judges the rest as it does without a supervisor. Without the supervisor every held call is ENOSYS. */
#ifndef STINT_ORCHESTRATOR_NOTIFY_H
#define STINT_ORCHESTRATOR_NOTIFY_H

#include <limits.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sandbox/profile.h"

/* Of this machine's own calls. */
#if defined(__x86_64__)
#define NOTIFY_ARCH AUDIT_ARCH_X86_64
#else
#define NOTIFY_ARCH AUDIT_ARCH_AARCH64
#endif

/* Calls that are held beside the refused ones, by number here. */
struct notify_calls {
	const int *number;
	size_t n;
};

/* From a profile's program makes the one for the command: what the profile refuses is held, and so are `calls`. key: see
 * filter_install_listened() in sandbox/seccomp.h. Release with profile_program_done(). */
int notify_program(const struct profile_program *made, const struct notify_calls *calls, const uint64_t key[2],
                   struct profile_program *ret, struct err *e) MUST_CHECK;

/* What a program returns for a call: SECCOMP_RET_…; SECCOMP_RET_KILL_PROCESS for a program that seccomp would not take. */
uint32_t notify_evaluate(const struct profile_program *p, const struct seccomp_data *d);

#define NOTIFY_ROOM 512 /* above the size of what any kernel sends */

struct notify {
	int listener;      /* owned; -1 until the guard has sent it, and after its end */
};

/* Takes the listener from the guard's socket. 1 when it came, 0 when the guard closed the socket without, or a negative errno.
 * ret_tmp: the command's own TMPDIR, "" when it has none. */
int notify_accept(struct notify *n, int socket, char ret_tmp[PATH_MAX], struct err *e) MUST_CHECK;
/* The next held call: 1, or 0 when there is none (any more). */
int notify_next(struct notify *n, struct seccomp_notif *ret) MUST_CHECK;
/* True while the call is still held: what was read of the process before this is of it and not of a successor. */
bool notify_holds(const struct notify *n, uint64_t id);
/* error 0: the call goes on. A caller that is gone is no error. */
void notify_answer(const struct notify *n, uint64_t id, int error);
void notify_done(struct notify *n);

#endif
