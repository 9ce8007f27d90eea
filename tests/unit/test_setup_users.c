/* The record of agent accounts: names, what is read back, what is refused. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "orchestrator/setup_users.h"

struct place {
	char path[64];
	int fd;
};

static int place_make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	strcpy(p->path, "/tmp/stint-users.XXXXXX");
	assert_non_null(mkdtemp(p->path));
	p->fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->fd >= 0);
	*state = p;
	return 0;
}

static int place_drop(void **state)
{
	struct place *p = *state;

	(void)unlinkat(p->fd, SETUP_USERS_FILE, 0);
	(void)close(p->fd);
	(void)rmdir(p->path);
	free(p);
	return 0;
}

/* Reading asks who could have written: only root's files are believed. */
static void need_root(void)
{
	if (geteuid() != 0)
		skip();
}

static void names(void **state)
{
	static const char *const good[] = {"a", "stint-agent", "a_1", "abcdefghijklmnopqrstuvwxyz01234"};
	static const char *const bad[] = {"", "A", "1a", "-a", "_a", "a b", "a\n", "a:b", "a/b", "..", "a.b", "\xc3\xa4",
	                                  "abcdefghijklmnopqrstuvwxyz012345"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(setup_name_ok(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(setup_name_ok(bad[i]));
}

static void missing_is_empty(void **state)
{
	struct place *p = *state;
	struct setup_users u = {.n = 7};

	assert_int_equal(setup_users_read(p->fd, &u, NULL), 0);
	assert_int_equal(u.n, 0);
}

static void what_is_written_is_read(void **state)
{
	struct place *p = *state;
	const struct setup_user a = {.name = "a", .uid = 900, .gid = 901};
	const struct setup_user b = {.name = "b", .uid = 902, .gid = 903, .writers = 904};
	const struct setup_user a_again = {.name = "a", .uid = 904, .gid = 905};
	struct setup_users u = {0};
	struct setup_users back = {0};

	need_root();
	assert_int_equal(setup_users_set(&u, &a, NULL), 0);
	assert_int_equal(setup_users_set(&u, &b, NULL), 0);
	assert_int_equal(setup_users_set(&u, &a_again, NULL), 0);
	assert_int_equal(setup_users_write(p->fd, &u, NULL), 0);
	assert_int_equal(setup_users_read(p->fd, &back, NULL), 0);
	assert_int_equal(back.n, 2);
	assert_int_equal(setup_users_find(&back, "a")->uid, 904);
	assert_int_equal(setup_users_find(&back, "b")->gid, 903);
	assert_int_equal(setup_users_find(&back, "b")->writers, 904);
	setup_users_drop(&back, "a");
	assert_null(setup_users_find(&back, "a"));
	assert_int_equal(setup_users_find(&back, "b")->uid, 902);
	setup_users_drop(&back, "a");
	assert_int_equal(back.n, 1);
}

static void full(void **state)
{
	struct setup_users u = {0};
	struct setup_user row = {.uid = 900, .gid = 900};

	(void)state;
	for (unsigned int i = 0; i < SETUP_USERS_MAX; i++) {
		(void)snprintf(row.name, sizeof(row.name), "u%u", i);
		assert_int_equal(setup_users_set(&u, &row, NULL), 0);
	}
	assert_int_equal(setup_users_set(&u, &row, NULL), 0);
	strcpy(row.name, "more");
	assert_int_equal(setup_users_set(&u, &row, NULL), -E2BIG);
}

static void put(const struct place *p, const char *text, mode_t mode)
{
	int fd = openat(p->fd, SETUP_USERS_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	(void)close(fd);
}

static void lines_that_do_not_read(void **state)
{
	static const char *const bad[] = {
		"a", "a 1", "a 1 ", "a 1 2 ", " a 1 2", "a  1 2", "a 01 2", "a +1 2", "a -1 2", "a 1 2 0", "a 1 2 03", "a 1 2 3 ", "a 1 2 3 4", "a 0 2", "a 2 0",
		"a 4294967295 2", "a 4294967296 2", "A 1 2", "a:b 1 2", "a\t1 2", "abcdefghijklmnopqrstuvwxyz012345 1 2",
	};
	struct place *p = *state;
	struct setup_users u = {.n = 7};
	struct err e = {0};

	need_root();
	put(p, "a 1 2\nb 3 4 5\n", 0644); /* the first as older versions wrote it */
	assert_int_equal(setup_users_read(p->fd, &u, NULL), 0);
	assert_int_equal(u.n, 2);
	assert_int_equal(u.v[0].writers, 0);
	assert_int_equal(u.v[1].writers, 5);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[256];

		(void)snprintf(text, sizeof(text), "ok 1 2\n%s\n", bad[i]);
		put(p, text, 0644);
		assert_int_equal(setup_users_read(p->fd, &u, &e), -EINVAL);
		assert_non_null(strstr(e.msg, "line 2"));
	}
	assert_int_equal(u.n, 2);
}

static void files_that_are_not_believed(void **state)
{
	struct place *p = *state;
	struct setup_users u;

	need_root();
	put(p, "a 1 2\n", 0664);
	assert_int_equal(setup_users_read(p->fd, &u, NULL), -EPERM);
	put(p, "a 1 2\n", 0646);
	assert_int_equal(setup_users_read(p->fd, &u, NULL), -EPERM);
	put(p, "a 1 2\n", 0644);
	assert_int_equal(setup_users_read(p->fd, &u, NULL), 0);
	assert_int_equal(fchownat(p->fd, SETUP_USERS_FILE, 65534, (gid_t)-1, 0), 0);
	assert_int_equal(setup_users_read(p->fd, &u, NULL), -EPERM);
	assert_int_equal(unlinkat(p->fd, SETUP_USERS_FILE, 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", p->fd, SETUP_USERS_FILE), 0);
	assert_int_equal(setup_users_read(p->fd, &u, NULL), -ELOOP);
	assert_int_equal(unlinkat(p->fd, SETUP_USERS_FILE, 0), 0);
	assert_int_equal(mkfifoat(p->fd, SETUP_USERS_FILE, 0600), 0);
	assert_int_equal(setup_users_read(p->fd, &u, NULL), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test_setup_teardown(missing_is_empty, place_make, place_drop),
		cmocka_unit_test_setup_teardown(what_is_written_is_read, place_make, place_drop),
		cmocka_unit_test(full),
		cmocka_unit_test_setup_teardown(lines_that_do_not_read, place_make, place_drop),
		cmocka_unit_test_setup_teardown(files_that_are_not_believed, place_make, place_drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
