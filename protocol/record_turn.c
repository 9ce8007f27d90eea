/* The end of a turn: what was observed, as numbers and bounded lists. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "protocol/record_private.h"

static int add_change(json_t *changes, json_t *anomalies, const char *record, size_t n)
{
	char op[2] = {record[0], '\0'};

	if (op[0] == '!')
		return record_list_add(anomalies, record_str_n(record + 1, n - 1));
	return record_list_add(changes, json_pack("{s:s, s:o}", "op", strchr("AMD", op[0]) != NULL ? op : "?", "path",
	                                          record_str_n(record + 1, n - 1)));
}

/* Splits the change list into changes and anomalies. Both go into turn, whatever comes of it. */
static int put_changes(json_t *turn, const char *list, size_t n)
{
	json_t *changes = record_strv(NULL);
	json_t *anomalies = record_strv(NULL);
	int rc = changes == NULL || anomalies == NULL ? -ENOMEM : 0;

	for (size_t at = 0; rc == 0 && at < n;) {
		size_t len = strnlen(list + at, n - at);

		if (len > 0)
			rc = add_change(changes, anomalies, list + at, len);
		at += len + 1;
	}
	return record_put(turn, "changes", changes) | record_put(turn, "anomalies", anomalies) | rc;
}

static json_t *suite_json(const struct record_suite *s)
{
	if (s == NULL)
		return json_null();
	return json_pack("{s:s, s:b, s:i, s:i, s:i, s:o}", "format", s->format, "verified", s->verified ? 1 : 0, "planned",
	                 (int)s->planned, "passed", (int)s->passed, "failed", (int)s->failed, "failing", record_strv(s->failing));
}

static json_t *number(uint64_t v)
{
	return json_integer((json_int_t)(v > INT64_MAX ? INT64_MAX : v));
}

static int put_turn(json_t *turn, const struct record_turn *t)
{
	char now[RECORD_TIME_MAX];
	int bad;

	record_now(now, false);
	bad = record_put(turn, "ended", json_string(now));
	bad |= record_put(turn, "status", record_str(t->status));
	bad |= record_put(turn, "exit", json_integer(t->exit));
	bad |= record_put(turn, "wall_ms", number(t->wall_ms));
	bad |= record_put(turn, "user_ms", number(t->user_ms));
	bad |= record_put(turn, "sys_ms", number(t->sys_ms));
	bad |= record_put(turn, "max_rss", number(t->max_rss));
	bad |= record_put(turn, "stdout_bytes", number(t->stdout_bytes));
	bad |= record_put(turn, "stderr_bytes", number(t->stderr_bytes));
	bad |= put_changes(turn, t->changes, t->n_changes_bytes);
	bad |= record_put(turn, "denials", record_strv(t->denials));
	bad |= record_put(turn, "notes", record_strv(t->notes));
	bad |= record_put(turn, "verdict", record_str(t->verdict));
	bad |= record_put(turn, "suite", suite_json(t->suite));
	return bad != 0 ? -ENOMEM : 0;
}

/* The whole change list, durable before run.json says that the turn ended: resuming commits from it. */
static int keep_changes(struct record *r, const struct record_turn *t, struct err *e)
{
	AUTO_FD fd = record_turn_open(r, RECORD_CHANGES, e);
	int rc;

	if (fd < 0)
		return fd;
	rc = fd_write_all(fd, t->changes, t->n_changes_bytes);
	if (rc == 0 && (fsync(fd) != 0 || fsync(r->turn_fd) != 0))
		rc = -errno;
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot write %s/%s", r->turn_dir, RECORD_CHANGES);
}

int record_turn_end(struct record *r, const struct record_turn *t, struct err *e)
{
	int rc;

	if (r->turn == NULL || r->turn_fd < 0)
		return err_stop(e, STOP_RECORD, err_set(e, EINVAL, "cannot write the run's record: a turn is not open"));
	rc = keep_changes(r, t, e);
	if (rc == 0)
		rc = record_tell(r, put_turn(r->turn, t), "turn-end",
		                 json_pack("{s:i, s:o, s:i, s:o}", "n", (int)r->n_turns, "status", record_str(t->status), "exit",
		                           t->exit, "verdict", record_str(t->verdict)), e);
	if (rc == 0 && fsync(r->events_fd) != 0)
		rc = err_errno(e, errno, "cannot write %s/%s", r->dir, RECORD_EVENTS);
	r->turn = NULL;
	fd_close(&r->turn_fd);
	return err_stop(e, STOP_RECORD, rc);
}
