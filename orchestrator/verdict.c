/* The verdict's common parts and the format "exit": see verdict.h. */
#include "orchestrator/verdict_impl.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/exit.h"

#define LINE_MAX_BYTES (64u << 10)   /* a longer line is matched by its beginning */

void verdict_done(struct verdict *v)
{
	free(v->failing);
	free(v->summary);
	*v = (struct verdict){0};
}

bool verdict_line(const char **p, size_t *left, const char **ret, size_t *ret_len)
{
	const char *nl;
	size_t len;

	if (*left == 0)
		return false;
	nl = memchr(*p, '\n', *left);
	len = nl == NULL ? *left : (size_t)(nl - *p);
	*ret = *p;
	*ret_len = len > 0 && (*p)[len - 1] == '\r' ? len - 1 : len;
	*p += nl == NULL ? len : len + 1;
	*left -= nl == NULL ? len : len + 1;
	return true;
}

int verdict_how_it_ended(struct buf *b, const struct suite_run *run)
{
	if (run->deadline)
		return buf_addf(b, "deadline");
	if (WIFEXITED(run->wstatus))
		return buf_addf(b, "exit %d", WEXITSTATUS(run->wstatus));
	return buf_addf(b, "killed by signal %d", WTERMSIG(run->wstatus));
}

bool verdict_ended_well(const struct suite_run *run)
{
	return !run->deadline && WIFEXITED(run->wstatus) && WEXITSTATUS(run->wstatus) == 0;
}

int verdict_take(char **ret, struct buf *b)
{
	if (buf_str(b) == NULL)
		return -ENOMEM;
	*ret = b->data;
	*b = (struct buf){0};
	return 0;
}

static int compile(regex_t *re, const char *pattern, struct err *e)
{
	char why[128];
	int rc = regcomp(re, pattern, REG_EXTENDED | REG_NOSUB);

	if (rc == 0)
		return 0;
	(void)regerror(rc, re, why, sizeof(why));
	err_set(e, EINVAL, "must_match \"%.200s\" is no POSIX extended regular expression: %s", pattern, why);
	return err_stop(e, STOP_USAGE, -EINVAL);
}

static bool any_line_matches(const regex_t *re, const char *p, size_t n)
{
	const char *line;
	size_t len;

	while (verdict_line(&p, &n, &line, &len)) {
		regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)(len < LINE_MAX_BYTES ? len : LINE_MAX_BYTES)};

		if (regexec(re, line, 1, &range, REG_STARTEND) == 0)
			return true;
	}
	return false;
}

int verdict_exit(struct verdict *ret, const struct suite_run *run, const char *must_match, struct err *e)
{
	AUTO_BUF struct buf summary = {0};
	AUTO_BUF struct buf none = {0};
	struct verdict v = {0};
	bool matched = true;

	if (must_match != NULL) {
		regex_t re;
		int rc = compile(&re, must_match, e);

		if (rc != 0)
			return rc;
		matched = any_line_matches(&re, run->out, run->out_len);
		regfree(&re);
	}
	v.passed = verdict_ended_well(run) && matched;
	if (verdict_how_it_ended(&summary, run) != 0 ||
	    (verdict_ended_well(run) && !matched &&
	     buf_addf(&summary, ", but no line of its output matches must_match") != 0) ||
	    (v.passed && buf_addf(&summary, ", count unverified") != 0) ||
	    verdict_take(&v.summary, &summary) != 0 || verdict_take(&v.failing, &none) != 0) {
		verdict_done(&v);
		return err_errno(e, ENOMEM, "cannot judge the suite");
	}
	*ret = v;
	return 0;
}
