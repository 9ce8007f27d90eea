/* A record as `stint score` reads and writes it: see rescore.h. Members that it does not know stay as they are. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/rescore.h"
#include "orchestrator/show.h"
#include "protocol/record.h"

#define FILE_MAX (256u << 20)

static int bad(const char *path, struct err *e, const char *what)
{
	return err_stop(e, STOP_USAGE, err_set(e, EBADMSG, "%s: %s", path, what));
}

/* What is read of a task has its type. */
static bool task_ok(const json_t *task)
{
	const json_t *output = json_object_get(task, "output");
	const json_t *exit = json_object_get(task, "exit");

	return json_is_string(json_object_get(task, "id")) && json_is_string(json_object_get(task, "status")) &&
	       (output == NULL || json_is_null(output) || json_is_object(output)) &&
	       (exit == NULL || json_is_null(exit) || json_is_integer(exit));
}

static int check(const char *path, const json_t *record, struct err *e)
{
	const json_t *tasks = json_object_get(record, "tasks");
	const char *kind = show_str(record, "kind");
	const json_t *task;
	size_t i;

	if (!json_is_integer(json_object_get(record, "schema")) || !json_is_array(tasks))
		return bad(path, e, "it is no record of stint's");
	if (show_int(record, "schema") > RECORD_SCHEMA)
		return bad(path, e, "a newer stint wrote it: use that one");
	if (!str_eq(kind, "eval") && !str_eq(kind, "skill"))
		return bad(path, e, "it has no outputs to score: that is a record of `stint eval run` or `stint skill run`");
	json_array_foreach(tasks, i, task)
		if (!task_ok(task))
			return bad(path, e, "it is damaged: a task without id, status, output or exit as they should be");
	return 0;
}

int rescore_read(const char *path, json_t **ret, struct err *e)
{
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	AUTO_FREE char *bytes = NULL;
	json_error_t error;
	json_t *record;
	size_t n = 0;
	int rc;

	if (fd < 0)
		return err_stop(e, STOP_USAGE, err_errno(e, errno, "cannot open record %s", path));
	rc = fd_read_all(fd, FILE_MAX, &bytes, &n);
	if (rc != 0)
		return err_stop(e, STOP_USAGE, err_errno(e, -rc, "cannot read record %s", path));
	record = json_loadb(bytes, n, 0, &error);
	if (record == NULL) {
		(void)err_set(e, EBADMSG, "%s:%d:%d: no record: %s", path, error.line, error.column, error.text);
		return err_stop(e, STOP_USAGE, -EBADMSG);
	}
	rc = check(path, record, e);
	if (rc == 0)
		*ret = record;
	else
		json_decref(record);
	return rc;
}

int rescore_write(const char *path, const json_t *record, struct err *e)
{
	AUTO_FREE char *text = json_dumps(record, JSON_INDENT(1));
	AUTO_FREE char *for_folder = strdup(path);
	AUTO_FREE char *for_name = strdup(path);
	AUTO_FD folder = -1;

	if (text == NULL || for_folder == NULL || for_name == NULL)
		return err_set(e, ENOMEM, "cannot write %s: out of memory", path);
	folder = open(dirname(for_folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return err_stop(e, STOP_RECORD, err_errno(e, errno, "cannot write %s", path));
	return err_stop(e, STOP_RECORD, fd_replace_file(folder, basename(for_name), text, strlen(text), 0600, e));
}
