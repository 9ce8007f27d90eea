/* The report: see supervise_report.h. */
#include "orchestrator/supervise_report.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"
#include "base/str.h"

#define SCHEMA 1

void supervise_report_time(char ret[SUPERVISE_TIME_MAX])
{
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm) == NULL || strftime(ret, SUPERVISE_TIME_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		ret[0] = '\0';
}

static json_t *words_json(char *const *words)
{
	json_t *a = json_array();

	for (; a != NULL && *words != NULL; words++) {
		AUTO_BUF struct buf b = {0};

		if (buf_add_escaped(&b, *words, strlen(*words), true) != 0 || buf_str(&b) == NULL ||
		    json_array_append_new(a, json_string(b.data)) != 0) {
			json_decref(a);
			return NULL;
		}
	}
	return a;
}

static json_t *number_or_null(bool known, int64_t n)
{
	return known ? json_integer(n) : json_null();
}

static json_t *end_json(const struct supervise_report *r)
{
	const struct supervise_end *end = r->end;
	int w = end->last.wstatus;
	bool own = end->why == KEEPER_ENDED;
	const char *reason = end->signal != 0               ? "told"
	                     : end->why == KEEPER_DEADLINE ? "deadline"
	                     : end->lost_keeper            ? "lost"
	                     : WIFSIGNALED(w)              ? "signal"
	                                                   : "exit";

	return json_pack("{s:i, s:s, s:o, s:o, s:i}", "status", r->status, "reason", reason, "code",
	                 number_or_null(own && WIFEXITED(w), WEXITSTATUS(w)), "signal",
	                 number_or_null(end->signal != 0 || (own && WIFSIGNALED(w)), end->signal != 0 ? end->signal : WTERMSIG(w)),
	                 "left", (int)end->last.ended);
}

static int64_t ms(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000 + t.tv_usec / 1000;
}

static json_t *usage_json(const struct supervise_end *end)
{
	const struct rusage *u = &end->last.usage;

	return json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "wall_ms", (json_int_t)end->last.wall_ms, "user_ms",
	                 (json_int_t)ms(u->ru_utime), "sys_ms", (json_int_t)ms(u->ru_stime), "max_rss",
	                 (json_int_t)u->ru_maxrss * 1024, "memory_peak",
	                 number_or_null(end->counted && end->counts.memory_peak > 0, (int64_t)end->counts.memory_peak), "oom_kills",
	                 number_or_null(end->counted, (int64_t)end->counts.oom_kills), "forks_refused",
	                 number_or_null(end->counted, (int64_t)end->counts.forks_refused));
}

static json_t *limit_json(uint64_t value, enum limit_by by)
{
	static const char *const names[] = {[LIMIT_CGROUP] = "cgroup v2", [LIMIT_RLIMIT] = "rlimit"};

	return by == LIMIT_NOT ? json_null() : json_pack("{s:I, s:s}", "limit", (json_int_t)value, "held_by", names[by]);
}

static json_t *limits_json(const struct supervise_report *r)
{
	const struct output *o = r->output;
	json_t *output = o == NULL ? json_null()
	                           : json_pack("{s:I, s:I, s:I}", "limit", (json_int_t)o->stream[0].limit, "stdout",
	                                       (json_int_t)o->stream[0].total, "stderr", (json_int_t)o->stream[1].total);

	return json_pack("{s:o, s:o, s:o, s:o}", "timeout", r->o->supervise.timeout != NULL ? json_string(r->o->supervise.timeout)
	                 : json_null(), "memory", limit_json(r->limits->memory, r->limits->memory_by), "processes",
	                 limit_json(r->limits->processes, r->limits->processes_by), "output", output);
}

/* Whether paths and ports are in the kernel's words, too; otherwise they are as the supervisor saw the calls. */
static json_t *records_json(const struct audit *a)
{
	return a->fd >= 0 ? json_pack("{s:b}", "read", 1) : json_pack("{s:b, s:s?}", "read", 0, "why", a->why);
}

static json_t *report_json(const struct supervise_report *r)
{
	return json_pack("{s:i, s:s, s:s, s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:I}", "schema", SCHEMA, "tool",
	                 "stint " STINT_VERSION, "started", r->started, "command", words_json(r->o->command), "profile",
	                 r->watch->profile.name, "landlock_abi", r->watch->grants.handled.fs != 0 ? r->watch->grants.abi : 0, "end",
	                 end_json(r), "usage", usage_json(r->end), "limits", limits_json(r), "kernel_records",
	                 records_json(&r->watch->audit), "violations", violations_json(&r->watch->violations),
	                 "violations_lost", (json_int_t)r->watch->violations.lost);
}

int supervise_report_write(int fd, const struct supervise_report *r, struct err *e)
{
	json_t *o = report_json(r);
	AUTO_FREE char *text = o != NULL ? json_dumps(o, JSON_INDENT(2)) : NULL;
	int rc = text == NULL ? -ENOMEM : fd_write_all(fd, text, strlen(text));

	if (rc == 0)
		rc = fd_write_all(fd, "\n", 1);
	json_decref(o);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot write the report %s", r->o->supervise.report);
}
