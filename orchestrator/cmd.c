/* What every subcommand may need: the project's root. */
#include "orchestrator/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>

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
