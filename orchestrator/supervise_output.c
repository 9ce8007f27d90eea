/* Output within a limit: see supervise_output.h. */
#include "orchestrator/supervise_output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define TAIL_MAX (64u << 10)
#define CHUNK (64u << 10)
#define LEFT_IN_PIPE (1u << 20) /* the most that a pipe holds: what comes after that is a stranger's */

int output_open(struct output *ret, uint64_t limit, struct err *e)
{
	struct output o = OUTPUT_NONE;

	for (int i = 0; i < 2; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
			int rc = err_errno(e, errno, "cannot limit the output");

			output_done(&o);
			return rc;
		}
		o.stream[i] = (struct output_stream){.from = ends[0], .give = ends[1], .to = i + 1, .limit = limit,
		                                     .tail = limit / 2 < TAIL_MAX ? limit / 2 : TAIL_MAX};
	}
	*ret = o;
	return 0;
}

void output_done(struct output *o)
{
	for (int i = 0; i < 2; i++) {
		struct output_stream *s = &o->stream[i];

		fd_close(&s->from);
		fd_close(&s->give);
		free(s->ring);
		s->ring = NULL;
		buf_done(&s->pending);
	}
}

int output_enter(const struct output *o)
{
	for (int i = 0; i < 2; i++)
		if (dup2(o->stream[i].give, i + 1) < 0)
			return -errno;
	return 0;
}

void output_given(struct output *o)
{
	fd_close(&o->stream[0].give);
	fd_close(&o->stream[1].give);
}

bool output_cut(const struct output_stream *s)
{
	return s->total > s->limit;
}

void output_poll(const struct output *o, struct pollfd *ret)
{
	for (int i = 0; i < 2; i++) {
		const struct output_stream *s = &o->stream[i];
		bool full = s->pending.len > 0;

		ret[2 * i] = (struct pollfd){.fd = full ? -1 : s->from, .events = POLLIN};
		/* Also without anything to write: whether somebody still reads. */
		ret[2 * i + 1] = (struct pollfd){.fd = s->to, .events = full ? POLLOUT : 0};
	}
}

/* What is behind the head goes round in the ring. */
static int keep_tail(struct output_stream *s, const char *p, size_t n)
{
	uint64_t head = s->limit - s->tail;

	if (s->ring == NULL && n > 0) {
		s->ring = malloc(s->tail);
		if (s->ring == NULL)
			return -ENOMEM;
	}
	while (n > 0) {
		size_t at = (size_t)((s->total - head) % s->tail);
		size_t room = (size_t)s->tail - at;
		size_t part = n < room ? n : room;

		memcpy(s->ring + at, p, part);
		s->total += part;
		p += part;
		n -= part;
	}
	return 0;
}

static int take(struct output_stream *s, const char *p, size_t n)
{
	uint64_t head = s->limit - s->tail;
	size_t first = s->total >= head ? 0 : head - s->total < n ? (size_t)(head - s->total) : n;
	int rc = s->to < 0 ? 0 : buf_add(&s->pending, p, first);

	s->total += first;
	return rc != 0 ? rc : keep_tail(s, p + first, n - first);
}

/* Reads once. Returns the bytes, 0 when there are none now. */
static ssize_t pull(struct output_stream *s)
{
	char chunk[CHUNK];
	ssize_t n = s->from < 0 ? 0 : read(s->from, chunk, sizeof(chunk));
	int rc;

	if (n < 0)
		return 0; /* EAGAIN, EINTR */
	if (n == 0) {
		fd_close(&s->from);
		return 0;
	}
	rc = take(s, chunk, (size_t)n);
	return rc != 0 ? rc : n;
}

/* Nobody reads: the command is told in the usual way, by the end of its pipe. */
static void close_stream(struct output_stream *s)
{
	s->to = -1;
	fd_close(&s->from);
	s->pending.len = 0;
	s->sent = 0;
}

/* Never more than a ready pipe takes without waiting. */
static void push(struct output_stream *s)
{
	size_t left = s->pending.len - s->sent;
	ssize_t n = write(s->to, s->pending.data + s->sent, left < PIPE_BUF ? left : PIPE_BUF);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0) {
		close_stream(s);
		return;
	}
	s->sent += (size_t)n;
	if (s->sent < s->pending.len)
		return;
	s->pending.len = 0;
	s->sent = 0;
}

int output_move(struct output *o, const struct pollfd *p)
{
	for (int i = 0; i < 2; i++) {
		ssize_t n = p[2 * i].revents != 0 ? pull(&o->stream[i]) : 0;

		if (n < 0)
			return (int)n;
		if ((p[2 * i + 1].revents & (POLLERR | POLLNVAL)) != 0)
			close_stream(&o->stream[i]);
		else if (p[2 * i + 1].revents != 0)
			push(&o->stream[i]);
	}
	return 0;
}

static int add_tail(struct output_stream *s)
{
	uint64_t head = s->limit - s->tail;
	size_t start;
	int rc;

	if (s->total <= head || s->to < 0)
		return 0;
	if (!output_cut(s))
		return buf_add(&s->pending, s->ring, (size_t)(s->total - head));
	start = (size_t)((s->total - head) % s->tail); /* the oldest byte */
	rc = buf_addf(&s->pending, "\n[... %llu bytes left out ...]\n", (unsigned long long)(s->total - s->limit));
	if (rc == 0)
		rc = buf_add(&s->pending, s->ring + start, (size_t)s->tail - start);
	return rc == 0 ? buf_add(&s->pending, s->ring, start) : rc;
}

int output_end(struct output *o)
{
	for (int i = 0; i < 2; i++) {
		size_t taken = 0;
		ssize_t n;
		int rc;

		while (taken < LEFT_IN_PIPE && (n = pull(&o->stream[i])) != 0) {
			if (n < 0)
				return (int)n;
			taken += (size_t)n;
		}
		fd_close(&o->stream[i].from);
		rc = add_tail(&o->stream[i]);
		if (rc != 0)
			return rc;
	}
	return 0;
}

bool output_left(const struct output *o)
{
	return o->stream[0].pending.len > 0 || o->stream[1].pending.len > 0;
}
