/* The wire: exact sizes by type, descriptors beside them. Linked into root code: libc only. */
#include "protocol/frames.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

/* text: where the frame holds characters, so that a reader always finds a NUL there. */
static const struct {
	const char *name;
	uint32_t size;
	uint32_t text_off;
	uint32_t text_len;
} kinds[FRAME_TYPES] = {
	[FRAME_POLICY] = {"POLICY", sizeof(struct frame_policy), 0, 0},
	[FRAME_TURN] = {"TURN", sizeof(struct frame_turn), 0, 0},
	[FRAME_SPAWN] = {"SPAWN", sizeof(struct frame_spawn), offsetof(struct frame_spawn, task),
	                 sizeof(((struct frame_spawn *)0)->task)},
	[FRAME_END] = {"END", sizeof(struct frame_end), 0, 0},
	[FRAME_READY] = {"READY", sizeof(struct frame_ready), offsetof(struct frame_ready, msg), FRAME_MSG_MAX},
	[FRAME_EXITED] = {"EXITED", sizeof(struct frame_exited), offsetof(struct frame_exited, msg), FRAME_MSG_MAX},
	[FRAME_CHANGED] = {"CHANGED", sizeof(struct frame_changed), offsetof(struct frame_changed, msg), FRAME_MSG_MAX},
};

static const char *const ops[OP_COUNT] = {
	[OP_LIST] = "list", [OP_READ] = "read", [OP_WRITE] = "write", [OP_CREATE] = "create", [OP_DELETE] = "delete",
};

/* Room for the descriptors of one frame, aligned as the kernel wants it. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int) * FRAME_MAX_FDS)];
};

uint32_t frame_size(uint32_t type)
{
	return type < FRAME_TYPES ? kinds[type].size : 0;
}

const char *frame_name(uint32_t type)
{
	return frame_size(type) != 0 ? kinds[type].name : "unknown";
}

const char *prove_op_name(unsigned int op)
{
	return op < OP_COUNT ? ops[op] : "unknown";
}

int frame_send(int sock, const union frame *f, const int *fds, unsigned int n)
{
	union control control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)f, .iov_len = frame_size(f->type)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t sent;

	if (iov.iov_len == 0 || n > FRAME_MAX_FDS)
		return -EINVAL;
	if (n > 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int) * n);
		memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * n);
	}
	/* Not waiting: at most a few answers are ever outstanding, and a peer that reads none must not hold the warden, which
	 * has a deadline and signals to see to. */
	do
		sent = sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return (size_t)sent == iov.iov_len ? 0 : -EMSGSIZE;
}

static void close_all(int fds[FRAME_MAX_FDS])
{
	for (size_t i = 0; i < FRAME_MAX_FDS; i++)
		fd_close(&fds[i]);
}

/* Takes every descriptor out of the message, also when the frame is refused: none may leak. False when something
 * else than descriptors came along. */
static bool take_fds(struct msghdr *msg, int fds[FRAME_MAX_FDS])
{
	bool ok = true;
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		size_t got;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
			ok = false;
			continue;
		}
		got = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < got; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (n < FRAME_MAX_FDS) {
				fds[n++] = fd;
			} else {
				fd_close(&fd);
				ok = false;
			}
		}
	}
	return ok;
}

/* A size and type that belong together; text ends with a NUL whatever was sent. */
static bool frame_ok(union frame *f, size_t n)
{
	char *text;

	if (n < sizeof(f->type) || frame_size(f->type) != n)
		return false;
	text = (char *)f + kinds[f->type].text_off;
	if (kinds[f->type].text_len > 0)
		text[kinds[f->type].text_len - 1] = '\0';
	return true;
}

int frame_recv(int sock, union frame *ret, int fds[FRAME_MAX_FDS])
{
	union control control = {0};
	union frame f = {0};
	struct iovec iov = {.iov_base = &f, .iov_len = sizeof(f)};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes),
	};
	ssize_t got;
	bool ok;

	for (size_t i = 0; i < FRAME_MAX_FDS; i++)
		fds[i] = -1;
	do
		got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	/* A peer that died with unread frames in its queue is as gone as one that closed. */
	if (got < 0)
		return errno == ECONNRESET ? 1 : -errno;
	ok = take_fds(&msg, fds);
	if (got == 0) {
		close_all(fds);
		return 1;
	}
	if (!ok || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || !frame_ok(&f, (size_t)got)) {
		close_all(fds);
		return -EPROTO;
	}
	*ret = f;
	return 0;
}
