/* The confinement itself: no_new_privs, one Landlock ruleset, two seccomp programs. See guard.h. */
#include "sandbox/guard.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/seccomp.h"

/* Every row is optional: what a machine lacks it lacks. A symlink's rule lands on its target. */
const struct guard_system_row guard_system[] = {
	{"/usr", GRANT_READ, "programs and libraries"},
	{"/bin", GRANT_READ, "as above where /usr is not merged"},
	{"/sbin", GRANT_READ, "as above"},
	{"/lib", GRANT_READ, "as above"},
	{"/lib32", GRANT_READ, "as above"},
	{"/lib64", GRANT_READ, "the dynamic loader"},
	{"/libx32", GRANT_READ, "as above"},
	{"/etc", GRANT_READ, "configuration; secrets there are held by their modes"},
	{"/etc/resolv.conf", GRANT_READ, "often a link to somewhere below /run"},
	{"/opt", GRANT_READ, "vendors' toolchains"},
	{"/var/lib/ca-certificates", GRANT_READ, "what SUSE's /etc/ssl leads to"},
	{"/nix", GRANT_READ, "the store: programs and libraries of NixOS"},
	{"/proc", GRANT_READ, "whole, because children have other numbers; Landlock hides what belongs to outsiders"},
	{"/sys/devices/system/cpu", GRANT_READ, "how many processors: nproc, JVM, node"},
	{"/sys/fs/cgroup", GRANT_READ, "memory and processor limits: JVM, Go, node"},
	{"/dev/null", GRANT_DEVICE, "everything"},
	{"/dev/zero", GRANT_DEVICE, "dd, old allocators"},
	{"/dev/full", GRANT_DEVICE, "test suites"},
	{"/dev/random", GRANT_DEVICE, "keys"},
	{"/dev/urandom", GRANT_DEVICE, "keys"},
	{"/dev/shm", GRANT_SHARED, "POSIX semaphores and shared memory: multiprocessing, Chromium; no names of what others have there"},
	{"/dev/tty", GRANT_DEVICE, "the command's own terminal"},
	{"/dev/ptmx", GRANT_DEVICE, "tmux, script, test runners"},
	{"/dev/pts", GRANT_DEVICE, "the other end of these"},
	{NULL, GRANT_READ, NULL},
};

/* Rights that the ruleset handles: all that the kernel has, but for what the caller waived. */
static struct landlock_rights handled_rights(const struct guard_options *o, int abi)
{
	struct landlock_rights r = landlock_rights_for(abi);

	if (o->net_unrestricted)
		r.net = 0;
	if (o->no_scope)
		r.scoped = 0;
	return r;
}

static int add_system(const struct landlock *l, struct guard_state *s, struct err *e)
{
	for (const struct guard_system_row *row = guard_system; row->path != NULL; row++) {
		int rc = landlock_add_path(l, row->path, row->grant, true, e);

		if (rc < 0)
			return rc;
		if (rc == 1 && buf_addf(&s->absent, "%s%s", s->absent.len > 0 ? ", " : "", row->path) != 0)
			return err_errno(e, ENOMEM, "cannot note %s", row->path);
	}
	return 0;
}

/* The place that the words of a path name, without "." and doubled slashes; ".." stays and is then taken for a link. */
static void plain_path(const char *path, char *ret, size_t size)
{
	size_t n = 0;

	if (path[0] != '/' && getcwd(ret, size) != NULL)
		n = strlen(ret);
	while (*path != '\0') {
		size_t len = strcspn(path, "/");

		if (len > 0 && !(len == 1 && path[0] == '.') && n + len + 2 < size) {
			if (n == 0 || ret[n - 1] != '/')
				ret[n++] = '/';
			memcpy(ret + n, path, len);
			n += len;
		}
		path += len;
		path += *path == '/' ? 1 : 0;
	}
	if (n == 0)
		ret[n++] = '/';
	ret[n] = '\0';
}

char *guard_target(int fd, const char *path)
{
	char words[PATH_MAX * 2];
	char real[PATH_MAX];
	char self[64];
	ssize_t n;

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, real, sizeof(real) - 1);
	if (n <= 0)
		return NULL;
	real[n] = '\0';
	plain_path(path, words, sizeof(words));
	return str_eq(real, words) ? NULL : strdup(real);
}

static int add_paths(const struct landlock *l, struct guard_options *o, struct err *e)
{
	for (size_t i = 0; i < o->n_paths; i++) {
		struct guard_path *p = &o->paths[i];
		AUTO_FD fd = -1;
		int rc = landlock_open(p->path, p->optional, &fd, e);

		p->missing = rc == 1;
		if (rc == 0) {
			p->target = o->quiet ? NULL : guard_target(fd, p->path);
			rc = landlock_add_fd(l, fd, p->path, p->grant, e);
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Last of the grants, so that nothing is made when one of them cannot be had. */
static int add_tmp(const struct landlock *l, const struct guard_options *o, struct guard_state *s, struct err *e)
{
	if (!guard_wants_tmp(o))
		return 0;
	guard_tmp_make(&s->tmp);
	return s->tmp.fd < 0 ? 0 : landlock_add_fd(l, s->tmp.fd, s->tmp.path, guard_tmp_grant(o), e);
}

static int add_ports(const struct landlock *l, const struct guard_options *o, struct err *e)
{
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < o->connect.n; i++)
		rc = landlock_add_port(l, LL_NET_CONNECT_TCP, o->connect.port[i], e);
	for (unsigned int i = 0; rc == 0 && i < o->bind.n; i++)
		rc = landlock_add_port(l, LL_NET_BIND_TCP, o->bind.port[i], e);
	/* From ABI 10 UDP is held as well: a port is of no use to a command that cannot resolve names. Port 0 is the
	 * ephemeral port that the kernel binds at the first send. */
	if (rc == 0 && o->connect.n > 0)
		rc = landlock_add_port(l, LL_NET_CONNECT_SEND_UDP, GUARD_DNS_PORT, e);
	if (rc == 0 && o->connect.n > 0)
		rc = landlock_add_port(l, LL_NET_BIND_UDP, 0, e);
	return rc;
}

static const char *why_no_landlock(int code)
{
	if (code == EOPNOTSUPP)
		return "switched off: add landlock to lsm= on the kernel's command line";
	if (code == EPERM)
		return "refused by a seccomp filter, as in a container: let it pass landlock_create_ruleset, landlock_add_rule and "
		       "landlock_restrict_self";
	return "not in this kernel: Linux 5.13 or newer is needed";
}

static bool wants_unix(const struct guard_options *o)
{
	for (size_t i = 0; i < o->n_paths; i++)
		if (o->paths[i].grant == GRANT_UNIX)
			return true;
	return false;
}

/* A list of ports or sockets that nothing holds would be a promise broken in silence. */
static int check_held(const struct guard_options *o, int abi, bool sockets, struct err *e)
{
	if (o->best_effort)
		return 0;
	if (abi < 4 && sockets && !o->net_unrestricted)
		return err_set(e, ENOSYS, "this kernel cannot limit TCP ports (Landlock ABI %d, 4 is needed): %s, or say "
		               "--best-effort or --net-unrestricted", abi,
		               o->connect.n + o->bind.n > 0 ? "give no ports" : "keep the filter, which allows no such sockets");
	if (abi < 9 && wants_unix(o))
		return err_set(e, ENOSYS, "this kernel cannot limit UNIX sockets by path, all of them can be connected to (Landlock "
		               "ABI %d, 9 is needed): leave --allow-unix out, or say --best-effort", abi);
	return 0;
}

/* The ABI to confine with, or why that cannot be. */
static int usable_abi(const struct guard_options *o, bool sockets, struct err *e)
{
	int abi = landlock_abi();
	int rc;

	if (abi < 0)
		return err_set(e, -abi, "Landlock is %s", why_no_landlock(-abi));
	if (abi < o->min_abi)
		return err_set(e, ENOSYS, "this kernel enforces Landlock ABI %d, ABI %d was demanded: use a newer kernel or "
		               "lower --min-abi", abi, o->min_abi);
	rc = check_held(o, abi, sockets, e);
	return rc == 0 ? abi : rc;
}

static int confine_landlock(struct guard_options *o, struct guard_state *s, struct err *e)
{
	struct landlock l = {.fd = -1};
	int rc = landlock_begin(&l, s->abi, s->handled, e);

	if (rc == 0 && !o->no_system)
		rc = add_system(&l, s, e);
	if (rc == 0)
		rc = add_paths(&l, o, e);
	if (rc == 0 && !o->net_unrestricted)
		rc = add_ports(&l, o, e);
	l.log = o->supervise.report != NULL;
	if (rc == 0)
		rc = add_tmp(&l, o, s, e);
	if (rc == 0)
		rc = landlock_enforce(&l, e);
	landlock_done(&l);
	return rc;
}

/* The programs to load: none by request, those of a compiled profile, or a built-in's. */
static int find_filter(const struct guard_options *o, bool net, const struct filter **ret, const uint64_t **ret_key,
                       struct err *e)
{
	if (o->profile_fd >= 0)
		return filter_read(o->profile_fd, ret, ret_key, e);
	if (o->filter == NULL)
		return 0;
	*ret = filter_find(o->filter, net);
	return *ret != NULL ? 0 : err_set(e, EINVAL, "there is no profile %s", o->filter);
}

void guard_take_exec_away(struct guard_options *o)
{
	for (size_t i = 0; o->no_exec && i < o->n_paths; i++) {
		struct guard_path *p = &o->paths[i];

		if (p->keeps_exec)
			continue;
		if (p->grant == GRANT_READ)
			p->grant = GRANT_READ_DATA;
		else if (p->grant == GRANT_WRITE)
			p->grant = GRANT_WRITE_DATA;
	}
}

int guard_plan(const struct guard_options *o, struct guard_state *ret, struct err *e)
{
	bool net = o->net_unrestricted || o->connect.n > 0 || o->bind.n > 0;
	const struct filter *f = NULL;
	const uint64_t *key = NULL;
	int rc = find_filter(o, net, &f, &key, e);

	if (rc != 0)
		return rc;
	*ret = (struct guard_state){.sockets = f == NULL || f->net, .filter = f, .key = key, .tmp.fd = -1};
	rc = guard_checked(o, f, &ret->checked, e);
	if (rc != 0 || o->no_landlock)
		return rc;
	rc = usable_abi(o, ret->sockets, e);
	if (rc < 0)
		return rc;
	ret->abi = rc;
	ret->handled = handled_rights(o, rc);
	return 0;
}

int guard_confine(struct guard_options *o, struct guard_state *s, struct err *e)
{
	int rc = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return err_errno(e, errno, "cannot set no_new_privs");
	if (!o->no_landlock)
		rc = confine_landlock(o, s, e);
	if (rc == 0)
		rc = guard_environment(o, s, e);
	if (rc == 0 && s->filter != NULL)
		rc = s->key != NULL ? filter_install_listened(s->filter, s->key, o->supervisor_fd, s->tmp.path, e)
		                    : filter_install(s->filter, e);
	if (rc != 0)
		guard_tmp_undo(&s->tmp);
	return rc;
}

void guard_state_done(struct guard_state *s)
{
	buf_done(&s->absent);
	free(s->tmp.path);
	s->tmp.path = NULL;
	fd_close(&s->tmp.fd);
}
