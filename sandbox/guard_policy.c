/* --print-policy: what was asked for, looked up on this machine, for programs. The guard finds it out, as it would for a command;
 * the coordinator, which has a JSON library, prints it. See guard.h and policy_words.h. */
#include "sandbox/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/policy_words.h"

/* The first failure sticks, so that only the end has to look. */
struct words {
	struct buf b;
	int rc;
};

static void text(struct words *w, const char *key, const char *value)
{
	if (w->rc == 0)
		w->rc = buf_add(&w->b, key, strlen(key) + 1);
	if (w->rc == 0)
		w->rc = buf_add(&w->b, value, strlen(value) + 1);
}

static void number(struct words *w, const char *key, uint64_t value)
{
	char digits[24];

	(void)snprintf(digits, sizeof(digits), "%" PRIu64, value);
	text(w, key, digits);
}

static void bits(struct words *w, const char *key, uint64_t set, const char *(*name)(unsigned int))
{
	for (unsigned int i = 0; i < 64; i++)
		if ((set & UINT64_C(1) << i) != 0 && name(i) != NULL)
			text(w, key, name(i));
}

static const char *type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR: return "folder";
	case S_IFREG: return "file";
	case S_IFCHR: return "character device";
	case S_IFBLK: return "block device";
	case S_IFIFO: return "fifo";
	case S_IFSOCK: return "socket";
	default: return "other";
	}
}

/* What is open as fd, and the rights that the rule gives it. */
static void found(struct words *w, const struct guard_state *s, int fd, const char *path, enum landlock_grant grant)
{
	char *target = guard_target(fd, path);
	struct stat st;

	text(w, target != NULL ? "starget" : "ztarget", target != NULL ? target : "");
	free(target);
	if (fstat(fd, &st) != 0)
		return;
	text(w, "stype", type_name(st.st_mode));
	bits(w, "+rights", landlock_access_for(grant, st.st_mode, s->abi) & s->handled.fs, landlock_fs_name);
}

static int one_path(struct words *w, const struct guard_state *s, const char *from, const char *path,
                    enum landlock_grant grant, bool optional, struct err *e)
{
	AUTO_FD fd = -1;
	int rc = landlock_open(path, optional, &fd, e);

	if (rc == 0)
		rc = landlock_check_fit(fd, path, grant, e);
	if (rc < 0)
		return rc;
	text(w, "{paths", "");
	text(w, "spath", path);
	text(w, "sfrom", from);
	text(w, "bpresent", rc == 0 ? "1" : "0");
	if (rc == 0)
		found(w, s, fd, path, grant);
	return 0;
}

static int all_paths(struct words *w, const struct guard_options *o, const struct guard_state *s, struct err *e)
{
	int rc = 0;

	for (const struct guard_system_row *row = guard_system; rc == 0 && !o->no_system && row->path != NULL; row++)
		rc = one_path(w, s, "system", row->path, row->grant, true, e);
	for (size_t i = 0; rc == 0 && i < o->n_paths; i++)
		rc = one_path(w, s, "option", o->paths[i].path, o->paths[i].grant, o->paths[i].optional, e);
	text(w, "}", "");
	return rc;
}

static void tmp(struct words *w, const struct guard_options *o)
{
	AUTO_BUF struct buf parent = {0};

	if (!guard_wants_tmp(o))
		text(w, "ztmpdir_below", "");
	else if (guard_tmp_parent(&parent) == 0)
		text(w, "stmpdir_below", parent.data);
}

/* Names only: values are often secrets. */
static void environment(struct words *w, const struct guard_state *s)
{
	for (char **v = s->env; *v != NULL; v++) {
		AUTO_FREE char *name = strndup(*v, strcspn(*v, "="));

		text(w, "+environment", name != NULL ? name : "");
	}
	number(w, "nenvironment_dropped", s->env_dropped);
}

static void network(struct words *w, const struct guard_options *o, const struct guard_state *s)
{
	text(w, "snetwork", o->net_unrestricted || (o->no_landlock && s->sockets) ? "unrestricted"
	                    : !s->sockets                                          ? "none"
	                    : s->abi < 4                                            ? "not enforced"
	                                                                            : "ports");
	for (unsigned int i = 0; i < o->connect.n; i++)
		number(w, "#connect", o->connect.port[i]);
	for (unsigned int i = 0; i < o->bind.n; i++)
		number(w, "#bind", o->bind.port[i]);
}

static void kernel(struct words *w, const struct guard_options *o, const struct guard_state *s)
{
	bool landlock = !o->no_landlock;

	text(w, "blandlock", landlock ? "1" : "0");
	number(w, "nabi_kernel", (uint64_t)s->abi);
	number(w, "nabi_enforced", (uint64_t)(s->abi < LANDLOCK_ABI_KNOWN ? s->abi : LANDLOCK_ABI_KNOWN));
	number(w, "nabi_requested", landlock ? LANDLOCK_ABI_KNOWN : 0);
	number(w, "nabi_minimum", (uint64_t)o->min_abi);
	text(w, "bbest_effort", o->best_effort ? "1" : "0");
	bits(w, "+handled", s->handled.fs, landlock_fs_name);
	bits(w, "+handled", s->handled.net, landlock_net_name);
	bits(w, "+handled", s->handled.scoped, landlock_scope_name);
	for (const struct landlock_feature *f = landlock_features; landlock && f->abi != 0; f++)
		if (f->abi > s->abi && !f->minor)
			text(w, "+not_enforced", f->lost);
	text(w, s->filter != NULL ? "sprofile" : "zprofile", s->filter != NULL ? s->filter->name : "");
	number(w, "ninstructions", s->filter != NULL ? s->filter->n : 0);
	text(w, "binet_sockets", s->sockets ? "1" : "0");
}

/* The coordinator in this program's place. */
static int hand_over(const struct words *w, struct err *e)
{
	char program[] = "stint-coordinator";
	char verb[] = "guard-policy";
	char path[PATH_MAX + 64];
	char digits[16];
	AUTO_FD fd = fd_sealed_memfd("policy", w->b.data, w->b.len);
	int rc = fd < 0 ? err_errno(e, -fd, "cannot hand the policy over") : fd_sibling_path(program, path, sizeof(path), e);

	if (rc != 0)
		return rc;
	if (fcntl(fd, F_SETFD, 0) != 0)
		return err_errno(e, errno, "cannot hand the policy over");
	(void)snprintf(digits, sizeof(digits), "%d", fd);
	(void)execv(path, (char *[]){program, verb, digits, NULL});
	return err_errno(e, errno, "cannot print the policy: it takes %s", path);
}

int guard_policy(const struct guard_options *o, struct guard_state *s, struct err *e)
{
	struct words w = {0};
	int rc = guard_environment(o, s, e);

	if (rc == 0)
		rc = all_paths(&w, o, s, e);
	if (rc == 0) {
		network(&w, o, s);
		kernel(&w, o, s);
		environment(&w, s);
		tmp(&w, o);
		for (char **v = o->command; *v != NULL; v++)
			text(&w, "+command", *v);
		rc = w.rc == 0 ? hand_over(&w, e) : err_errno(e, -w.rc, "cannot print the policy");
	}
	buf_done(&w.b);
	return rc;
}
