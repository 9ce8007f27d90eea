/* `stint guard --profile FILE`, second step: the guard, which links libc only, has handed its command line over; compiles the
 * profile, and starts the guard again with the program in a sealed memfd. Called as
 *
 *   stint-coordinator guard -- WORD NET ARG…     WORD: the profile; NET: 1 with inet sockets; ARG…: the guard's own words */
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
#include "orchestrator/profile_memfd.h"

int cmd_guard(struct cmd *c, int argc, char **argv)
{
	char path[PATH_MAX + 64];
	struct err e = {0};
	char number[16];
	char **words;
	int fd;

	(void)c;
	if (argc < 5) {
		log_note("guard: this step is started by `stint guard --profile FILE`: call that");
		return RUN_UNCONFINED;
	}
	fd = profile_memfd(argv[2], str_eq(argv[3], "1"), &e);
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
	memcpy(words + 3, argv + 4, (size_t)(argc - 4) * sizeof(*words));
	(void)execv(path, words);
	log_note("cannot start %s: %s", path, strerror(errno));
	return RUN_UNCONFINED;
}
