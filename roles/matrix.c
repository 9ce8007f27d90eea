/* The built-in table and the one rule by which a path finds its row. */
#include "roles/matrix.h"

#include <string.h>

#include "roles/path.h"

#define N LEVEL_NONE
#define R LEVEL_R
#define W LEVEL_RW

const struct matrix_row matrix_builtin[] = {
	/*  path         folder  developer tester reviewer runner */
	{"TASKS.md",    false, {R, R, W, N}},
	{"REVIEW.md",   false, {R, N, W, N}}, /* findings reach the tester through the prompt, and only those for it */
	{"src",         true,  {W, N, R, R}},
	{"tests",       true,  {N, W, R, R}},
	{MATRIX_REST,   false, {R, R, R, R}},
};
const size_t matrix_builtin_n = sizeof(matrix_builtin) / sizeof(matrix_builtin[0]);

#undef N
#undef R
#undef W

bool matrix_rest_skips(const char *name)
{
	return path_private(name) || strncmp(name, ".env", 4) == 0;
}

/* Fills in what a row other than "*" says about the path. */
static bool find_row(const struct matrix_row *rows, size_t n, const char *path, unsigned int role,
                     struct matrix_answer *ret)
{
	size_t first = strcspn(path, "/");
	const struct matrix_row *beside = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct matrix_row *row = &rows[i];

		if (strcmp(row->path, MATRIX_REST) == 0)
			continue;
		if (strcmp(row->path, path) == 0 || (row->is_dir && path_within(path, row->path))) {
			*ret = (struct matrix_answer){row->level[role], MATRIX_ROW, row};
			return true;
		}
		if (path_within(row->path, path)) {
			*ret = (struct matrix_answer){LEVEL_NONE, MATRIX_ON_THE_WAY, row};
			return true;
		}
		if (strncmp(row->path, path, first) == 0 && row->path[first] == '/')
			beside = row;
	}
	*ret = (struct matrix_answer){LEVEL_NONE, MATRIX_BESIDE, beside};
	return beside != NULL;
}

struct matrix_answer matrix_find(const struct matrix_row *rows, size_t n, const char *path, unsigned int role)
{
	struct matrix_answer a = {LEVEL_NONE, MATRIX_UNNAMED, NULL};

	if (strcmp(path, ".") == 0)
		return (struct matrix_answer){LEVEL_R, MATRIX_ROOT, NULL};
	if (path_private(path))
		return (struct matrix_answer){LEVEL_NONE, MATRIX_PRIVATE, NULL};
	if (find_row(rows, n, path, role, &a))
		return a;
	if (matrix_rest_skips(path))
		return (struct matrix_answer){LEVEL_NONE, MATRIX_ENV_FILE, NULL};
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].path, MATRIX_REST) == 0)
			return (struct matrix_answer){rows[i].level[role], MATRIX_REST_ROW, &rows[i]};
	return (struct matrix_answer){LEVEL_NONE, MATRIX_UNNAMED, NULL};
}
