/* The place that a path means to another process. */
#ifndef STINT_ORCHESTRATOR_ACCESS_PATH_H
#define STINT_ORCHESTRATOR_ACCESS_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "orchestrator/held.h"

struct place {
	char path[PATH_MAX];   /* absolute, without links */
	struct stat st;
};

/* What (dir, text) leads to in the process; dir: a descriptor of its, or AT_FDCWD. 0, or a negative errno; -ENXIO for what has no
 * path (a pipe, a deleted file). */
int place_of(const struct held *h, int dir, const char *text, bool follow, struct place *ret) MUST_CHECK;

/* The folder that the last name of text is in; ret_name: that name. exists: the entry is there, and ret_entry describes it (a
 * link itself). */
int place_of_entry(const struct held *h, int dir, const char *text, struct place *ret, char ret_name[NAME_MAX + 1],
                   bool *ret_exists, struct stat *ret_entry) MUST_CHECK;

#endif
