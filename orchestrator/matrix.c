/* Printing the table: see matrix.h. */
#include "orchestrator/matrix.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"
#include "base/str.h"

#define OPS_R ((1u << OP_LIST) | (1u << OP_READ))
#define OPS_RW (OPS_R | (1u << OP_WRITE) | (1u << OP_CREATE) | (1u << OP_DELETE))
#define OPS_FILE ((1u << OP_READ) | (1u << OP_WRITE))

/* What a level permits; a file has neither entries to list nor to make. */
static const unsigned int level_ops[] = {[LEVEL_NONE] = 0, [LEVEL_R] = OPS_R, [LEVEL_RW] = OPS_RW};

static const struct matrix_row private_rows[] = {{".git", true, {0}}, {".stint", true, {0}}};

int matrix_rows(const struct config *c, struct matrix_row **ret, struct err *e)
{
	struct matrix_row *rows = calloc(c->n_access + 1, sizeof(*rows));

	if (rows == NULL)
		return err_errno(e, ENOMEM, "matrix");
	for (size_t i = 0; i < c->n_access; i++) {
		rows[i].path = c->access[i].path;
		rows[i].is_dir = c->access[i].is_dir;
		memcpy(rows[i].level, c->access[i].level, sizeof(rows[i].level));
	}
	*ret = rows;
	return 0;
}

/* ---- text */

/* "src/" for a folder, escaped for a terminal. */
static int shown_path(const struct matrix_row *row, struct buf *b)
{
	int rc = buf_add_escaped(b, row->path, strlen(row->path), false);

	if (rc == 0 && row->is_dir)
		rc = buf_add(b, "/", 1);
	return rc == 0 && buf_str(b) != NULL ? 0 : -ENOMEM;
}

/* A column is as wide as its role's name, and holds every level. */
static int column(const struct config *c, size_t role)
{
	int n = (int)strlen(c->role[role].name);
	int least = (int)strlen(level_name(LEVEL_NONE));

	if (role + 1 == c->n_roles)
		return 0;
	return n < least ? least : n;
}

static int print_row(const struct config *c, const struct matrix_row *row, int width)
{
	AUTO_BUF struct buf path = {0};

	if (shown_path(row, &path) != 0)
		return -ENOMEM;
	(void)printf("%-*s", width, path.data);
	for (size_t r = 0; r < c->n_roles; r++)
		(void)printf("  %-*s", column(c, r), level_name(row->level[r]));
	(void)putchar('\n');
	return 0;
}

static int print_table(const struct config *c, const struct matrix_row *rows)
{
	int width = (int)strlen(".stint/");
	int rc = 0;

	for (size_t i = 0; i < c->n_access; i++) {
		AUTO_BUF struct buf path = {0};

		if (shown_path(&rows[i], &path) != 0)
			return -ENOMEM;
		if ((int)path.len > width)
			width = (int)path.len;
	}
	(void)printf("%-*s", width, "");
	for (size_t r = 0; r < c->n_roles; r++)
		(void)printf("  %-*s", column(c, r), c->role[r].name);
	(void)putchar('\n');
	for (size_t i = 0; i < c->n_access && rc == 0; i++)
		rc = print_row(c, &rows[i], width);
	for (size_t i = 0; i < 2 && rc == 0; i++)
		rc = print_row(c, &private_rows[i], width);
	return rc;
}

/* "all", or the layers that were in force, as "acl" or "landlock,seccomp". */
static const char *layers_text(unsigned int layers, char out[64])
{
	static const enum layer each[] = {LAYER_ACL, LAYER_LANDLOCK, LAYER_SECCOMP};

	if (layers == LAYER_ALL)
		return "all";
	out[0] = '\0';
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		size_t n = strlen(out);

		if ((layers & (unsigned int)each[i]) != 0)
			(void)snprintf(out + n, 64 - n, "%s%s", n > 0 ? "," : "", layer_name(each[i]));
	}
	return out;
}

static const char *role_of(const struct config *c, const struct prove_cell *cell)
{
	return cell->role < c->n_roles ? c->role[cell->role].name : "?";
}

static bool differs(const struct prove_cell *cell)
{
	return (cell->expected != 0) != (cell->observed != 0);
}

static int print_difference(const struct config *c, const struct prove_cell *cell)
{
	AUTO_BUF struct buf path = {0};
	char layers[64];

	if (buf_add_escaped(&path, cell->path, strnlen(cell->path, sizeof(cell->path)), false) != 0 || buf_str(&path) == NULL)
		return -ENOMEM;
	(void)printf("DIFFERS  %s  %s  %s: %s expected, %s observed (%s; layers: %s)\n", role_of(c, cell), path.data,
	             prove_op_name(cell->op), cell->expected != 0 ? "allowed" : "denied",
	             cell->observed != 0 ? "allowed" : "denied", cell->err != 0 ? strerror(cell->err) : "no error",
	             layers_text(cell->layers, layers));
	return 0;
}

/* One line for each set of layers that was proved, after the cells that differ. */
static int print_proof(const struct config *c, const struct prove_cell *cells, size_t n)
{
	char text[64];
	int rc = 0;

	(void)putchar('\n');
	for (size_t i = 0; i < n && rc == 0; i++)
		if (differs(&cells[i]))
			rc = print_difference(c, &cells[i]);
	for (unsigned int layers = LAYER_ALL + 1u; layers-- > 0 && rc == 0;) {
		size_t seen = 0;
		size_t bad = 0;

		for (size_t i = 0; i < n; i++) {
			seen += cells[i].layers == layers;
			bad += cells[i].layers == layers && differs(&cells[i]);
		}
		if (seen > 0)
			(void)printf("proved with %s: %zu cells, %zu differ\n", layers_text(layers, text), seen, bad);
	}
	if (n == 0)
		(void)printf("proved: nothing\n");
	return rc;
}

/* ---- JSON */

/* Steals observed and layer. Paths are bytes: what is no UTF-8 is escaped. */
static int add_cell(json_t *cells, const char *role, const char *path, enum level level, json_t *layer, unsigned int op,
                    bool expected, json_t *observed)
{
	AUTO_BUF struct buf b = {0};
	json_t *cell;

	if (buf_add_escaped(&b, path, strlen(path), false) != 0 || buf_str(&b) == NULL)
		return -ENOMEM;
	cell = json_pack("{s:s, s:s, s:s, s:o, s:s, s:b, s:o}", "role", role, "path", b.data, "level", level_name(level), "layer",
	                 layer, "op", prove_op_name(op), "expected", expected ? 1 : 0, "observed", observed);
	return cell != NULL && json_array_append_new(cells, cell) == 0 ? 0 : -ENOMEM;
}

static int add_row(json_t *cells, const struct config *c, const struct matrix_row *row)
{
	AUTO_BUF struct buf path = {0};
	bool file = !row->is_dir && !str_eq(row->path, MATRIX_REST);
	int rc = shown_path(row, &path);

	for (size_t r = 0; r < c->n_roles && rc == 0; r++)
		for (unsigned int op = 0; op < OP_COUNT && rc == 0; op++)
			if (!file || ((OPS_FILE >> op) & 1u) != 0)
				rc = add_cell(cells, c->role[r].name, path.data, row->level[r], json_null(), op,
				              ((level_ops[row->level[r]] >> op) & 1u) != 0, json_null());
	return rc;
}

static int add_rows(json_t *cells, const struct config *c, const struct matrix_row *rows)
{
	int rc = 0;

	for (size_t i = 0; i < c->n_access && rc == 0; i++)
		rc = add_row(cells, c, &rows[i]);
	for (size_t i = 0; i < 2 && rc == 0; i++)
		rc = add_row(cells, c, &private_rows[i]);
	return rc;
}

/* The level of a probed path is the table's own answer, not the probe's. */
static int add_proved(json_t *cells, const struct config *c, const struct matrix_row *rows, const struct prove_cell *cell)
{
	char path[sizeof(cell->path) + 1] = {0};
	char text[64];
	size_t len;

	memcpy(path, cell->path, sizeof(cell->path));
	len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	return add_cell(cells, role_of(c, cell), path,
	                cell->role < ROLE_MAX ? matrix_find(rows, c->n_access, path, cell->role).level : LEVEL_NONE,
	                json_string(layers_text(cell->layers, text)), cell->op, cell->expected != 0,
	                json_boolean(cell->observed != 0));
}

static int print_json(const struct config *c, const struct matrix_row *rows, const struct prove_cell *cells, size_t n,
                      bool ok)
{
	json_t *list = json_array();
	json_t *all;
	int rc = list == NULL ? -ENOMEM : 0;

	if (rc == 0 && cells == NULL)
		rc = add_rows(list, c, rows);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = add_proved(list, c, rows, &cells[i]);
	all = rc == 0 ? json_pack("{s:O, s:o}", "cells", list, "ok", cells == NULL ? json_null() : json_boolean(ok)) : NULL;
	if (rc == 0 && all == NULL)
		rc = -ENOMEM;
	if (rc == 0 && json_dumpf(all, stdout, JSON_COMPACT) != 0)
		rc = -EIO;
	if (rc == 0)
		(void)putchar('\n');
	json_decref(all);
	json_decref(list);
	return rc;
}

int matrix_print(const struct config *c, const struct prove_cell *cells, size_t n, bool json, bool *ret_ok,
                 struct err *e)
{
	AUTO_FREE struct matrix_row *rows = NULL;
	bool ok = cells == NULL || n > 0;
	int rc = matrix_rows(c, &rows, e);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		ok = ok && !differs(&cells[i]);
	if (json) {
		rc = print_json(c, rows, cells, n, ok);
	} else {
		rc = print_table(c, rows);
		if (rc == 0 && cells != NULL)
			rc = print_proof(c, cells, n);
	}
	if (rc == 0 && (fflush(stdout) != 0 || ferror(stdout) != 0))
		rc = -EIO;
	if (rc != 0)
		return err_stop(e, STOP_RECORD, err_errno(e, -rc, "cannot print the table"));
	*ret_ok = ok;
	return 0;
}
