/* orchestrator/capture: head and tail stay, the middle is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "orchestrator/capture.h"

static void kept(uint64_t limit, size_t chunk, size_t total, char **ret, size_t *n)
{
	struct capture c;
	char *in = malloc(total);

	assert_non_null(in);
	for (size_t i = 0; i < total; i++)
		in[i] = (char)('a' + i % 26);
	capture_begin(&c, memfd_create("t", 0), limit);
	for (size_t i = 0; i < total; i += chunk)
		assert_int_equal(capture_add(&c, in + i, i + chunk > total ? total - i : chunk), 0);
	assert_int_equal(c.total, total);
	assert_int_equal(capture_end(&c), 0);
	assert_int_equal(capture_read(&c, ret, n), 0);
	assert_int_equal(capture_cut(&c), total > limit);
	if (total > limit) {
		size_t head = limit / 2;
		size_t tail = limit - head;
		char mark[64];

		snprintf(mark, sizeof(mark), "\n[... %zu bytes left out ...]\n", total - (size_t)limit);
		assert_int_equal(*n, limit + strlen(mark));
		assert_memory_equal(*ret, in, head);
		assert_memory_equal(*ret + head, mark, strlen(mark));
		assert_memory_equal(*ret + head + strlen(mark), in + total - tail, tail);
	} else {
		assert_int_equal(*n, total);
		assert_memory_equal(*ret, in, total);
	}
	free(in);
	capture_done(&c);
}

static void test_every_size(void **state)
{
	static const size_t totals[] = {1, 9, 10, 11, 15, 16, 20, 31, 100, 1000};

	(void)state;
	for (size_t t = 0; t < sizeof(totals) / sizeof(totals[0]); t++)
		for (size_t limit = 2; limit <= 32; limit += 5)
			for (size_t chunk = 1; chunk <= 40; chunk += 13) {
				char *out = NULL;
				size_t n = 0;

				kept(limit, chunk, totals[t], &out, &n);
				free(out);
			}
}

static void test_nothing(void **state)
{
	struct capture c;
	char *out = NULL;
	size_t n = 1;

	(void)state;
	capture_begin(&c, memfd_create("t", 0), 100);
	assert_int_equal(capture_end(&c), 0);
	assert_int_equal(capture_read(&c, &out, &n), 0);
	assert_int_equal(n, 0);
	free(out);
	capture_done(&c);
}

static void test_disk_full(void **state)
{
	struct capture c;
	int fd = memfd_create("t", MFD_ALLOW_SEALING);

	(void)state;
	capture_begin(&c, fd, 1000);
	assert_int_equal(capture_add(&c, "abc", 3), 0);
	close(fd);
	assert_int_not_equal(capture_add(&c, "abc", 3), 0);
}

static void test_denials(void **state)
{
	static const char text[] = "cat: src/x: Permission denied\nfine\n";
	struct capture c;

	(void)state;
	capture_begin(&c, memfd_create("t", 0), 1000);
	assert_int_equal(capture_add(&c, text, sizeof(text) - 1), 0);
	assert_int_equal(c.denials, 1);
	capture_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_size),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_denials),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
