/* TASKS.md: reading it and choosing what is next. */
#include "protocol/tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/exit.h"
#include "base/fd.h"
#include "protocol/md.h"

void tasks_done(struct tasks *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].title);
	for (size_t i = 0; i < t->n_warning; i++)
		free(t->warning[i].message);
	free(t->v);
	free(t->warning);
	free(t->bytes);
	*t = (struct tasks){0};
}

/* Titles and messages change hands: m holds NULL in their place afterwards. */
static int take(struct tasks *t, struct md *m)
{
	t->v = calloc(m->n_box + 1, sizeof(*t->v));
	t->warning = calloc(m->n_warning + 1, sizeof(*t->warning));
	if (t->v == NULL || t->warning == NULL)
		return -ENOMEM;
	for (; t->n < m->n_box; t->n++) {
		struct md_box *b = &m->box[t->n];

		t->v[t->n] = (struct task){.line = b->line, .done = b->done, .depth = b->depth, .title = b->title,
		                           .box_offset = b->box_offset, .start = b->start, .end = b->end};
		b->title = NULL;
	}
	for (; t->n_warning < m->n_warning; t->n_warning++) {
		struct md_warning *w = &m->warning[t->n_warning];

		t->warning[t->n_warning] = (struct tasks_warning){.line = w->line, .fatal = w->swallowed, .message = w->message};
		w->message = NULL;
	}
	return 0;
}

static int parse(struct tasks *ret, const char *name, const char *bytes, size_t n, struct err *e)
{
	struct tasks t = {.bytes = malloc(n + 1), .n_bytes = n};
	struct md m = {0};
	int rc = t.bytes == NULL ? err_errno(e, ENOMEM, "cannot read %s", name) : 0;

	if (rc == 0) {
		if (n > 0)
			memcpy(t.bytes, bytes, n);
		t.bytes[n] = '\0';
		rc = md_parse(&m, name, t.bytes, n, e);
	}
	if (rc == 0 && take(&t, &m) != 0)
		rc = err_errno(e, ENOMEM, "cannot read %s", name);
	md_done(&m);
	if (rc != 0)
		tasks_done(&t);
	else
		*ret = t;
	return rc;
}

static int too_big(const char *name, struct err *e)
{
	return err_set(e, EFBIG, "%s is larger than %u MiB: move what is done to another file", name, TASKS_MAX_BYTES >> 20);
}

int tasks_parse(struct tasks *ret, const char *name, const char *bytes, size_t n, struct err *e)
{
	return err_stop(e, STOP_USAGE, n > TASKS_MAX_BYTES ? too_big(name, e) : parse(ret, name, bytes, n, e));
}

static int open_failed(int code, struct err *e)
{
	if (code == ENOENT)
		return err_set(e, ENOENT, "%s is missing: the loop works through its boxes: write one (`- [ ] what to do`) or "
		               "run `stint init`", TASKS_FILE);
	if (code == ELOOP)
		return err_set(e, ELOOP, "%s is a symbolic link: put the file itself there", TASKS_FILE);
	return err_errno(e, code, "cannot open %s", TASKS_FILE);
}

static int load(struct tasks *ret, int root_fd, struct err *e)
{
	/* O_NONBLOCK: a FIFO in its place must not hold the loop. */
	AUTO_FD fd = fd_open_beneath(root_fd, TASKS_FILE, O_RDONLY | O_NONBLOCK, 0, false);
	AUTO_FREE char *bytes = NULL;
	struct stat st;
	size_t n;
	int rc;

	if (fd < 0)
		return open_failed(-fd, e);
	if (fstat(fd, &st) != 0)
		return err_errno(e, errno, "cannot open %s", TASKS_FILE);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "%s is not a regular file: put a Markdown file there", TASKS_FILE);
	rc = fd_read_all(fd, TASKS_MAX_BYTES, &bytes, &n);
	if (rc == -EFBIG)
		return too_big(TASKS_FILE, e);
	if (rc != 0)
		return err_errno(e, -rc, "cannot read %s", TASKS_FILE);
	return parse(ret, TASKS_FILE, bytes, n, e);
}

int tasks_load(struct tasks *ret, int root_fd, struct err *e)
{
	return err_stop(e, STOP_USAGE, load(ret, root_fd, e));
}

const struct task *tasks_next(const struct tasks *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].depth == 0 && !t->v[i].done)
			return &t->v[i];
	return NULL;
}

size_t tasks_count(const struct tasks *t, size_t *ret_done)
{
	size_t n = 0;

	*ret_done = 0;
	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].depth > 0)
			continue;
		n++;
		*ret_done += t->v[i].done ? 1 : 0;
	}
	return n;
}

static int not_runnable(const struct tasks *t, struct err *e)
{
	for (size_t i = 0; i < t->n_warning; i++)
		if (t->warning[i].fatal)
			return err_set(e, EINVAL, "%s:%u: %s", TASKS_FILE, t->warning[i].line, t->warning[i].message);
	if (t->n > 0)
		return 0;
	if (t->n_warning > 0)
		return err_set(e, EINVAL, "%s holds no task: %s:%u: %s", TASKS_FILE, TASKS_FILE, t->warning[0].line,
		               t->warning[0].message);
	return err_set(e, EINVAL, "%s holds no task: write one on a line of its own: - [ ] what to do", TASKS_FILE);
}

int tasks_check_runnable(const struct tasks *t, struct err *e)
{
	return err_stop(e, STOP_USAGE, not_runnable(t, e));
}
