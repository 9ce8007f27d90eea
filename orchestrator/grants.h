/* What a command line of the guard grants, as Landlock judges it: to tell what a refused access lacked. Never to
 * allow anything. */
#ifndef STINT_ORCHESTRATOR_GRANTS_H
#define STINT_ORCHESTRATOR_GRANTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "orchestrator/access.h"
#include "sandbox/guard.h"

struct grant {
	dev_t dev;
	ino_t ino;
	uint64_t fs;
};

struct grants {              /* zeroed grants nothing */
	struct grant *path;
	size_t n_path;
	struct landlock_rights handled; /* what is not is not refused either */
	const struct guard_options *o;  /* for its ports */
	int abi;
};

/* Looks the paths up as the guard does. Release with grants_done(). -ENOMEM. */
int grants_open(struct grants *ret, const struct guard_options *o, struct err *e) MUST_CHECK;
void grants_done(struct grants *g);

/* Adds one, as the guard would. -ENOENT and its like for a path that is not there. */
int grants_add(struct grants *g, const char *path, enum landlock_grant grant) MUST_CHECK;

/* The rights that an access lacks; both 0: it is granted. */
struct landlock_rights grants_lack(const struct grants *g, const struct access *a);

#endif
