/* REVIEW.md: what is an open finding, whose it is, and that nothing unreadable is a pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "protocol/review.h"

static void parse_n(struct review *r, const char *text, size_t n)
{
	struct err e = {0};

	if (review_parse(r, text, n, &e) != 0)
		fail_msg("%s", e.msg);
}

/* The counts of a review: both 0 is a pass. */
static void counts(const char *text, size_t developer, size_t tester)
{
	struct review r;

	parse_n(&r, text, strlen(text));
	if (r.n_developer != developer || r.n_tester != tester)
		fail_msg("%s\ngot %zu and %zu, want %zu and %zu", text, r.n_developer, r.n_tester, developer, tester);
	assert_int_equal(r.open, developer + tester > 0);
	assert_int_equal(r.n_open, developer + tester);
	review_done(&r);
}

static void test_pass(void **state)
{
	(void)state;
	counts("", 0, 0);
	counts(" \n\t\r\n", 0, 0);
	counts("\xef\xbb\xbf\n", 0, 0);
	counts("- [x] fixed\n", 0, 0);
	counts("# Review\n\nGood.\n\n- [x] fixed\n  1. [X] this too\n", 0, 0);
	counts("- [x] a\n\n## Tester\n\n- [x] b\n", 0, 0);
}

static void test_open(void **state)
{
	(void)state;
	counts("- [ ] leak in a.c\n", 1, 0);
	counts("- [x] fixed\n- [ ] open\n- [ ] open\n", 2, 0);
	counts("- [x] fixed\n  - [ ] nested\n", 1, 0);
	counts("- plain\n  - [ ] nested\n", 1, 0);
	counts("1) [ ] numbered\r\n", 1, 0);
	counts("All tests pass.\n", 1, 0);
	counts("# Review\n", 1, 0);
	counts("<!-- nothing -->\n", 1, 0);
	counts("> - [x] quoted\n", 1, 0);
	counts("```\n- [x] code\n```\n", 1, 0);
}

/* What Markdown swallows or does not see as a box must not turn into a pass. */
static void test_lost_boxes_are_open(void **state)
{
	(void)state;
	counts("- [x] fixed\n\n```\n- [ ] swallowed\n", 1, 0);
	counts("- [x] fixed\n\n<!--\n- [ ] swallowed\n", 1, 0);
	counts("- [x] fixed\n- [ ]no space\n", 1, 0);
	counts("- [x] fixed\n\ntext\n2. [ ] continues the text\n", 1, 0);
	/* a closed fence is an example, and stays one */
	counts("- [x] fixed\n\n```\n- [ ] example\n```\n", 0, 0);
}

static void test_tester_sections(void **state)
{
	(void)state;
	counts("- [ ] a\n\n## Tester\n\n- [ ] b\n- [ ] c\n", 1, 2);
	counts("# TESTER\n- [ ] b\n", 0, 1);
	counts("Tester\n======\n- [ ] b\n", 0, 1);
	counts("### **tester**:\n- [ ] b\n", 0, 1);
	counts("## Tester\n- [ ] t\n### Detail\n- [ ] t\n## Developer\n- [ ] d\n", 1, 2);
	counts("## Tester\n- [ ] t\n# Other\n- [ ] d\n", 1, 1);
	counts("# Tester\n- [ ] t\n## Developer\n- [ ] t\n", 0, 2);
	counts("## Testers\n- [ ] d\n", 1, 0);
	counts("> ## Tester\n\n- [ ] d\n", 1, 0);
	counts("```\n## Tester\n```\n- [ ] d\n", 1, 0);
	counts("## Tester\n\nThe test of empty input is wrong.\n", 0, 1);
	counts("Leak in a.c.\n\n## Tester\n\nThe test is wrong.\n", 1, 1);
}

static void test_texts_are_separate(void **state)
{
	static const char text[] = "# R\n- [ ] dev\n\n## Tester\n- [ ] test\n\n## More\n- [ ] dev 2\n";
	struct review r;

	(void)state;
	parse_n(&r, text, strlen(text));
	assert_string_equal(r.developer_text, "# R\n- [ ] dev\n\n## More\n- [ ] dev 2\n");
	assert_string_equal(r.tester_text, "## Tester\n- [ ] test\n\n");
	assert_string_equal(r.bytes, text);
	review_done(&r);
	parse_n(&r, "\xef\xbb\xbf## Tester\n- [ ] x\n", 21);
	assert_string_equal(r.developer_text, "");
	assert_string_equal(r.tester_text, "## Tester\n- [ ] x\n");
	review_done(&r);
}

static void test_unreadable_is_open_and_safe(void **state)
{
	static const char latin1[] = "- [x] caf\xe9 \x1b[2J\n";
	struct review r;
	char *big = malloc(REVIEW_MAX_BYTES + 1);

	(void)state;
	parse_n(&r, latin1, strlen(latin1));
	assert_true(r.open);
	assert_int_equal(r.n_developer, 1);
	assert_non_null(strstr(r.developer_text, "not UTF-8"));
	assert_non_null(strstr(r.developer_text, "\\xe9"));
	assert_null(strchr(r.developer_text, '\x1b'));
	review_done(&r);
	for (size_t i = 0; i < REVIEW_MAX_BYTES; i += 8)
		memcpy(big + i, "- [x] a\n", 8);
	big[REVIEW_MAX_BYTES] = '\n';
	/* the control for the size: one box fewer than the parser's own maximum is fine */
	parse_n(&r, big, 8u * 19999);
	assert_false(r.open);
	review_done(&r);
	parse_n(&r, big, REVIEW_MAX_BYTES + 1);
	assert_true(r.open);
	assert_non_null(strstr(r.developer_text, "larger than"));
	review_done(&r);
	parse_n(&r, "- [x] a\n\0", 9);
	assert_true(r.open);
	review_done(&r);
	free(big);
}

static void test_many_headings_are_linear(void **state)
{
	struct review r;
	char *text = malloc(REVIEW_MAX_BYTES);

	(void)state;
	for (size_t i = 0; i + 4 <= REVIEW_MAX_BYTES; i += 4)
		memcpy(text + i, "# a\n", 4);
	parse_n(&r, text, REVIEW_MAX_BYTES);
	assert_int_equal(r.n_developer, 1);
	review_done(&r);
	free(text);
}

/* ---- the file */

static int root = -1;
static char path[] = "/tmp/stint-review.XXXXXX";

static int setup(void **state)
{
	(void)state;
	(void)strcpy(path, "/tmp/stint-review.XXXXXX"); /* same length: mkdtemp left it changed */
	if (mkdtemp(path) == NULL)
		return -1;
	root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlinkat(root, "REVIEW.md", 0);
	fd_close(&root);
	return rmdir(path);
}

static void put(const char *text)
{
	int fd = openat(root, "REVIEW.md", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	fd_close(&fd);
}

static void test_file(void **state)
{
	struct stat st, again;
	struct review r;
	struct err e = {0};

	(void)state;
	assert_int_equal(review_load(&r, root, &e), 0);
	assert_false(r.open);
	assert_int_equal(review_remove(root, &r, &e), 0);
	review_done(&r);
	assert_int_equal(review_write(root, "- [ ] a long finding\n", 21, &e), 0);
	assert_int_equal(fstatat(root, "REVIEW.md", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(review_write(root, "- [ ] short\n", 12, &e), 0);
	assert_int_equal(fstatat(root, "REVIEW.md", &again, 0), 0);
	assert_int_equal(again.st_ino, st.st_ino);
	assert_int_equal(review_load(&r, root, &e), 0);
	assert_string_equal(r.bytes, "- [ ] short\n");
	assert_true(r.open);
	put("- [ ] edited meanwhile\n");
	assert_int_equal(review_remove(root, &r, &e), -ESTALE);
	assert_int_equal(e.exit, STOP_RECORD);
	put("- [ ] short\n");
	assert_int_equal(review_remove(root, &r, &e), 0);
	assert_int_equal(fstatat(root, "REVIEW.md", &st, 0), -1);
	review_done(&r);
}

static void test_file_is_regular(void **state)
{
	struct review r;
	struct err e = {0};

	(void)state;
	assert_int_equal(symlinkat("/etc/passwd", root, "REVIEW.md"), 0);
	assert_int_equal(review_load(&r, root, &e), -ELOOP);
	assert_int_equal(e.exit, STOP_USAGE);
	assert_int_equal(review_write(root, "x", 1, &e), -ELOOP);
	assert_int_equal(unlinkat(root, "REVIEW.md", 0), 0);
	assert_int_equal(mkfifoat(root, "REVIEW.md", 0600), 0);
	assert_int_equal(review_load(&r, root, &e), -EINVAL);
	assert_int_equal(review_write(root, "x", 1, &e), -EINVAL);
	assert_int_equal(unlinkat(root, "REVIEW.md", 0), 0);
	assert_int_equal(review_write(root, "x", 1, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pass),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_lost_boxes_are_open),
		cmocka_unit_test(test_tester_sections),
		cmocka_unit_test(test_texts_are_separate),
		cmocka_unit_test(test_unreadable_is_open_and_safe),
		cmocka_unit_test(test_many_headings_are_linear),
		cmocka_unit_test_setup_teardown(test_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_is_regular, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
