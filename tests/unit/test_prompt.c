/* orchestrator/prompt: placeholders, and that values are not looked at again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "orchestrator/prompt.h"

static const char yaml[] =
	"agent_user: a\n"
	"roles:\n"
	"  developer: {command: [x], prompt: p.md}\n"
	"  tester: {command: [x]}\n"
	"  reviewer: {command: [x]}\n"
	"suite: {command: [x]}\n";

static char dir[32];

static int root_with(const char *template)
{
	int root;
	int fd;

	(void)strcpy(dir, "/tmp/stint-prompt.XXXXXX");
	assert_non_null(mkdtemp(dir));
	root = open(dir, O_RDONLY | O_DIRECTORY);
	fd = openat(root, "p.md", O_WRONLY | O_CREAT, 0600);
	assert_int_equal(fd_write_all(fd, template, strlen(template)), 0);
	close(fd);
	return root;
}

static int build(unsigned int role, const char *template, const struct prompt_facts *f, struct buf *out, struct err *e)
{
	struct config c = {0};
	int root = root_with(template);
	int rc;

	assert_int_equal(config_parse(&c, "stint.yaml", yaml, sizeof(yaml) - 1, e), 0);
	rc = prompt_build(&c, role, root, f, out, e);
	config_done(&c);
	(void)unlinkat(root, "p.md", 0);
	(void)rmdir(dir);
	close(root);
	return rc;
}

static void test_values(void **state)
{
	const struct prompt_facts f = {.task = "- [ ] do {{findings}}", .task_len = 21, .findings = "fix it", .iteration = 7};
	struct buf out = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(build(CONFIG_DEVELOPER, "T={{task}} F={{findings}} I={{iteration}} {", &f, &out, &e), 0);
	assert_string_equal(buf_str(&out), "T=- [ ] do {{findings}} F=fix it I=7 {");
	buf_done(&out);
}

static void test_long_findings(void **state)
{
	char *long_text = malloc(100001);
	struct prompt_facts f = {.task = "t", .task_len = 1, .findings = long_text};
	struct buf out = {0};
	struct err e = {0};

	(void)state;
	memset(long_text, 'x', 100000);
	long_text[100000] = '\0';
	assert_int_equal(build(CONFIG_DEVELOPER, "{{findings}}", &f, &out, &e), 0);
	assert_true(out.len < PROMPT_FINDINGS_MAX + 100);
	assert_non_null(strstr(buf_str(&out), "(67232 more bytes of findings are left out"));
	buf_done(&out);
	free(long_text);
}

static void test_unknown(void **state)
{
	const struct prompt_facts f = {.task = "t", .task_len = 1};
	struct buf out = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(build(CONFIG_DEVELOPER, "{{tsak}}", &f, &out, &e), -EINVAL);
	assert_int_equal(e.exit, STOP_USAGE);
	assert_non_null(strstr(e.msg, "{{tsak}}"));
	buf_done(&out);
}

static void test_builtin(void **state)
{
	const struct prompt_facts f = {.task = "build the thing", .task_len = 15, .iteration = 1};

	(void)state;
	for (unsigned int role = CONFIG_DEVELOPER; role <= CONFIG_REVIEWER; role++) {
		struct buf out = {0};
		struct err e = {0};

		assert_int_equal(build(role, "{{task}}", &f, &out, &e), 0);
		assert_non_null(strstr(buf_str(&out), "build the thing"));
		assert_null(strstr(buf_str(&out), "{{"));
		buf_done(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_long_findings),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_builtin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
