/* stint-coordinator: everything that parses, as the project's owner. Reads what the warden handed over, then one
 * table from subcommand to function. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "orchestrator/cmd.h"

static const struct {
	const char *name;
	cmd_fn *run;
	const char *usage;
} table[] = {
	{"init", cmd_init, "stint init [DIR] [--template NAME]"},
	{"run", cmd_run, "sudo stint run [-C DIR] [--once] [--confirm] [--yes] [--dry-run]"},
	{"turn", cmd_turn, "sudo stint turn [-C DIR] [--layers L,…] ROLE [-- CMD…]"},
	{"matrix", cmd_matrix, "stint matrix [-C DIR] [--explain ROLE PATH] [--json]\n"
	                       "       sudo stint matrix --prove [-C DIR] [--layers L,…] [--json]"},
	{"tasks", cmd_tasks, "stint tasks [FILE] [--json]"},
	{"status", cmd_status, "stint status [-C DIR] [--json]"},
	{"log", cmd_log, "stint log [-C DIR] [--json]"},
	{"view", cmd_view, "stint view [-C DIR] [RUN] [--turn N] [--json]"},
	{"score", cmd_score, "stint score RUN [--scorer NAME] [--task ID]… [--out FILE] [--json]"},
	{"setup", cmd_setup, "sudo stint setup [--user NAME] [--remove]"},
	{"doctor", cmd_doctor, "stint doctor [-C DIR] [--json | --bundle FILE]"},
	{"profile", cmd_profile, "stint profile list [--sets | --calls] | show PROFILE [--json]\n"
	                         "       stint profile compile PROFILE [--arch x86-64|arm64] [--out FILE]\n"
	                         "       stint profile check PROFILE [--corpus DIR] [--json]"},
	{"guard", cmd_guard, "stint guard [options] -- CMD [ARG…]"},
	{"supervise", cmd_supervise, "stint guard --timeout D [options] -- CMD [ARG…]"},
	{"skill", cmd_skill, "stint skill run FILE [--yes] [--out FILE] [--unsafe-no-guard] [--from ID] [--var NAME=VALUE]…"},
	{"guard-policy", cmd_guard_policy, "stint guard --print-policy json [options] [-- CMD [ARG…]]"},
	{"restore", NULL, "sudo stint restore [-C DIR]"},
};

#define N_ROWS (sizeof(table) / sizeof(table[0]))

static int usage(size_t row, FILE *to, int status)
{
	(void)fprintf(to, "usage: %s\nThe manual is stint(1).\n", table[row].usage);
	return status;
}

static bool wants_help(char **argv)
{
	for (; *argv != NULL && !str_eq(*argv, "--"); argv++)
		if (str_eq(*argv, "--help"))
			return true;
	return false;
}

static int fd_arg(const char *word)
{
	char *end = NULL;
	long n = strtol(word, &end, 10);

	return end != word && *end == '\0' && n >= 0 && n <= INT_MAX ? (int)n : -1;
}

/* The warden's three leading options, all or none. Returns the number of words to skip. */
static int take_handover(struct cmd *c, int argc, char **argv)
{
	if (argc < 8 || !str_eq(argv[1], "--root-fd") || !str_eq(argv[3], "--warden-fd") || !str_eq(argv[5], "--root-path"))
		return 0;
	c->root_fd = fd_arg(argv[2]);
	c->warden_fd = fd_arg(argv[4]);
	c->root_path = argv[6];
	(void)fcntl(c->root_fd, F_SETFD, FD_CLOEXEC);
	(void)fcntl(c->warden_fd, F_SETFD, FD_CLOEXEC);
	return 6;
}

int main(int argc, char **argv)
{
	struct cmd c = {.root_fd = -1, .warden_fd = -1};
	int skip = take_handover(&c, argc, argv);

	(void)signal(SIGCHLD, SIG_DFL); /* ignored by the caller, the kernel would take exit statuses away from us */
	argc -= skip;
	argv += skip;
	for (size_t i = 0; argc >= 2 && i < N_ROWS; i++) {
		if (!str_eq(argv[1], table[i].name))
			continue;
		if (wants_help(argv + 2))
			return usage(i, stdout, STOP_DONE);
		if (table[i].run == NULL)
			return usage(i, stderr, STOP_USAGE);
		return table[i].run(&c, argc - 1, argv + 1);
	}
	log_note("stint-coordinator is started by `stint`: call that");
	return STOP_USAGE;
}
