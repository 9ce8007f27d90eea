/* Classification of a turn's end: see agent.h. The exit status comes first where it is stint's own doing, then
 * the agent's structured output, then its words. */
#include "orchestrator/agent_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

#include "base/exit.h"
#include "base/str.h"
#include "protocol/frames.h"

#define TAIL_BYTES 4096u   /* of an unstructured output that are looked at for words */

static void say(struct agent_result *ret, const char *command, const char *what, const char *detail, size_t n)
{
	AUTO_BUF struct buf b = {0};
	const char *slash = command == NULL ? NULL : strrchr(command, '/');
	const char *name = command == NULL ? "the agent" : slash == NULL ? command : slash + 1;
	const char *s;

	if (buf_add_escaped(&b, name, strnlen(name, 40), false) != 0 || buf_addf(&b, " %s", what) != 0)
		return;
	if (n > 0 && (buf_add(&b, ": ", 2) != 0 || buf_add_escaped(&b, detail, n < 180 ? n : 180, false) != 0))
		return;
	s = buf_str(&b);
	(void)snprintf(ret->why, sizeof(ret->why), "%s", s == NULL ? "" : s);
	ret->why[str_cut(ret->why, strlen(ret->why))] = '\0';
}

static const char *phrase(enum agent_outcome o)
{
	switch (o) {
	case AGENT_QUOTA: return "reached a limit of its service";
	case AGENT_AUTH: return "has no valid credentials";
	case AGENT_OVERLOADED: return "cannot reach its service";
	case AGENT_OK: case AGENT_FAILED: case AGENT_DEADLINE: case AGENT_CRASH: case AGENT_NOT_STARTED: case AGENT_ABORTED:
		break;
	}
	return "failed";
}

/* The last line that is not empty. */
static const char *last_line(const char *p, size_t n, size_t *ret_len)
{
	size_t end = n;
	size_t start;

	while (end > 0 && (p[end - 1] == '\n' || p[end - 1] == '\r' || p[end - 1] == ' '))
		end--;
	for (start = end; start > 0 && p[start - 1] != '\n';)
		start--;
	*ret_len = end - start;
	return p + start;
}

/* How agents without structured output open the line with which they give up, although they exit 0. */
static bool gives_up(const char *line, size_t n)
{
	static const char *const openings[] = {
		"API Error", "[API Error", "✕ [API Error", "Claude AI usage limit reached", "You've hit your",
		"Credit balance is too low", "Invalid API key", "ERROR: stream disconnected", "ERROR: unexpected status",
		"ERROR: exceeded retry limit",
		"Error when talking to",
	};

	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++)
		if (n >= strlen(openings[i]) && strncmp(line, openings[i], strlen(openings[i])) == 0)
			return true;
	return false;
}

/* What stint itself did, or what never ran: no words of the agent matter. True when that decides. */
static bool by_status(const struct agent_exit *x, struct agent_result *ret)
{
	char text[64];
	int code = WIFEXITED(x->wstatus) ? WEXITSTATUS(x->wstatus) : -1;

	if ((x->flags & EXITED_UNCONFINED) != 0 || code == RUN_UNCONFINED) {
		ret->outcome = AGENT_NOT_STARTED;
		say(ret, x->command, "was not started: it could not be confined", NULL, 0);
	} else if (x->idle) {
		return false; /* some agents hang after their final answer: it counts */
	} else if ((x->flags & EXITED_ABORTED) != 0) {
		ret->outcome = AGENT_ABORTED;
		say(ret, x->command, "was ended because the run ended", NULL, 0);
	} else if ((x->flags & EXITED_DEADLINE) != 0) {
		ret->outcome = AGENT_DEADLINE;
		say(ret, x->command, "was ended at its deadline", NULL, 0);
	} else if (code == RUN_NOT_FOUND || code == RUN_NOT_EXECUTABLE) {
		ret->outcome = AGENT_NOT_STARTED;
		say(ret, x->command, code == RUN_NOT_FOUND ? "was not found by the agent user: look at command and read: in "
		    "stint.yaml" : "cannot be executed by the agent user: look at command and read: in stint.yaml", NULL, 0);
	} else if (!WIFEXITED(x->wstatus)) {
		ret->outcome = AGENT_CRASH;
		(void)snprintf(text, sizeof(text), "was killed by signal %d (%s)", WTERMSIG(x->wstatus),
		               sigabbrev_np(WTERMSIG(x->wstatus)) == NULL ? "?" : sigabbrev_np(WTERMSIG(x->wstatus)));
		say(ret, x->command, text, NULL, 0);
	} else {
		return false;
	}
	return true;
}

static void by_words(const struct agent_exit *x, int64_t now_s, struct agent_result *ret)
{
	const struct { const char *p; size_t n; } streams[] = {{x->err, x->err_len}, {x->out, x->out_len}};
	char text[64];

	for (size_t i = 0; i < 2; i++) {
		size_t n = streams[i].n < TAIL_BYTES ? streams[i].n : TAIL_BYTES;
		const char *tail = n == 0 ? "" : streams[i].p + (streams[i].n - n);
		enum agent_outcome o;
		size_t len;
		const char *line = last_line(tail, n, &len);

		/* After exit 0 only a last line that plainly gives up counts; the rest may be anything. */
		if (WEXITSTATUS(x->wstatus) == 0 && !gives_up(line, len))
			continue;
		o = WEXITSTATUS(x->wstatus) == 0 ? agent_words(line, len, 0) : agent_words(tail, n, 0);
		if (o == AGENT_FAILED && WEXITSTATUS(x->wstatus) != 0)
			continue;
		ret->outcome = o;
		ret->retry_after_s = agent_outcome_retry(o) ? agent_words_retry(tail, n, now_s) : 0;
		say(ret, x->command, phrase(o), line, len);
		return;
	}
	if (WEXITSTATUS(x->wstatus) == 0) {
		ret->outcome = AGENT_OK;
		say(ret, x->command, "ended", NULL, 0);
		return;
	}
	ret->outcome = AGENT_FAILED;
	(void)snprintf(text, sizeof(text), "exited with %d", WEXITSTATUS(x->wstatus));
	say(ret, x->command, text, NULL, 0);
}

void agent_classify(const struct agent_exit *x, int64_t now_s, struct agent_result *ret)
{
	struct agent_said said;
	char text[80];

	*ret = (struct agent_result){.outcome = AGENT_FAILED};
	if (by_status(x, ret))
		return;
	agent_read_json(&said, x->out, x->out_len, now_s);
	if (!said.spoke)
		agent_read_json(&said, x->err, x->err_len, now_s);
	if (!said.spoke && x->idle) {
		ret->outcome = AGENT_DEADLINE;
		say(ret, x->command, "printed nothing for its idle time and was ended", NULL, 0);
		return;
	}
	if (!said.spoke) {
		by_words(x, now_s, ret);
		return;
	}
	ret->structured = true;
	if (said.failed) {
		size_t n = strnlen(said.message, sizeof(said.message));

		ret->outcome = agent_words(said.message, n, said.status);
		if (agent_outcome_retry(ret->outcome))
			ret->retry_after_s = said.retry_after_s == 0 ? agent_words_retry(said.message, n, now_s)
			                     : said.retry_after_s > AGENT_RETRY_MAX_S ? AGENT_RETRY_MAX_S : said.retry_after_s;
		say(ret, x->command, phrase(ret->outcome), said.message, n);
	} else if (!x->idle && WEXITSTATUS(x->wstatus) != 0) {
		(void)snprintf(text, sizeof(text), "exited with %d although it said that it had finished",
		               WEXITSTATUS(x->wstatus));
		say(ret, x->command, text, NULL, 0);
	} else {
		ret->outcome = AGENT_OK;
		say(ret, x->command, "ended", NULL, 0);
	}
}

const char *agent_outcome_name(enum agent_outcome o)
{
	switch (o) {
	case AGENT_OK: return "ok";
	case AGENT_FAILED: return "failed";
	case AGENT_QUOTA: return "quota";
	case AGENT_OVERLOADED: return "overloaded";
	case AGENT_AUTH: return "auth";
	case AGENT_DEADLINE: return "deadline";
	case AGENT_CRASH: return "crash";
	case AGENT_NOT_STARTED: return "not-started";
	case AGENT_ABORTED: return "aborted";
	}
	return "?";
}

bool agent_outcome_retry(enum agent_outcome o)
{
	return o == AGENT_QUOTA || o == AGENT_OVERLOADED;
}

unsigned int agent_count_denials(const char *bytes, size_t n)
{
	static const char *const words[] = {"permission denied", "operation not permitted", "EACCES", "EPERM"};
	unsigned int count = 0;

	while (n > 0) {
		const char *nl = memchr(bytes, '\n', n);
		size_t len = nl == NULL ? n : (size_t)(nl - bytes);
		bool hit = false;

		for (size_t w = 0; w < sizeof(words) / sizeof(words[0]) && !hit; w++)
			for (size_t i = 0; i + strlen(words[w]) <= len && !hit; i++)
				hit = strncasecmp(bytes + i, words[w], strlen(words[w])) == 0;
		count += hit;
		n -= nl == NULL ? len : len + 1;
		bytes += nl == NULL ? len : len + 1;
	}
	return count;
}
