/* Findings of `stint doctor`: collected by the doctor_* files, shown here. */
#ifndef STINT_ORCHESTRATOR_DOCTOR_REPORT_H
#define STINT_ORCHESTRATOR_DOCTOR_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

#define DOCTOR_MAX 64u
#define DOCTOR_WHAT_MAX 256

enum doctor_status {
	DOCTOR_OK,
	DOCTOR_WARN,   /* a run is possible, with less than stint can do or with something to look after */
	DOCTOR_FAIL,   /* no run is possible */
};

struct doctor_finding {
	enum doctor_status status;
	const char *id;              /* static; the same word on every machine, for scripts */
	char what[DOCTOR_WHAT_MAX];  /* what was found; from outside, not yet escaped */
	const char *why;             /* static: why it matters; NULL where what says it */
	const char *todo;            /* static: what to do; NULL when nothing is to be done */
};

struct doctor_report {
	struct doctor_finding v[DOCTOR_MAX];
	size_t n;
	size_t dropped;              /* findings beyond DOCTOR_MAX: counts as a failure */
};

const char *doctor_status_name(enum doctor_status status); /* "ok", "warn", "fail" */

void doctor_add(struct doctor_report *r, enum doctor_status status, const char *id, const char *why, const char *todo,
                const char *what, ...) PRINTF_LIKE(6, 7);

/* True when nothing failed and nothing was dropped. */
bool doctor_possible(const struct doctor_report *r);

/* Aligned lines for people, why and what to do below everything that is not ok. */
void doctor_print(const struct doctor_report *r, FILE *to);

/* {"possible", "findings": [{"id", "status", "what", "why", "do"}]}: one object and a newline. 0 or -ENOMEM, -EIO. */
int doctor_print_json(const struct doctor_report *r, FILE *to) MUST_CHECK;

/* The parts. Each only looks, or tries something in a child or on a nameless file; nothing of the machine changes. */
void doctor_kernel(struct doctor_report *r);                             /* version, Landlock, seccomp */
void doctor_spaces(struct doctor_report *r);                             /* namespaces, cgroup */
void doctor_files(struct doctor_report *r, int root_fd, const char *root); /* ACLs and xattrs there */
void doctor_accounts(struct doctor_report *r, int root_fd);              /* state directory, agent accounts, the project's */
void doctor_install(struct doctor_report *r);                            /* stint's programs, libraries */

#endif
