/* One case of the corpus under one profile. What is said to pass must pass; what is said to be stopped must pass when nothing is
 * refused, and be stopped by the refusal of that call. Which refusal it was is tried: of the refused calls, in the order in which
 * they came, it is the one with which the case fails while with those before it alone it passes. Every verdict is of a run in which
 * the kernel alone refuses; a watched one only says which calls to try. */
#ifndef STINT_ORCHESTRATOR_CHECK_H
#define STINT_ORCHESTRATOR_CHECK_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "orchestrator/corpus.h"
#include "orchestrator/check_run.h"
#include "sandbox/profile.h"

#define CHECK_NAMES 16u

struct check {
	const struct profile *profile;         /* with inet sockets, borrowed */
	struct profile_program program[2];     /* without and with inet sockets */
	const char *name[CHECK_NAMES];         /* whose cases these are: the profile, what it extends, "" for everybody's */
	size_t n_names;
	char folder[PATH_MAX];                 /* each run has a new one below it */
	unsigned int runs;
};

/* Compiles p (with inet sockets; plain: without them), makes the folder. Release with check_done(), which removes it. */
int check_begin(struct check *ret, const struct profile *p, const struct profile *plain, struct err *e) MUST_CHECK;
void check_done(struct check *c);

enum check_verdict { CHECK_OK, CHECK_WRONG, CHECK_SKIPPED };

struct check_result {
	enum corpus_expect expected;
	const char *call;            /* of CORPUS_STOPPED, borrowed from the case */
	enum check_verdict verdict;
	struct seccomp_data broke;   /* the call whose refusal broke it */
	bool has_broke;
	char why[640];               /* of CHECK_WRONG and CHECK_SKIPPED */
	struct check_ran run;    /* under the whole profile: how it ended, what was refused */
};

/* What the case says of this profile; CORPUS_NOT_MEANT: nothing. */
enum corpus_expect check_expects(const struct check *c, const struct corpus_case *k, const char **ret_call);

/* Tries a case that is meant for the profile. 0, or a negative errno when it could not be tried. */
int check_case(struct check *c, const struct corpus_case *k, struct check_result *ret, struct err *e) MUST_CHECK;

#define CHECK_CALL_MAX 64
/* "openat", or what there is instead of a name: "call 17 of another architecture (0x40000003)". */
void check_call_name(const struct seccomp_data *d, char ret[CHECK_CALL_MAX]);

#endif
