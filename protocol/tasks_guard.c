/* What a role's edit of TASKS.md may become: text and new open tasks pass, boxes of existing tasks do not change. */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/tasks.h"

#define NOWHERE SIZE_MAX
#define NOTES_MAX 50u      /* kept; an edit that ticks thousands of boxes needs no thousand sentences */
#define TITLE_SHOWN 80     /* bytes of a title in a note */

/* Pointers to the tasks at depth 0: only these are guarded. */
struct top {
	const struct task **v;
	size_t n;
};

struct guard {
	struct top before;
	struct top after;
	size_t *found;     /* by before: its task in after, or NOWHERE */
	bool *taken;       /* by after */
	struct tasks_guarded *ret;
};

void tasks_guarded_done(struct tasks_guarded *g)
{
	for (size_t i = 0; i < g->n_note; i++)
		free(g->note[i]);
	free(g->note);
	free(g->bytes);
	*g = (struct tasks_guarded){0};
}

static int PRINTF_LIKE(3, 4) note(struct tasks_guarded *g, const char *title, const char *fmt, ...)
{
	AUTO_BUF struct buf b = {0};
	AUTO_FREE char *text = NULL;
	char **bigger;
	va_list ap;
	int n;

	if (g->n_note == NOTES_MAX)
		return 0;
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		text = NULL;
		return -ENOMEM;
	}
	if (buf_add(&b, text, (size_t)n) != 0 ||
	    (title != NULL && (buf_add(&b, ": ", 2) != 0 || buf_add_escaped(&b, title, strnlen(title, TITLE_SHOWN), false) != 0)) ||
	    buf_str(&b) == NULL)
		return -ENOMEM;
	bigger = reallocarray(g->note, g->n_note + 1, sizeof(*g->note));
	if (bigger == NULL)
		return -ENOMEM;
	g->note = bigger;
	g->note[g->n_note++] = b.data;
	b = (struct buf){0};
	return 0;
}

static int top_init(struct top *ret, const struct tasks *t)
{
	ret->v = calloc(t->n + 1, sizeof(*ret->v));
	if (ret->v == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].depth == 0)
			ret->v[ret->n++] = &t->v[i];
	return 0;
}

/* By title, searching on from the last hit so that an unchanged file costs one comparison a task. */
static void match_titles(struct guard *g)
{
	size_t from = 0;

	for (size_t i = 0; i < g->before.n; i++) {
		g->found[i] = NOWHERE;
		for (size_t k = 0; k < g->after.n; k++) {
			size_t j = (from + k) % g->after.n;

			if (g->taken[j] || strcmp(g->before.v[i]->title, g->after.v[j]->title) != 0)
				continue;
			g->found[i] = j;
			g->taken[j] = true;
			from = j + 1;
			break;
		}
	}
}

/* Bytes that two titles share at their ends. */
static size_t likeness(const char *a, const char *b)
{
	size_t na = strlen(a);
	size_t nb = strlen(b);
	size_t least = na < nb ? na : nb;
	size_t head = 0;
	size_t tail = 0;

	while (head < least && a[head] == b[head])
		head++;
	while (tail < least - head && a[na - 1 - tail] == b[nb - 1 - tail])
		tail++;
	return head + tail;
}

/* Renamed tasks: those without a match are sought between the neighbours of their place, in order; where there are more
 * candidates than tasks the likest wins, and one is left for each task that follows. False when a task is gone. */
static bool match_places(struct guard *g)
{
	for (size_t i = 0; i < g->before.n; i++) {
		size_t first = i == 0 ? 0 : g->found[i - 1] + 1;
		size_t last = first;
		size_t need = 0;
		size_t best = NOWHERE;

		if (g->found[i] != NOWHERE)
			continue;
		while (i + need < g->before.n && g->found[i + need] == NOWHERE)
			need++;
		while (last < g->after.n && !g->taken[last])
			last++;
		if (last - first < need)
			return false;
		for (size_t j = first; j <= last - need; j++)
			if (best == NOWHERE || likeness(g->before.v[i]->title, g->after.v[j]->title) >
			                       likeness(g->before.v[i]->title, g->after.v[best]->title))
				best = j;
		g->found[i] = best;
		g->taken[best] = true;
	}
	return true;
}

static int put_back(struct guard *g, const struct task *now, bool done, const char *what)
{
	g->ret->bytes[now->box_offset] = done ? 'x' : ' ';
	g->ret->changed = true;
	return note(g->ret, now->title, "%s:%u: %s", TASKS_FILE, now->line, what);
}

static int put_boxes_back(struct guard *g)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < g->before.n; i++) {
		const struct task *now = g->after.v[g->found[i]];

		if (now->done != g->before.v[i]->done)
			rc = put_back(g, now, g->before.v[i]->done, now->done ? "a box that was open had been ticked, and is open again" :
			                                                "a box that was ticked had been opened, and is ticked again");
	}
	for (size_t j = 0; rc == 0 && j < g->after.n; j++)
		if (!g->taken[j] && g->after.v[j]->done)
			rc = put_back(g, g->after.v[j], false, "a new task had been added already ticked, and is open now");
	return rc;
}

static int set_bytes(struct tasks_guarded *g, const char *bytes, size_t n)
{
	char *copy = malloc(n + 1);

	if (copy == NULL)
		return -ENOMEM;
	if (n > 0)
		memcpy(copy, bytes, n);
	copy[n] = '\0';
	free(g->bytes);
	g->bytes = copy;
	g->n_bytes = n;
	return 0;
}

static int restore(struct tasks_guarded *g, const struct tasks *before, const char *title, const char *why)
{
	g->changed = true;
	g->restored = true;
	if (set_bytes(g, before->bytes, before->n_bytes) != 0)
		return -ENOMEM;
	return note(g, title, "%s is as it was before: %s", TASKS_FILE, why);
}

static int guard_tasks(struct guard *g, const struct tasks *before, const struct tasks *after)
{
	if (top_init(&g->before, before) != 0 || top_init(&g->after, after) != 0)
		return -ENOMEM;
	g->found = calloc(g->before.n + 1, sizeof(*g->found));
	g->taken = calloc(g->after.n + 1, sizeof(*g->taken));
	if (g->found == NULL || g->taken == NULL)
		return -ENOMEM;
	match_titles(g);
	if (match_places(g))
		return put_boxes_back(g);
	for (size_t i = 0; i < g->before.n; i++)
		if (g->found[i] == NOWHERE)
			return restore(g->ret, before, g->before.v[i]->title, "a task had been removed");
	return 0;
}

static int guard_bytes(struct tasks_guarded *g, const struct tasks *before, const char *bytes, size_t n)
{
	struct guard work = {.ret = g};
	struct tasks after = {0};
	struct err why = {0};
	int rc;

	if (bytes == NULL)
		return restore(g, before, NULL, "it had been removed");
	rc = tasks_parse(&after, TASKS_FILE, bytes, n, &why);
	if (rc != 0)
		return rc == -ENOMEM ? rc : restore(g, before, NULL, why.msg);
	rc = set_bytes(g, bytes, n);
	for (size_t i = 0; rc == 0 && !g->restored && i < after.n_warning; i++)
		if (after.warning[i].fatal)
			rc = restore(g, before, NULL, after.warning[i].message);
	if (rc == 0 && !g->restored)
		rc = guard_tasks(&work, before, &after);
	free(work.before.v);
	free(work.after.v);
	free(work.found);
	free(work.taken);
	tasks_done(&after);
	return rc;
}

int tasks_guard(const struct tasks *before, const char *after, size_t n_after, struct tasks_guarded *ret, struct err *e)
{
	struct tasks_guarded g = {0};
	int rc = guard_bytes(&g, before, after, n_after);

	if (rc != 0) {
		tasks_guarded_done(&g);
		return err_errno(e, -rc, "cannot check the edit of %s", TASKS_FILE);
	}
	*ret = g;
	return 0;
}
