/* Output within a limit: see capture.h. The first half of the limit is the head; the second half is a ring in
 * the file that capture_end() puts in order. */
#include "orchestrator/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/agent.h"

#define MARK_MAX 80u

void capture_begin(struct capture *c, int fd, uint64_t limit)
{
	*c = (struct capture){.fd = fd, .limit = limit};
}

bool capture_cut(const struct capture *c)
{
	return c->total > c->limit;
}

static int write_at(int fd, const char *p, size_t n, uint64_t at)
{
	while (n > 0) {
		ssize_t w = pwrite(fd, p, n, (off_t)at);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		at += (uint64_t)w;
		n -= (size_t)w;
	}
	return 0;
}

int capture_add(struct capture *c, const char *bytes, size_t n)
{
	uint64_t head = c->limit / 2;
	uint64_t ring = c->limit - head;

	c->denials += agent_count_denials(bytes, n);
	while (n > 0) {
		uint64_t at = c->total < head ? c->total : head + (c->total - head) % ring;
		uint64_t room = c->total < head ? head - c->total : head + ring - at;
		size_t part = n < room ? n : (size_t)room;
		int rc = write_at(c->fd, bytes, part, at);

		c->total += part;
		if (rc != 0)
			return rc;
		bytes += part;
		n -= part;
	}
	return 0;
}

int capture_end(struct capture *c)
{
	uint64_t head = c->limit / 2;
	uint64_t ring = c->limit - head;
	AUTO_FREE char *tail = NULL;
	char mark[MARK_MAX];
	uint64_t start;
	int n;
	int rc;

	if (!capture_cut(c))
		return 0;
	tail = malloc(ring);
	if (tail == NULL)
		return -ENOMEM;
	start = (c->total - head) % ring; /* the oldest byte of the ring */
	if (pread(c->fd, tail, ring - start, (off_t)(head + start)) != (ssize_t)(ring - start) ||
	    pread(c->fd, tail + (ring - start), start, (off_t)head) != (ssize_t)start)
		return -EIO;
	n = snprintf(mark, sizeof(mark), "\n[... %llu bytes left out ...]\n", (unsigned long long)(c->total - c->limit));
	rc = write_at(c->fd, mark, (size_t)n, head);
	return rc == 0 ? write_at(c->fd, tail, ring, head + (uint64_t)n) : rc;
}

int capture_read(const struct capture *c, char **ret, size_t *ret_n)
{
	if (lseek(c->fd, 0, SEEK_SET) != 0)
		return -errno;
	return fd_read_all(c->fd, c->limit + MARK_MAX, ret, ret_n);
}

void capture_done(struct capture *c)
{
	fd_close(&c->fd);
}
