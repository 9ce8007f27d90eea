/* `access` and `scratch`: rows of the table, as text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "orchestrator/config_parts.h"
#include "protocol/policy.h"
#include "roles/matrix.h"
#include "roles/path.h"

static const char *const level_words[] = {"none", "r", "rw", NULL};

/* A path below the root as the user wrote it: *ret without its trailing slash. */
static int take_path(struct reader *r, yaml_node_t *n, const char *what, char **ret, bool *ret_dir, struct err *e)
{
	AUTO_FREE char *path = NULL;
	char shown[YAML_SHOWN];
	size_t len;
	int rc = value_text(r, n, what, &path, e);

	if (rc != 0)
		return rc;
	len = strlen(path);
	if (path[0] == '/')
		return yaml_fail(r->y, n, e, "%s: %s is absolute: paths are relative to the project: leave the first / out", what,
		                 yaml_shown(n, shown));
	if (len > POLICY_PATH_MAX)
		return yaml_fail(r->y, n, e, "%s: a path of more than %u bytes: shorten it", what, POLICY_PATH_MAX);
	*ret_dir = path[len - 1] == '/';
	if (*ret_dir)
		path[len - 1] = '\0';
	if (str_eq(path, "."))
		return yaml_fail(r->y, n, e, "%s: the project's root itself is no zone: name its entries, or \"*\"", what);
	if (!path_plain(path))
		return yaml_fail(r->y, n, e, "%s: %s has a part that is empty, . or ..: write the plain path", what,
		                 yaml_shown(n, shown));
	if (strpbrk(path, "*?") != NULL)
		return yaml_fail(r->y, n, e, "%s: %s is a pattern: only \"*\" alone is one: name the folder or the file", what,
		                 yaml_shown(n, shown));
	*ret = path;
	path = NULL;
	return 0;
}

struct row_walk {
	struct reader *r;
	struct config_access *row;
};

static int row_level(void *cookie, yaml_node_t *key, yaml_node_t *value, struct err *e)
{
	struct row_walk *w = cookie;
	const struct config *c = w->r->c;
	const char *names[ROLE_MAX + 1] = {0};
	int role = config_role_find(c, yaml_word(key));
	unsigned int level;
	int rc;

	if (role < 0) {
		for (size_t i = 0; i < c->n_roles; i++)
			names[i] = c->role[i].name;
		return yaml_fail_word(w->r->y, key, "role", names, e);
	}
	rc = value_choice(w->r, value, "level", level_words, &level, e);
	if (rc == 0)
		w->row->level[role] = (enum level)level;
	return rc;
}

/* .git and .stint stay closed whatever the file says; compiling the policy says so. */
static int access_row(void *cookie, yaml_node_t *key, yaml_node_t *value, struct err *e)
{
	struct reader *r = cookie;
	struct config *c = r->c;
	struct config_access row = {.line = (unsigned int)key->start_mark.line + 1,
	                            .col = (unsigned int)key->start_mark.column + 1};
	struct row_walk w = {r, &row};
	char what[YAML_SHOWN + 32];
	char shown[YAML_SHOWN];
	struct config_access *bigger;
	int rc = 0;

	if (str_eq(yaml_word(key), MATRIX_REST))
		row.path = strdup(MATRIX_REST);
	else
		rc = take_path(r, key, "access", &row.path, &row.is_dir, e);
	if (rc != 0)
		return rc;
	(void)snprintf(what, sizeof(what), "access of %s", yaml_shown(key, shown));
	bigger = realloc(c->access, (c->n_access + 1) * sizeof(*bigger));
	if (bigger != NULL)
		c->access = bigger;
	if (row.path == NULL || bigger == NULL) {
		free(row.path);
		return err_errno(e, ENOMEM, "cannot read %s", c->file);
	}
	rc = yaml_each_pair(r->y, value, what, row_level, &w, e);
	c->access[c->n_access++] = row;
	return rc;
}

int config_access_parse(struct reader *r, yaml_node_t *access, struct err *e)
{
	int rc = yaml_each_pair(r->y, access, "access", access_row, r, e);

	if (rc == 0 && r->c->n_access == 0)
		return yaml_fail(r->y, access, e, "access is empty: nobody could do anything: name a path, or leave access out");
	return rc;
}

int config_access_builtin(struct config *c, struct err *e)
{
	c->access = calloc(matrix_builtin_n, sizeof(*c->access));
	if (c->access == NULL)
		return err_errno(e, ENOMEM, "cannot read %s", c->file);
	for (size_t i = 0; i < matrix_builtin_n; i++) {
		struct config_access *row = &c->access[c->n_access++];

		row->path = strdup(matrix_builtin[i].path);
		if (row->path == NULL)
			return err_errno(e, ENOMEM, "cannot read %s", c->file);
		row->is_dir = matrix_builtin[i].is_dir;
		memcpy(row->level, matrix_builtin[i].level, sizeof(row->level));
	}
	return 0;
}

static int check_scratch(const struct config *c, const struct config_access *row, struct err *e)
{
	for (size_t i = 0; i < c->scratch.n; i++)
		if (path_overlap(row->path, c->scratch.v[i]))
			return config_fail(c, row->line, row->col, e, "%s%s and the scratch folder %s overlap: a scratch folder is "
			                   "each role's own: take one of them out", row->path,
			                   row->line == 0 ? " of the built-in table" : "", c->scratch.v[i]);
	return 0;
}

/* A role of one's own that no row lets in would start and see nothing: nearly always a misspelt name. */
static int check_own_roles(const struct config *c, struct err *e)
{
	static const char *const builtin[] = {ROLE_DEVELOPER, ROLE_TESTER, ROLE_REVIEWER, NULL};

	for (size_t i = CONFIG_RUNNER + 1; i < c->n_roles; i++) {
		const struct config_role *role = &c->role[i];
		const char *near = str_nearest(role->name, builtin);
		bool named = false;

		for (size_t k = 0; k < c->n_access; k++)
			named = named || c->access[k].level[i] != LEVEL_NONE;
		if (!named)
			return config_fail(c, role->line, role->col, e, "roles: %s may touch nothing: no row of access lets it in: %s%s%s",
			                   role->name, near != NULL ? "did you mean " : "give it a level under access", near != NULL ? near
			                   : "", near != NULL ? "?" : "");
	}
	return 0;
}

int config_access_check(const struct config *c, struct err *e)
{
	int own = check_own_roles(c, e);

	if (own != 0)
		return own;
	for (size_t i = 0; i < c->n_access; i++) {
		const struct config_access *row = &c->access[i];
		int rc;

		if (str_eq(row->path, MATRIX_REST))
			continue;
		rc = check_scratch(c, row, e);
		if (rc != 0)
			return rc;
		for (size_t k = 0; k < i; k++) {
			const struct config_access *other = &c->access[k];

			if (str_eq(row->path, other->path))
				return config_fail(c, row->line, row->col, e, "%s is here twice: the first is on line %u: remove one",
				                   row->path, other->line);
			if (path_overlap(row->path, other->path))
				return config_fail(c, row->line, row->col, e, "%s and %s on line %u are one inside the other: zones do "
				                   "not overlap: name the inner folders one by one", row->path, other->path, other->line);
		}
	}
	return 0;
}

struct scratch_walk {
	struct reader *r;
	struct strv got;
};

static int scratch_item(void *cookie, yaml_node_t *item, struct err *e)
{
	struct scratch_walk *w = cookie;
	AUTO_FREE char *path = NULL;
	bool dir;
	int rc = take_path(w->r, item, "scratch", &path, &dir, e);

	if (rc != 0)
		return rc;
	if (path_private(path))
		return yaml_fail(w->r->y, item, e, "scratch: %s is stint's or git's own: take another folder", path);
	for (size_t i = 0; i < w->got.n; i++)
		if (path_overlap(path, w->got.v[i]))
			return yaml_fail(w->r->y, item, e, "scratch: %s and %s overlap: remove one", path, w->got.v[i]);
	if (w->got.n >= POLICY_MAX_LIST)
		return yaml_fail(w->r->y, item, e, "scratch: more than %u folders: shorten it", POLICY_MAX_LIST);
	return strv_add(&w->got, path) == 0 ? 0 : err_errno(e, ENOMEM, "cannot read %s", w->r->c->file);
}

int config_scratch_parse(struct reader *r, void *out, yaml_node_t *value, struct err *e)
{
	struct scratch_walk w = {.r = r};
	struct strv *scratch = out;
	int rc = yaml_each_item(r->y, value, "scratch", scratch_item, &w, e);

	if (rc != 0) {
		strv_done(&w.got);
		return rc;
	}
	*scratch = w.got;
	return 0;
}
