/* The kernel's own records of what Landlock refused, for those who may read them. Source: the kernel's admin-guide/LSM/landlock,
 * record types 1423 (an access) and 1424 (a domain); audit netlink. */
#ifndef STINT_ORCHESTRATOR_AUDIT_H
#define STINT_ORCHESTRATOR_AUDIT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "orchestrator/violations.h"

#define AUDIT_WAITING 64

struct audit {
	int fd;              /* owned; -1: not used */
	const char *why;     /* why not */
	uint64_t domain;     /* the command's, 0: not known yet */
	struct audit_record {
		uint64_t domain;
		char *text;
	} waiting[AUDIT_WAITING]; /* that came before their domain was named */
	unsigned int n;
};

/* Uses the records when this process may read them and the kernel makes them; otherwise says why not. Changes no setting. abi: what
 * Landlock enforces, 0: nothing. */
void audit_open(struct audit *ret, int abi);
void audit_close(struct audit *a);

/* Takes what is there. command: the guard's process, which made the domain. -ENOMEM. */
int audit_take(struct audit *a, pid_t command, struct violations *v) MUST_CHECK;
/* The command is gone: waits a moment for what is on its way. */
int audit_finish(struct audit *a, pid_t command, struct violations *v) MUST_CHECK;

/* For tests: one record of that type. */
int audit_record(struct audit *a, unsigned int type, const char *text, pid_t command, struct violations *v) MUST_CHECK;

#endif
