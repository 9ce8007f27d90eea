/* TASKS.md around the turns of a role that may write it: text and new open tasks stay, boxes and tasks come back. Also
 * after a turn that a kill cut: the file as it was before is in the record. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "orchestrator/loop.h"

#define BEFORE "tasks.md"

bool loop_may_write_tasks(const struct loop *l, unsigned int role)
{
	const struct config *c = l->config;

	for (size_t i = 0; i < c->n_access; i++)
		if (str_eq(c->access[i].path, TASKS_FILE))
			return c->access[i].level[role] == LEVEL_RW;
	return false;
}

int loop_keep_tasks(struct loop *l, struct err *e)
{
	struct tasks t = {0};
	int rc = tasks_load(&t, l->root_fd, e);

	if (rc == 0)
		rc = record_turn_file(l->record, BEFORE, t.bytes, t.n_bytes, e);
	tasks_done(&t);
	return rc;
}

/* What the file may become. */
static int guard(int root_fd, const struct tasks *before, struct tasks_guarded *ret, struct err *e)
{
	AUTO_FREE char *after = NULL;
	AUTO_FD fd = fd_open_beneath(root_fd, TASKS_FILE, O_RDONLY | O_NONBLOCK, 0, false);
	size_t n = 0;

	if (fd >= 0 && fd_read_all(fd, TASKS_MAX_BYTES, &after, &n) != 0)
		str_free(&after);
	return tasks_guard(before, after, n, ret, e);
}

int loop_guard_tasks(struct loop *l, const struct tasks *before, struct err *e)
{
	struct tasks_guarded g = {0};
	int rc = guard(l->root_fd, before, &g, e);

	if (rc == 0 && g.changed)
		rc = tasks_write(l->root_fd, g.bytes, g.n_bytes, e);
	for (size_t i = 0; rc == 0 && i < g.n_note; i++) {
		report_note(&l->report, REPORT_BAD, "%s", g.note[i]);
		rc = record_event(l->record, "tasks-put-back", json_pack("{s:s}", "note", g.note[i]), e);
	}
	tasks_guarded_done(&g);
	return rc;
}

int loop_guard_cut_turn(const struct loop *l, struct err *e)
{
	AUTO_FREE char *bytes = NULL;
	struct tasks_guarded g = {0};
	struct tasks before = {0};
	size_t n = 0;
	int rc;

	if (!l->resume.unfinished || l->resume.turn == 0)
		return 0;
	rc = record_turn_read(l->root_fd, l->resume.id, l->resume.turn, BEFORE, TASKS_MAX_BYTES, &bytes, &n, NULL);
	if (rc == -ENOENT) /* a role that may not write it, or its agent had not begun */
		return 0;
	if (rc != 0)
		return err_stop(e, STOP_USAGE,
		                err_set(e, -rc, "cannot tell what " TASKS_FILE " was before a turn that was cut: " RECORD_RUNS_DIR
		                        "/%s/turn-%u/" BEFORE ": %s: make it readable, or remove it when " TASKS_FILE " is right",
		                        l->resume.id, l->resume.turn, strerror(-rc)));
	rc = tasks_parse(&before, TASKS_FILE, bytes, n, e);
	if (rc == 0)
		rc = guard(l->root_fd, &before, &g, e);
	/* Since then a person may have edited it too: boxes go back, nothing else is taken away. */
	if (rc == 0 && g.restored)
		rc = err_stop(e, STOP_USAGE,
		              err_set(e, ESTALE, TASKS_FILE " lost a task, or can no longer be read, since a turn of run %s began "
		                      "that was cut: as it was then it is in " RECORD_RUNS_DIR "/%s/turn-%u/" BEFORE ": put it "
		                      "right, remove that copy, and run again", l->resume.id, l->resume.id, l->resume.turn));
	else if (rc == 0 && g.changed)
		rc = tasks_write(l->root_fd, g.bytes, g.n_bytes, e);
	for (size_t i = 0; rc == 0 && i < g.n_note; i++)
		log_warn("a turn of run %s was cut: %s", l->resume.id, g.note[i]);
	tasks_guarded_done(&g);
	tasks_done(&before);
	return rc;
}
