/* Installing ready-made seccomp programs: see seccomp.h. */
#include "sandbox/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "sandbox/filter_file.h"

const struct filter *filter_find(const char *name, bool net)
{
	for (const struct filter *f = filter_data; f->name != NULL; f++)
		if (str_eq(f->name, name) && f->net == net)
			return f;
	return NULL;
}

int filter_read(int fd, const struct filter **ret, const uint64_t **ret_key, struct err *e)
{
	AUTO_FREE char *bytes = NULL;
	const struct filter_file *head;
	const struct sock_filter *insn;
	struct filter *f;
	size_t n = 0;
	int rc = fd_read_all(fd, sizeof(*head) + BPF_MAXINSNS * sizeof(*insn), &bytes, &n);

	if (rc != 0)
		return err_errno(e, -rc, "cannot read the compiled profile");
	head = (const struct filter_file *)(const void *)bytes;
	insn = (const struct sock_filter *)(const void *)(bytes + sizeof(*head));
	if (n < sizeof(*head) || head->magic != FILTER_FILE_MAGIC || head->n == 0 || head->n > BPF_MAXINSNS ||
	    n != sizeof(*head) + head->n * sizeof(*insn) || head->name[FILTER_FILE_NAME - 1] != '\0')
		return err_set(e, EINVAL, "the compiled profile is damaged: use --profile FILE");
	f = malloc(sizeof(*f));
	if (f == NULL)
		return err_errno(e, ENOMEM, "cannot read the compiled profile");
	*f = (struct filter){head->name, head->sockets != 0, (unsigned short)head->n, insn, head->content};
	*ret_key = head->listened != 0 ? head->key : NULL;
	*ret = f;
	bytes = NULL;
	return 0;
}

/* Since Linux 5.19; the system's header may lack it. A signal that a thread handles must not make its call start anew while the
 * supervisor looks at it. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* No library between: the key is in arguments that sendmsg() does not have. */
static int send_listener(int socket, int listener, const uint64_t key[2], const char *tmp)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)tmp, .iov_len = strlen(tmp) + 1};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {.bytes = {0}};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
	                     .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &listener, sizeof(int));
	return syscall(SYS_sendmsg, socket, &msg, MSG_NOSIGNAL, 0, key[0], key[1]) == (long)iov.iov_len ? 0 : -errno;
}

int filter_install_listened(const struct filter *f, const uint64_t key[2], int socket, const char *tmp, struct err *e)
{
	struct sock_fprog prog = {.len = f->n, .filter = (struct sock_filter *)(uintptr_t)f->insn};
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &prog);
	int rc;

	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	if (fd < 0)
		return err_errno(e, errno, "cannot install the seccomp filter with a listener: %s", errno == EBUSY ?
		                 "another supervisor listens already" : "the kernel needs CONFIG_SECCOMP_FILTER and Linux 5.5");
	rc = send_listener(socket, (int)fd, key, tmp != NULL ? tmp : "");
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot hand the listener over to the supervisor");
}

int filter_install(const struct filter *f, struct err *e)
{
	/* The kernel only reads it; its structure lacks the const. */
	struct sock_fprog prog = {.len = f->n, .filter = (struct sock_filter *)(uintptr_t)f->insn};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) != 0)
		return err_errno(e, errno, "cannot install the seccomp filter: the kernel needs CONFIG_SECCOMP_FILTER");
	return 0;
}
