/* What several subcommands need: the project's root; the signals that end a program. */
#include "orchestrator/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

#include "base/exit.h"

int cmd_root(struct cmd *c, const char *dir, struct err *e)
{
	int fd;

	if (c->root_fd >= 0)
		return 0;
	fd = open(dir != NULL ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_stop(e, STOP_USAGE, err_errno(e, errno, "cannot open the project %s", dir != NULL ? dir : "."));
	c->root_fd = fd;
	return 0;
}

int cmd_watch_ends(int *ret_fd, struct err *e)
{
	static const int ends[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		(void)sigaddset(&set, ends[i]);
	(void)signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return err_errno(e, errno, "cannot block signals");
	*ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *ret_fd >= 0 ? 0 : err_errno(e, errno, "cannot watch signals");
}
