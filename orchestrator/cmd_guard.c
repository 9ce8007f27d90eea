/* `stint guard --profile FILE`, second step: the guard, which links libc only, has handed its command line over; compiles the
 * profile, and starts the guard again with the program in a sealed memfd. Called as
 *
 *   stint-coordinator guard WORD NET ARG…     WORD: the profile; NET: 1 with inet sockets; ARG…: the guard's own words */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "orchestrator/cmd.h"
#include "orchestrator/profile_file.h"
#include "sandbox/filter_file.h"

static bool has_inet(const struct profile *p)
{
	const struct profile_row *row;

	for (size_t i = 0; (row = profile_find(p, "socket", i)) != NULL; i = (size_t)(row - p->row) + 1)
		if (row->action == PROFILE_ALLOW && (row->n_cond == 0 || row->cond[0].value != 1))
			return true;
	return false;
}

static int to_memfd(const struct profile *p, const struct profile_program *made, struct err *e)
{
	struct filter_file head = {.magic = FILTER_FILE_MAGIC, .n = made->n,
	                           .sockets = has_inet(p) ? 1 : 0};
	AUTO_BUF struct buf b = {0};
	int rc;
	int fd;

	(void)snprintf(head.name, sizeof(head.name), "%s", p->name);
	rc = buf_add(&b, &head, sizeof(head));
	if (rc == 0)
		rc = buf_add(&b, made->insn, made->n * sizeof(struct sock_filter));
	fd = rc == 0 ? fd_sealed_memfd("profile", b.data, b.len) : rc;
	return fd < 0 ? err_errno(e, -fd, "cannot hand the profile over") : fd;
}

static int compiled(const char *word, bool net, struct err *e)
{
	struct profile_program made = {0};
	struct profile p;
	int rc = profile_load(&p, word, net, e);
	int fd;

	if (rc != 0)
		return rc;
	rc = profile_compile(&p, &made, e);
	fd = rc == 0 ? to_memfd(&p, &made, e) : rc;
	profile_program_done(&made);
	profile_done(&p);
	return fd;
}

int cmd_guard(struct cmd *c, int argc, char **argv)
{
	char path[PATH_MAX + 64];
	struct err e = {0};
	char number[16];
	char **words;
	int fd;

	(void)c;
	if (argc < 4) {
		log_note("guard: this step is started by `stint guard --profile FILE`: call that");
		return RUN_UNCONFINED;
	}
	fd = compiled(argv[1], str_eq(argv[2], "1"), &e);
	if (fd < 0 || fcntl(fd, F_SETFD, 0) != 0 || fd_sibling_path("stint-guard", path, sizeof(path), &e) != 0) {
		(void)log_err(&e, RUN_UNCONFINED);
		return RUN_UNCONFINED;
	}
	words = calloc((size_t)argc + 1, sizeof(*words));
	if (words == NULL)
		return RUN_UNCONFINED;
	(void)snprintf(number, sizeof(number), "%d", fd);
	words[0] = (char[]){"stint-guard"};
	words[1] = (char[]){"--profile-fd"};
	words[2] = number;
	memcpy(words + 3, argv + 3, (size_t)(argc - 3) * sizeof(*words));
	(void)execv(path, words);
	log_note("cannot start %s: %s", path, strerror(errno));
	return RUN_UNCONFINED;
}
