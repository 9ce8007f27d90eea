/* Records in files: see record_file.h. */
#include "protocol/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/str.h"
#include "protocol/record_private.h"

static int fail(const struct record_file *r, struct err *e, int code, const char *what)
{
	return err_stop(e, STOP_RECORD, err_errno(e, code, "cannot %s record %s", what, r->path));
}

static int name_it(struct record_file *r, const char *path, const char *suite)
{
	time_t now = time(NULL);
	struct tm tm;
	char day[32];
	int n;

	if (gmtime_r(&now, &tm) == NULL || strftime(day, sizeof(day), "%Y%m%d-%H%M%S", &tm) == 0)
		return -EOVERFLOW;
	n = path != NULL ? snprintf(r->path, sizeof(r->path), "%s", path)
	                 : snprintf(r->path, sizeof(r->path), "%s-%s.json", suite, day);
	r->name = strrchr(r->path, '/') != NULL ? strrchr(r->path, '/') + 1 : r->path;
	return n > 0 && n < (int)sizeof(r->path) && r->name[0] != '\0' ? 0 : -ENAMETOOLONG;
}

static int open_folder(struct record_file *r)
{
	char folder[RECORD_FILE_NAME_MAX];
	size_t n = (size_t)(r->name - r->path);

	(void)snprintf(folder, sizeof(folder), "%.*s", n > 0 ? (int)n : 1, n > 0 ? r->path : ".");
	r->dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return r->dir_fd >= 0 ? 0 : -errno;
}

static int part_name(const struct record_file *r, char ret[NAME_MAX + 1])
{
	int n = snprintf(ret, NAME_MAX + 1, "%s.part", r->name);

	return n <= NAME_MAX ? 0 : -ENAMETOOLONG;
}

static int lock(struct record_file *r)
{
	char part[NAME_MAX + 1];
	int rc = part_name(r, part);

	if (rc != 0)
		return rc;
	r->lock_fd = openat(r->dir_fd, part, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (r->lock_fd < 0 || flock(r->lock_fd, LOCK_EX | LOCK_NB) != 0)
		return -errno;
	return faccessat(r->dir_fd, r->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? -EEXIST : 0;
}

static void drop_lock(const struct record_file *r)
{
	char part[NAME_MAX + 1];

	if (part_name(r, part) == 0)
		(void)unlinkat(r->dir_fd, part, 0);
}

static int save(struct record_file *r, struct err *e)
{
	AUTO_FREE char *text = json_dumps(r->run, JSON_INDENT(1));

	if (text == NULL)
		return fail(r, e, ENOMEM, "write");
	return err_stop(e, STOP_RECORD, fd_replace_file(r->dir_fd, r->name, text, strlen(text), 0600, e));
}

static json_t *strings(const char *const *v)
{
	json_t *list = json_array();

	for (; list != NULL && v != NULL && *v != NULL; v++)
		if (json_array_append_new(list, record_str(*v)) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static int fill(struct record_file *r, const struct record_file_info *info)
{
	json_t *suite = json_object();
	struct utsname machine = {0};
	char now[RECORD_TIME_MAX];
	int rc;

	(void)uname(&machine);
	record_now(now, false);
	rc = record_put(suite, "name", record_str(info->suite_name)) | record_put(suite, "hash", record_str(info->suite_hash)) |
	     record_put(suite, "version", json_null());
	r->run = json_object();
	return rc | record_put(r->run, "schema", json_integer(RECORD_SCHEMA)) |
	       record_put(r->run, "tool", json_string("stint " STINT_VERSION)) | record_put(r->run, "kind", json_string(info->kind)) |
	       record_put(r->run, "id", record_str(r->name)) | record_put(r->run, "started", json_string(now)) |
	       record_put(r->run, "ended", json_null()) | record_put(r->run, "state", json_string("running")) |
	       record_put(r->run, "stop", json_null()) | record_put(r->run, "reason", json_null()) |
	       record_put(r->run, "kernel", record_str(machine.release)) |
	       record_put(r->run, "landlock_abi", json_integer(info->landlock_abi)) |
	       record_put(r->run, "layers", strings(info->layers)) | record_put(r->run, "suite", suite) |
	       record_put(r->run, "tasks", json_array());
}

int record_file_begin(struct record_file *ret, const char *path, const struct record_file_info *info, struct err *e)
{
	struct record_file *r = ret;
	int rc;

	*r = (struct record_file){.dir_fd = -1, .lock_fd = -1};
	rc = name_it(r, path, info->suite_name);
	if (rc == 0)
		rc = open_folder(r);
	if (rc == 0)
		rc = lock(r);
	if (rc == -EEXIST) {
		drop_lock(r);
		return err_stop(e, STOP_USAGE, err_set(e, EEXIST, "%s is there already: take another name with --out", r->path));
	}
	if (rc == -EWOULDBLOCK)
		return err_stop(e, STOP_USAGE, err_set(e, EBUSY, "%s is being written by another run: take another name with --out",
		                                       r->path));
	if (rc != 0)
		return fail(r, e, -rc, "begin");
	return fill(r, info) == 0 ? save(r, e) : fail(r, e, ENOMEM, "write");
}

/* Text as it is, when it is UTF-8 without NUL; otherwise escaped, which "escaped" says. */
static int put_output(json_t *task, const struct record_result *t)
{
	AUTO_BUF struct buf b = {0};
	json_t *output;
	size_t n = t->n_output;
	size_t ok = 0;
	size_t len;
	bool cut = t->total > t->n_output;
	bool plain;

	if (!t->ran)
		return record_put(task, "output", json_null());
	while (ok < n && t->output[ok] != '\0' && (len = str_utf8_len(t->output + ok, n - ok)) > 0)
		ok += len;
	plain = ok == n || (cut && n - ok < 4 && t->output[ok] != '\0'); /* a character that the bound has cut */
	if (!plain && buf_add_escaped(&b, t->output, n, false) != 0)
		return -ENOMEM;
	output = json_object();
	return record_put(output, "text", plain ? json_stringn(t->output, ok) : json_stringn(b.data, b.len)) |
	       record_put(output, "sha256", json_string(t->hash)) | record_put(output, "bytes", json_integer((json_int_t)t->total)) |
	       record_put(output, "cut", json_boolean(cut)) | (plain ? 0 : record_put(output, "escaped", json_true())) |
	       record_put(task, "output", output);
}

int record_file_add(struct record_file *r, const struct record_result *t, struct err *e)
{
	bool decided = str_eq(t->status, "pass") || str_eq(t->status, "fail");
	json_t *task = json_object();
	int rc = record_put(task, "id", record_str(t->id)) | record_put(task, "input", record_str(t->input)) |
	         record_put(task, "target", json_integer(t->target)) | record_put(task, "scorer", record_str(t->scorer)) |
	         put_output(task, t) | record_put(task, "trace", json_array()) |
	         record_put(task, "exit", t->ran ? json_integer(t->exit) : json_null()) |
	         record_put(task, "status", json_string(t->status)) | record_put(task, "scored", json_boolean(decided)) |
	         record_put(task, "score", decided ? json_real(str_eq(t->status, "pass") ? 1.0 : 0.0) : json_null()) |
	         record_put(task, "reason", record_str(t->reason)) |
	         record_put(task, "wall_ms", t->ran ? json_integer((json_int_t)t->wall_ms) : json_null()) |
	         record_put(task, "attempts", json_integer(t->ran ? 1 : 0)) | record_put(task, "refusals", strings(t->refusals));

	if (rc != 0 || json_array_append(json_object_get(r->run, "tasks"), task) != 0)
		rc = fail(r, e, ENOMEM, "write");
	json_decref(task);
	return rc == 0 ? save(r, e) : rc;
}

int record_file_end(struct record_file *r, int stop, const char *reason, struct err *e)
{
	char now[RECORD_TIME_MAX];
	int rc;

	record_now(now, false);
	rc = record_put(r->run, "ended", json_string(now)) | record_put(r->run, "state", json_string("ended")) |
	     record_put(r->run, "stop", json_integer(stop)) | record_put(r->run, "reason", record_str(reason));
	rc = rc == 0 ? save(r, e) : fail(r, e, ENOMEM, "write");
	if (rc == 0)
		drop_lock(r);
	return rc;
}

void record_file_done(struct record_file *r)
{
	json_decref(r->run);
	r->run = NULL;
	fd_close(&r->dir_fd);
	fd_close(&r->lock_fd);
}
