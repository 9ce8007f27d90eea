/* --profile FILE: the guard parses no YAML and links no libseccomp. It hands its command line to the coordinator, which
 * compiles the profile and starts the guard again with the program in a descriptor. See guard.h. */
#include "sandbox/guard.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define WORDS 4 /* stint-coordinator guard PROFILE NET */

int guard_compile(const struct guard_options *o, char **argv, struct err *e)
{
	bool net = o->net_unrestricted || o->connect.n > 0 || o->bind.n > 0;
	char program[] = "stint-coordinator";
	char path[PATH_MAX + 64];
	char verb[] = "guard";
	char number[2] = {net ? '1' : '0', '\0'};
	size_t argc = 0;
	char **words;
	int rc = fd_sibling_path(program, path, sizeof(path), e);

	if (rc != 0)
		return rc;
	while (argv[argc] != NULL)
		argc++;
	words = calloc(argc + WORDS + 1, sizeof(*words));
	if (words == NULL)
		return err_errno(e, ENOMEM, "cannot hand the profile %s over", o->profile_file);
	words[0] = program;
	words[1] = verb;
	words[2] = (char *)(uintptr_t)o->profile_file;
	words[3] = number;
	memcpy(words + WORDS, argv + 1, argc * sizeof(*words)); /* its NULL included */
	(void)execv(path, words);
	rc = err_errno(e, errno, "cannot compile profile %s: it takes %s", o->profile_file, path);
	free(words);
	return rc;
}
