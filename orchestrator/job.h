/* One command run to its end: through the guard or without it, with its input, its deadline and its limits, its output kept as
 * far as it is wanted. Every process that it started is gone when it is over, and also when this program dies, however it does: a
 * keeper (sandbox/keeper.h) stands between. Many jobs can run at once in one process of one thread:
 *
 *   job_start(&j, …)
 *   while (!job_over(j)) { n = job_polls(j, p); poll(p, n, -1); job_move(j, p, &e); }
 *   job_finish(&j, &result, &e)
 *
 * or job_run() for one. SIGPIPE should be ignored. */
#ifndef STINT_ORCHESTRATOR_JOB_H
#define STINT_ORCHESTRATOR_JOB_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/err.h"
#include "orchestrator/supervise_limits.h"
#include "protocol/digest.h"

#define JOB_POLLS 4u
#define JOB_REASON_MAX 512

struct job;

/* The jobs that run at the same time; zeroed is empty. Used again and again, so that no two have a name in common. */
struct jobs {
	struct job *first;
	unsigned int serial;
};

/* Everything is borrowed, and only until job_start() is back, but for seen and cookie. */
struct job_spec {
	const char *const *argv;         /* NULL-terminated; the program is searched in env's PATH */
	const char *const *env;          /* NULL-terminated NAME=VALUE; NULL: this process's */
	const char *dir;                 /* to run in; NULL: this process's */
	const void *input;               /* its standard input; none is /dev/null */
	size_t n_input;
	bool guarded;
	const char *const *guard;        /* options of stint-guard(1) but --profile FILE and the supervised ones; NULL: none */
	int profile_fd;                  /* with guarded: from profile_memfd(), in place of a --profile FILE; -1: none */
	uint64_t timeout_ms;             /* 0: no deadline */
	uint64_t memory;                 /* bytes, 0: no limit */
	uint64_t processes;              /* and threads, 0: no limit */
	uint64_t output_max;             /* bytes of a stream that end the job, 0: no limit */
	size_t keep;                     /* bytes kept of each stream */
	bool merged;                     /* standard error goes where standard output goes, in order */
	/* Every byte as it comes, also what is not kept; or NULL. */
	void (*seen)(void *cookie, bool is_err, const char *bytes, size_t n);
	void *cookie;
};

enum job_why {
	JOB_EXITED,      /* code: its exit status */
	JOB_SIGNALED,    /* code: the signal */
	JOB_TIMEOUT,
	JOB_LIMIT,       /* reason says which */
	JOB_ENDED,       /* by job_end() */
	JOB_NOT_STARTED, /* reason says why; code 125 confinement, 126, 127 as of a shell */
	JOB_LOST,        /* the keeper was killed; everything was ended, what the command did is not known */
};

/* A stream. */
struct job_output {
	char *bytes;             /* the first of them, with a NUL behind; never NULL after job_finish() */
	size_t n;
	uint64_t total;          /* that were written; more than n: cut */
	char hash[DIGEST_MAX];   /* of all of them, also of what was not kept */
};

struct job_result {
	enum job_why why;
	int code;
	int exit;                /* as a shell has it: 128+N for a signal, 124 timeout, 125 … */
	char reason[JOB_REASON_MAX]; /* a sentence, "" when there is nothing to say */
	struct job_output out;
	struct job_output err;   /* with merged: empty */
	unsigned int left;       /* processes that were still there at the end, and were ended */
	uint64_t wall_ms;
	struct rusage usage;
	bool counted;            /* by a cgroup */
	struct supervise_counts counts;
};

int job_start(struct job **ret, struct jobs *all, const struct job_spec *s, struct err *e) MUST_CHECK;
/* What to wait for: at most JOB_POLLS. Returns how many. */
size_t job_polls(const struct job *j, struct pollfd *ret);
/* Deals with what poll() found; never waits, but for a keeper that was killed. After an error the job is over. */
int job_move(struct job *j, const struct pollfd *p, struct err *e) MUST_CHECK;
bool job_over(const struct job *j);
/* Asks for its end now; job_over() follows soon. */
void job_end(struct job *j);
/* Takes what is left of the output, frees *j and makes it NULL (NULL is nothing); also after an error of job_move(). Of a job that
 * is not over: ends it first. Release the result with job_result_done(). */
int job_finish(struct job **j, struct job_result *ret, struct err *e) MUST_CHECK;
void job_result_done(struct job_result *r);

/* One job from its start to its end. stop_fd: readable (a signalfd) it ends the job; -1: none. */
int job_run(struct jobs *all, const struct job_spec *s, int stop_fd, struct job_result *ret, struct err *e) MUST_CHECK;

#endif
