/* The regex scorer: PCRE2 on UTF-8. \d, \w, \s and \b are ASCII's, as (*UCP) at the pattern's start would change; (?i) folds case.
 * Bytes of the output that are no UTF-8 match nothing, and end what a match can span.
 *
 * The output may come from whoever wants the judge to hang, and no limit of PCRE2's bounds the time: its match limit counts anew at
 * every place where a match could start. So a child matches, with a limit of processor time; what exceeds a limit is an error, not
 * a failure. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orchestrator/scorer.h"

#define MATCH_LIMIT 10000000u   /* PCRE2's own default: how often it may try at one place */
#define DEPTH_LIMIT 1000000u    /* of nested tries */
#define HEAP_LIMIT_KIB 32768u
#define CPU_MS 1000u

enum answer { MATCHES, DOES_NOT, CANNOT_TELL, TOO_MUCH_WORK, TOO_MUCH_MEMORY, BROKEN };

void scorer_regex_done(void *regex)
{
	pcre2_code_free(regex);
}

int scorer_regex_compile(void **ret, const char *pattern, size_t n, char why[SCORER_WHY_MAX])
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	PCRE2_UCHAR words[128] = "";
	PCRE2_SIZE at = 0;
	int error = 0;

	if (context == NULL)
		return -ENOMEM;
	(void)pcre2_set_newline(context, PCRE2_NEWLINE_LF);
	(void)pcre2_set_bsr(context, PCRE2_BSR_UNICODE);
	(void)pcre2_set_max_pattern_length(context, SCORER_PATTERN_MAX);
	*ret = pcre2_compile((PCRE2_SPTR)pattern, n, PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &error, &at,
	                     context);
	pcre2_compile_context_free(context);
	if (*ret != NULL)
		return 0;
	if (error == PCRE2_ERROR_NOMEMORY)
		return -ENOMEM;
	(void)pcre2_get_error_message(error, words, sizeof(words));
	(void)snprintf(why, SCORER_WHY_MAX, "target: no regular expression: %s, at byte %zu of it", (const char *)words, (size_t)at);
	return -EINVAL;
}

static bool is_utf8(const char *p, size_t n)
{
	for (size_t i = 0, len; i < n; i += len) {
		len = str_utf8_len(p + i, n - i);
		if (len == 0)
			return false;
	}
	return true;
}

/* Whether what follows p cannot make a match of none: the one place where it could begin was tried, on text, without reaching the
 * end. With nothing to look at, PCRE2 reaches the end and says nothing of it. */
static bool fails_for_good(const pcre2_code *regex, const char *p, size_t n)
{
	uint32_t options = 0;

	(void)pcre2_pattern_info(regex, PCRE2_INFO_ALLOPTIONS, &options);
	return (options & PCRE2_ANCHORED) != 0 && n > 0 && is_utf8(p, n);
}

static enum answer answer_of(int rc)
{
	if (rc >= 0)
		return MATCHES;
	switch (rc) {
	case PCRE2_ERROR_NOMATCH:
		return DOES_NOT;
	case PCRE2_ERROR_PARTIAL:
		return CANNOT_TELL;
	case PCRE2_ERROR_MATCHLIMIT:
		return TOO_MUCH_WORK;
	case PCRE2_ERROR_DEPTHLIMIT:
	case PCRE2_ERROR_HEAPLIMIT:
	case PCRE2_ERROR_NOMEMORY:
		return TOO_MUCH_MEMORY;
	default:
		return BROKEN;
	}
}

/* Of an output that was cut, a match counts that did not look at the end: PCRE2_PARTIAL_HARD says so by matching nevertheless. Line
 * ends before the cut may be those at the very end. */
static enum answer match(const pcre2_code *regex, const struct scored *in)
{
	size_t n = scorer_trimmed(in->output, in->cut ? str_cut(in->output, in->len) : in->len);
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	pcre2_match_context *context = pcre2_match_context_create(NULL);
	enum answer answer;

	if (data == NULL || context == NULL)
		return TOO_MUCH_MEMORY;
	(void)pcre2_set_match_limit(context, MATCH_LIMIT);
	(void)pcre2_set_depth_limit(context, DEPTH_LIMIT);
	(void)pcre2_set_heap_limit(context, HEAP_LIMIT_KIB);
	answer = answer_of(pcre2_match(regex, (PCRE2_SPTR)in->output, n, 0, in->cut ? PCRE2_PARTIAL_HARD : 0, data, context));
	return answer == DOES_NOT && in->cut && !fails_for_good(regex, in->output, n) ? CANNOT_TELL : answer;
}

/* match() in a child, which frees nothing. A signal of the limit's ends it. */
static int match_in_child(const pcre2_code *regex, const struct scored *in, enum answer *ret)
{
	static const struct itimerval limit = {.it_value = {.tv_sec = CPU_MS / 1000}};
	sigset_t none;
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		if (signal(SIGPROF, SIG_DFL) == SIG_ERR || sigemptyset(&none) != 0 || sigprocmask(SIG_SETMASK, &none, NULL) != 0 ||
		    setitimer(ITIMER_PROF, &limit, NULL) != 0)
			_exit(BROKEN);
		_exit((int)match(regex, in));
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	*ret = WIFEXITED(status) && WEXITSTATUS(status) <= BROKEN ? (enum answer)WEXITSTATUS(status) : BROKEN;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
		*ret = TOO_MUCH_WORK;
	return 0;
}

int scorer_regex_score(struct score *ret, const void *regex, const struct scored *in, struct err *e)
{
	enum answer answer = BROKEN;
	int rc = match_in_child(regex, in, &answer);

	if (rc != 0)
		return err_errno(e, -rc, "cannot start the process that matches a regular expression");
	switch (answer) {
	case MATCHES:
		*ret = scorer_pass();
		break;
	case DOES_NOT:
		*ret = scorer_says(SCORE_FAIL, "the regular expression does not match");
		break;
	case CANNOT_TELL:
		*ret = scorer_says(SCORE_ERROR, "the output was cut, and what follows could decide whether it matches: it cannot be told");
		break;
	case TOO_MUCH_WORK:
		*ret = scorer_says(SCORE_ERROR, "the regular expression takes too long here: put fewer repetitions within others");
		break;
	case TOO_MUCH_MEMORY:
		*ret = scorer_says(SCORE_ERROR, "the regular expression takes too much memory on this output");
		break;
	case BROKEN:
		*ret = scorer_says(SCORE_ERROR, "the regular expression could not be matched");
		break;
	}
	return 0;
}
