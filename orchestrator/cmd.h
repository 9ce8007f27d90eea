/* Subcommands of the coordinator: one file each, one row each in main.c's table. */
#ifndef STINT_ORCHESTRATOR_CMD_H
#define STINT_ORCHESTRATOR_CMD_H

#include "base/err.h"

/* Where a command runs. Under the warden both descriptors are set and -C has been dealt with;
 * otherwise they are -1 and cmd_root() opens the project. */
struct cmd {
	int root_fd;       /* the project root, O_RDONLY|O_DIRECTORY, or -1 */
	int warden_fd;     /* socket to the warden, or -1 */
	const char *root_path; /* absolute path of the root for messages, or NULL */
};

/* Opens dir (NULL: the current folder) as the project root unless c has one already. */
int cmd_root(struct cmd *c, const char *dir, struct err *e) MUST_CHECK;

/* A signalfd of what ends a program (TERM, INT, HUP, QUIT), which are blocked from here on; SIGPIPE is ignored. */
int cmd_watch_ends(int *ret_fd, struct err *e) MUST_CHECK;

/* argv[0] is the command's name; getopt_long from there. Each returns the exit status and has printed its error. */
typedef int cmd_fn(struct cmd *c, int argc, char **argv);

cmd_fn cmd_init, cmd_run, cmd_turn, cmd_matrix, cmd_tasks, cmd_setup, cmd_doctor, cmd_status, cmd_log, cmd_view,
	cmd_profile, cmd_profile_check, cmd_guard, cmd_guard_policy, cmd_supervise, cmd_skill, cmd_score;

#endif
