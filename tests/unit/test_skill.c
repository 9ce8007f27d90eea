/* What a skill's ${NAME} becomes in a command, where it is refused, and that no shell ever reads a value; what is not shown as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "orchestrator/skill.h"

static enum skill_expand expand(const char *text, const char *value, char **ret)
{
	char name[] = "A";
	char *copy = strdup(value);
	struct skill_vars *vars = calloc(1, sizeof(*vars));
	enum skill_expand how;

	assert_non_null(vars);
	vars->v[0] = (struct skill_var){.name = name, .value = copy};
	vars->n = 1;
	how = skill_expand(vars, text, true, ret);
	free(copy);
	free(vars);
	return how;
}

static void test_words(void **state)
{
	static const char *const rows[][2] = {
		{"cp ${A} x", "cp 'v' x"},
		{"x${A}y${A}", "x'v'y'v'"},
		{"\\${A} '${B}' \"${HOME}/x\" ${A}", "\\${A} '${B}' \"${HOME}/x\" 'v'"},
		{"echo \"a b\" 'it' ${A}", "echo \"a b\" 'it' 'v'"},
		{"echo \"$(basename ${A})\"", "echo \"$(basename 'v')\""},
		{"echo \"$(date \"+%F\")\" ${A}", "echo \"$(date \"+%F\")\" 'v'"},
		{"echo `date` $((1 + (2 * $x))) ${A}", "echo `date` $((1 + (2 * $x))) 'v'"},
		{"(cd ${A}; ls) >${A} 2>&1", "(cd 'v'; ls) >'v' 2>&1"},
		{"case ${A} in x) echo \"x\" ;; *) ls ${A} ;; esac", "case 'v' in x) echo \"x\" ;; *) ls 'v' ;; esac"},
		{"# it's\nls ${A}", "# it's\nls 'v'"},
		{"ls a#b ${#} ${A}", "ls a#b ${#} 'v'"},
		{"rm log[0-9] ${A}", "rm log[0-9] 'v'"},
		{"[ ${A} = x ] || ls [ab] ${A}", "[ 'v' = x ] || ls [ab] 'v'"},
		{"echo $$ ${A}", "echo $$ 'v'"},
		{"echo a \\\n  ${A}", "echo a \\\n  'v'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = NULL;

		if (expand(rows[i][0], "v", &text) != SKILL_DONE)
			fail_msg("refused: %s", rows[i][0]);
		assert_string_equal(text, rows[i][1]);
		free(text);
	}
}

static void test_refused(void **state)
{
	static const char *const rows[] = {
		"echo \"${A}\"", "echo '${A}'", "echo `ls ${A}`", "true # ${A}", "cat <<E\n${A}\nE", "cat <<-E\n\tx\nE\nls ${A}",
		"echo $${A}", "echo $'\\' ${A} '", "true >#${A}",
		"echo \"$(basename \"${A}\")\"", "echo \"x $(echo \"y $(echo \"${A}\")\")\"",
		"echo $((${A} + 1))", "echo \"$((${A}))\"", "((x = ${A}))", "echo $((1 + $(echo \"1\") + ${A}))",
		"echo ${x:-${A}}", "echo \"${x:-${A}}\"", "echo \"${x:-\"${A}\"}\"", "echo \"${x#\"y\"}\" ${A}",
		"x[${A}]=1", "x[1 + ${A}]=1", "echo \"$(case x in x) echo \"${A}\";; esac)\"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = NULL;

		if (expand(rows[i], "v", &text) != SKILL_QUOTED)
			fail_msg("not refused: %s: %s", rows[i], text);
	}
}

static const char *const values[] = {
	"$(touch pwned)", "`touch pwned`", "';touch pwned;'", "\";touch pwned;\"", "\ntouch pwned\n", "};touch pwned;{", ");touch pwned;(",
	"x[$(touch pwned)]", "'\"\n)\ntouch pwned\n", "E\ntouch pwned\nE\n", "$(touch pwned)'\"`touch pwned`\n;}touch pwned\n",
};
/* Pieces of commands; most of what they make is no command at all, which a shell says. */
static const char *const pieces[] = {
	"${A}", "${A}", "${A}", " ", " ", "\"", "\"", "'", "`", "$(", "$((", "(", ")", "))", "${x:-", "${x#", "}", "#", "\\", "\n", "$", ";", "<", "<<E",
	"<<E\n", "\nE\n", ">", "|", "[", "]", "x[", "=", "echo ", ": ", "x", "1", "case x in x) ", " esac", "$'", "$\"", "{ ", "if :; then ", " fi",
};

static void run(const char *shell, const char *text)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)!freopen("/dev/null", "r", stdin);
		(void)!freopen("/dev/null", "w", stdout);
		(void)!freopen("/dev/null", "w", stderr);
		(void)execlp("timeout", "timeout", "5", shell, "-c", text, NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (access("pwned", F_OK) == 0)
		fail_msg("%s runs a value: %s", shell, text);
}

/* Commands at random, values that do what they should not, and the shells that are here. */
static void test_no_shell_reads_a_value(void **state)
{
	static const char *const shells[] = {"sh", "bash", "dash"};
	const char *asked = getenv("SKILL_SEED");
	unsigned long seed = asked != NULL ? strtoul(asked, NULL, 10) : 1;
	const char *tries = getenv("SKILL_TRIES");
	unsigned long n = tries != NULL ? strtoul(tries, NULL, 10) : 400;
	char folder[] = "/tmp/stint-skill.XXXXXX";
	char remove[64];
	unsigned long taken = 0;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	run("sh", "touch x");
	assert_int_equal(unlink("x"), 0);
	srandom((unsigned int)seed);
	while (taken < n) {
		AUTO_BUF struct buf b = {0};
		char *text = NULL;

		for (long k = 2 + random() % 12; k > 0; k--)
			assert_int_equal(buf_addf(&b, "%s", pieces[(size_t)random() % (sizeof(pieces) / sizeof(pieces[0]))]), 0);
		assert_non_null(buf_str(&b));
		if (strstr(b.data, "${A}") == NULL ||
		    expand(b.data, values[(size_t)random() % (sizeof(values) / sizeof(values[0]))], &text) != SKILL_DONE)
			continue;
		taken++;
		for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
			run(shells[i], text);
		free(text);
	}
	assert_int_equal(chdir("/"), 0);
	(void)snprintf(remove, sizeof(remove), "rm -rf '%s'", folder);
	assert_int_equal(system(remove), 0);
}

static void test_plain(void **state)
{
	static const char *const shown[] = {"", "echo a\n\tb", "gr\xc3\xbc\xc3\x9f", "\xe4\xb8\xad\xe6\x96\x87", "\xf0\x9f\x98\x80"};
	static const char *const hidden[] = {
		"\033[8m", "\r", "\x7f", "\x80", "\xc2\x85", "\xc2\xad", "a\xc2\xa0" "b", "\xcd\x8f", "\xe1\x85\xa0", "\xe2\x80\x83",
		"\xe2\x80\x8b", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\xa0\x80", "\xe3\x80\x80", "\xe3\x85\xa4", "\xef\xb8\x8f",
		"\xef\xbb\xbf", "\xef\xbe\xa0", "\xef\xbf\xbf", "\xf3\xa0\x81\x81", "\xed\xa0\x80", "\xc0\xaf",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (!skill_plain(shown[i]))
			fail_msg("row %zu of what is shown", i);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (skill_plain(hidden[i]))
			fail_msg("row %zu of what is hidden", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words), cmocka_unit_test(test_refused), cmocka_unit_test(test_no_shell_reads_a_value),
		cmocka_unit_test(test_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
