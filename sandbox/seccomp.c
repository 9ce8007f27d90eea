/* Installing ready-made seccomp programs: see seccomp.h. */
#include "sandbox/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"

const struct filter *filter_find(const char *name, bool net)
{
	for (const struct filter *f = filter_data; f->name != NULL; f++)
		if (str_eq(f->name, name) && f->net == net)
			return f;
	return NULL;
}

int filter_install_program(const struct filter_program *p, struct err *e)
{
	/* The kernel only reads it; its structure lacks the const. */
	struct sock_fprog prog = {.len = p->n, .filter = (struct sock_filter *)(uintptr_t)p->insn};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) != 0)
		return err_errno(e, errno, "cannot install the seccomp filter: the kernel needs CONFIG_SECCOMP_FILTER");
	return 0;
}

int filter_install(const struct filter *f, struct err *e)
{
	/* The deny program last: of two equal actions the newest program's errno is what the caller sees. */
	int rc = filter_install_program(&f->allow, e);

	return rc != 0 ? rc : filter_install_program(&f->deny, e);
}
