/* The listener: see notify.h. */
#include "orchestrator/notify.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

/* Since Linux 6.6; the system's header may lack it. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

static int take_descriptor(int socket, char ret_tmp[PATH_MAX])
{
	struct iovec iov = {.iov_base = ret_tmp, .iov_len = PATH_MAX};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	int fd;

	if (n == 0)
		return -ENODATA;
	if (n < 0)
		return -errno;
	if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EBADMSG;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	ret_tmp[n - 1] = '\0';
	return fd;
}

int notify_accept(struct notify *n, int socket, char ret_tmp[PATH_MAX], struct err *e)
{
	struct seccomp_notif_sizes sizes = {0};
	int fd = take_descriptor(socket, ret_tmp);

	if (fd == -ENODATA)
		return 0;
	if (fd < 0)
		return err_errno(e, -fd, "cannot take the guard's listener");
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0 || sizes.seccomp_notif > NOTIFY_ROOM ||
	    sizes.seccomp_notif_resp > NOTIFY_ROOM) {
		fd_close(&fd);
		return err_set(e, ENOSYS, "this kernel's notifications have a form that is not known here");
	}
	/* Both sides run one after the other: on one processor that is faster. */
	(void)ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	n->listener = fd;
	return 1;
}

int notify_next(struct notify *n, struct seccomp_notif *ret)
{
	union {
		char bytes[NOTIFY_ROOM]; /* must be zero */
		struct seccomp_notif first;
	} room = {.bytes = {0}};

	if (n->listener < 0)
		return 0;
	if (ioctl(n->listener, SECCOMP_IOCTL_NOTIF_RECV, &room) != 0)
		return 0; /* ENOENT: the caller died meanwhile */
	*ret = room.first;
	return 1;
}

bool notify_holds(const struct notify *n, uint64_t id)
{
	return ioctl(n->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

void notify_answer(const struct notify *n, uint64_t id, int error)
{
	union {
		char bytes[NOTIFY_ROOM];
		struct seccomp_notif_resp first;
	} room = {.bytes = {0}};

	room.first.id = id;
	room.first.error = -error;
	room.first.flags = error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
	(void)ioctl(n->listener, SECCOMP_IOCTL_NOTIF_SEND, &room);
}

void notify_done(struct notify *n)
{
	fd_close(&n->listener);
}
