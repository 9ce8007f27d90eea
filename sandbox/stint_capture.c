/* libstint: keeping the head and the tail of what a command writes, in memory. See stint_impl.h. */
#include "sandbox/stint_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 4096u

/* A power of two at a time, at most max. */
static int grow(char **p, size_t *cap, size_t want, size_t max)
{
	size_t n = *cap == 0 ? FIRST_CAP : *cap;
	char *more;

	if (want <= *cap)
		return 0;
	while (n < want)
		n *= 2;
	if (n > max)
		n = max;
	more = realloc(*p, n);
	if (more == NULL)
		return -ENOMEM;
	*p = more;
	*cap = n;
	return 0;
}

int stint_capture_add(struct stint_capture *c, const char *bytes, size_t n)
{
	size_t half = c->max / 2;
	size_t room = c->max - half; /* of the tail */
	size_t first = n < half - c->n_head ? n : half - c->n_head;
	int rc = grow(&c->head, &c->cap_head, c->n_head + first, half);

	if (rc != 0)
		return rc;
	if (first > 0)
		memcpy(c->head + c->n_head, bytes, first);
	c->n_head += first;
	bytes += first;
	n -= first;
	if (n == 0)
		return 0;
	rc = grow(&c->tail, &c->cap_tail, n < room && c->n_tail + n < room ? c->n_tail + n : room, room);
	/* Until it has its full size nothing is overwritten, so positions hold. */
	while (rc == 0 && n > 0) {
		size_t at = c->n_tail % room;
		size_t part = n < room - at ? n : room - at;

		memcpy(c->tail + at, bytes, part);
		c->n_tail += part;
		bytes += part;
		n -= part;
	}
	return rc;
}

int stint_capture_end(struct stint_capture *c, struct stint_output *ret)
{
	size_t room = c->max - c->max / 2;
	size_t kept = c->n_tail < room ? c->n_tail : room;
	size_t at = c->n_tail > room ? c->n_tail % room : 0; /* the oldest byte of the ring */
	char gap[64] = "";
	size_t n_gap = 0;
	char *all;

	if (c->n_tail > room)
		n_gap = (size_t)snprintf(gap, sizeof(gap), "\n[... %zu bytes left out ...]\n", c->n_tail - room);
	all = malloc(c->n_head + n_gap + kept + 1);
	if (all == NULL)
		return -ENOMEM;
	if (c->n_head > 0)
		memcpy(all, c->head, c->n_head);
	memcpy(all + c->n_head, gap, n_gap);
	if (kept > 0) {
		memcpy(all + c->n_head + n_gap, c->tail + at, kept - at);
		memcpy(all + c->n_head + n_gap + kept - at, c->tail, at);
	}
	all[c->n_head + n_gap + kept] = '\0';
	*ret = (struct stint_output){.bytes = all, .length = c->n_head + n_gap + kept, .total = (uint64_t)c->n_head + c->n_tail};
	return 0;
}

void stint_capture_done(struct stint_capture *c)
{
	free(c->head);
	free(c->tail);
	*c = (struct stint_capture){.max = c->max};
}
