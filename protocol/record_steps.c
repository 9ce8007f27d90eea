/* The steps of a run in its record: tasks, iterations, turns, commits. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "protocol/record_private.h"

static const char *const commit_names[] = {"none", "built", "head", "ticked", "done"};

const char *record_commit_name(enum record_commit c)
{
	return (size_t)c < sizeof(commit_names) / sizeof(commit_names[0]) ? commit_names[c] : "?";
}

/* Appends value to parent's array and makes *ret point to it. */
static int append(json_t *parent, const char *key, json_t *value, json_t **ret)
{
	if (json_array_append_new(json_object_get(parent, key), value) != 0)
		return -ENOMEM;
	*ret = value;
	return 0;
}

/* A call out of order is a bug of the loop; it must not end as a silent hole in the record. */
static int out_of_order(const char *what, struct err *e)
{
	return err_stop(e, STOP_RECORD, err_set(e, EINVAL, "cannot write the run's record: %s is not open", what));
}

int record_task_begin(struct record *r, const char *title, unsigned int line, struct err *e)
{
	json_t *task = json_pack("{s:o, s:i, s:s, s:n, s:s, s:[]}", "title", record_str(title), "line", (int)line,
	                         "status", "open", "commit", "commit_step", commit_names[RECORD_COMMIT_NONE], "iterations");

	r->iteration = r->turn = NULL;
	return record_tell(r, append(r->run, "tasks", task, &r->task), "task-begin",
	                   json_pack("{s:o, s:i}", "title", record_str(title), "line", (int)line), e);
}

int record_iteration_begin(struct record *r, unsigned int n, struct err *e)
{
	json_t *iteration = json_pack("{s:i, s:s, s:n, s:[]}", "n", (int)n, "status", "open", "reason", "turns");

	if (r->task == NULL) {
		json_decref(iteration);
		return out_of_order("a task", e);
	}
	r->turn = NULL;
	return record_tell(r, append(r->task, "iterations", iteration, &r->iteration), "iteration-begin",
	                   json_pack("{s:i}", "n", (int)n), e);
}

int record_iteration_end(struct record *r, bool passed, const char *reason, struct err *e)
{
	const char *status = passed ? "pass" : "fail";
	int bad;

	if (r->iteration == NULL)
		return out_of_order("an iteration", e);
	bad = record_put(r->iteration, "status", json_string(status));
	bad |= record_put(r->iteration, "reason", record_str(reason));
	r->iteration = r->turn = NULL;
	return record_tell(r, bad, "iteration-end", json_pack("{s:s, s:o}", "status", status, "reason", record_str(reason)), e);
}

int record_commit_step(struct record *r, enum record_commit step, const char *oid, struct err *e)
{
	const char *name = record_commit_name(step);
	int bad;

	if (r->task == NULL)
		return out_of_order("a task", e);
	bad = record_put(r->task, "commit_step", json_string(name));
	bad |= record_put(r->task, "commit", record_str(oid));
	return record_tell(r, bad, "commit", json_pack("{s:s, s:o}", "step", name, "commit", record_str(oid)), e);
}

int record_task_end(struct record *r, const char *status, struct err *e)
{
	int bad;

	if (r->task == NULL)
		return out_of_order("a task", e);
	bad = record_put(r->task, "status", record_str(status));
	r->task = r->iteration = r->turn = NULL;
	return record_tell(r, bad, "task-end", json_pack("{s:s}", "status", status), e);
}

const char *record_turn_dir(const struct record *r)
{
	return r->turn_dir;
}

static int make_turn_dir(struct record *r, struct err *e)
{
	const char *name = r->turn_dir + strlen(r->dir) + 1;

	(void)snprintf(r->turn_dir, sizeof(r->turn_dir), "%s/turn-%u", r->dir, r->n_turns + 1);
	fd_close(&r->turn_fd);
	if (mkdirat(r->dir_fd, name, 0700) != 0)
		return err_errno(e, errno, "cannot create %s", r->turn_dir);
	r->turn_fd = fd_open_beneath(r->dir_fd, name, O_RDONLY | O_DIRECTORY, 0, false);
	return r->turn_fd < 0 ? err_errno(e, -r->turn_fd, "cannot open %s", r->turn_dir) : 0;
}

int record_turn_begin(struct record *r, const char *role, unsigned int *ret_n, struct err *e)
{
	char now[RECORD_TIME_MAX];
	json_t *turn;
	int rc = make_turn_dir(r, e);

	if (rc != 0)
		return err_stop(e, STOP_RECORD, rc);
	record_now(now, false);
	turn = json_pack("{s:i, s:o, s:s, s:s}", "n", (int)++r->n_turns, "role", record_str(role), "status", "running",
	                 "started", now);
	rc = append(r->iteration != NULL ? r->iteration : r->run, "turns", turn, &r->turn);
	rc = record_tell(r, rc, "turn-begin", json_pack("{s:i, s:o}", "n", (int)r->n_turns, "role", record_str(role)), e);
	if (rc == 0)
		*ret_n = r->n_turns;
	return rc;
}

static int plain_name(const struct record *r, const char *name, struct err *e)
{
	if (r->turn_fd < 0)
		return out_of_order("a turn", e);
	if (strchr(name, '/') != NULL || name[0] == '.' || name[0] == '\0')
		return err_stop(e, STOP_RECORD, err_set(e, EINVAL, "cannot write the run's record: %s is no plain name", name));
	return 0;
}

int record_turn_open(struct record *r, const char *name, struct err *e)
{
	int rc = plain_name(r, name, e);
	int fd;

	if (rc != 0)
		return rc;
	fd = openat(r->turn_fd, name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_stop(e, STOP_RECORD, err_errno(e, errno, "cannot create %s/%s", r->turn_dir, name));
	return fd;
}

int record_turn_file(struct record *r, const char *name, const void *bytes, size_t n, struct err *e)
{
	int rc = plain_name(r, name, e);

	return rc != 0 ? rc : err_stop(e, STOP_RECORD, fd_replace_file(r->turn_fd, name, bytes, n, 0600, e));
}
