/* What `stint view` prints: a run as a table of turns, or one turn with everything that was kept of it. */
#ifndef STINT_ORCHESTRATOR_VIEW_H
#define STINT_ORCHESTRATOR_VIEW_H

#include <jansson.h>
#include <stdbool.h>

/* Both take a checked record (record_read) and return the exit status after printing. root_fd is borrowed. */
int view_run(int root_fd, const char *id, const json_t *run);
int view_turn(int root_fd, const char *id, const json_t *run, unsigned int turn, bool json);

#endif
