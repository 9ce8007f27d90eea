/* `stint matrix --explain`: one path, one role, and the reason. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/str.h"
#include "orchestrator/matrix.h"
#include "roles/path.h"

/* Where the root is now, as the kernel names it. */
static void root_of(int root_fd, char ret[PATH_MAX])
{
	char link[64];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", root_fd);
	n = readlink(link, ret, PATH_MAX - 1);
	ret[n > 0 ? n : 0] = '\0';
}

/* Relative and plain, "." for the root: ./x, x/ and an absolute path below the root are understood. */
static int normalise(const char *path, int root_fd, struct buf *ret, struct err *e)
{
	char root[PATH_MAX];
	const char *s = path;
	size_t n;

	root_of(root_fd, root);
	if (s[0] == '/' && root[0] != '\0' && path_within(s, root)) {
		s += strlen(root);
		s += strspn(s, "/");
	}
	while (s[0] == '.' && s[1] == '/')
		s += 2 + strspn(s + 2, "/");
	n = strlen(s);
	while (n > 1 && s[n - 1] == '/')
		n--;
	if (n == 0)
		s = ".", n = 1;
	if (buf_add(ret, s, n) != 0 || buf_str(ret) == NULL)
		return err_errno(e, ENOMEM, "matrix");
	if (str_eq(ret->data, ".") || path_plain(ret->data))
		return 0;
	return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "matrix: the path is not inside the project, or has . or .. in it: write it "
	                                       "relative to the project's root"));
}

static int role_number(const struct config *c, const char *name, struct err *e)
{
	const char *names[ROLE_MAX + 1] = {0};
	const char *near;
	int role = config_role_find(c, name);

	if (role >= 0)
		return role;
	for (size_t i = 0; i < c->n_roles; i++)
		names[i] = c->role[i].name;
	near = str_nearest(name, names);
	return err_stop(e, STOP_USAGE, near != NULL
	                ? err_set(e, EINVAL, "matrix: unknown role %.40s: did you mean %s?", name, near)
	                : err_set(e, EINVAL, "matrix: unknown role %.40s: stint matrix lists them", name));
}

/* What "*" catches depends on what is there when a run starts; the answer is for now. */
static const char *rest_exception(int root_fd, const char *path)
{
	AUTO_FREE char *first = strndup(path, strcspn(path, "/"));
	struct stat st;
	struct stat root;

	if (first == NULL || fstat(root_fd, &root) != 0)
		return "the root cannot be looked at";
	if (fstatat(root_fd, first, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return "it is not there now, and \"*\" never grants creation in the root";
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return "it is a link or a special file, which \"*\" leaves closed";
	if (st.st_uid != root.st_uid)
		return "it is another user's, which \"*\" leaves closed";
	return st.st_dev != root.st_dev ? "it is a mount point, which \"*\" leaves closed" : NULL;
}

static const char *why_text(enum matrix_why why)
{
	static const char *const texts[] = {
		[MATRIX_ROW] = "the table names it, or the folder it is in",
		[MATRIX_REST_ROW] = "no row names it, so \"*\" decides",
		[MATRIX_PRIVATE] = "git's and stint's own folders are closed to every role, whatever the table says",
		[MATRIX_ENV_FILE] = "it may hold secrets: \"*\" never opens .env files, only a row of their own does",
		[MATRIX_ON_THE_WAY] = "a folder on the way to a named path: it can be passed, not listed",
		[MATRIX_BESIDE] = "it is beside a named path, in a folder that can only be passed: sealed",
		[MATRIX_ROOT] = "the project's root can be listed by every role; nothing can be created in it",
		[MATRIX_UNNAMED] = "no row names it and there is no \"*\": what is not named is closed",
	};

	return texts[why];
}

static bool in_scratch(const struct config *c, const char *path)
{
	for (size_t i = 0; i < c->scratch.n; i++)
		if (path_within(path, c->scratch.v[i]))
			return true;
	return false;
}

struct explanation {
	const char *role;
	const char *path;
	const char *zone;         /* a row's path, or what stands for it */
	bool zone_dir;
	enum level level;
	unsigned int line;        /* of the row in stint.yaml, 0: none */
	const char *why;
};

static int print_explanation(const struct config *c, const struct explanation *x, bool json)
{
	AUTO_BUF struct buf path = {0};
	AUTO_BUF struct buf zone = {0};
	json_t *all;
	int rc;

	if (buf_add_escaped(&path, x->path, strlen(x->path), false) != 0 || buf_str(&path) == NULL ||
	    buf_add_escaped(&zone, x->zone, strlen(x->zone), false) != 0 ||
	    (x->zone_dir && buf_add(&zone, "/", 1) != 0) || buf_str(&zone) == NULL)
		return -ENOMEM;
	if (!json) {
		(void)printf("%s  %s  %s\n  zone: %s", x->role, path.data, level_name(x->level), zone.data);
		if (x->line > 0)
			(void)printf(" (%s:%u)", c->file, x->line);
		(void)printf("\n  why:  %s\n", x->why);
		return 0;
	}
	all = json_pack("{s:s, s:s, s:s, s:s, s:o, s:s}", "role", x->role, "path", path.data, "zone", zone.data, "level",
	                level_name(x->level), "line", x->line > 0 ? json_integer(x->line) : json_null(), "why", x->why);
	if (all == NULL)
		return -ENOMEM;
	rc = json_dumpf(all, stdout, JSON_COMPACT);
	json_decref(all);
	(void)putchar('\n');
	return rc == 0 ? 0 : -EIO;
}

int matrix_explain(const struct config *c, int root_fd, const char *role, const char *path, bool json, struct err *e)
{
	AUTO_FREE struct matrix_row *rows = NULL;
	AUTO_BUF struct buf plain = {0};
	struct explanation x = {.role = role, .zone = "none"};
	struct matrix_answer a;
	const char *exception = NULL;
	int number = role_number(c, role, e);
	int rc = number < 0 ? number : normalise(path, root_fd, &plain, e);

	if (rc == 0)
		rc = matrix_rows(c, &rows, e);
	if (rc != 0)
		return rc;
	x.path = plain.data;
	a = matrix_find(rows, c->n_access, plain.data, (unsigned int)number);
	x.level = a.level;
	x.why = why_text(a.why);
	if (a.row != NULL) {
		x.zone = a.row->path;
		x.zone_dir = a.row->is_dir;
		x.line = c->access[a.row - rows].line;
	}
	if (a.why == MATRIX_REST_ROW)
		exception = rest_exception(root_fd, plain.data);
	if (in_scratch(c, plain.data) && a.why != MATRIX_PRIVATE) {
		x = (struct explanation){.role = role, .path = plain.data, .zone = "scratch", .level = LEVEL_RW,
		                         .why = "a scratch folder: each role sees only its own"};
	} else if (exception != NULL) {
		x.level = LEVEL_NONE;
		x.why = exception;
	}
	rc = print_explanation(c, &x, json);
	return rc == 0 ? 0 : err_stop(e, STOP_RECORD, err_errno(e, -rc, "cannot print the explanation"));
}
