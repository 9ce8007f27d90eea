/* Rows of the table become zones: named ones are checked, "*" is expanded. See compile_zones.h. */
#include "orchestrator/compile_zones.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "orchestrator/git_guard.h"
#include "roles/matrix.h"
#include "roles/path.h"

struct finder {
	const struct config *c;
	int root_fd;
	uid_t owner;
	struct buf *notes;
	struct zones z;
};

void compile_zones_done(struct zones *z)
{
	for (size_t i = 0; i < z->n; i++)
		free(z->v[i].path);
	free(z->v);
	*z = (struct zones){0};
}

static int out_of_memory(struct err *e)
{
	return err_errno(e, ENOMEM, "cannot compile the policy");
}

static int add_zone(struct finder *f, const char *path, enum policy_kind kind, unsigned int flags,
                    const struct config_access *row, struct err *e)
{
	struct zone zone = {.kind = kind, .flags = flags};
	struct zone *bigger;

	if (f->z.n == POLICY_MAX_ENTRIES)
		return err_stop(e, STOP_USAGE, err_set(e, E2BIG, "the table and the project's root have more than %u entries: name "
		                                       "folders in access and leave \"*\" out", POLICY_MAX_ENTRIES));
	bigger = realloc(f->z.v, (f->z.n + 1) * sizeof(*bigger));
	if (bigger != NULL)
		f->z.v = bigger;
	zone.path = strdup(path);
	if (bigger == NULL || zone.path == NULL) {
		free(zone.path);
		return out_of_memory(e);
	}
	memcpy(zone.level, row->level, sizeof(zone.level));
	f->z.v[f->z.n++] = zone;
	return 0;
}

/* A line of notes: "PATH: why". */
static int note(struct finder *f, const char *path, const char *why, struct err *e)
{
	if (buf_add_escaped(f->notes, path, strlen(path), false) != 0 || buf_addf(f->notes, ": %s\n", why) != 0)
		return out_of_memory(e);
	return 0;
}

static bool some_role(const struct config_access *row, enum level least)
{
	for (size_t i = 0; i < ROLE_MAX; i++)
		if (row->level[i] >= least)
			return true;
	return false;
}

/* A repository inside an open folder would show every version of everything that is in it. */
static int refuse_git(struct finder *f, const char *path, const struct config_access *row, struct err *e)
{
	AUTO_FD dir = fd_open_beneath(f->root_fd, path, O_RDONLY | O_DIRECTORY, 0, true);
	AUTO_BUF struct buf where = {0};
	int rc;

	if (dir < 0)
		return config_fail(f->c, row->line, row->col, e, "cannot open %s: %s: give yourself the right to read it", path,
		                   strerror(-dir));
	rc = git_find_below(dir, &where, e);
	if (rc < 0)
		return err_stop(e, STOP_USAGE, err_wrap(e, "%s", path));
	if (rc == 0)
		return 0;
	return config_fail(f->c, row->line, row->col, e, "%s/%s is a repository inside an open folder: its history would show "
	                   "what the table hides: move it out, or give %s none for every role", path, buf_str(&where), path);
}

/* ---- rows that name a path */

static int missing_row(struct finder *f, const struct config_access *row, struct err *e)
{
	const char *slash = strrchr(row->path, '/');
	AUTO_FREE char *parent = slash == NULL ? strdup(".") : strndup(row->path, (size_t)(slash - row->path));
	AUTO_FD fd = -1;

	if (!some_role(row, LEVEL_R))
		return note(f, row->path, "not there", e);
	if (row->is_dir)
		return config_fail(f->c, row->line, row->col, e, "%s/ does not exist: create it: mkdir -p %s", row->path, row->path);
	if (!some_role(row, LEVEL_RW))
		return note(f, row->path, "not there, and no role may write it: left out", e);
	if (parent == NULL)
		return out_of_memory(e);
	fd = fd_open_beneath(f->root_fd, parent, O_PATH | O_DIRECTORY, 0, true);
	if (fd < 0)
		return config_fail(f->c, row->line, row->col, e, "%s cannot be created: %s: %s: mkdir -p %s", row->path, parent,
		                   strerror(-fd), parent);
	return add_zone(f, row->path, POLICY_FILE, ENTRY_NAMED, row, e);
}

static int open_error(struct finder *f, const struct config_access *row, int code, struct err *e)
{
	const char *why = code == ELOOP ? "a symbolic link leads there: name the place itself"
	                  : code == EXDEV ? "it is a mount point, or below one: stint holds one file system: move it out"
	                  : code == ENOTDIR ? "a part of it is no folder: correct the path"
	                                    : strerror(code);

	return config_fail(f->c, row->line, row->col, e, "%s cannot be a zone: %s", row->path, why);
}

static int named_row(struct finder *f, const struct config_access *row, struct err *e)
{
	AUTO_FD fd = -1;
	struct stat st;
	int rc;

	if (path_private(row->path))
		return note(f, row->path, "closed to every role, whatever stint.yaml says", e);
	fd = fd_open_beneath(f->root_fd, row->path, O_PATH | O_NOFOLLOW, 0, true);
	if (fd == -ENOENT)
		return missing_row(f, row, e);
	if (fd < 0 || fstat(fd, &st) != 0)
		return open_error(f, row, fd < 0 ? -fd : errno, e);
	if (S_ISLNK(st.st_mode))
		return open_error(f, row, ELOOP, e);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return config_fail(f->c, row->line, row->col, e, "%s cannot be a zone: it is neither a file nor a folder", row->path);
	if (S_ISDIR(st.st_mode) && !row->is_dir)
		return config_fail(f->c, row->line, row->col, e, "%s is a folder: write it as %s/", row->path, row->path);
	if (!S_ISDIR(st.st_mode) && row->is_dir)
		return config_fail(f->c, row->line, row->col, e, "%s/ is a file: write it without the last /", row->path);
	if (st.st_uid != f->owner)
		return config_fail(f->c, row->line, row->col, e, "%s does not belong to the project's owner: chown it", row->path);
	rc = row->is_dir && some_role(row, LEVEL_R) ? refuse_git(f, row->path, row, e) : 0;
	if (rc != 0)
		return rc;
	return add_zone(f, row->path, row->is_dir ? POLICY_DIR : POLICY_FILE, ENTRY_NAMED, row, e);
}

/* ---- "*" */

/* Named, or on the way to something named: then "*" does not speak of it. */
static bool named(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_access; i++)
		if (!str_eq(c->access[i].path, MATRIX_REST) && path_within(c->access[i].path, name))
			return true;
	for (size_t i = 0; i < c->scratch.n; i++)
		if (str_eq(c->scratch.v[i], name))
			return true;
	return false;
}

static const char *why_closed(const struct finder *f, const char *name, struct stat *st)
{
	AUTO_FD fd = fd_open_beneath(f->root_fd, name, O_PATH | O_NOFOLLOW, 0, true);

	if (fd == -EXDEV)
		return "a mount point";
	if (fd < 0 || fstat(fd, st) != 0)
		return "cannot be opened";
	if (S_ISLNK(st->st_mode))
		return "a symbolic link";
	if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
		return "neither a file nor a folder";
	if (st->st_uid != f->owner)
		return "another user's";
	return NULL;
}

static int rest_entry(struct finder *f, const struct config_access *row, const char *name, struct err *e)
{
	struct stat st;
	const char *why;
	int rc;

	if (path_private(name) || named(f->c, name))
		return 0;
	if (matrix_rest_skips(name))
		return note(f, name, "\"*\" leaves it closed: it may hold secrets: name it in access if a role needs it", e);
	why = why_closed(f, name, &st);
	if (why != NULL) {
		if (buf_add_escaped(f->notes, name, strlen(name), false) != 0 ||
		    buf_addf(f->notes, ": \"*\" leaves it closed: %s\n", why) != 0)
			return out_of_memory(e);
		return 0;
	}
	for (size_t i = 0; i < f->c->scratch.n; i++)
		if (path_within(f->c->scratch.v[i], name))
			return config_fail(f->c, row->line, row->col, e, "the scratch folder %s is inside %s, which \"*\" opens: give %s/ rows "
			                   "of its own in access, or take a folder of the root", f->c->scratch.v[i], name, name);
	rc = S_ISDIR(st.st_mode) ? refuse_git(f, name, row, e) : 0;
	return rc != 0 ? rc : add_zone(f, name, S_ISDIR(st.st_mode) ? POLICY_DIR : POLICY_FILE, 0, row, e);
}

static int skip_dots(const struct dirent *d)
{
	return !str_eq(d->d_name, ".") && !str_eq(d->d_name, "..");
}

/* Byte order, whatever the locale: the same tree gives the same policy. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int rest_row(struct finder *f, const struct config_access *row, struct err *e)
{
	struct dirent **names = NULL;
	int n;
	int rc = 0;

	if (!some_role(row, LEVEL_R))
		return 0;
	n = scandirat(f->root_fd, ".", &names, skip_dots, by_name);
	if (n < 0)
		return err_stop(e, STOP_USAGE, err_errno(e, errno, "cannot list the project's root"));
	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = rest_entry(f, row, names[i]->d_name, e);
		free(names[i]);
	}
	free(names);
	return rc;
}

int compile_zones_find(struct zones *ret, const struct config *c, int root_fd, struct buf *notes, struct err *e)
{
	struct finder f = {.c = c, .root_fd = root_fd, .notes = notes};
	struct stat st;
	int rc = 0;

	if (fstat(root_fd, &st) != 0)
		return err_errno(e, errno, "cannot look at the project's root");
	f.owner = st.st_uid;
	for (size_t i = 0; i < c->n_access && rc == 0; i++)
		if (!str_eq(c->access[i].path, MATRIX_REST))
			rc = named_row(&f, &c->access[i], e);
	for (size_t i = 0; i < c->n_access && rc == 0; i++)
		if (str_eq(c->access[i].path, MATRIX_REST))
			rc = rest_row(&f, &c->access[i], e);
	if (rc != 0) {
		compile_zones_done(&f.z);
		return rc;
	}
	*ret = f.z;
	return 0;
}
