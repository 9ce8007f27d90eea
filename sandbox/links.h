/* Counts the names of hard-linked inodes in one zone, so that an inode with a name elsewhere is known.
 * Source: docs/threat-model.md, rule 3. */
#ifndef STINT_SANDBOX_LINKS_H
#define STINT_SANDBOX_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct link_count {
	ino_t ino;       /* 0: free slot */
	nlink_t seen;
};

struct links {       /* zeroed is empty */
	struct link_count *slot;
	size_t cap;      /* a power of two */
	size_t n;
};

int links_add(struct links *l, ino_t ino) MUST_CHECK; /* one more name seen: 0 or -ENOMEM */
nlink_t links_seen(const struct links *l, ino_t ino);
void links_done(struct links *l);

#endif
