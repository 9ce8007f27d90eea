/* One turn: flip and prove, run the role's command with its output captured, end, list what changed.
 * Knows nothing of tasks; the loop and `stint turn` are its callers. */
#ifndef STINT_ORCHESTRATOR_TURN_H
#define STINT_ORCHESTRATOR_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "orchestrator/capture.h"
#include "orchestrator/warden.h"

/* Called while the command runs: a few times a second and for every piece of output. */
struct turn_watch {
	void (*tick)(void *cookie, uint64_t elapsed_ms, unsigned int denials);
	void (*output)(void *cookie, bool is_stderr, const char *bytes, size_t n); /* or NULL */
	void *cookie;
};

struct turn_request {
	int sock;                    /* to the warden */
	unsigned int role;
	uint32_t flags;              /* enum turn_flag */
	const char *prompt;          /* NULL: none */
	size_t prompt_len;
	int suite_log_fd;            /* a sealed memfd, or -1 */
	const char *task;            /* STINT_TASK, or NULL */
	unsigned int iteration;      /* STINT_ITERATION */
	uint64_t idle_ms;            /* the command is ended when it printed nothing for so long; 0: never */
	uint64_t output_limit;       /* bytes kept of each stream */
	int stdout_file, stderr_file; /* where output is kept, O_RDWR; both are taken over */
	int interrupt_fd;            /* readable when the person wants to stop (a signalfd), or -1 */
	const struct turn_watch *watch; /* or NULL */
};

struct turn_result {                 /* turn_result_done() only after turn_run() */
	struct warden_ready ready;
	struct frame_exited exited;
	struct warden_changes changes;
	struct capture out, err;
	bool interrupted;            /* interrupt_fd became readable */
	bool idle;                   /* ended because it was idle */
	int capture_error;           /* negative errno when output could not be kept */
};

/* 0 when the command ran to its end or was ended; what it did is in ret. Negative: the run is over (e says why and
 * carries the exit status). */
int turn_run(const struct turn_request *q, struct turn_result *ret, struct err *e) MUST_CHECK;
void turn_result_done(struct turn_result *r);

/* The exit status as `stint turn` and records give it: 124, 125, 128+N or the command's own. */
int turn_exit(const struct turn_result *r);

#endif
