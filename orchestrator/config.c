/* stint.yaml as a whole: defaults, top-level keys, loading. */
#include "orchestrator/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/config_parts.h"

#define MIB (1ull << 20)

int config_fail(const struct config *c, unsigned int line, unsigned int col, struct err *e, const char *fmt, ...)
{
	char what[ERR_MSG_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (line == 0)
		(void)err_set(e, EINVAL, "%s:1:1: %s", c->file, what);
	else
		(void)err_set(e, EINVAL, "%s:%u:%u: %s", c->file, line, col, what);
	if (e != NULL)
		e->located = 1;
	return err_stop(e, STOP_USAGE, -EINVAL);
}

int config_role_find(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_roles; i++)
		if (str_eq(c->role[i].name, name))
			return (int)i;
	return -1;
}

void config_done(struct config *c)
{
	for (size_t i = 0; i < c->n_access; i++)
		free(c->access[i].path);
	free(c->access);
	for (size_t i = 0; i < ROLE_MAX; i++)
		config_role_done(&c->role[i]);
	strv_done(&c->scratch);
	free(c->file);
	free(c->agent_user);
	free(c->must_match);
	free(c->commit_author);
	free(c->commit_push);
	*c = (struct config){0};
}

static int defaults(struct config *c, const char *file, struct err *e)
{
	c->file = strdup(file);
	c->agent_user = strdup("stint-agent");
	c->commit_author = strdup("stint <stint@localhost>");
	if (c->file == NULL || c->agent_user == NULL || c->commit_author == NULL)
		return err_errno(e, ENOMEM, "cannot read %s", file);
	c->limits.iterations = 5;
	c->limits.output = 16 * MIB;
	c->limits.processes = 512;
	c->limits.memory = 4096 * MIB;
	c->limits.file = 1024 * MIB;
	c->limits.open_files = 4096;
	return config_roles_builtin(c, e);
}

/* ---- limits */

static int set_u32(struct reader *r, yaml_node_t *v, const char *what, uint64_t min, uint64_t max, uint32_t *ret,
                   struct err *e)
{
	uint64_t n = 0;
	int rc = value_number(r, v, what, min, max, &n, e);

	if (rc == 0)
		*ret = (uint32_t)n;
	return rc;
}

static int set_iterations(struct reader *r, void *out, yaml_node_t *v, struct err *e)
{
	(void)out;
	return set_u32(r, v, "limits.iterations", 1, 1000, &r->c->limits.iterations, e);
}

static int set_processes(struct reader *r, void *out, yaml_node_t *v, struct err *e)
{
	(void)out;
	return set_u32(r, v, "limits.processes", 8, 4u << 20, &r->c->limits.processes, e);
}

static int set_open_files(struct reader *r, void *out, yaml_node_t *v, struct err *e)
{
	(void)out;
	return set_u32(r, v, "limits.open_files", 64, 1u << 20, &r->c->limits.open_files, e);
}

static int set_output(struct reader *r, void *out, yaml_node_t *v, struct err *e)
{
	(void)out;
	return value_size(r, v, "limits.output", 4096, &r->c->limits.output, e);
}

static int set_memory(struct reader *r, void *out, yaml_node_t *v, struct err *e)
{
	(void)out;
	return value_size(r, v, "limits.memory", 16 * MIB, &r->c->limits.memory, e);
}

static int set_file(struct reader *r, void *out, yaml_node_t *v, struct err *e)
{
	(void)out;
	return value_size(r, v, "limits.file", 4096, &r->c->limits.file, e);
}

static const struct config_key limit_keys[] = {
	{"iterations", set_iterations}, {"output", set_output}, {"processes", set_processes},
	{"memory", set_memory}, {"file", set_file}, {"open_files", set_open_files},
};

static int set_limits(struct reader *r, void *out, yaml_node_t *v, struct err *e)
{
	return config_map(r, v, "limits", limit_keys, sizeof(limit_keys) / sizeof(limit_keys[0]), out, e);
}

/* ---- commit */

/* "Name <mail>", both not empty, one pair of brackets. */
static bool author_ok(const char *s)
{
	const char *open = strchr(s, '<');
	const char *close = strchr(s, '>');

	return open != NULL && close != NULL && open > s + 1 && open[-1] == ' ' && close > open + 1 && close[1] == '\0' &&
	       strchr(open + 1, '<') == NULL;
}

static int set_author(struct reader *r, void *out, yaml_node_t *v, struct err *e)
{
	int rc = value_text(r, v, "commit.author", &r->c->commit_author, e);

	(void)out;
	if (rc == 0 && !author_ok(r->c->commit_author))
		return yaml_fail(r->y, v, e, "commit.author must be \"Name <mail>\"");
	return rc;
}

static int set_push(struct reader *r, void *out, yaml_node_t *v, struct err *e)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	char shown[YAML_SHOWN];
	const char *s;
	int rc;

	(void)out;
	if (yaml_is_null(v))
		return 0;
	rc = value_text(r, v, "commit.push", &r->c->commit_push, e);
	s = r->c->commit_push;
	if (rc == 0 && (s[0] == '-' || s[0] == '.' || strspn(s, letters) != strlen(s)))
		return yaml_fail(r->y, v, e, "commit.push: %s is no name of a remote: write the name that git remote lists, as origin",
		                 yaml_shown(v, shown));
	return rc;
}

static const struct config_key commit_keys[] = {{"author", set_author}, {"push", set_push}};

static int set_commit(struct reader *r, void *out, yaml_node_t *v, struct err *e)
{
	return config_map(r, v, "commit", commit_keys, sizeof(commit_keys) / sizeof(commit_keys[0]), out, e);
}

/* ---- the file */

static int set_agent_user(struct reader *r, void *out, yaml_node_t *v, struct err *e)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
	char shown[YAML_SHOWN];
	const char *s;
	int rc = value_text(r, v, "agent_user", &r->c->agent_user, e);

	(void)out;
	s = r->c->agent_user;
	r->c->agent_line = (unsigned int)v->start_mark.line + 1;
	r->c->agent_col = (unsigned int)v->start_mark.column + 1;
	if (rc == 0 && (str_eq(s, "root") || s[0] == '-' || (s[0] >= '0' && s[0] <= '9') || strlen(s) > 31 ||
	                strspn(s, letters) != strlen(s)))
		return yaml_fail(r->y, v, e, "agent_user: %s cannot be one: name an account that stint setup made, as stint-agent",
		                 yaml_shown(v, shown));
	return rc;
}

/* `access` names roles that may stand further down, so both are only remembered on the way. */
struct later {
	yaml_node_t *access;
	yaml_node_t *roles;
};

static int keep_access(struct reader *r, void *out, yaml_node_t *v, struct err *e)
{
	(void)r;
	(void)e;
	((struct later *)out)->access = v;
	return 0;
}

static int keep_roles(struct reader *r, void *out, yaml_node_t *v, struct err *e)
{
	(void)r;
	(void)e;
	((struct later *)out)->roles = v;
	return 0;
}

static int set_scratch(struct reader *r, void *out, yaml_node_t *v, struct err *e)
{
	(void)out;
	return config_scratch_parse(r, &r->c->scratch, v, e);
}

static const struct config_key top_keys[] = {
	{"agent_user", set_agent_user}, {"access", keep_access}, {"scratch", set_scratch}, {"roles", keep_roles},
	{"suite", config_suite_parse}, {"limits", set_limits}, {"commit", set_commit},
};

static int fill(struct reader *r, struct err *e)
{
	struct later later = {0};
	int rc = 0;

	if (r->y->root != NULL)
		rc = config_map(r, r->y->root, r->c->file, top_keys, sizeof(top_keys) / sizeof(top_keys[0]), &later, e);
	if (rc == 0 && later.roles != NULL)
		rc = config_roles_parse(r, later.roles, e);
	if (rc != 0)
		return rc;
	rc = later.access != NULL ? config_access_parse(r, later.access, e) : config_access_builtin(r->c, e);
	return rc == 0 ? config_access_check(r->c, e) : rc;
}

int config_parse(struct config *ret, const char *file, const char *bytes, size_t n, struct err *e)
{
	struct config c = {0};
	struct yaml_file y = {0};
	struct reader r = {&y, &c};
	int rc;

	if (n > CONFIG_MAX_BYTES)
		return err_stop(e, STOP_USAGE, err_set(e, EFBIG, "%s is larger than %u bytes: shorten it", file, CONFIG_MAX_BYTES));
	rc = defaults(&c, file, e);
	if (rc == 0)
		rc = yaml_file_load(&y, file, bytes, n, e);
	if (rc == 0)
		rc = fill(&r, e);
	yaml_file_done(&y);
	if (rc != 0) {
		config_done(&c);
		return err_stop(e, STOP_USAGE, rc);
	}
	*ret = c;
	return 0;
}

/* Only a regular file: a FIFO would block, a link could lead anywhere. */
static int open_config(int root_fd, struct err *e)
{
	AUTO_FD fd = fd_open_beneath(root_fd, CONFIG_FILE, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, false);
	struct stat st;

	if (fd == -ENOENT)
		return err_set(e, ENOENT, "%s is missing: no project here: run stint init, or name the project with -C DIR",
		               CONFIG_FILE);
	if (fd == -ELOOP)
		return err_set(e, ELOOP, "%s is a symbolic link: put the file itself there", CONFIG_FILE);
	if (fd < 0)
		return err_errno(e, -fd, "cannot open %s", CONFIG_FILE);
	if (fstat(fd, &st) != 0)
		return err_errno(e, errno, "cannot open %s", CONFIG_FILE);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "%s is no regular file: put one there", CONFIG_FILE);
	return fd_take(&fd);
}

int config_load(struct config *ret, int root_fd, bool allow_missing, struct err *e)
{
	AUTO_FREE char *bytes = NULL;
	AUTO_FD fd = -1;
	size_t n = 0;
	int rc;

	fd = open_config(root_fd, e);
	if (fd == -ENOENT && allow_missing) {
		if (e != NULL)
			*e = (struct err){0};
		return config_parse(ret, CONFIG_FILE, "", 0, e);
	}
	if (fd < 0)
		return err_stop(e, STOP_USAGE, fd);
	rc = fd_read_all(fd, CONFIG_MAX_BYTES, &bytes, &n);
	if (rc == -EFBIG)
		rc = err_set(e, EFBIG, "%s is larger than %u bytes: shorten it", CONFIG_FILE, CONFIG_MAX_BYTES);
	else if (rc != 0)
		rc = err_errno(e, -rc, "cannot read %s", CONFIG_FILE);
	if (rc != 0)
		return err_stop(e, STOP_USAGE, rc);
	return config_parse(ret, CONFIG_FILE, bytes, n, e);
}
