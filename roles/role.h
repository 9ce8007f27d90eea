/* Roles and levels: the words of the access table. Roles are data; these are the built-in names. */
#ifndef STINT_ROLES_ROLE_H
#define STINT_ROLES_ROLE_H

#include <stdbool.h>

#define ROLE_MAX 8         /* roles in one project, the runner included */
#define ROLE_NAME_MAX 32   /* bytes with NUL; a name is [a-z][a-z0-9-]* */

#define ROLE_DEVELOPER "developer"
#define ROLE_TESTER "tester"
#define ROLE_REVIEWER "reviewer"
#define ROLE_RUNNER "runner"

enum level {
	LEVEL_NONE = 0, /* names, metadata below it and content are out of reach */
	LEVEL_R = 1,    /* read, list, execute */
	LEVEL_RW = 2,   /* a folder: also create, delete, rename below it; a file: also write, truncate */
};

/* Which mechanisms hold a turn. All by default; fewer only to show and test that each holds alone. */
enum layer {
	LAYER_ACL = 1 << 0,      /* agent user and flipped ACLs; without it the command runs as the owner */
	LAYER_LANDLOCK = 1 << 1, /* covers and Landlock ruleset */
	LAYER_SECCOMP = 1 << 2,
	LAYER_ALL = LAYER_ACL | LAYER_LANDLOCK | LAYER_SECCOMP,
};

bool role_name_ok(const char *name);
const char *level_name(enum level level);                  /* "none", "r", "rw" */
const char *layer_name(enum layer layer);                  /* "acl", "landlock", "seccomp" */
/* Parses "acl,landlock": 0, or -EINVAL with the unknown word in *ret_bad (points into list). */
int layers_parse(const char *list, unsigned int *ret_layers, const char **ret_bad);

#endif
