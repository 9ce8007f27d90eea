/* The access table as a tree: the root, the folders on the way to nested zones (traverse-only), and the zones.
 * What is not in it is none for every role. Pure: the file system is not looked at here.
 * Source: docs/threat-model.md, "Zones". */
#ifndef STINT_SANDBOX_ZONES_H
#define STINT_SANDBOX_ZONES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/err.h"
#include "protocol/policy.h"

#define ZONES_NONE (-1)
#define ZONES_ROOT 0
#define ZONE_LEVEL_UNKNOWN (-1)
#define ZONE_LEVEL_SHARED 100 /* beside the levels */

enum zone_kind { ZONE_PASS, ZONE_DIR, ZONE_FILE };

struct zone {
	char *path;                         /* relative to the root; "" is the root */
	const char *name;                   /* its last part, inside path */
	enum zone_kind kind;
	const struct policy_entry *entry;   /* NULL for ZONE_PASS */
	int parent;
	int child;                          /* first, or ZONES_NONE */
	int next;                           /* sibling */
	bool foreign;                       /* a link, a mount point or a stranger's: none, and never touched */
	bool created;                       /* the warden made this file for the turn */
	bool seen;                          /* stat holds what the turn began with */
	bool shared;                        /* granted to groups: reading to all who enter, writing to the writers (zones_share()) */
	int inside;                         /* level that the last walk set inside, or ZONE_LEVEL_UNKNOWN, ZONE_LEVEL_SHARED */
	struct stat stat;                   /* ZONE_FILE in a turn */
};

struct zones {                              /* zeroed is empty; v[ZONES_ROOT] is the root */
	struct zone *v;
	int n;
	int cap;
};

/* The policy, which policy_check() accepted, must outlive it. 0 or -ENOMEM, -EINVAL. */
int zones_build(struct zones *ret, const struct policy *p, struct err *e) MUST_CHECK;
void zones_done(struct zones *z);

/* Says which folders are granted to groups: those that one role may write and another only read, so that a change of roles
 * changes nothing in them. There is one group of writers: a folder that some role may only read, while it may write another
 * such folder, or the other way round, is not shared. */
void zones_share(struct zones *z, unsigned int n_roles);

int zones_child(const struct zones *z, int parent, const char *name); /* index or ZONES_NONE */
enum level zone_level(const struct zone *z, unsigned int role);       /* none for ZONE_PASS */
enum level zone_most(const struct zone *z, unsigned int n_roles);     /* the highest of any role */

#endif
