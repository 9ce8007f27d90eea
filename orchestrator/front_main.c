/* The front door: one table from subcommand to program, then execve. Runs as the caller, opens nothing else. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"

enum program { COORDINATOR, WARDEN, GUARD };

/* with: goes to `program` only when this option is given, to the coordinator otherwise.
 * without: the other way round. Both keep commands that need no root free of it. */
static const struct row {
	const char *name;
	enum program program;
	const char *with;
	const char *without;
	const char *says;
} table[] = {
	{"init", COORDINATOR, NULL, NULL, "start a project: stint.yaml, TASKS.md, src/, tests/, a first commit"},
	{"run", WARDEN, NULL, "--dry-run", "run the loop: developer, tester, suite, reviewer, commit"},
	{"turn", WARDEN, NULL, NULL, "one turn of one role by hand"},
	{"matrix", WARDEN, "--prove", NULL, "who may touch what; --prove asks the kernel"},
	{"tasks", COORDINATOR, NULL, NULL, "list the tasks of a Markdown file"},
	{"status", COORDINATOR, NULL, NULL, "where the loop is"},
	{"log", COORDINATOR, NULL, NULL, "past runs"},
	{"view", COORDINATOR, NULL, NULL, "one run, readable"},
	{"score", COORDINATOR, NULL, NULL, "score a record's outputs again; nothing runs"},
	{"restore", WARDEN, NULL, NULL, "ownership and ACLs as before the first flip"},
	{"setup", COORDINATOR, NULL, NULL, "make the agent user (once a machine)"},
	{"doctor", COORDINATOR, NULL, NULL, "what this machine can enforce, and what to do"},
	{"profile", COORDINATOR, NULL, NULL, "syscall profiles for the sandbox: list, show, compile, check"},
	{"skill", COORDINATOR, NULL, NULL, "run a list of commands, each confirmed and confined"},
	{"guard", GUARD, NULL, NULL, "the sandbox alone: run one command confined, no root"},
};

#define N_ROWS (sizeof(table) / sizeof(table[0]))

static int usage(FILE *to, int status)
{
	(void)fprintf(to, "usage: stint COMMAND [OPTION…]\n\n");
	for (size_t i = 0; i < N_ROWS; i++)
		(void)fprintf(to, "  %-8s %s\n", table[i].name, table[i].says);
	(void)fprintf(to, "\n`stint COMMAND --help` says more; the manual is stint(1).\n");
	return status;
}

static int unknown(const char *name)
{
	const char *names[N_ROWS + 1];
	const char *near;

	for (size_t i = 0; i < N_ROWS; i++)
		names[i] = table[i].name;
	names[N_ROWS] = NULL;
	near = str_nearest(name, names);
	if (near != NULL)
		log_note("%s: no such command: did you mean `stint %s`?", name, near);
	else
		log_note("%s: no such command: `stint help` lists them", name);
	return STOP_USAGE;
}

/* Options after `--` belong to somebody else's command. */
static int has_option(char **argv, const char *option)
{
	for (; *argv != NULL && strcmp(*argv, "--") != 0; argv++)
		if (strcmp(*argv, option) == 0)
			return 1;
	return 0;
}

static enum program choose(const struct row *row, char **argv)
{
	if (has_option(argv, "--help"))
		return row->program == GUARD ? GUARD : COORDINATOR;
	if (row->with != NULL && !has_option(argv, row->with))
		return COORDINATOR;
	if (row->without != NULL && has_option(argv, row->without))
		return COORDINATOR;
	return row->program;
}

/* The guard is the command itself; the others get the subcommand as their first word. */
static int start(enum program program, char **argv)
{
	char names[][24] = {[COORDINATOR] = "stint-coordinator", [WARDEN] = "stint-warden", [GUARD] = "stint-guard"};
	char path[PATH_MAX + 64];
	struct err e = {0};

	if (fd_sibling_path(names[program], path, sizeof(path), &e) != 0)
		return log_err(&e, STOP_CONFINE);
	if (program == GUARD)
		argv++;
	argv[0] = names[program];
	(void)execve(path, argv, environ);
	log_note("cannot start %s: %s", path, strerror(errno));
	return STOP_CONFINE;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage(stderr, STOP_USAGE);
	if (str_eq(argv[1], "help") || str_eq(argv[1], "--help") || str_eq(argv[1], "-h"))
		return usage(stdout, STOP_DONE);
	if (str_eq(argv[1], "--version")) {
		(void)printf("stint %s\n", STINT_VERSION);
		return STOP_DONE;
	}
	for (size_t i = 0; i < N_ROWS; i++)
		if (str_eq(argv[1], table[i].name))
			return start(choose(&table[i], argv + 2), argv);
	return unknown(argv[1]);
}
