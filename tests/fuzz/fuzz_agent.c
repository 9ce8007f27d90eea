/* What an agent prints at its end: its JSON events, its last words, its complaints.
 *
 * Input: one byte of flags, one of exit status, then standard output, and behind a line "%%" standard error. Checked, beside
 * memory: what stint did to the command decides before any word of it; times to wait are bounded; the sentence for people is
 * one safe line; the answer is the same the second time; denials are at most one a line. */
#include "tests/fuzz/fuzz.h"

#include "orchestrator/agent.h"
#include "protocol/frames.h"
#include "tests/fuzz/json_mutate.h"

#define WEEK_S (7u * 24u * 3600u)
#define NOW_S 1767225600 /* the first second of 2026 */

enum flag { IDLE = 1, DEADLINE = 2, ABORTED = 4, UNCONFINED = 8, KILLED = 16, NAMELESS = 32 };

static void check_order(const struct agent_exit *x, const struct agent_result *r)
{
	int code = (x->wstatus & 0x7f) == 0 ? x->wstatus >> 8 : -1;

	if ((x->flags & EXITED_UNCONFINED) != 0 || code == RUN_UNCONFINED)
		CHECK(r->outcome == AGENT_NOT_STARTED);
	else if (!x->idle && (x->flags & EXITED_ABORTED) != 0)
		CHECK(r->outcome == AGENT_ABORTED);
	else if (!x->idle && (x->flags & EXITED_DEADLINE) != 0)
		CHECK(r->outcome == AGENT_DEADLINE);
	else if (!x->idle && code < 0)
		CHECK(r->outcome == AGENT_CRASH);
	else if (!x->idle && code != 0)
		CHECK(r->outcome != AGENT_OK);
	if (r->outcome == AGENT_NOT_STARTED || r->outcome == AGENT_ABORTED)
		CHECK(!r->structured && r->retry_after_s == 0);
}

static size_t lines_of(const char *p, size_t n)
{
	size_t lines = 1;

	for (size_t i = 0; i < n; i++)
		lines += p[i] == '\n';
	return lines;
}

static void check(const struct agent_exit *x)
{
	struct agent_result r, again;

	memset(&r, 0xaa, sizeof(r));
	agent_classify(x, NOW_S, &r);
	agent_classify(x, NOW_S, &again);
	CHECK(r.outcome <= AGENT_ABORTED && !str_eq(agent_outcome_name(r.outcome), "?"));
	CHECK(r.retry_after_s <= WEEK_S && (r.retry_after_s == 0 || agent_outcome_retry(r.outcome)));
	CHECK(r.why[0] != '\0' && fuzz_printable(r.why, strlen(r.why), ""));
	CHECK(again.outcome == r.outcome && again.retry_after_s == r.retry_after_s && str_eq(again.why, r.why));
	check_order(x, &r);
	CHECK(agent_count_denials(x->err, x->err_len) <= lines_of(x->err, x->err_len));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned int seed)
{
	return n <= 2 ? LLVMFuzzerMutate(data, n, max) : 2 + json_mutate_lines(data + 2, n - 2, max - 2, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct agent_exit x = {.out = "", .err = ""};
	const char *p;

	if (n < 2)
		return 0;
	x.idle = (data[0] & IDLE) != 0;
	x.flags = ((data[0] & DEADLINE) != 0 ? EXITED_DEADLINE : 0) | ((data[0] & ABORTED) != 0 ? EXITED_ABORTED : 0) |
	          ((data[0] & UNCONFINED) != 0 ? EXITED_UNCONFINED : 0);
	x.wstatus = (data[0] & KILLED) != 0 ? 1 + data[1] % 64 : data[1] << 8;
	x.command = (data[0] & NAMELESS) != 0 ? NULL : "/opt/agents/some\x1b[2Jagent";
	p = (const char *)data + 2;
	n -= 2;
	if (fuzz_part(&p, &n, &x.out, &x.out_len))
		(void)fuzz_part(&p, &n, &x.err, &x.err_len);
	check(&x);
	return 0;
}
