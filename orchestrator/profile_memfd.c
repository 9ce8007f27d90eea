/* Compiled profiles on their way to the guard: see profile_memfd.h. */
#include "orchestrator/profile_memfd.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/profile_file.h"
#include "sandbox/filter_file.h"

static bool has_inet(const struct profile *p)
{
	const struct profile_row *row;

	if (p->n == 0) /* --filter none */
		return true;
	for (size_t i = 0; (row = profile_find(p, "socket", i)) != NULL; i = (size_t)(row - p->row) + 1)
		if (row->action == PROFILE_ALLOW && (row->n_cond == 0 || row->cond[0].value != 1))
			return true;
	return false;
}

int profile_memfd_of(const struct profile *p, const struct profile_program *made, uint64_t content, const uint64_t key[2],
                     struct err *e)
{
	struct filter_file head = {.magic = FILTER_FILE_MAGIC, .n = made->n, .sockets = has_inet(p) ? 1 : 0,
	                           .listened = key != NULL ? 1 : 0, .content = content};
	AUTO_BUF struct buf b = {0};
	int rc;
	int fd;

	if (key != NULL)
		memcpy(head.key, key, sizeof(head.key));
	(void)snprintf(head.name, sizeof(head.name), "%s", p->name);
	rc = buf_add(&b, &head, sizeof(head));
	if (rc == 0)
		rc = buf_add(&b, made->insn, made->n * sizeof(struct sock_filter));
	fd = rc == 0 ? fd_sealed_memfd("profile", b.data, b.len) : rc;
	return fd < 0 ? err_errno(e, -fd, "cannot hand the profile over") : fd;
}

int profile_memfd(const char *word, bool net, struct err *e)
{
	struct profile_program made = {0};
	uint64_t content = 0;
	struct profile p;
	int rc = profile_load(&p, word, net, e);
	int fd;

	if (rc != 0)
		return rc;
	rc = profile_content(word, &content, e);
	if (rc == 0)
		rc = profile_compile(&p, &made, e);
	fd = rc == 0 ? profile_memfd_of(&p, &made, content, NULL, e) : rc;
	profile_program_done(&made);
	profile_done(&p);
	return fd;
}
