/* Installing ready-made seccomp programs: see seccomp.h. */
#include "sandbox/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdlib.h>
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

int filter_read(int fd, const struct filter **ret, struct err *e)
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
	*ret = f;
	bytes = NULL;
	return 0;
}

int filter_install(const struct filter *f, struct err *e)
{
	/* The kernel only reads it; its structure lacks the const. */
	struct sock_fprog prog = {.len = f->n, .filter = (struct sock_filter *)(uintptr_t)f->insn};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) != 0)
		return err_errno(e, errno, "cannot install the seccomp filter: the kernel needs CONFIG_SECCOMP_FILTER");
	return 0;
}
