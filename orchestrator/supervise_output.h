/* --max-output: standard output and error of a supervised command through pipes. The first part of each goes on as it comes, of the
 * rest the last part, at the end, with a line between that says how much is missing. The command is never blocked by what is
 * dropped, and whoever reads is never written more than it takes. */
#ifndef STINT_ORCHESTRATOR_SUPERVISE_OUTPUT_H
#define STINT_ORCHESTRATOR_SUPERVISE_OUTPUT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define OUTPUT_POLLS 4u

struct output_stream {
	int from;          /* read end, owned; -1 after its end */
	int give;          /* write end, owned, for the command */
	int to;            /* 1 or 2; -1 when nobody reads any more */
	uint64_t limit;
	uint64_t tail;     /* of it, for the end */
	uint64_t total;    /* bytes that the command wrote */
	char *ring;        /* tail bytes, owned, NULL until needed */
	struct buf pending; /* on its way to `to` */
	size_t sent;       /* of pending */
};

struct output {
	struct output_stream stream[2]; /* stdout, stderr */
};

#define OUTPUT_NONE {.stream = {{.from = -1, .give = -1}, {.from = -1, .give = -1}}}

/* Makes the pipes. limit: bytes of each stream. Release with output_done(). */
int output_open(struct output *ret, uint64_t limit, struct err *e) MUST_CHECK;
void output_done(struct output *o);
/* In the command's process: its stdout and stderr become the pipes. */
int output_enter(const struct output *o) MUST_CHECK;
/* In the supervisor, once the command's process is there: the write ends are the command's alone. */
void output_given(struct output *o);

/* What to wait for; ret has room for OUTPUT_POLLS. */
void output_poll(const struct output *o, struct pollfd *ret);
/* Moves what can be moved without waiting. -ENOMEM. */
int output_move(struct output *o, const struct pollfd *p) MUST_CHECK;
/* Every process of the command is gone: takes what still lies in the pipes, then the tail. */
int output_end(struct output *o) MUST_CHECK;
/* True while something waits to be written. */
bool output_left(const struct output *o);
/* More was written than is kept. */
bool output_cut(const struct output_stream *s);

#endif
