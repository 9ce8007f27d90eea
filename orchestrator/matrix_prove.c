/* `stint matrix --prove`: a turn of every role up to its proof, and no further. */
#include <errno.h>
#include <string.h>

#include "base/exit.h"
#include "base/log.h"
#include "orchestrator/matrix.h"
#include "orchestrator/session.h"
#include "orchestrator/warden.h"

/* Proves one role; what was seen is appended to cells even when it differs from the table. */
static int prove_one(const struct cmd *c, unsigned int role, struct buf *cells, struct err *e)
{
	struct warden_ready ready = {0};
	struct warden_changes changes = {0};
	struct err late = {0};
	int rc = warden_turn(c->warden_fd, role, TURN_PROVE_LAYERS, &ready, e);

	if (buf_add(cells, ready.cells.data, ready.cells.len) != 0 && rc == 0)
		rc = err_errno(e, ENOMEM, "cannot keep the proof");
	if (rc == 0)
		rc = warden_end(c->warden_fd, false, NULL, &changes, &late);
	if (late.code != 0)
		*e = late;
	warden_ready_done(&ready);
	warden_changes_done(&changes);
	return rc;
}

static int prove_all(const struct cmd *c, const struct session *s, bool json, struct err *e)
{
	AUTO_BUF struct buf cells = {0};
	struct err print = {0};
	bool ok = false;
	int rc = 0;

	for (unsigned int r = 0; rc == 0 && r < s->policy->n_roles; r++)
		rc = prove_one(c, r, &cells, e);
	if (cells.len > 0 &&
	    matrix_print(&s->config, (const struct prove_cell *)(const void *)cells.data, cells.len / sizeof(struct prove_cell), json,
	                 &ok, &print) != 0)
		return log_err(&print, STOP_CONFINE);
	if (rc != 0)
		return log_err(e, STOP_CONFINE);
	return ok ? STOP_DONE : STOP_CONFINE;
}

int matrix_prove(struct cmd *c, unsigned int layers, bool json)
{
	const struct compile_options co = {.layers = layers, .role = COMPILE_NOBODY};
	struct session s = {.policy_fd = -1, .interrupt_fd = -1};
	struct err e = {0};
	int status;
	int rc = session_open(&s, c, &co, &e);

	if (rc == 0)
		session_warn_lines(s.notes.data, s.notes.len);
	if (rc == 0)
		rc = session_start(&s, c, &e);
	status = rc == 0 ? prove_all(c, &s, json, &e) : log_err(&e, STOP_USAGE);
	session_done(&s);
	return status;
}
