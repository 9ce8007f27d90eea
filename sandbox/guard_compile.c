/* What the guard leaves to the coordinator, because it parses nothing and links libc only: compiling --profile FILE, and
 * supervising. It hands its command line over; the coordinator starts the guard again with descriptors for what it made.
 * See guard.h. */
#include "sandbox/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define WORDS_MAX 5

/* Descriptors of the caller's are closed by execve since they were parsed; the guard that comes back needs them. */
static int keep_open(const struct guard_options *o, struct err *e)
{
	const int fds[] = {o->prompt_fd, o->error_fd, o->probe_fd, o->result_fd};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] > 2 && fcntl(fds[i], F_SETFD, 0) != 0)
			return err_errno(e, errno, "cannot hand descriptor %d over", fds[i]);
	return 0;
}

int guard_compile(const struct guard_options *o, char **argv, struct err *e)
{
	bool net = o->net_unrestricted || o->connect.n > 0 || o->bind.n > 0;
	const char *supervise[WORDS_MAX + 1] = {"stint-coordinator", "supervise", "--"};
	const char *compile[WORDS_MAX + 1] = {"stint-coordinator", "guard", "--", o->profile_file, net ? "1" : "0"};
	const char **first = guard_wants_supervisor(o) ? supervise : compile;
	char path[PATH_MAX + 64];
	size_t argc = 0;
	size_t n = 0;
	char **words;
	int rc = fd_sibling_path(first[0], path, sizeof(path), e);

	if (rc == 0)
		rc = keep_open(o, e);
	if (rc != 0)
		return rc;
	while (argv[argc] != NULL)
		argc++;
	words = calloc(argc + WORDS_MAX + 1, sizeof(*words));
	if (words == NULL)
		return err_errno(e, ENOMEM, "cannot hand the command line over");
	for (; first[n] != NULL; n++)
		words[n] = (char *)(uintptr_t)first[n];
	memcpy(words + n, argv + 1, argc * sizeof(*words)); /* its NULL included */
	(void)execv(path, words);
	rc = err_errno(e, errno, "cannot %s: it takes %s", first == supervise ? "supervise" : "compile the profile", path);
	free(words);
	return rc;
}
