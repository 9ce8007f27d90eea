/* stint.yaml: what is accepted, and for everything else one error with its place and the nearest word. */
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
#include "base/str.h"
#include "orchestrator/config.h"
#include "orchestrator/config_value.h"
#include "protocol/policy.h"

static int parse(struct config *c, const char *text, struct err *e)
{
	*e = (struct err){0};
	return config_parse(c, "stint.yaml", text, strlen(text), e);
}

/* text is refused at LINE:COL with a message that holds every part (up to a NULL). */
static void bad_n(const char *text, size_t n, const char *place, const char *const *parts)
{
	struct config c = {0};
	struct err e = {0};
	char prefix[64];

	(void)snprintf(prefix, sizeof(prefix), "stint.yaml:%s: ", place);
	if (config_parse(&c, "stint.yaml", text, n, &e) == 0)
		fail_msg("accepted: %s", text);
	assert_int_equal(e.exit, STOP_USAGE);
	assert_null(c.file);
	if (!str_starts(e.msg, prefix))
		fail_msg("not at %s: %s", place, e.msg);
	assert_int_equal(e.located, 1);
	for (; *parts != NULL; parts++)
		if (strstr(e.msg, *parts) == NULL)
			fail_msg("no \"%s\" in: %s", *parts, e.msg);
}

#define bad(text, place, ...) bad_n(text, strlen(text), place, (const char *const[]){__VA_ARGS__, NULL})

static void good(const char *text)
{
	struct config c = {0};
	struct err e;

	if (parse(&c, text, &e) != 0)
		fail_msg("refused: %s: %s", text, e.msg);
	config_done(&c);
}

static void test_defaults(void **state)
{
	struct config c = {0};
	struct err e;

	(void)state;
	assert_int_equal(parse(&c, "# nothing\n", &e), 0);
	assert_string_equal(c.agent_user, "stint-agent");
	assert_int_equal(c.n_roles, 4);
	assert_string_equal(c.role[CONFIG_RUNNER].name, "runner");
	assert_int_equal(c.role[CONFIG_DEVELOPER].deadline_ms, 30 * 60 * 1000);
	assert_int_equal(c.role[CONFIG_RUNNER].deadline_ms, 10 * 60 * 1000);
	assert_int_equal(c.role[CONFIG_DEVELOPER].command.n, 0);
	assert_int_equal(c.n_access, 5);
	assert_string_equal(c.access[4].path, "*");
	assert_int_equal(c.access[0].line, 0);
	assert_int_equal(c.limits.iterations, 5);
	assert_int_equal(c.limits.memory, 4ull << 30);
	assert_int_equal(c.suite_format, SUITE_TAP);
	assert_string_equal(c.commit_author, "stint <stint@localhost>");
	assert_null(c.commit_push);
	config_done(&c);
	good("");
	good("---\n");
	good("{}\n");
}

static const char full[] =
	"agent_user: stint-two\n"
	"access:\n"
	"  TASKS.md: {developer: r, auditor: r}\n"
	"  lib/core/src/: {developer: rw, runner: r}\n"
	"  'docs/a b.md': {reviewer: rw}\n"
	"  \"*\": {developer: r}\n"
	"scratch: [build/, web/cache]\n"
	"roles:\n"
	"  developer:\n"
	"    command: [claude, -p, \"{prompt}\", true, 1]\n"
	"    stdin: prompt\n"
	"    prompt: prompts/developer.md\n"
	"    env: [ANTHROPIC_API_KEY, CI=1, 'EMPTY=']\n"
	"    ports: [443, 8080]\n"
	"    read: [/opt/node]\n"
	"    deadline: 1h30m\n"
	"    idle: 5m\n"
	"  auditor: {command: [true], ports: none}\n"
	"suite: {command: [make, test], format: exit, deadline: 90s, must_match: '[1-9][0-9]* passed', env: [CI=1]}\n"
	"limits: {iterations: 7, output: 1MiB, processes: 100, memory: 2GiB, file: 4096, open_files: 256}\n"
	"commit: {author: \"A B <a@b>\", push: origin}\n";

static void test_full(void **state)
{
	struct config c = {0};
	struct err e;

	(void)state;
	if (parse(&c, full, &e) != 0)
		fail_msg("%s", e.msg);
	assert_string_equal(c.agent_user, "stint-two");
	assert_int_equal(c.n_roles, 5);
	assert_int_equal(config_role_find(&c, "auditor"), 4);
	assert_int_equal(config_role_find(&c, "nobody"), -1);
	assert_int_equal(c.n_access, 4);
	assert_string_equal(c.access[1].path, "lib/core/src");
	assert_true(c.access[1].is_dir);
	assert_false(c.access[0].is_dir);
	assert_int_equal(c.access[1].line, 4);
	assert_int_equal(c.access[0].level[4], LEVEL_R);
	assert_int_equal(c.access[1].level[CONFIG_DEVELOPER], LEVEL_RW);
	assert_int_equal(c.access[1].level[CONFIG_TESTER], LEVEL_NONE);
	assert_int_equal(c.scratch.n, 2);
	assert_string_equal(c.scratch.v[0], "build");
	assert_null(c.scratch.v[2]);
	assert_int_equal(c.role[0].command.n, 5);
	assert_string_equal(c.role[0].command.v[4], "1");
	assert_true(c.role[0].stdin_prompt);
	assert_string_equal(c.role[0].prompt, "prompts/developer.md");
	assert_string_equal(c.role[0].env.v[1], "CI=1");
	assert_int_equal(c.role[0].n_ports, 2);
	assert_int_equal(c.role[0].ports[1], 8080);
	assert_int_equal(c.role[0].deadline_ms, 5400000);
	assert_int_equal(c.role[0].idle_ms, 300000);
	assert_int_equal(c.role[1].idle_ms, 0);
	assert_int_equal(c.role[4].n_ports, 0);
	assert_int_equal(c.suite_format, SUITE_EXIT);
	assert_int_equal(c.role[CONFIG_RUNNER].deadline_ms, 90000);
	assert_int_equal(c.limits.output, 1 << 20);
	assert_int_equal(c.limits.file, 4096);
	assert_string_equal(c.commit_push, "origin");
	config_done(&c);
}

static void test_keys(void **state)
{
	(void)state;
	bad("acces: {}\n", "1:1", "acces", "did you mean access?");
	bad("roles:\n  developer:\n    comand: [x]\n", "3:5", "comand", "did you mean command?");
	bad("limits: {iteration: 1}\n", "1:10", "did you mean iterations?");
	bad("zzzzzz: 1\n", "1:1", "it is one of", "agent_user");
	bad("suite: {ports: [1]}\n", "1:9", "ports");
	bad("scratch: [a]\nscratch: [b]\n", "2:1", "twice", "line 1");
	bad("? [a]\n: 1\n", "1:3", "key");
	bad("roles: {developer: {stdin: prompt, stdin: none}}\n", "1:36", "twice");
	bad("\"a\\e[31m\": 1\n", "1:1", "\\x1b");
	bad("access: {\"\\x9b31m\": {developer: r}}\n", "1:10", "one line of text");
}

static void test_types(void **state)
{
	(void)state;
	bad("- a\n", "1:1", "map");
	bad("hello\n", "1:1", "map", "hello");
	bad("access: [a]\n", "1:9", "access must be a map", "a list");
	bad("access:\n", "1:8", "access must be a map", "empty");
	bad("access: {}\n", "1:9", "empty");
	bad("access: {src/: rw}\n", "1:16", "src/", "map");
	bad("suite: {command: make test}\n", "1:18", "command must be a list");
	bad("suite: {command: []}\n", "1:18", "no program");
	bad("suite: {command: ['', a]}\n", "1:18", "no program");
	bad("suite: {command: [make, [x]]}\n", "1:25", "a list");
	bad("suite: {command: [make, ~]}\n", "1:25", "empty");
	bad("limits: {iterations: many}\n", "1:22", "number", "many");
	bad("limits: {iterations: 0}\n", "1:22", "out of range");
	bad("limits: {iterations: 99999999999999999999999}\n", "1:22", "out of range");
	bad("limits: {iterations: -1}\n", "1:22", "number");
	bad("limits: {memory: 4GB}\n", "1:18", "4GB", "GiB");
	bad("limits: {memory: 1}\n", "1:18", "out of range");
	bad("limits: {memory: 99999999999TiB}\n", "1:18", "out of range");
	bad("agent_user: {a: b}\n", "1:13", "a map");
	bad("agent_user: root\n", "1:13", "root");
	bad("agent_user: ../x\n", "1:13", "stint setup");
	bad("suite: {deadline: 30}\n", "1:19", "30", "30m");
	bad("suite: {deadline: 30x}\n", "1:19", "30x");
	bad("suite: {deadline: 0s}\n", "1:19", "out of range");
	bad("suite: {format: tab}\n", "1:17", "did you mean tap?");
	bad("suite: {format: exit, must_match: '['}\n", "1:35", "regular expression");
	bad("suite: {format: exit, must_match: '(a{1,16}){1,17}'}\n", "1:35", "256 at most");
	bad("suite: {format: exit, must_match: 'a{99999999999999999999}'}\n", "1:35", "256 at most");
	bad("suite: {format: exit, must_match: 'a{,300}'}\n", "1:35", "256 at most");
	bad("suite: {format: exit, must_match: '(a)\\1'}\n", "1:35", "back reference");
	good("suite: {format: exit, must_match: '(a{1,16}){16}b{1}\\{257}[0-9]\\\\1'}\n");
	bad("suite: {must_match: x}\n", "1:8", "format: exit");
	bad("commit: {author: me}\n", "1:18", "Name <mail>");
	bad("commit: {push: 'https://x/y'}\n", "1:16", "remote");
	bad("commit: {push: --exec=x}\n", "1:16", "remote");
	good("commit: {push: null}\n");
	good("suite: {format: exit, must_match: null}\n");
}

static void test_access(void **state)
{
	(void)state;
	bad("access: {src/: {developer: rx}}\n", "1:28", "level", "did you mean r");
	bad("access: {src/: {developer: writable}}\n", "1:28", "none, r, rw");
	bad("access: {src/: {developr: rw}}\n", "1:17", "did you mean developer?");
	bad("access: {src/: {auditor: rw}}\n", "1:17", "role");
	bad("access: {/etc/: {developer: rw}}\n", "1:10", "absolute");
	bad("access: {../x: {developer: rw}}\n", "1:10", "..");
	bad("access: {a/../b: {developer: rw}}\n", "1:10", "..");
	bad("access: {./a: {developer: rw}}\n", "1:10", ".");
	bad("access: {.: {developer: rw}}\n", "1:10", "root");
	bad("access: {./: {developer: rw}}\n", "1:10", "root");
	bad("access: {a//: {developer: rw}}\n", "1:10", "a//");
	bad("access: {'': {developer: rw}}\n", "1:10", "access");
	bad("access: {\"a\\nb\": {developer: rw}}\n", "1:10", "one line");
	bad("access: {'src/*': {developer: rw}}\n", "1:10", "pattern");
	bad("access:\n  src: {developer: r}\n  src/: {developer: rw}\n", "3:3", "twice", "line 2");
	bad("access:\n  src/: {developer: r}\n  a: {developer: r}\n  src/x/: {tester: rw}\n", "4:3", "line 2", "overlap");
	bad("access:\n  src/x/: {developer: r}\n  src/: {tester: rw}\n", "3:3", "line 2", "overlap");
	bad("access:\n  build/: {developer: r}\nscratch: [build]\n", "2:3", "scratch", "overlap");
	bad("access:\n  build/x: {developer: r}\nscratch: [build]\n", "2:3", "scratch", "overlap");
	bad("scratch: [/tmp]\n", "1:11", "absolute");
	bad("scratch: [.git]\n", "1:11", ".git");
	bad("scratch: [a, a/b]\n", "1:14", "overlap");
	bad("scratch: [src/x]\n", "1:1", "built-in", "src/x", "overlap");
	good("access: {.git: {developer: rw}}\n");
	good("access: {src: {developer: r}, srcs/: {developer: rw}}\n");
}

static void test_roles(void **state)
{
	(void)state;
	bad("roles: {runner: {command: [x]}}\n", "1:9", "suite");
	bad("roles: {Bad: {command: [x]}}\n", "1:9", "Bad");
	bad("roles: {a: {}, b: {}, c: {}, d: {}, e: {}}\n", "1:37", "more than 8");
	bad("roles: {developer: {stdin: yes}}\n", "1:28", "none, prompt");
	bad("roles: {developer: {prompt: /etc/passwd}}\n", "1:29", "plain path");
	bad("roles: {developer: {prompt: ../x}}\n", "1:29", "plain path");
	bad("roles: {developer: {env: [1A]}}\n", "1:27", "1A");
	bad("roles: {developer: {env: [A, A=1]}}\n", "1:30", "twice");
	bad("roles: {developer: {env: [LD_PRELOAD=x]}}\n", "1:27", "loader");
	bad("roles: {developer: {env: [HOME=/root]}}\n", "1:27", "HOME");
	bad("roles: {developer: {env: [STINT_ROLE=x]}}\n", "1:27", "STINT_");
	bad("roles: {developer: {ports: [0]}}\n", "1:29", "out of range");
	bad("roles: {developer: {ports: [65536]}}\n", "1:29", "out of range");
	bad("roles: {developer: {ports: [1, 1]}}\n", "1:32", "twice");
	bad("roles: {developer: {ports: 443}}\n", "1:28", "list");
	bad("roles: {developer: {read: [opt]}}\n", "1:28", "absolute");
	bad("roles: {developer: {read: [/]}}\n", "1:28", "absolute");
	bad("roles: {developer: {read: [/opt/../etc]}}\n", "1:28", "plain");
	bad("roles: {developer: }\n", "1:20", "map");
	good("roles: {a: {}, b: {}, c: {}, d: {}}\naccess: {x: {a: r, b: r, c: r, d: r}}\n");
}

static void test_yaml(void **state)
{
	static const char bomb[] = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
	static const char nul[] = "agent_user: \"a\\0b\"\n";
	struct buf deep = {0};
	struct buf many = {0};

	(void)state;
	bad(bomb, "1:4", "anchors");
	bad("scratch: [*x]\n", "1:11", "aliases");
	bad("scratch: !!str x\n", "1:10", "tags");
	bad("scratch: []\n---\nscratch: []\n", "2:1", "second document");
	bad("roles:\n\tdeveloper: {}\n", "2:1", "tab", "spaces");
	bad("roles: {\n", "2:1", "no YAML");
	bad("a: b: c\n", "1:5", "no YAML");
	bad("agent_user: \"\xff\"\n", "1:14", "UTF-8");
	bad("# \x1b[2J\n", "1:3", "control character 0x1b");
	bad_n("a\0b", 3, "1:2", (const char *const[]){"control", NULL});
	bad(nul, "1:13", "NUL");
	for (int i = 0; i < 5000; i++)
		assert_int_equal(buf_add(&deep, "[", 1), 0);
	bad_n(deep.data, deep.len, "1:9", (const char *const[]){"levels deep", NULL});
	assert_int_equal(buf_addf(&many, "scratch: ["), 0);
	for (unsigned int i = 0; i < YAML_MAX_NODES; i++)
		assert_int_equal(buf_addf(&many, "a,"), 0);
	bad_n(many.data, many.len, "1:40005", (const char *const[]){"values", NULL});
	buf_done(&deep);
	buf_done(&many);
	good("\xef\xbb\xbf" "agent_user: a\r\nscratch: [x]\r\n");
}

static void test_size_of_file(void **state)
{
	struct config c = {0};
	struct err e = {0};
	size_t n = CONFIG_MAX_BYTES + 1;
	char *text = malloc(n);

	(void)state;
	assert_non_null(text);
	memset(text, '#', n);
	assert_int_equal(config_parse(&c, "stint.yaml", text, n - 1, &e), 0);
	config_done(&c);
	assert_int_equal(config_parse(&c, "stint.yaml", text, n, &e), -EFBIG);
	assert_int_equal(e.exit, STOP_USAGE);
	free(text);
}

/* What took libc seconds, gigabytes or the stack. */
static void test_must_match_is_bounded(void **state)
{
	char text[2048];
	char deep[514] = "";

	(void)state;
	memset(deep, '(', 512);
	(void)snprintf(text, sizeof(text), "suite: {format: exit, must_match: '%s)'}\n", deep);
	bad(text, "1:35", "512 bytes");
	memset(deep + 256, ')', 256);
	(void)snprintf(text, sizeof(text), "suite: {format: exit, must_match: '%s'}\n", deep);
	good(text);
	bad("suite: {format: exit, must_match: 'a++++++++++++++++++++++++++++++++++++++++'}\n", "1:35", "too long");
	bad("suite: {format: exit, must_match: '(((\\b\\b\\b\\b\\b\\b\\b\\b)?){0,3})+'}\n", "1:35", "too long");
	good("suite: {format: exit, must_match: '^(Tests run: [0-9]+, )?[1-9][0-9]* passed(, [0-9]+ skipped)*$'}\n");
}

static void test_numbers(void **state)
{
	uint64_t n = 0;

	(void)state;
	assert_int_equal(parse_duration("10s", &n), 0);
	assert_int_equal(n, 10000);
	assert_int_equal(parse_duration("1d2h3m4s5ms", &n), 0);
	assert_int_equal(n, 93784005);
	assert_int_equal(parse_duration("1s1m", &n), -EINVAL);
	assert_int_equal(parse_duration("1m1m", &n), -EINVAL);
	assert_int_equal(parse_duration("", &n), -EINVAL);
	assert_int_equal(parse_duration("m", &n), -EINVAL);
	assert_int_equal(parse_duration("1.5h", &n), -EINVAL);
	assert_int_equal(parse_duration("31d", &n), -ERANGE);
	assert_int_equal(parse_duration("18446744073709551615h", &n), -ERANGE);
	assert_int_equal(parse_size("4096", &n), 0);
	assert_int_equal(n, 4096);
	assert_int_equal(parse_size("1TiB", &n), 0);
	assert_int_equal(n, 1ull << 40);
	assert_int_equal(parse_size("1 GiB", &n), -EINVAL);
	assert_int_equal(parse_size("0x10", &n), -EINVAL);
	assert_int_equal(parse_size("8388608TiB", &n), -ERANGE);
}

/* A folder of its own with a file in it; returns the folder's descriptor. */
static int folder(char path[64])
{
	strcpy(path, "/tmp/stint-config.XXXXXX");
	assert_non_null(mkdtemp(path));
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void test_load(void **state)
{
	char path[64];
	int dir = folder(path);
	struct config c = {0};
	struct err e = {0};
	int fd;

	(void)state;
	assert_int_equal(config_load(&c, dir, false, &e), -ENOENT);
	assert_int_equal(e.exit, STOP_USAGE);
	assert_non_null(strstr(e.msg, "stint init"));
	assert_int_equal(config_load(&c, dir, true, &e), 0);
	assert_string_equal(c.agent_user, "stint-agent");
	config_done(&c);
	fd = openat(dir, "stint.yaml", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "agent_user: me\n", 15), 15);
	close(fd);
	assert_int_equal(config_load(&c, dir, false, &e), 0);
	assert_string_equal(c.agent_user, "me");
	config_done(&c);
	assert_int_equal(renameat(dir, "stint.yaml", dir, "other"), 0);
	assert_int_equal(symlinkat("other", dir, "stint.yaml"), 0);
	assert_int_equal(config_load(&c, dir, true, &e), -ELOOP);
	assert_int_equal(unlinkat(dir, "stint.yaml", 0), 0);
	assert_int_equal(mkfifoat(dir, "stint.yaml", 0600), 0);
	assert_int_equal(config_load(&c, dir, true, &e), -EINVAL);
	assert_int_equal(unlinkat(dir, "stint.yaml", 0), 0);
	assert_int_equal(unlinkat(dir, "other", 0), 0);
	close(dir);
	assert_int_equal(rmdir(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_full), cmocka_unit_test(test_keys),
		cmocka_unit_test(test_types), cmocka_unit_test(test_access), cmocka_unit_test(test_roles),
		cmocka_unit_test(test_yaml), cmocka_unit_test(test_size_of_file),
		cmocka_unit_test(test_must_match_is_bounded), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
