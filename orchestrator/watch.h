/* What the supervisor does with the calls that the kernel holds for it: answers as the profile would have, and notes what was
 * refused. */
#ifndef STINT_ORCHESTRATOR_WATCH_H
#define STINT_ORCHESTRATOR_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "orchestrator/audit.h"
#include "orchestrator/grants.h"
#include "orchestrator/notify.h"
#include "orchestrator/violations.h"
#include "sandbox/profile.h"

struct watch {
	struct notify notify;
	struct profile profile;         /* rows, for naming the one that refused */
	struct profile_program program; /* what it says of a call */
	uint64_t content;               /* the profile's, see profile_content() */
	uint64_t key[2];
	struct grants grants;
	struct violations violations;
	struct audit audit;             /* the kernel's own records, where they may be read */
	dev_t guard_dev;                /* stint-guard itself: its own calls before the command's execve are not the command's */
	ino_t guard_ino;
	bool started;                   /* the command's own calls have begun */
	pid_t killed;                   /* the last process that was ended because its profile says `kill`, or 0 */
};

/* Fills a zeroed object; guard_path: of stint-guard. Release with watch_close() in either case. */
int watch_open(struct watch *w, const struct guard_options *o, const char *guard_path, struct err *e) MUST_CHECK;
void watch_close(struct watch *w);

/* The compiled profile for the guard, as profile_memfd(). */
int watch_profile(const struct watch *w, struct err *e) MUST_CHECK;

/* Takes the listener from the guard's socket, once there is something to read. */
int watch_accept(struct watch *w, int socket, struct err *e) MUST_CHECK;

/* Answers one held call. -ENOMEM. */
int watch_step(struct watch *w, struct err *e) MUST_CHECK;

#endif
