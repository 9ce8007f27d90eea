/* Reading records: which runs there are, and one run's files. Every read is bounded; nothing is followed. */
#include "protocol/record_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/str.h"
#include "protocol/record_private.h"

void record_ids_done(struct record_ids *ids)
{
	free(ids->v);
	*ids = (struct record_ids){0};
}

bool record_is_id(const char *s)
{
	static const char shape[] = "dddddddd-dddddd-xxxx";
	size_t i = 0;

	for (; shape[i] != '\0' && s[i] != '\0'; i++) {
		if (shape[i] == '-' ? s[i] != '-' : strchr(shape[i] == 'd' ? "0123456789" : "0123456789abcdef", s[i]) == NULL)
			return false;
	}
	return shape[i] == '\0' && s[i] == '\0';
}

static int newest_first(const void *a, const void *b)
{
	return strcmp(b, a);
}

static int read_ids(DIR *d, struct record_ids *ids)
{
	size_t cap = 0;
	struct dirent *entry;

	while ((errno = 0, entry = readdir(d)) != NULL) {
		if (!record_is_id(entry->d_name))
			continue;
		if (ids->n == RECORD_MAX_RUNS)
			return -E2BIG;
		if (ids->n == cap) {
			void *bigger = reallocarray(ids->v, cap = cap == 0 ? 64 : 2 * cap, sizeof(*ids->v));

			if (bigger == NULL)
				return -ENOMEM;
			ids->v = bigger;
		}
		memcpy(ids->v[ids->n], entry->d_name, strlen(entry->d_name) + 1);
		ids->n++;
	}
	return -errno;
}

int record_list(int root_fd, struct record_ids *ret, struct err *e)
{
	struct record_ids ids = {0};
	int fd = fd_open_beneath(root_fd, RECORD_RUNS_DIR, O_RDONLY | O_DIRECTORY, 0, false);
	DIR *d;
	int rc;

	if (fd == -ENOENT) {
		*ret = ids;
		return 0;
	}
	d = fd < 0 ? NULL : fdopendir(fd);
	if (d == NULL)
		return err_stop(e, STOP_USAGE, err_errno(e, fd < 0 ? -fd : errno, "cannot read %s", RECORD_RUNS_DIR));
	rc = read_ids(d, &ids);
	(void)closedir(d);
	if (rc != 0) {
		record_ids_done(&ids);
		return err_stop(e, STOP_USAGE, err_errno(e, -rc, "cannot read %s", RECORD_RUNS_DIR));
	}
	if (ids.n > 1)
		qsort(ids.v, ids.n, sizeof(*ids.v), newest_first);
	*ret = ids;
	return 0;
}

static int choose(const struct record_ids *ids, const char *which, const char **ret, struct err *e)
{
	const char *found = NULL;

	if (ids->n == 0)
		return err_set(e, ENOENT, "there is no run yet: start one with `sudo stint run`");
	if (which == NULL || str_eq(which, "latest")) {
		*ret = ids->v[0];
		return 0;
	}
	for (size_t i = 0; i < ids->n; i++) {
		if (which[0] == '\0' || !str_starts(ids->v[i], which))
			continue;
		if (found != NULL)
			return err_set(e, ENOENT, "more than one run begins with %s: write more of the id: `stint log` shows them", which);
		found = ids->v[i];
	}
	if (found == NULL)
		return err_set(e, ENOENT, "there is no run %s: `stint log` shows them", which);
	*ret = found;
	return 0;
}

int record_find(int root_fd, const char *which, char ret_id[RECORD_ID_MAX], struct err *e)
{
	struct record_ids ids;
	const char *id = NULL;
	int rc = record_list(root_fd, &ids, e);

	if (rc != 0)
		return rc;
	rc = choose(&ids, which, &id, e);
	if (rc == 0)
		memcpy(ret_id, id, RECORD_ID_MAX);
	record_ids_done(&ids);
	return err_stop(e, STOP_USAGE, rc);
}

/* A regular file below a run's folder. O_NONBLOCK because a FIFO may stand there. */
static int open_file(int root_fd, const char *path, struct err *e)
{
	AUTO_FD fd = fd_open_beneath(root_fd, path, O_RDONLY | O_NONBLOCK, 0, false);
	struct stat st;

	if (fd < 0)
		return err_errno(e, -fd, "cannot read %s", path);
	if (fstat(fd, &st) != 0)
		return err_errno(e, errno, "cannot read %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "cannot read %s: it is not a regular file", path);
	return fd_take(&fd);
}

/* The parser's message quotes the file. */
static int damaged_json(const char *path, const json_error_t *where, struct err *e)
{
	AUTO_BUF struct buf why = {0};

	if (buf_add_escaped(&why, where->text, strlen(where->text), false) != 0 || buf_str(&why) == NULL)
		return err_errno(e, ENOMEM, "cannot read %s", path);
	return err_set(e, EBADMSG, "%s:%d: the record is damaged (%s): what happened is still in %s beside it", path, where->line,
	               why.data, RECORD_EVENTS);
}

int record_read(int root_fd, const char *id, json_t **ret, struct err *e)
{
	AUTO_FREE char *bytes = NULL;
	AUTO_FD fd = -1;
	char path[RECORD_DIR_MAX + 16];
	json_error_t where;
	json_t *run;
	size_t n = 0;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/%.*s/%s", RECORD_RUNS_DIR, RECORD_ID_MAX, id, RECORD_FILE);
	fd = open_file(root_fd, path, e);
	if (fd < 0)
		return err_stop(e, STOP_USAGE, fd);
	rc = fd_read_all(fd, RECORD_MAX_BYTES, &bytes, &n);
	if (rc != 0)
		return err_stop(e, STOP_USAGE, err_errno(e, -rc, "cannot read %s", path));
	run = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &where);
	if (run == NULL)
		return err_stop(e, STOP_USAGE, damaged_json(path, &where, e));
	rc = record_check(run, path, e);
	if (rc != 0)
		json_decref(run);
	else
		*ret = run;
	return err_stop(e, STOP_USAGE, rc);
}

const char *record_liveness(int root_fd, const char *id, const json_t *run)
{
	AUTO_FD fd = -1;
	char path[RECORD_DIR_MAX + 16];

	if (str_eq(json_string_value(json_object_get(run, "state")), "ended"))
		return "ended";
	(void)snprintf(path, sizeof(path), "%s/%.*s/%s", RECORD_RUNS_DIR, RECORD_ID_MAX, id, RECORD_EVENTS);
	fd = open_file(root_fd, path, NULL);
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK ? "running" : "interrupted";
}

int record_turn_read(int root_fd, const char *id, unsigned int turn, const char *name, size_t max, char **ret, size_t *ret_n,
                     struct err *e)
{
	AUTO_FREE char *bytes = NULL;
	AUTO_FD fd = -1;
	char path[RECORD_DIR_MAX + 80];
	char folder[24];
	size_t n = 0;
	ssize_t got = 1;

	(void)snprintf(folder, sizeof(folder), "turn-%u/", turn);
	(void)snprintf(path, sizeof(path), "%s/%.*s/%s%.40s", RECORD_RUNS_DIR, RECORD_ID_MAX, id, turn == 0 ? "" : folder, name);
	fd = open_file(root_fd, path, e);
	if (fd < 0)
		return err_stop(e, STOP_USAGE, fd);
	bytes = malloc(max + 1);
	if (bytes == NULL)
		return err_stop(e, STOP_USAGE, err_errno(e, ENOMEM, "cannot read %s", path));
	while (got > 0 && n < max) {
		do
			got = read(fd, bytes + n, max - n);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return err_stop(e, STOP_USAGE, err_errno(e, errno, "cannot read %s", path));
		n += (size_t)got;
	}
	bytes[n] = '\0';
	*ret_n = n;
	*ret = bytes;
	bytes = NULL;
	return 0;
}
