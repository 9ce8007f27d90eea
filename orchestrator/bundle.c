/* The file for bug reports: see bundle.h. What may go in is named here; anything else stays out. */
#include "orchestrator/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/config.h"
#include "protocol/record_read.h"

#define OS_RELEASE "/etc/os-release"
#define OS_RELEASE_MAX 4096u

/* Members of run.json that say how a run went and not what it was about: numbers, times, and words of stint's own. Of a list
 * ("changes", "anomalies", …) only "total" is left. */
static const char *const record_members[] = {
	"schema", "tool", "kind", "started", "ended", "state", "stop", "layers", "kernel", "landlock_abi", "suite", "format",
	"tasks", "line", "status", "commit_step", "iterations", "n", "turns", "role", "exit", "wall_ms", "user_ms", "sys_ms",
	"max_rss", "stdout_bytes", "stderr_bytes", "changes", "anomalies", "denials", "notes", "total", "verdict", "verified",
	"planned", "passed", "failed",
};

/* A copy with those members only. Depth is bounded by record_read(), which has checked the object. */
static json_t *record_part(const json_t *v)
{
	json_t *ret;

	if (json_is_array(v)) {
		ret = json_array();
		for (size_t i = 0; i < json_array_size(v); i++)
			(void)json_array_append_new(ret, record_part(json_array_get(v, i)));
		return ret;
	}
	if (!json_is_object(v))
		return json_copy((json_t *)(uintptr_t)v);
	ret = json_object();
	for (size_t i = 0; i < sizeof(record_members) / sizeof(record_members[0]); i++) {
		const json_t *member = json_object_get(v, record_members[i]);

		if (member != NULL)
			(void)json_object_set_new(ret, record_members[i], record_part(member));
	}
	return ret;
}

static json_t *last_record(int root_fd)
{
	char id[RECORD_ID_MAX];
	json_t *run = NULL;
	json_t *ret;

	if (record_find(root_fd, NULL, id, NULL) != 0)
		return json_null();
	if (record_read(root_fd, id, &run, NULL) != 0)
		return json_pack("{s:s}", "state", "damaged");
	ret = record_part(run);
	if (json_is_object(ret))
		(void)json_object_set_new(ret, "liveness", json_string(record_liveness(root_fd, id, run)));
	json_decref(run);
	return ret;
}

/* The program's own name; its arguments may hold anything. */
static json_t *program(const struct strv *command)
{
	const char *slash;

	if (command->n == 0)
		return json_null();
	slash = strrchr(command->v[0], '/');
	return json_pack("{s:s*, s:i}", "name", slash != NULL ? slash + 1 : command->v[0], "arguments", (int)command->n - 1);
}

static json_t *environment(const struct strv *env)
{
	json_t *names = json_array();

	for (size_t i = 0; i < env->n; i++)
		(void)json_array_append_new(names, json_stringn(env->v[i], strcspn(env->v[i], "=")));
	return names;
}

static json_t *role(const struct config_role *r)
{
	json_t *ports = json_array();

	for (size_t i = 0; i < r->n_ports; i++)
		(void)json_array_append_new(ports, json_integer(r->ports[i]));
	return json_pack("{s:s, s:o, s:b, s:b, s:o, s:o, s:i, s:I, s:I}", "name", r->name, "program", program(&r->command),
	                 "stdin_prompt", r->stdin_prompt ? 1 : 0, "own_prompt", r->prompt != NULL ? 1 : 0, "env",
	                 environment(&r->env), "ports", ports, "read", (int)r->read.n, "deadline_ms", (json_int_t)r->deadline_ms,
	                 "idle_ms", (json_int_t)r->idle_ms);
}

static json_t *access_row(const struct config *c, const struct config_access *a)
{
	json_t *row = json_pack("{s:s, s:b}", "path", a->path, "folder", a->is_dir ? 1 : 0);

	for (size_t i = 0; i < c->n_roles; i++)
		(void)json_object_set_new(row, c->role[i].name, json_string(level_name(a->level[i])));
	return row;
}

/* A message's words may quote the file; where it points to does not. */
static json_t *invalid(const struct err *e)
{
	unsigned int line = 0;
	unsigned int col = 0;

	if (e->located)
		(void)sscanf(e->msg, "%*[^:]:%u:%u:", &line, &col);
	return json_pack("{s:s, s:i, s:i, s:i}", "state", "invalid", "errno", e->code, "line", (int)line, "column", (int)col);
}

static json_t *configuration(int root_fd)
{
	struct config c = {0};
	struct err e = {0};
	json_t *roles = json_array();
	json_t *rows = json_array();
	json_t *ret;
	int rc = config_load(&c, root_fd, false, &e);

	for (size_t i = 0; rc == 0 && i < c.n_roles; i++)
		(void)json_array_append_new(roles, role(&c.role[i]));
	for (size_t i = 0; rc == 0 && i < c.n_access; i++)
		(void)json_array_append_new(rows, access_row(&c, &c.access[i]));
	if (rc == -ENOENT) {
		ret = json_pack("{s:s}", "state", "missing");
	} else if (rc != 0) {
		ret = invalid(&e);
	} else {
		ret = json_pack("{s:s, s:O, s:O, s:s, s:i, s:b, s:{s:i, s:I, s:I, s:I, s:I, s:I}}", "state", "ok", "access", rows,
		                "roles", roles, "suite_format", c.suite_format == SUITE_TAP ? "tap" : "exit", "scratch",
		                (int)c.scratch.n, "push", c.commit_push != NULL ? 1 : 0, "limits", "iterations",
		                (int)c.limits.iterations, "output", (json_int_t)c.limits.output, "memory",
		                (json_int_t)c.limits.memory, "file", (json_int_t)c.limits.file, "processes",
		                (json_int_t)c.limits.processes, "open_files", (json_int_t)c.limits.open_files);
	}
	json_decref(roles);
	json_decref(rows);
	config_done(&c);
	return ret;
}

static json_t *machine(void)
{
	AUTO_FD fd = open(OS_RELEASE, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	struct utsname u;
	size_t n = 0;

	if (uname(&u) != 0)
		return NULL;
	if (fd < 0 || fd_read_all(fd, OS_RELEASE_MAX, &text, &n) != 0)
		str_free(&text);
	return json_pack("{s:s, s:s, s:s, s:i, s:o}", "kernel", u.release, "kernel_version", u.version, "hardware", u.machine,
	                 "processors", (int)sysconf(_SC_NPROCESSORS_ONLN), "os_release",
	                 text != NULL ? json_string(text) : json_null());
}

/* Replaces every `from`, a path, by `to`. Folders just below / are nobody's secret, and their names are in other sentences. */
static json_t *without(json_t *string, const char *from, const char *to)
{
	const char *at = json_string_value(string);
	AUTO_BUF struct buf b = {0};
	const char *hit;
	int rc = 0;

	if (at == NULL || from == NULL || from[0] != '/' || strchr(from + 1, '/') == NULL)
		return string;

	for (; rc == 0 && (hit = strstr(at, from)) != NULL; at = hit + strlen(from)) {
		rc = buf_add(&b, at, (size_t)(hit - at));
		if (rc == 0)
			rc = buf_add(&b, to, strlen(to));
	}
	if (rc == 0)
		rc = buf_add(&b, at, strlen(at));
	json_decref(string);
	return rc == 0 ? json_stringn(b.data, b.len) : NULL;
}

/* Doctor's sentences name folders: the project's and the caller's stand as words. */
static json_t *sentence(const char *text, const char *root)
{
	AUTO_BUF struct buf safe = {0};
	json_t *ret = buf_add_escaped(&safe, text, strlen(text), false) == 0 ? json_string(buf_str(&safe)) : NULL;

	return without(without(ret, root, "PROJECT"), getenv("HOME"), "HOME");
}

static json_t *findings(const struct doctor_report *r, const char *root)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n; i++) {
		const struct doctor_finding *f = &r->v[i];

		/* This one quotes stint.yaml: "configuration" says where instead. */
		(void)json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "id", f->id, "status", doctor_status_name(f->status),
		                                            "what", str_eq(f->id, "config") ? json_null()
		                                                                             : sentence(f->what, root)));
	}
	return json_pack("{s:b, s:o}", "possible", doctor_possible(r) ? 1 : 0, "findings", list);
}

static int create(const char *file, const char *text, size_t n, struct err *e)
{
	AUTO_FD fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0 && errno == EEXIST)
		return err_stop(e, STOP_USAGE, err_set(e, EEXIST, "cannot write %s: it exists: name another file", file));
	if (fd < 0)
		return err_stop(e, STOP_USAGE, err_errno(e, errno, "cannot create %s", file));
	rc = fd_write_all(fd, text, n);
	if (rc == 0 && fsync(fd) != 0)
		rc = -errno;
	if (rc == 0)
		return 0;
	(void)unlink(file);
	return err_stop(e, STOP_RECORD, err_errno(e, -rc, "cannot write %s", file));
}

int bundle_write(const struct doctor_report *r, int root_fd, const char *root, const char *file, size_t *ret_size, struct err *e)
{
	json_t *all = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o}", "bundle", 1, "tool", "stint " STINT_VERSION, "machine", machine(),
	                        "doctor", findings(r, root), "configuration", configuration(root_fd), "last_run",
	                        last_record(root_fd));
	AUTO_FREE char *text = all == NULL ? NULL : json_dumps(all, JSON_INDENT(1));
	size_t n = text == NULL ? 0 : strlen(text);
	int rc;

	json_decref(all);
	if (text == NULL)
		return err_stop(e, STOP_RECORD, err_errno(e, ENOMEM, "cannot write %s", file));
	text[n++] = '\n'; /* in the place of the NUL */
	rc = create(file, text, n, e);
	if (rc == 0)
		*ret_size = n;
	return rc;
}
