/* The access table for people and for programs: printed, explained, proved. */
#ifndef STINT_ORCHESTRATOR_MATRIX_H
#define STINT_ORCHESTRATOR_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "orchestrator/cmd.h"
#include "orchestrator/config.h"
#include "protocol/frames.h"
#include "roles/matrix.h"

/* The configuration's rows for matrix_find(); *ret is malloc'ed, its strings belong to c. */
int matrix_rows(const struct config *c, struct matrix_row **ret, struct err *e) MUST_CHECK;

/* Prints the table on stdout. cells: what a proof saw, or NULL: then nothing is observed. As text: one line a row, one
 * column a role, then what the proof says. As JSON: {"cells":[{"role","path","level","layer","op","expected",
 * "observed"}],"ok"}; without a proof "layer", "observed" and "ok" are null. *ret_ok: no cell differs. */
int matrix_print(const struct config *c, const struct prove_cell *cells, size_t n, bool json, bool *ret_ok,
                 struct err *e) MUST_CHECK;

/* Prints which zone governs the path for the role, the level, and why. path: as the user wrote it, absolute or relative to
 * the root. root_fd tells what is there now. */
int matrix_explain(const struct config *c, int root_fd, const char *role, const char *path, bool json,
                   struct err *e) MUST_CHECK;

/* Has the warden prove every role, with these layers; with all of them each layer alone as well. Prints the result. Returns
 * the exit status. The command must run under the warden. */
int matrix_prove(struct cmd *c, unsigned int layers, bool json);

#endif
