/* Which row governs a path, against a table written by hand; what is printed of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/matrix.h"
#include "roles/matrix.h"
#include "roles/prompts.h"

/* The built-in table as the manual states it: developer, tester, reviewer, runner. */
static const struct {
	const char *path;
	const char *levels[4];
} by_hand[] = {
	{"TASKS.md", {"r", "r", "rw", "none"}},
	{"REVIEW.md", {"r", "none", "rw", "none"}},
	{"src", {"rw", "none", "r", "r"}},
	{"src/a/b.c", {"rw", "none", "r", "r"}},
	{"srcs", {"r", "r", "r", "r"}},
	{"tests", {"none", "rw", "r", "r"}},
	{"tests/x", {"none", "rw", "r", "r"}},
	{"SPEC.md", {"r", "r", "r", "r"}},
	{"docs/a/b", {"r", "r", "r", "r"}},
	{"stint.yaml", {"r", "r", "r", "r"}},
	{".git", {"none", "none", "none", "none"}},
	{".git/config", {"none", "none", "none", "none"}},
	{"src/.git", {"none", "none", "none", "none"}},
	{"src/lib/.git/HEAD", {"none", "none", "none", "none"}},
	{".stint/runs", {"none", "none", "none", "none"}},
	{".gitignore", {"r", "r", "r", "r"}},
	{".env", {"none", "none", "none", "none"}},
	{".env.local", {"none", "none", "none", "none"}},
	{"src/.env", {"rw", "none", "r", "r"}},
};

static void test_builtin(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(by_hand) / sizeof(by_hand[0]); i++)
		for (unsigned int role = 0; role < 4; role++) {
			struct matrix_answer a = matrix_find(matrix_builtin, matrix_builtin_n, by_hand[i].path, role);

			if (!str_eq(level_name(a.level), by_hand[i].levels[role]))
				fail_msg("%s for role %u: %s", by_hand[i].path, role, level_name(a.level));
		}
}

static void test_reasons(void **state)
{
	static const struct matrix_row rows[] = {
		{"lib/core/src", true, {LEVEL_RW}},
		{"lib/core/tests", true, {LEVEL_NONE}},
		{"docs/one.md", false, {LEVEL_R}},
		{".env.example", false, {LEVEL_R}},
	};
	static const struct {
		const char *path;
		enum level level;
		enum matrix_why why;
	} want[] = {
		{".", LEVEL_R, MATRIX_ROOT},
		{"lib/core/src", LEVEL_RW, MATRIX_ROW},
		{"lib/core/src/a", LEVEL_RW, MATRIX_ROW},
		{"lib/core/tests", LEVEL_NONE, MATRIX_ROW},
		{"lib", LEVEL_NONE, MATRIX_ON_THE_WAY},
		{"lib/core", LEVEL_NONE, MATRIX_ON_THE_WAY},
		{"lib/core/other", LEVEL_NONE, MATRIX_BESIDE},
		{"lib/x", LEVEL_NONE, MATRIX_BESIDE},
		{"docs", LEVEL_NONE, MATRIX_ON_THE_WAY},
		{"docs/one.md", LEVEL_R, MATRIX_ROW},
		{"docs/one.md/x", LEVEL_NONE, MATRIX_BESIDE},
		{"docs/two.md", LEVEL_NONE, MATRIX_BESIDE},
		{"libx", LEVEL_NONE, MATRIX_UNNAMED},
		{".env.example", LEVEL_R, MATRIX_ROW},
		{".env", LEVEL_NONE, MATRIX_ENV_FILE},
		{".git/x", LEVEL_NONE, MATRIX_PRIVATE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct matrix_answer a = matrix_find(rows, sizeof(rows) / sizeof(rows[0]), want[i].path, 0);

		if (a.level != want[i].level || a.why != want[i].why)
			fail_msg("%s: level %d why %d", want[i].path, (int)a.level, (int)a.why);
	}
}

/* ---- printing */

/* What fn prints on stdout, at most 64 KiB. */
static void printed(const struct config *c, const struct prove_cell *cells, size_t n, bool json, bool *ok, char out[65536])
{
	struct err e = {0};
	int saved = dup(STDOUT_FILENO);
	int fd = memfd_create("out", MFD_CLOEXEC);
	ssize_t got;

	(void)fflush(stdout);
	assert_true(saved >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
	assert_int_equal(matrix_print(c, cells, n, json, ok, &e), 0);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	got = pread(fd, out, 65535, 0);
	assert_true(got >= 0);
	out[got] = '\0';
	close(saved);
	close(fd);
}

static void load(struct config *c, const char *text)
{
	struct err e = {0};

	if (config_parse(c, "stint.yaml", text, strlen(text), &e) != 0)
		fail_msg("%s", e.msg);
}

static void test_table(void **state)
{
	static const char want[] =
		"          developer  tester  reviewer  runner  qa\n"
		"TASKS.md  r          none    none      none    rw\n"
		"a\\x0ab/   none       none    none      none    none\n"
		".git/     none       none    none      none    none\n"
		".stint/   none       none    none      none    none\n";
	static char out[65536];
	struct config c = {0};
	bool ok = false;

	(void)state;
	load(&c, "access: {TASKS.md: {developer: r, qa: rw}, a_b/: {developer: none}}\nroles: {qa: {}}\n");
	c.access[1].path[1] = '\n'; /* no file can say so, a later version might */
	printed(&c, NULL, 0, false, &ok, out);
	assert_true(ok);
	assert_string_equal(out, want);
	config_done(&c);
}

static void test_json_without_proof(void **state)
{
	static char out[65536];
	struct config c = {0};
	json_t *all;
	json_t *cell;
	size_t i;
	size_t allowed = 0;
	bool ok = false;

	(void)state;
	load(&c, "access: {src/: {developer: rw, reviewer: r}, F: {developer: rw}}\n");
	printed(&c, NULL, 0, true, &ok, out);
	all = json_loads(out, 0, NULL);
	assert_non_null(all);
	assert_true(json_is_null(json_object_get(all, "ok")));
	json_array_foreach(json_object_get(all, "cells"), i, cell) {
		assert_true(json_is_null(json_object_get(cell, "observed")));
		allowed += json_is_true(json_object_get(cell, "expected"));
	}
	/* 4 roles by 5 ops for src, .git and .stint, by 2 for F */
	assert_int_equal(i, 4 * (5 + 2 + 5 + 5));
	assert_int_equal(allowed, 5 + 2 + 2);
	json_decref(all);
	config_done(&c);
}

static void test_json_of_a_proof(void **state)
{
	static char out[65536];
	struct prove_cell cells[2] = {
		{.role = 0, .layers = LAYER_ALL, .op = OP_WRITE, .expected = 1, .observed = 1, .path = "src/"},
		{.role = 1, .layers = LAYER_ACL, .op = OP_READ, .expected = 0, .observed = 0, .path = "src/a\xff" "b"},
	};
	struct config c = {0};
	json_t *all;
	json_t *cell;
	bool ok = false;

	(void)state;
	load(&c, "");
	printed(&c, cells, 2, true, &ok, out);
	assert_true(ok);
	all = json_loads(out, 0, NULL);
	assert_non_null(all);
	assert_true(json_is_true(json_object_get(all, "ok")));
	cell = json_array_get(json_object_get(all, "cells"), 0);
	assert_string_equal(json_string_value(json_object_get(cell, "layer")), "all");
	assert_string_equal(json_string_value(json_object_get(cell, "level")), "rw");
	cell = json_array_get(json_object_get(all, "cells"), 1);
	assert_string_equal(json_string_value(json_object_get(cell, "layer")), "acl");
	assert_string_equal(json_string_value(json_object_get(cell, "level")), "none");
	assert_string_equal(json_string_value(json_object_get(cell, "path")), "src/a\\xffb");
	json_decref(all);

	cells[1].observed = 1;
	printed(&c, cells, 2, true, &ok, out);
	assert_false(ok);
	assert_non_null(strstr(out, "\"ok\":false"));
	printed(&c, cells, 2, false, &ok, out);
	assert_false(ok);
	assert_non_null(strstr(out, "DIFFERS  tester  src/a\\xffb  read: denied expected, allowed observed"));
	assert_non_null(strstr(out, "proved with all: 1 cells, 0 differ"));
	assert_non_null(strstr(out, "proved with acl: 1 cells, 1 differ"));
	printed(&c, cells, 0, false, &ok, out);
	assert_false(ok); /* a proof of nothing proves nothing */
	config_done(&c);
}

static void test_prompts(void **state)
{
	static const char *const roles[] = {"developer", "tester", "reviewer"};
	AUTO_FREE char *file = NULL;
	size_t file_len;
	size_t n = 0;
	char path[64];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const char *text = prompts_builtin(roles[i], &n);
		AUTO_FD fd = -1;

		assert_non_null(text);
		assert_true(n > 200 && memcmp(text, "# ", 2) == 0 && memchr(text, '\0', n) == NULL);
		(void)snprintf(path, sizeof(path), "roles/prompts/%s.md", roles[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue; /* not run from the source tree */
		assert_int_equal(fd_read_all(fd, 1u << 20, &file, &file_len), 0);
		assert_int_equal(file_len, n);
		assert_memory_equal(file, text, n);
		str_free(&file);
	}
	assert_null(prompts_builtin("runner", &n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builtin), cmocka_unit_test(test_reasons), cmocka_unit_test(test_table),
		cmocka_unit_test(test_json_without_proof), cmocka_unit_test(test_json_of_a_proof), cmocka_unit_test(test_prompts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
