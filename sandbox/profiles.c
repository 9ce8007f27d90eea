/* The built-in profiles: see profiles.h. Whatever they allow, what the baseline refuses stays refused in each. */
#include "sandbox/profiles.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/sets.h"

#define COMPUTE "@start @io @file-read @terminal @memory @thread @identity @limits @facts @signal @time @poll"

const struct profile_builtin profile_builtins[] = {
	{"agent", NULL, "", "coding agents and their tools: all that builds and tests need", false, 0},
	{"owner", NULL, "", "the same without chmod, chown, xattrs and times", true, ONLY_OWNER},
	{"build", "@start @io @file-read @file-write @file-attributes @ioctl @memory @process @thread @identity @identity-set @limits "
	          "@sched @facts @signal @time @poll @socket @socket-unix", "",
	 "compilers, make, package builds: no network, no shared memory", false, 0},
	{"node", "@start @io @file-read @file-write @file-attributes @watch @ioctl @memory @process @thread @identity @identity-set "
	         "@limits @sched @facts @signal @time @poll @socket @socket-unix @socket-inet", "",
	 "node and its tools: watchers, sockets, children, make for native modules; no shared memory", false, 0},
	{"python-stdlib-read-only", COMPUTE, "getpid getppid gettid getpgrp sched_getaffinity sched_yield",
	 "python with its standard library: reads files, threads; writes to what is open, starts no process, has no socket", false, 0},
	{"numeric-compute", COMPUTE " @sched", "getpid gettid",
	 "number crunching: threads, memory placement, reading; no new file, process or socket", false, 0},
	{"pure-parse", "@start @terminal", "read readv write writev close lseek stat fstat lstat fcntl rt_sigaction rt_sigprocmask "
	 "sigaltstack clock_gettime futex mremap readlink getpid gettid tgkill",
	 "one thread that reads its input and writes its output", false, 0},
	{"strict", "@start", "read write close", "the least that a program can start, compute and end with", false, 0},
	{NULL, NULL, NULL, NULL, false, 0},
};

const struct profile_builtin *profile_builtin_find(const char *name)
{
	for (const struct profile_builtin *b = profile_builtins; b->name != NULL; b++)
		if (str_eq(b->name, name))
			return b;
	return NULL;
}

/* Calls fn for each word of a list. */
static int each_word(const char *words, struct profile *p, const char *from, bool net, struct err *e,
                     int (*fn)(struct profile *p, const char *word, const char *from, bool net, struct err *e))
{
	char word[PROFILE_CALL_MAX];
	int rc = 0;

	while (rc == 0 && *words != '\0') {
		size_t n = strcspn(words, " ");

		if (n >= sizeof(word))
			return err_set(e, EINVAL, "profile %s: too long: %s", p->name, words);
		memcpy(word, words, n);
		word[n] = '\0';
		words += n + (words[n] == ' ' ? 1 : 0);
		rc = fn(p, word, from, net, e);
	}
	return rc;
}

static int add_set(struct profile *p, const char *word, const char *from, bool net, struct err *e)
{
	return !net && str_eq(word, "@socket-inet") ? 0 : profile_add_set(p, word, from, e);
}

static int add_call(struct profile *p, const char *word, const char *from, bool net, struct err *e)
{
	struct profile_row row = {.action = PROFILE_ALLOW};

	(void)net;
	(void)snprintf(row.call, sizeof(row.call), "%s", word);
	(void)snprintf(row.from, sizeof(row.from), "%s", from);
	return profile_add(p, &row, e);
}

int profile_add_builtin(struct profile *p, const struct profile_builtin *b, bool net, struct err *e)
{
	unsigned int only = b->only | (net ? ONLY_NET : 0u);
	int rc;

	if (b->sets == NULL)
		return profile_add_agent(p, only, b->name, e);
	rc = each_word(b->sets, p, b->name, net, e, add_set);
	if (rc == 0)
		rc = each_word(b->calls, p, b->name, net, e, add_call);
	return rc == 0 ? profile_add_refused(p, only, b->name, e) : rc;
}
