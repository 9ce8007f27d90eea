/* Under the warden: see session.h. */
#include "orchestrator/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "orchestrator/setup_users.h"
#include "orchestrator/warden.h"

static int watch_signals(struct session *s, struct err *e)
{
	sigset_t set;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return err_errno(e, errno, "cannot block signals");
	s->interrupt_fd = signalfd(-1, &set, SFD_CLOEXEC);
	return s->interrupt_fd >= 0 ? 0 : err_errno(e, errno, "cannot watch for signals");
}

/* The warden refuses it too; here the line is known. A record that cannot be read is the warden's to tell of. */
static int check_agent(const struct config *c, struct err *e)
{
	AUTO_FD state = open(SETUP_STATE_DIR, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *names[SETUP_USERS_MAX + 1] = {0};
	struct setup_users users;
	const char *near;

	if (state < 0 || setup_users_read(state, &users, NULL) != 0 || setup_users_find(&users, c->agent_user) != NULL)
		return 0;
	for (size_t i = 0; i < users.n; i++)
		names[i] = users.v[i].name;
	near = str_nearest(c->agent_user, names);
	return config_fail(c, c->agent_line == 0 ? 1 : c->agent_line, c->agent_line == 0 ? 1 : c->agent_col, e,
	                   "agent_user: %s is not recorded%s%s%s: run sudo stint setup --user %s", c->agent_user,
	                   near != NULL ? ", did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "", c->agent_user);
}

int session_open(struct session *s, const struct cmd *c, const struct compile_options *o, struct err *e)
{
	int rc;

	*s = (struct session){.policy_fd = -1, .interrupt_fd = -1};
	if (c->warden_fd < 0)
		return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "this command runs under stint-warden: call it as `sudo stint …`"));
	rc = config_load(&s->config, c->root_fd, false, e);
	if (rc != 0)
		return rc;
	rc = check_agent(&s->config, e);
	if (rc != 0)
		return rc;
	s->policy_fd = policy_compile(&s->config, c->root_fd, o, &s->notes, e);
	if (s->policy_fd < 0)
		return s->policy_fd;
	return policy_map(s->policy_fd, &s->policy, e);
}

int session_start(struct session *s, const struct cmd *c, struct err *e)
{
	int rc = watch_signals(s, e);

	if (rc == 0)
		rc = warden_policy(c->warden_fd, s->policy_fd, e);
	if (rc == 0 && geteuid() == 0)
		log_warn("the project belongs to root: the coordinator runs as root too; agents are confined all the same");
	return rc;
}

void session_done(struct session *s)
{
	if (s->policy != NULL)
		policy_unmap(s->policy);
	fd_close(&s->policy_fd);
	fd_close(&s->interrupt_fd);
	buf_done(&s->notes);
	config_done(&s->config);
}

void session_warn_lines(const char *lines, size_t n)
{
	const char *end = lines == NULL ? NULL : lines + n;

	while (lines != NULL && lines < end) {
		const char *nl = memchr(lines, '\n', (size_t)(end - lines));
		size_t len = nl == NULL ? (size_t)(end - lines) : (size_t)(nl - lines);

		if (len > 0)
			log_warn("%.*s", (int)len, lines);
		lines += len + 1;
	}
}
