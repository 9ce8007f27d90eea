/* A run's record: its folder, run.json as a whole, events.jsonl line by line. */
#include "protocol/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/str.h"
#include "protocol/record_private.h"
#include "protocol/record_read.h"

#define EVENT_MAX (64u << 10)

const char *record_id(const struct record *r)
{
	return r->id;
}

const char *record_dir(const struct record *r)
{
	return r->dir;
}

void record_free(struct record *r)
{
	if (r == NULL)
		return;
	json_decref(r->run);
	fd_close(&r->turn_fd);
	fd_close(&r->events_fd);
	fd_close(&r->dir_fd);
	free(r);
}

int record_save(struct record *r, struct err *e)
{
	AUTO_FREE char *text = json_dumps(r->run, JSON_INDENT(1));
	size_t n;

	if (text == NULL)
		return err_errno(e, ENOMEM, "cannot write the run's record");
	n = strlen(text);
	if (n >= RECORD_MAX_BYTES)
		return err_set(e, EFBIG, "the run's record is larger than %u MiB: start a new run, it resumes at the open task",
		               RECORD_MAX_BYTES >> 20);
	text[n] = '\n'; /* in place of the NUL: a text file ends with one */
	return fd_replace_file(r->dir_fd, RECORD_FILE, text, n + 1, 0600, e);
}

static int append(struct record *r, const json_t *event, struct err *e)
{
	AUTO_FREE char *line = json_dumps(event, JSON_COMPACT);
	size_t n;
	ssize_t w;

	if (line == NULL)
		return err_errno(e, ENOMEM, "cannot write the run's record");
	n = strlen(line);
	if (n >= EVENT_MAX)
		return err_set(e, E2BIG, "cannot write the run's record: an event of %zu bytes", n);
	line[n] = '\n';
	do
		w = write(r->events_fd, line, n + 1);
	while (w < 0 && errno == EINTR);
	if (w == (ssize_t)n + 1)
		return 0;
	return err_errno(e, w < 0 ? errno : ENOSPC, "cannot write %s/%s", r->dir, RECORD_EVENTS);
}

int record_event(struct record *r, const char *type, json_t *fields, struct err *e)
{
	char now[RECORD_TIME_MAX];
	json_t *event;
	int rc;

	record_now(now, true);
	event = json_pack("{s:s, s:s}", "t", now, "event", type);
	if (event == NULL || (fields != NULL && json_object_update_missing(event, fields) != 0))
		rc = err_errno(e, ENOMEM, "cannot write the run's record");
	else
		rc = append(r, event, e);
	json_decref(event);
	json_decref(fields);
	return err_stop(e, STOP_RECORD, rc);
}

int record_tell(struct record *r, int rc, const char *type, json_t *fields, struct err *e)
{
	if (rc == 0 && fields != NULL)
		return (rc = record_event(r, type, fields, e)) != 0 ? rc : err_stop(e, STOP_RECORD, record_save(r, e));
	json_decref(fields);
	return err_stop(e, STOP_RECORD, err_errno(e, ENOMEM, "cannot write the run's record"));
}

static json_t *suite_of(const struct record_info *info)
{
	json_t *command;

	if (info->suite_command == NULL)
		return json_null();
	command = json_array();
	for (const char *const *v = info->suite_command; *v != NULL; v++)
		if (json_array_append_new(command, record_str(*v)) != 0) {
			json_decref(command);
			return NULL;
		}
	return json_pack("{s:o, s:o}", "command", command, "format", record_str(info->suite_format));
}

static json_t *layers_of(const struct record_info *info)
{
	json_t *layers = json_array();

	for (const char *const *v = info->layers; v != NULL && *v != NULL; v++)
		if (json_array_append_new(layers, record_str(*v)) != 0) {
			json_decref(layers);
			return NULL;
		}
	return layers;
}

static int fill(struct record *r, const struct record_info *info)
{
	char now[RECORD_TIME_MAX];
	struct utsname kernel;
	json_t *run = r->run = json_object();
	int bad;

	if (uname(&kernel) != 0)
		return -errno;
	record_now(now, false);
	bad = record_put(run, "schema", json_integer(RECORD_SCHEMA));
	bad |= record_put(run, "tool", json_string("stint " STINT_VERSION));
	bad |= record_put(run, "kind", record_str(info->kind));
	bad |= record_put(run, "id", json_string(r->id));
	bad |= record_put(run, "state", json_string("running"));
	bad |= record_put(run, "started", json_string(now));
	bad |= record_put(run, "ended", json_null());
	bad |= record_put(run, "stop", json_null());
	bad |= record_put(run, "reason", json_null());
	bad |= record_put(run, "project", record_str(info->project));
	bad |= record_put(run, "agent_user", record_str(info->agent_user));
	bad |= record_put(run, "layers", layers_of(info));
	bad |= record_put(run, "kernel", record_str(kernel.release));
	bad |= record_put(run, "landlock_abi", json_integer((json_int_t)info->landlock_abi));
	bad |= record_put(run, "suite", suite_of(info));
	bad |= record_put(run, "tasks", json_array());
	bad |= record_put(run, "turns", json_array());
	return bad != 0 ? -ENOMEM : 0;
}

/* The next name: the second and four digits. It sorts behind every run there is, because the newest run is found by name:
 * after another one in this second, or a clock that was set back, the newest name is counted on. */
static int next_id(char ret[RECORD_ID_MAX], const struct record_ids *ids)
{
	time_t now = time(NULL);
	uint16_t random;
	struct tm tm;
	char day[16];

	if (getrandom(&random, sizeof(random), 0) != sizeof(random) || gmtime_r(&now, &tm) == NULL ||
	    strftime(day, sizeof(day), "%Y%m%d-%H%M%S", &tm) == 0)
		return -EIO;
	(void)snprintf(ret, RECORD_ID_MAX, "%s-%04x", day, (unsigned int)random & 0x7fffu);
	if (ids->n == 0 || strcmp(ret, ids->v[0]) > 0)
		return 0;
	(void)snprintf(ret, RECORD_ID_MAX, "%.15s-%04lx", ids->v[0], (strtoul(ids->v[0] + 16, NULL, 16) + 1) & 0xffffu);
	return strcmp(ret, ids->v[0]) > 0 ? 0 : -EEXIST;
}

/* Under a name that no reader looks at: a run that is killed before its first record is none. */
static int make_dir(struct record *r, int root_fd, int runs_fd, char hidden[RECORD_ID_MAX + 1], struct err *e)
{
	struct record_ids ids;
	int rc = record_list(root_fd, &ids, e);

	if (rc != 0) {
		if (e != NULL)
			e->exit = STOP_RECORD; /* for a reader it was the command line's fault */
		return rc;
	}
	rc = next_id(r->id, &ids);
	record_ids_done(&ids);
	if (rc != 0)
		return err_errno(e, -rc, "cannot name the run");
	(void)snprintf(r->dir, sizeof(r->dir), "%s/%s", RECORD_RUNS_DIR, r->id);
	(void)snprintf(hidden, RECORD_ID_MAX + 1, ".%s", r->id);
	if (mkdirat(runs_fd, hidden, 0700) != 0)
		return err_errno(e, errno, "cannot create %s", r->dir);
	if (fchmodat(runs_fd, hidden, 0700, 0) != 0) /* whatever the umask */
		return err_errno(e, errno, "cannot create %s", r->dir);
	r->dir_fd = fd_open_beneath(runs_fd, hidden, O_RDONLY | O_DIRECTORY, 0, false);
	return r->dir_fd < 0 ? err_errno(e, -r->dir_fd, "cannot open %s", r->dir) : 0;
}

/* What a creation made that failed or was killed. */
static void discard(int runs_fd, const char *hidden)
{
	static const char *const files[] = {RECORD_FILE, "." RECORD_FILE ".new", RECORD_EVENTS};
	AUTO_FD dir = fd_open_beneath(runs_fd, hidden, O_RDONLY | O_DIRECTORY, 0, false);

	for (size_t i = 0; dir >= 0 && i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlinkat(dir, files[i], 0);
	(void)unlinkat(runs_fd, hidden, AT_REMOVEDIR);
}

/* Under the lock of runs_fd, so that no creation is under way. */
static void discard_killed(int runs_fd)
{
	int fd = fd_open_beneath(runs_fd, ".", O_RDONLY | O_DIRECTORY, 0, false);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (d == NULL) {
		if (fd >= 0)
			fd_close(&fd);
		return;
	}
	while ((entry = readdir(d)) != NULL)
		if (entry->d_name[0] == '.' && record_is_id(entry->d_name + 1))
			discard(runs_fd, entry->d_name);
	(void)closedir(d);
}

static int begin(struct record *r, const struct record_info *info, struct err *e)
{
	int rc;

	r->events_fd = openat(r->dir_fd, RECORD_EVENTS, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (r->events_fd < 0 || flock(r->events_fd, LOCK_EX) != 0)
		return err_errno(e, errno, "cannot create %s/%s", r->dir, RECORD_EVENTS);
	rc = fill(r, info);
	if (rc != 0)
		return err_errno(e, -rc, "cannot write the run's record");
	return record_tell(r, 0, "run-begin", json_pack("{s:s, s:s}", "id", r->id, "tool", "stint " STINT_VERSION), e);
}

static int create(struct record *r, int root_fd, const struct record_info *info, struct err *e)
{
	AUTO_FD runs = fd_mkdirs_beneath(root_fd, RECORD_RUNS_DIR, 0700);
	char hidden[RECORD_ID_MAX + 1] = "";
	int rc;

	if (runs < 0)
		return err_errno(e, -runs, "cannot create %s", RECORD_RUNS_DIR);
	if (flock(runs, LOCK_EX) != 0)
		return err_errno(e, errno, "cannot lock %s", RECORD_RUNS_DIR);
	discard_killed(runs);
	rc = make_dir(r, root_fd, runs, hidden, e);
	if (rc == 0)
		rc = begin(r, info, e);
	if (rc == 0 && renameat2(runs, hidden, runs, r->id, RENAME_NOREPLACE) != 0)
		rc = err_errno(e, errno, "cannot create %s", r->dir);
	if (rc != 0) {
		if (hidden[0] != '\0')
			discard(runs, hidden);
		return rc;
	}
	return fsync(runs) == 0 ? 0 : err_errno(e, errno, "cannot write %s", RECORD_RUNS_DIR);
}

int record_create(struct record **ret, int root_fd, const struct record_info *info, struct err *e)
{
	struct record *r = calloc(1, sizeof(*r));
	int rc;

	if (r == NULL)
		return err_stop(e, STOP_RECORD, err_errno(e, ENOMEM, "cannot write the run's record"));
	r->dir_fd = r->events_fd = r->turn_fd = -1;
	rc = create(r, root_fd, info, e);
	if (rc != 0)
		record_free(r);
	else
		*ret = r;
	return err_stop(e, STOP_RECORD, rc);
}

int record_file(struct record *r, const char *name, const void *bytes, size_t n, struct err *e)
{
	return err_stop(e, STOP_RECORD, fd_replace_file(r->dir_fd, name, bytes, n, 0600, e));
}

void record_set_landlock_abi(struct record *r, unsigned int abi)
{
	(void)record_put(r->run, "landlock_abi", json_integer((json_int_t)abi));
}

int record_end(struct record *r, int stop, const char *reason, struct err *e)
{
	char now[RECORD_TIME_MAX];
	int bad;
	int rc;

	record_now(now, false);
	bad = record_put(r->run, "state", json_string("ended"));
	bad |= record_put(r->run, "ended", json_string(now));
	bad |= record_put(r->run, "stop", json_integer(stop));
	bad |= record_put(r->run, "reason", record_str(reason));
	rc = record_tell(r, bad, "run-end", json_pack("{s:i, s:o}", "stop", stop, "reason", record_str(reason)), e);
	if (rc == 0 && fsync(r->events_fd) != 0)
		rc = err_errno(e, errno, "cannot write %s/%s", r->dir, RECORD_EVENTS);
	return err_stop(e, STOP_RECORD, rc);
}
