/* --report FILE: how a supervised command ended, what it used and what was refused to it, as one JSON object.
 * Source: man/stint-guard.1, "Report". */
#ifndef STINT_ORCHESTRATOR_SUPERVISE_REPORT_H
#define STINT_ORCHESTRATOR_SUPERVISE_REPORT_H

#include "orchestrator/supervise.h"

#define SUPERVISE_TIME_MAX 32

struct supervise_report {
	const struct guard_options *o;
	const struct supervise_end *end;
	const struct supervise_limits *limits;
	const struct output *output;  /* NULL: not limited */
	const struct watch *watch;
	int status;                   /* the exit status of stint guard */
	char started[SUPERVISE_TIME_MAX];
};

/* The time now, ISO 8601 in UTC. */
void supervise_report_time(char ret[SUPERVISE_TIME_MAX]);

/* Writes it to a file that was opened before the command ran. -ENOMEM, or why it cannot be written. */
int supervise_report_write(int fd, const struct supervise_report *r, struct err *e) MUST_CHECK;

#endif
