/* TASKS.md as an agent may leave it: parsing, ticking, and the guard over a role's edit.
 *
 * Input: the file before a turn, and behind a line "%%" the file after it. Checked, beside memory:
 * - a task's box, lines and range are where they are said to be, in file order;
 * - ticking changes exactly one byte, and a reload says "done" for that task and nothing else that differs;
 * - the file on disk is ticked once, a second tick is no error, and an edited file is refused;
 * - what the guard lets through has as many done tasks as before, differs from the role's text in boxes only (or is the
 *   old file), keeps state by title, is runnable, and passes the guard again unchanged. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "protocol/tasks.h"

#define TICKS 3

static int root = -1;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	root = fuzz_folder();
	return 0;
}

static bool ends_line(char c)
{
	return c == '\n' || c == '\r';
}

static unsigned int line_of(const struct tasks *t, size_t at)
{
	unsigned int line = 1;

	for (size_t i = 0; i < at; i++)
		if (t->bytes[i] == '\n' || (t->bytes[i] == '\r' && t->bytes[i + 1] != '\n'))
			line++;
	return line;
}

static void check_places(const struct tasks *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct task *k = &t->v[i];
		char box = t->bytes[k->box_offset];

		CHECK(k->start < k->box_offset && k->box_offset + 1 < k->end && k->end <= t->n_bytes);
		CHECK(t->bytes[k->box_offset - 1] == '[' && t->bytes[k->box_offset + 1] == ']');
		CHECK(k->done ? box == 'x' || box == 'X' : box == ' ');
		CHECK(k->start == 0 || ends_line(t->bytes[k->start - 1]) || (k->start == 3 && t->bytes[0] == '\xef'));
		CHECK(k->end == t->n_bytes || ends_line(t->bytes[k->end - 1]));
		CHECK(k->line == line_of(t, k->box_offset));
		CHECK(i == 0 ? k->depth == 0 : k->depth <= t->v[i - 1].depth + 1 && k->box_offset > t->v[i - 1].box_offset);
	}
	for (size_t i = 0; i < t->n_warning; i++)
		CHECK(t->warning[i].line >= 1 && fuzz_printable(t->warning[i].message, strlen(t->warning[i].message), ""));
}

static void check_same_but(const struct tasks *a, const struct tasks *b, const struct task *ticked)
{
	CHECK(a->n == b->n && a->n_warning == b->n_warning && a->n_bytes == b->n_bytes);
	for (size_t i = 0; i < a->n; i++) {
		const struct task *x = &a->v[i];
		const struct task *y = &b->v[i];

		CHECK(x->line == y->line && x->depth == y->depth && x->box_offset == y->box_offset);
		CHECK(x->start == y->start && x->end == y->end && str_eq(x->title, y->title));
		CHECK(y->done == (x == ticked ? true : x->done));
	}
}

static void check_tick(const struct tasks *t, const struct task *task)
{
	char *ticked = tasks_ticked_bytes(t, task);
	struct tasks again;
	struct err e = {0};
	size_t n = 0;

	CHECK(ticked != NULL);
	for (size_t i = 0; i < t->n_bytes; i++)
		n += ticked[i] != t->bytes[i];
	CHECK(n == (task->done ? 0 : 1) && ticked[t->n_bytes] == '\0');
	CHECK(tasks_parse(&again, TASKS_FILE, ticked, t->n_bytes, &e) == 0);
	check_same_but(t, &again, task);
	tasks_done(&again);
	free(ticked);
}

static void check_tick_on_disk(const struct tasks *t)
{
	const struct task *next = tasks_next(t);
	struct tasks now;
	struct err e = {0};
	size_t a, b;
	size_t n;

	CHECK(tasks_write(root, t->bytes, t->n_bytes, &e) == 0);
	CHECK(tasks_load(&now, root, &e) == 0 && now.n_bytes == t->n_bytes && memcmp(now.bytes, t->bytes, t->n_bytes) == 0);
	tasks_done(&now);
	if (next == NULL)
		return;
	n = tasks_count(t, &a);
	CHECK(tasks_tick(root, t, next, &e) == 0 && tasks_tick(root, t, next, &e) == 0);
	CHECK(tasks_load(&now, root, &e) == 0);
	CHECK(tasks_count(&now, &b) == n && b == a + 1);
	tasks_done(&now);
	CHECK(tasks_write(root, t->bytes, t->n_bytes - 1, &e) == 0);
	CHECK(tasks_tick(root, t, next, &e) == -ESTALE && e.exit == STOP_RECORD);
}

static void check_ticks(const struct tasks *t)
{
	int n = 0;

	for (size_t i = 0; i < t->n && n < TICKS; i++)
		if (t->v[i].depth == 0 && n++ < TICKS)
			check_tick(t, &t->v[i]);
	if (t->n_bytes % 8 == 0) /* slow, and the same for all */
		check_tick_on_disk(t);
}

/* The only task at depth 0 with this title, or NULL. */
static const struct task *only(const struct tasks *t, const char *title)
{
	const struct task *found = NULL;

	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].depth > 0 || !str_eq(t->v[i].title, title))
			continue;
		if (found != NULL)
			return NULL;
		found = &t->v[i];
	}
	return found;
}

static bool is_box_of(const struct tasks *t, size_t at)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].depth == 0 && t->v[i].box_offset == at)
			return true;
	return false;
}

/* Only boxes of tasks may differ from what the role wrote. */
static void check_text_kept(const struct tasks_guarded *g, const char *after, size_t n)
{
	struct tasks t;
	struct err e = {0};

	CHECK(g->n_bytes == n);
	CHECK(tasks_parse(&t, TASKS_FILE, after, n, &e) == 0);
	for (size_t i = 0; i < n; i++)
		CHECK(g->bytes[i] == after[i] || is_box_of(&t, i));
	tasks_done(&t);
}

static void check_states(const struct tasks *before, const struct tasks *now)
{
	size_t was, is;

	CHECK(tasks_count(now, &is) >= tasks_count(before, &was) && is == was);
	for (size_t i = 0; i < before->n && i < 64; i++) {
		const struct task *a = only(before, before->v[i].title);
		const struct task *b = a == NULL ? NULL : only(now, a->title);

		CHECK(b == NULL || a->done == b->done);
	}
}

static void check_again(const struct tasks *before, const struct tasks_guarded *g)
{
	struct tasks_guarded again;
	struct err e = {0};

	CHECK(tasks_guard(before, g->bytes, g->n_bytes, &again, &e) == 0);
	CHECK(!again.changed && !again.restored && again.n_note == 0);
	CHECK(again.n_bytes == g->n_bytes && memcmp(again.bytes, g->bytes, g->n_bytes) == 0);
	tasks_guarded_done(&again);
}

static void check_guard(const struct tasks *before, const char *after, size_t n)
{
	struct tasks_guarded g;
	struct tasks now;
	struct err e = {0};

	CHECK(tasks_guard(before, after, n, &g, &e) == 0);
	CHECK(g.bytes[g.n_bytes] == '\0');
	CHECK(g.changed == (after == NULL || g.n_bytes != n || memcmp(g.bytes, after, n) != 0));
	CHECK(g.changed == (g.n_note > 0));
	if (g.restored)
		CHECK(g.n_bytes == before->n_bytes && memcmp(g.bytes, before->bytes, g.n_bytes) == 0);
	else
		check_text_kept(&g, after, n);
	for (size_t i = 0; i < g.n_note; i++)
		CHECK(fuzz_printable(g.note[i], strlen(g.note[i]), ""));
	CHECK(tasks_parse(&now, TASKS_FILE, g.bytes, g.n_bytes, &e) == 0 && tasks_check_runnable(&now, &e) == 0);
	check_states(before, &now);
	check_again(before, &g);
	tasks_done(&now);
	tasks_guarded_done(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *p = (const char *)data;
	const char *bytes = "", *after;
	size_t n_bytes = 0, n_after;
	struct tasks t = {0};
	struct err e = {0};
	int rc;

	if (n == 0)
		p = "";
	if (!fuzz_part(&p, &n, &bytes, &n_bytes))
		return 0;
	rc = tasks_parse(&t, TASKS_FILE, bytes, n_bytes, &e);
	if (rc != 0) {
		fuzz_check_err(&e, rc);
		CHECK(e.exit == STOP_USAGE);
		return 0;
	}
	check_places(&t);
	check_ticks(&t);
	if (tasks_check_runnable(&t, &e) == 0) {
		check_guard(&t, t.bytes, t.n_bytes);
		if (fuzz_part(&p, &n, &after, &n_after))
			check_guard(&t, after, n_after);
		else
			check_guard(&t, NULL, 0);
	} else {
		CHECK(fuzz_printable(e.msg, strlen(e.msg), ""));
	}
	tasks_done(&t);
	return 0;
}
