/* The table against the tree: which zones there are, as the owner sees them. Private to compile*.c. */
#ifndef STINT_ORCHESTRATOR_COMPILE_ZONES_H
#define STINT_ORCHESTRATOR_COMPILE_ZONES_H

#include "base/str.h"
#include "orchestrator/config.h"
#include "protocol/policy.h"

struct zones {
	struct zone {
		char *path;
		enum policy_kind kind;
		unsigned int flags;             /* enum policy_entry_flag */
		enum level level[ROLE_MAX];
	} *v;
	size_t n;
};

/* Rows in the order of the file, then what "*" catches, by name. notes: one line for each row or entry that was left out. */
int compile_zones_find(struct zones *ret, const struct config *c, int root_fd, struct buf *notes, struct err *e) MUST_CHECK;
void compile_zones_done(struct zones *z);

#endif
