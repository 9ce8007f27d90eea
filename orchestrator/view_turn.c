/* One turn: its numbers and lists, then its files, every byte from inside escaped. */
#include <errno.h>
#include <stdlib.h>

#include "base/exit.h"
#include "base/log.h"
#include "orchestrator/show.h"
#include "orchestrator/view.h"
#include "protocol/record_read.h"

#define SHOWN_MAX (16u << 20)   /* bytes of one file */

/* The files of a turn that are text, and their keys in --json. */
static const struct { const char *file, *key; } files[] = {
	{"prompt", "prompt"}, {"stdout", "stdout"}, {"stderr", "stderr"}, {"suite.log", "suite_log"},
	{"review.md", "review"}, {"diff", "diff"},
};
static const char *const lists[] = {"changes", "anomalies", "denials", "notes"};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct found {
	unsigned int want;
	const json_t *task, *iteration, *turn;
};

static int find_turn(void *cookie, const json_t *task, const json_t *iteration, const json_t *turn)
{
	struct found *f = cookie;

	if (show_int(turn, "n") != (int64_t)f->want)
		return 0;
	f->task = task;
	f->iteration = iteration;
	f->turn = turn;
	return 1;
}

static void add_list(struct show *s, const char *name, const json_t *list)
{
	const json_t *item;
	size_t i;

	if (list == NULL || show_int(list, "total") == 0)
		return;
	show_f(s, "\n%s: %lld\n", name, (long long)show_int(list, "total"));
	json_array_foreach(json_object_get(list, "list"), i, item) {
		show_f(s, "  ");
		if (json_is_object(item)) {
			show_add(s, show_str(item, "op"), 1);
			show_f(s, " ");
			show_add(s, show_str(item, "path"), 0);
		} else {
			show_add(s, json_string_value(item), 0);
		}
		show_f(s, "\n");
	}
	if (show_int(list, "total") > (int64_t)json_array_size(json_object_get(list, "list")))
		show_f(s, "  …\n");
}

static void add_numbers(struct show *s, const struct found *f)
{
	const json_t *t = f->turn;

	show_f(s, "turn       %u (", f->want);
	show_add(s, show_str(t, "role"), 0);
	show_f(s, ")");
	if (f->iteration != NULL)
		show_f(s, ", iteration %lld", (long long)show_int(f->iteration, "n"));
	if (f->task != NULL) {
		show_f(s, "\ntask       ");
		show_add(s, show_str(f->task, "title"), 0);
	}
	show_f(s, "\nstatus     ");
	show_add(s, show_str(t, "status"), 0);
	if (json_object_get(t, "exit") != NULL)
		show_f(s, ", exit %lld", (long long)show_int(t, "exit"));
	show_f(s, "\nverdict    ");
	show_add(s, show_str(t, "verdict"), 0);
	if (json_object_get(t, "wall_ms") != NULL)
		show_f(s, "\ntime       %.3f s (user %.3f, system %.3f), %lld KiB at most",
		       (double)show_int(t, "wall_ms") / 1000, (double)show_int(t, "user_ms") / 1000,
		       (double)show_int(t, "sys_ms") / 1000, (long long)show_int(t, "max_rss") / 1024);
	show_f(s, "\n");
}

static int print_text(int root_fd, const char *id, const struct found *f)
{
	struct show s = {0};

	add_numbers(&s, f);
	for (size_t i = 0; i < COUNT(lists); i++)
		add_list(&s, lists[i], json_object_get(f->turn, lists[i]));
	for (size_t i = 0; i < COUNT(files); i++) {
		char *bytes = NULL;
		size_t n;

		if (record_turn_read(root_fd, id, f->want, files[i].file, SHOWN_MAX, &bytes, &n, NULL) != 0)
			continue;
		show_f(&s, "\n--- %s (%zu bytes)\n", files[i].file, n);
		show_block(&s, bytes, n);
		free(bytes);
	}
	return show_text(&s);
}

/* JSON holds UTF-8 only, and many readers of it no NUL: other bytes become \xHH, as on a terminal. */
static json_t *file_text(const char *bytes, size_t n)
{
	AUTO_BUF struct buf b = {0};
	size_t at = 0;
	size_t len = 1;

	while (at < n && len > 0 && bytes[at] != '\0') {
		len = str_utf8_len(bytes + at, n - at);
		at += len;
	}
	if (at == n)
		return json_stringn(bytes, n);
	return buf_add_escaped(&b, bytes, n, true) == 0 ? json_stringn(b.data, b.len) : NULL;
}

static int print_json(int root_fd, const char *id, const struct found *f)
{
	json_t *o = json_pack("{s:O}", "turn", f->turn);
	int bad = o == NULL ? -1 : 0;

	for (size_t i = 0; i < COUNT(files); i++) {
		char *bytes = NULL;
		size_t n;

		if (record_turn_read(root_fd, id, f->want, files[i].file, SHOWN_MAX, &bytes, &n, NULL) != 0)
			continue;
		bad |= json_object_set_new(o, files[i].key, file_text(bytes, n));
		free(bytes);
	}
	if (bad == 0)
		return show_json(o);
	json_decref(o);
	return show_json(NULL);
}

int view_turn(int root_fd, const char *id, const json_t *run, unsigned int turn, bool json)
{
	struct found f = {.want = turn};

	if (show_each_turn(run, find_turn, &f) == 0) {
		log_note("run %s has no turn %u: `stint view %s` shows them", id, turn, id);
		return STOP_USAGE;
	}
	return json ? print_json(root_fd, id, &f) : print_text(root_fd, id, &f);
}
