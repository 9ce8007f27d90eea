/* TASKS.md: what is a task in 85 small files, ticking, and what a role's edit may become. Runs in the top folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "protocol/md.h"
#include "protocol/tasks.h"

#define CORPUS "tests/corpus/tasks"

/* ---- what is a task */

static char *read_file(const char *dir, const char *name, size_t *ret_n)
{
	char path[512];
	char *bytes = NULL;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fd_read_all(fd, 16u << 20, &bytes, ret_n) != 0)
		fail_msg("cannot read %s (run in the top folder)", path);
	fd_close(&fd);
	return bytes;
}

static json_t *as_json(const struct tasks *t, const char *file)
{
	json_t *o = json_pack("{s:s, s:[], s:[], s:b}", "file", file, "tasks", "warnings", "runnable",
	                      tasks_check_runnable(t, NULL) == 0);

	for (size_t i = 0; i < t->n; i++)
		json_array_append_new(json_object_get(o, "tasks"),
		                      json_pack("{s:i, s:b, s:i, s:s}", "line", (int)t->v[i].line, "done", t->v[i].done, "depth",
		                                (int)t->v[i].depth, "title", t->v[i].title));
	for (size_t i = 0; i < t->n_warning; i++)
		json_array_append_new(json_object_get(o, "warnings"), json_integer((json_int_t)t->warning[i].line));
	return o;
}

static void check_file(const json_t *want)
{
	const char *file = json_string_value(json_object_get(want, "file"));
	const json_t *error_line = json_object_get(want, "error_line");
	struct tasks t = {0};
	struct err e = {0};
	char place[64];
	size_t n;
	char *bytes = read_file(CORPUS, file, &n);
	int rc = tasks_parse(&t, file, bytes, n, &e);
	json_t *got;

	if (error_line != NULL) {
		(void)snprintf(place, sizeof(place), ":%d: ", (int)json_integer_value(error_line));
		if (rc == 0 || e.exit != STOP_USAGE || strstr(e.msg, place) == NULL)
			fail_msg("%s: wanted an error at line%s got %d: %s", file, place, rc, e.msg);
	} else {
		if (rc != 0)
			fail_msg("%s: %s", file, e.msg);
		got = as_json(&t, file);
		if (json_equal(got, want) == 0)
			fail_msg("%s:\n got  %s\n want %s", file, json_dumps(got, JSON_COMPACT), json_dumps(want, JSON_COMPACT));
		json_decref(got);
	}
	for (size_t i = 0; i < t.n; i++) { /* the box is where it says, inside its item */
		assert_int_equal(bytes[t.v[i].box_offset - 1], '[');
		assert_int_equal(bytes[t.v[i].box_offset + 1], ']');
		assert_true(t.v[i].start < t.v[i].box_offset && t.v[i].box_offset < t.v[i].end && t.v[i].end <= n);
	}
	tasks_done(&t);
	free(bytes);
}

static void test_corpus(void **state)
{
	size_t n;
	char *lines = read_file(CORPUS, "expected.jsonl", &n);
	char *save = NULL;
	int files = 0;

	(void)state;
	for (char *line = strtok_r(lines, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save), files++) {
		json_t *want = json_loads(line, 0, NULL);

		assert_non_null(want);
		check_file(want);
		json_decref(want);
	}
	assert_true(files >= 85);
	free(lines);
}

static void parse(struct tasks *t, const char *text)
{
	struct err e = {0};

	if (tasks_parse(t, "T", text, strlen(text), &e) != 0)
		fail_msg("%s", e.msg);
}

static void test_ranges(void **state)
{
	static const char text[] = "# T\n\n- [ ] a\n  more\n\n  ```\n  code\n  ```\n  - [x] b\n\n\n- [ ] c";
	struct tasks t;

	(void)state;
	parse(&t, text);
	assert_int_equal(t.n, 3);
	assert_string_equal(strndupa(text + t.v[0].start, t.v[0].end - t.v[0].start),
	                    "- [ ] a\n  more\n\n  ```\n  code\n  ```\n  - [x] b\n");
	assert_string_equal(strndupa(text + t.v[1].start, t.v[1].end - t.v[1].start), "  - [x] b\n");
	assert_string_equal(strndupa(text + t.v[2].start, t.v[2].end - t.v[2].start), "- [ ] c");
	assert_ptr_equal(tasks_next(&t), &t.v[0]);
	tasks_done(&t);
}

static void test_next_skips_nested(void **state)
{
	struct tasks t;
	size_t done;

	(void)state;
	parse(&t, "- [x] a\n  - [ ] nested and open\n- [x] b\n- [ ] c\n");
	assert_string_equal(tasks_next(&t)->title, "c");
	assert_int_equal(tasks_count(&t, &done), 3);
	assert_int_equal(done, 2);
	tasks_done(&t);
	parse(&t, "- [x] a\n  - [ ] nested and open\n");
	assert_null(tasks_next(&t));
	tasks_done(&t);
}

static void test_not_runnable_says_where(void **state)
{
	struct tasks t;
	struct err e = {0};

	(void)state;
	parse(&t, "- [ ] a\n\n```\n- [ ] b\n");
	assert_int_equal(tasks_check_runnable(&t, &e), -EINVAL);
	assert_int_equal(e.exit, STOP_USAGE);
	assert_non_null(strstr(e.msg, "TASKS.md:3: "));
	assert_non_null(strstr(e.msg, "line 4"));
	tasks_done(&t);
	parse(&t, "# none\n");
	assert_int_equal(tasks_check_runnable(&t, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "holds no task"));
	tasks_done(&t);
}

static void bound(size_t unit, const char *what, size_t times, int code)
{
	struct tasks t;
	struct err e = {0};
	char *bytes = malloc(unit * times);

	for (size_t i = 0; i < times; i++)
		memcpy(bytes + unit * i, what, unit);
	assert_int_equal(tasks_parse(&t, "T", bytes, unit * times, &e), code);
	if (code != 0)
		assert_int_equal(e.exit, STOP_USAGE);
	else
		tasks_done(&t);
	free(bytes);
}

static void test_bounds(void **state)
{
	(void)state;
	bound(64, "abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz 123456789\n", TASKS_MAX_BYTES / 64, 0);
	bound(64, "abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz 123456789\n", TASKS_MAX_BYTES / 64 + 1, -EFBIG);
	bound(1, "\n", MD_MAX_LINES - 1, 0);
	bound(1, "\n", MD_MAX_LINES, -E2BIG);
	bound(1, "a", MD_MAX_LINE, 0);
	bound(1, "a", MD_MAX_LINE + 1, -E2BIG);
	bound(2, "- ", MD_MAX_NESTING / 2, 0);
	bound(2, "- ", MD_MAX_NESTING / 2 + 1, -E2BIG);
	bound(8, "- [ ] a\n", MD_MAX_BOXES, 0);
	bound(8, "- [ ] a\n", MD_MAX_BOXES + 1, -E2BIG);
	bound(3, "[[\n", MD_MAX_BRACKETS / 2, 0);
	bound(3, "[[\n", MD_MAX_BRACKETS / 2 + 1, -E2BIG);
}

/* ---- the file: every test has a folder of its own */

struct folder {
	char path[64];
	int fd;
};

static int setup(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	(void)snprintf(f->path, sizeof(f->path), "/tmp/stint-tasks.XXXXXX");
	if (mkdtemp(f->path) == NULL)
		return -1;
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = f;
	return f->fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct folder *f = *state;

	(void)unlinkat(f->fd, "TASKS.md", 0);
	(void)unlinkat(f->fd, "other", 0);
	fd_close(&f->fd);
	(void)rmdir(f->path);
	free(f);
	return 0;
}

static void put(const struct folder *f, const char *name, const char *text)
{
	int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	fd_close(&fd);
}

static void holds(const struct folder *f, const char *text)
{
	size_t n;
	char *bytes = read_file(f->path, "TASKS.md", &n);

	assert_int_equal(n, strlen(text));
	assert_string_equal(bytes, text);
	free(bytes);
}

static void load(const struct folder *f, struct tasks *t)
{
	struct err e = {0};

	if (tasks_load(t, f->fd, &e) != 0)
		fail_msg("%s", e.msg);
}

static void test_load_errors(void **state)
{
	struct folder *f = *state;
	struct tasks t;
	struct err e = {0};

	assert_int_equal(tasks_load(&t, f->fd, &e), -ENOENT);
	assert_int_equal(e.exit, STOP_USAGE);
	assert_non_null(strstr(e.msg, "stint init"));
	put(f, "TASKS.md", "- [ ] a\n");
	load(f, &t); /* the same call, where it should succeed */
	tasks_done(&t);
	assert_int_equal(renameat(f->fd, "TASKS.md", f->fd, "other"), 0);
	assert_int_equal(symlinkat("other", f->fd, "TASKS.md"), 0);
	assert_int_equal(tasks_load(&t, f->fd, &e), -ELOOP);
	assert_int_equal(unlinkat(f->fd, "TASKS.md", 0), 0);
	assert_int_equal(mkfifoat(f->fd, "TASKS.md", 0644), 0);
	assert_int_equal(tasks_load(&t, f->fd, &e), -EINVAL);
}

static void test_tick_changes_one_byte(void **state)
{
	struct folder *f = *state;
	struct stat before, after;
	struct tasks t;
	char *ticked;
	struct err e = {0};

	put(f, "TASKS.md", "\xef\xbb\xbf# T\r\n- [X] a\r\n- [ ] b\r\n\t- [ ] c\r\n");
	assert_int_equal(fchmodat(f->fd, "TASKS.md", 0640, 0), 0);
	assert_int_equal(fstatat(f->fd, "TASKS.md", &before, 0), 0);
	load(f, &t);
	ticked = tasks_ticked_bytes(&t, tasks_next(&t));
	assert_string_equal(ticked, "\xef\xbb\xbf# T\r\n- [X] a\r\n- [x] b\r\n\t- [ ] c\r\n");
	assert_int_equal(tasks_tick(f->fd, &t, tasks_next(&t), &e), 0);
	holds(f, ticked);
	assert_int_equal(fstatat(f->fd, "TASKS.md", &after, 0), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_mode, before.st_mode);
	/* A tick that is cut and made again, as resume does, is no error. */
	assert_int_equal(tasks_tick(f->fd, &t, tasks_next(&t), &e), 0);
	holds(f, ticked);
	free(ticked);
	tasks_done(&t);
}

static void test_tick_refuses_an_edited_file(void **state)
{
	struct folder *f = *state;
	struct tasks t;
	struct err e = {0};

	put(f, "TASKS.md", "- [ ] a\n- [ ] b\n");
	load(f, &t);
	put(f, "TASKS.md", "- [ ] b\n- [ ] a\n");
	assert_int_equal(tasks_tick(f->fd, &t, tasks_next(&t), &e), -ESTALE);
	assert_int_equal(e.exit, STOP_RECORD);
	holds(f, "- [ ] b\n- [ ] a\n");
	put(f, "TASKS.md", "- [ ] a\n- [ ] b\nmore\n");
	assert_int_equal(tasks_tick(f->fd, &t, tasks_next(&t), &e), -ESTALE);
	assert_int_equal(unlinkat(f->fd, "TASKS.md", 0), 0);
	assert_int_equal(tasks_tick(f->fd, &t, tasks_next(&t), &e), -ENOENT);
	put(f, "other", "- [ ] a\n- [ ] b\n");
	assert_int_equal(symlinkat("other", f->fd, "TASKS.md"), 0);
	assert_int_equal(tasks_tick(f->fd, &t, tasks_next(&t), &e), -ELOOP);
	tasks_done(&t);
}

static void test_write_keeps_the_inode(void **state)
{
	struct folder *f = *state;
	struct stat before, after;
	struct err e = {0};

	put(f, "TASKS.md", "- [ ] a long line that goes\n");
	assert_int_equal(fstatat(f->fd, "TASKS.md", &before, 0), 0);
	assert_int_equal(tasks_write(f->fd, "- [ ] b\n", 8, &e), 0);
	holds(f, "- [ ] b\n");
	assert_int_equal(fstatat(f->fd, "TASKS.md", &after, 0), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(unlinkat(f->fd, "TASKS.md", 0), 0);
	assert_int_equal(tasks_write(f->fd, "- [ ] c\n", 8, &e), 0);
	holds(f, "- [ ] c\n");
}

/* ---- what a role's edit may become */

/* want NULL: the edit passes unchanged. notes: how many things were put back. */
static void guard(const char *before, const char *after, const char *want, bool restored, size_t notes)
{
	struct tasks t;
	struct tasks_guarded g = {0};
	struct err e = {0};

	parse(&t, before);
	assert_int_equal(tasks_guard(&t, after, after == NULL ? 0 : strlen(after), &g, &e), 0);
	if (strcmp(g.bytes, want == NULL ? after : want) != 0)
		fail_msg("before:\n%safter:\n%sgot:\n%s", before, after == NULL ? "(gone)" : after, g.bytes);
	assert_int_equal(g.n_bytes, strlen(g.bytes));
	assert_int_equal(g.changed, want != NULL);
	assert_int_equal(g.restored, restored);
	assert_int_equal(g.n_note, notes);
	tasks_guarded_done(&g);
	tasks_done(&t);
}

#define ABC "- [x] a\n- [ ] b\n- [ ] c\n"

static void test_guard_lets_text_pass(void **state)
{
	(void)state;
	guard(ABC, ABC, NULL, false, 0);
	guard(ABC, "# New\n\n- [x] a\n  why\n- [ ] b\n- [ ] c\n", NULL, false, 0);
	guard(ABC, ABC "- [ ] d\n", NULL, false, 0);
	guard(ABC, "- [ ] before\n" ABC, NULL, false, 0);
	guard(ABC, "- [x] a\n- [ ] b, said better\n- [ ] c\n- [ ] d\n", NULL, false, 0);
	guard(ABC, "- [x] a\n- [ ] b\n  - [x] nested is text\n- [ ] c\n", NULL, false, 0);
	guard(ABC, "- [ ] c\n- [ ] b\n- [x] a\n", NULL, false, 0);
	guard("- [X] a\n- [ ] b\n", "- [x] a\n- [ ] b\n", NULL, false, 0);
}

static void test_guard_puts_boxes_back(void **state)
{
	(void)state;
	guard(ABC, "- [x] a\n- [x] b\n- [ ] c\n", ABC, false, 1);
	guard(ABC, "- [ ] a\n- [x] b\n- [x] c\n", ABC, false, 3);
	guard(ABC, ABC "- [x] d\n", ABC "- [ ] d\n", false, 1);
	guard(ABC, "- [x] a\r\n- [X] b\r\n- [ ] c\r\n", "- [x] a\r\n- [ ] b\r\n- [ ] c\r\n", false, 1);
	/* renamed and ticked; renamed beside a new one; two of the same title */
	guard(ABC, "- [x] a\n- [x] b, done\n- [ ] c\n", "- [x] a\n- [ ] b, done\n- [ ] c\n", false, 1);
	guard("- [x] write the parser\n- [ ] z\n", "- [ ] buy milk\n- [ ] write a parser\n- [ ] z\n",
	      "- [ ] buy milk\n- [x] write a parser\n- [ ] z\n", false, 1);
	guard("- [x] same\n- [ ] same\n", "- [x] same\n- [x] same\n", "- [x] same\n- [ ] same\n", false, 1);
}

static void test_guard_restores_what_is_gone(void **state)
{
	(void)state;
	guard(ABC, "- [x] a\n- [ ] c\n", ABC, true, 1);
	guard(ABC, "- [x] a\n- [ ] c\n- [ ] another at the end hides nothing\n", ABC, true, 1);
	guard(ABC, "- [x] a\n  - [ ] b\n- [ ] c\n", ABC, true, 1);
	guard(ABC, "- [x] a\n```\n- [ ] b\n- [ ] c\n", ABC, true, 1);
	guard(ABC, "- [x] a\n```\n- [ ] b\n```\n- [ ] c\n", ABC, true, 1);
	guard(ABC, "", ABC, true, 1);
	guard(ABC, NULL, ABC, true, 1);
	guard(ABC, "- [x] a\n- [ ] b\n- [ ] \xff\n", ABC, true, 1);
	guard(ABC, "- [x] a\n- b\n- [ ] c\n", ABC, true, 1);
}

static void test_guard_notes_are_safe(void **state)
{
	struct tasks t;
	struct tasks_guarded g = {0};
	struct err e = {0};
	static const char after[] = "- [x] a\x1b]0;title\x07\n";

	(void)state;
	parse(&t, "- [ ] a\x1b]0;title\x07\n");
	assert_int_equal(tasks_guard(&t, after, strlen(after), &g, &e), 0);
	assert_int_equal(g.n_note, 1);
	assert_null(strchr(g.note[0], '\x1b'));
	assert_non_null(strstr(g.note[0], "TASKS.md:1: "));
	tasks_guarded_done(&g);
	tasks_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_corpus),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_next_skips_nested),
		cmocka_unit_test(test_not_runnable_says_where),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test_setup_teardown(test_load_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tick_changes_one_byte, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tick_refuses_an_edited_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_write_keeps_the_inode, setup, teardown),
		cmocka_unit_test(test_guard_lets_text_pass),
		cmocka_unit_test(test_guard_puts_boxes_back),
		cmocka_unit_test(test_guard_restores_what_is_gone),
		cmocka_unit_test(test_guard_notes_are_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
