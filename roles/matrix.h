/* The access table as data: which row governs a path for a role, and why. Pure text; the file system is not looked at.
 * Source: man/stint.yaml.5, "access". */
#ifndef STINT_ROLES_MATRIX_H
#define STINT_ROLES_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

#include "roles/role.h"

#define MATRIX_REST "*"

struct matrix_row {
	const char *path;               /* without trailing slash, or MATRIX_REST */
	bool is_dir;
	enum level level[ROLE_MAX];     /* by role number */
};

/* The table of a stint.yaml without `access`. Role numbers: developer 0, tester 1, reviewer 2, runner 3. */
extern const struct matrix_row matrix_builtin[];
extern const size_t matrix_builtin_n;

enum matrix_why {
	MATRIX_ROW,       /* the row's path, or below its folder */
	MATRIX_REST_ROW,  /* "*" */
	MATRIX_PRIVATE,   /* .git or .stint */
	MATRIX_ENV_FILE,  /* .env* that no row names */
	MATRIX_ON_THE_WAY,/* a folder above a nested row: traverse only */
	MATRIX_BESIDE,    /* in such a folder, but not on the way: sealed */
	MATRIX_ROOT,      /* the root itself: listing */
	MATRIX_UNNAMED,   /* no row, and no "*" */
};

struct matrix_answer {
	enum level level;
	enum matrix_why why;
	const struct matrix_row *row;   /* the row that decided, or NULL */
};

/* path: plain and relative, "." for the root. Rows do not overlap. */
struct matrix_answer matrix_find(const struct matrix_row *rows, size_t n, const char *path, unsigned int role);

/* True when "*" does not catch this entry of the root: .git, .stint, .env*. */
bool matrix_rest_skips(const char *name);

#endif
