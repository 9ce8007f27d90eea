/* `stint doctor --bundle`: one JSON file to attach to a bug report. It holds what doctor found, the access table and roles of
 * stint.yaml, and the shape of the last run. Only members named in bundle.c's tables go in, so that no file content, command
 * argument, environment value, task title or word of an agent does. Source: docs/run-record.md, "In a bug report". */
#ifndef STINT_ORCHESTRATOR_BUNDLE_H
#define STINT_ORCHESTRATOR_BUNDLE_H

#include <stddef.h>

#include "base/err.h"
#include "orchestrator/doctor_report.h"

/* Creates file (relative to the current folder, 0600; never over an existing one) for the project at root_fd, borrowed; root is
 * its path, which stands as PROJECT in the bundle. *ret_size: bytes written. STOP_USAGE where the file cannot be created,
 * STOP_RECORD where it cannot be written; then it is gone again. */
int bundle_write(const struct doctor_report *r, int root_fd, const char *root, const char *file, size_t *ret_size,
                 struct err *e) MUST_CHECK;

#endif
