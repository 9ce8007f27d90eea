/* Whether a regular expression of stint.yaml's may be compiled: a hostile one costs libc hours and gigabytes. */
#include <errno.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orchestrator/config_parts.h"

#define REGEX_MAX 512u      /* bytes of must_match */
#define REGEX_COPIES 256u   /* of one part, by the intervals around it */
#define REGEX_CPU_MS 500u   /* a sensible one takes less than 1 */

/* How often "{2,7}" at p repeats what stands before it, at most; 1 where it is no interval. */
static unsigned long interval_copies(const char *p)
{
	unsigned long most = 1;

	do {
		unsigned long n = 0;

		for (p++; *p >= '0' && *p <= '9'; p++)
			n = n > REGEX_COPIES ? n : n * 10 + (unsigned long)(*p - '0');
		most = n > most ? n : most;
	} while (*p == ',');
	return most;
}

/* What libc's regcomp() may be asked for: it recurses into brackets, and copies what an interval repeats, intervals within
 * intervals multiplied. A back reference makes matching exponential in what the suite prints. NULL, or what is too much. */
static const char *regex_excess(const char *s)
{
	unsigned long copies = 1;

	if (strlen(s) > REGEX_MAX)
		return "it is longer than 512 bytes: shorten it";
	for (; *s != '\0'; s++) {
		if (s[0] == '\\' && s[1] >= '1' && s[1] <= '9')
			return "a back reference is none of an extended regular expression: write the text again";
		if (s[0] == '\\' && s[1] != '\0')
			s++;
		else if (s[0] == '{')
			copies *= interval_copies(s);
		if (copies > REGEX_COPIES)
			return "its {} repeat too much: all of them multiplied may be 256 at most";
	}
	return NULL;
}

/* regcomp() in a child, because nothing that can be read off an expression bounds it: "+" on "+" doubles the tree each time,
 * and of nested groups that match nothing some 30 bytes never end. Its
 * answer, or a negative errno; *ret_ended is false when the time was used up. */
static int compile_in_child(const char *pattern, bool *ret_ended)
{
	static const struct itimerval limit = {.it_value = {.tv_usec = REGEX_CPU_MS * 1000}};
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		regex_t re;

		if (signal(SIGPROF, SIG_DFL) == SIG_ERR || setitimer(ITIMER_PROF, &limit, NULL) != 0)
			_exit(REG_ESPACE);
		_exit(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB));
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	*ret_ended = WIFEXITED(status);
	return *ret_ended ? WEXITSTATUS(status) : 0;
}

int config_regex_check(const char *pattern, char ret_why[CONFIG_REGEX_WHY])
{
	const char *excess = regex_excess(pattern);
	regex_t none = {0};
	bool ended = true;
	int rc;

	if (excess != NULL) {
		(void)snprintf(ret_why, CONFIG_REGEX_WHY, ": %s", excess);
		return -EINVAL;
	}
	rc = compile_in_child(pattern, &ended);
	if (rc < 0 || (rc == 0 && ended))
		return rc;
	(void)snprintf(ret_why, CONFIG_REGEX_WHY, ": it takes too long to compile: use fewer groups, repetitions and anchors");
	if (ended) {
		(void)snprintf(ret_why, CONFIG_REGEX_WHY, " is no extended regular expression: ");
		(void)regerror(rc, &none, ret_why + strlen(ret_why), CONFIG_REGEX_WHY - strlen(ret_why));
	}
	return -EINVAL;
}
