/* What a person is told before a standalone command starts: see guard.h. */
#include "sandbox/guard.h"

#include <errno.h>
#include <string.h>

#define NAMES_SHOWN 6

static int add_name(struct buf *b, const char *name, size_t i)
{
	int rc = buf_add(b, ", ", i > 0 ? 2 : 0);

	return rc != 0 ? rc : buf_add_escaped(b, name, strlen(name), false);
}

/* A path's words, and where links on its way led. */
static int add_path(struct buf *b, const struct guard_path *p, size_t i)
{
	int rc = add_name(b, p->path, i);

	if (rc == 0 && p->target != NULL)
		rc = buf_addf(b, " -> ");
	return rc == 0 && p->target != NULL ? buf_add_escaped(b, p->target, strlen(p->target), false) : rc;
}

static bool shown(const struct guard_path *p, enum landlock_grant grant, bool missing)
{
	return p->missing == missing && (missing || p->grant == grant);
}

/* "LABEL: first, second, … and 12 more" of the paths that were granted so (or are missing); no line when none. */
static int add_paths(struct buf *b, const struct guard_options *o, const char *label, enum landlock_grant grant,
                     bool missing)
{
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < o->n_paths; i++) {
		if (!shown(&o->paths[i], grant, missing))
			continue;
		if (n == 0)
			rc = buf_addf(b, "%s: ", label);
		if (rc == 0 && n < NAMES_SHOWN)
			rc = add_path(b, &o->paths[i], n);
		n++;
	}
	if (rc == 0 && n > NAMES_SHOWN)
		rc = buf_addf(b, " and %zu more", n - NAMES_SHOWN);
	return rc == 0 && n > 0 ? buf_add(b, "\n", 1) : rc;
}

static int add_ports(struct buf *b, const char *what, const struct guard_ports *p)
{
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < p->n; i++)
		rc = buf_addf(b, "%s%u", i > 0 ? ", " : what, (unsigned int)p->port[i]);
	return rc;
}

static int add_network(struct buf *b, const struct guard_options *o, const struct guard_state *s)
{
	bool held = !o->no_landlock && s->abi >= 4;
	int rc = buf_addf(b, "network: ");

	if (rc != 0)
		return rc;
	if (o->net_unrestricted || (o->no_landlock && s->sockets))
		return buf_addf(b, "not limited here\n");
	if (!s->sockets)
		return buf_addf(b, "none, local sockets only\n");
	if (o->connect.n + o->bind.n == 0)
		rc = buf_addf(b, "no TCP");
	else
		rc = add_ports(b, "TCP to port ", &o->connect);
	if (rc == 0 && o->connect.n > 0 && o->bind.n > 0)
		rc = buf_addf(b, "; ");
	if (rc == 0)
		rc = add_ports(b, "TCP server on port ", &o->bind);
	if (rc == 0 && !held) /* --best-effort */
		return buf_addf(b, "; BUT NOT LIMITED TO THAT by this kernel (Landlock ABI 4)\n");
	if (rc == 0 && s->abi < 10)
		rc = buf_addf(b, "; UDP is not limited (Landlock ABI 10)\n");
	else if (rc == 0)
		rc = buf_addf(b, "; %s\n", o->connect.n > 0 ? "UDP for DNS only" : "no UDP");
	return rc;
}

int guard_lacks(struct buf *ret, int abi)
{
	const char *sep = "";
	int rc = 0;

	for (const struct landlock_feature *f = landlock_features; rc == 0 && f->abi != 0; f++) {
		if (f->abi <= abi || f->minor)
			continue;
		rc = buf_addf(ret, "%s%s (ABI %d)", sep, f->lost, f->abi);
		sep = "; ";
	}
	return rc;
}

/* Nobody tried the profile that was asked for, or it did not do what it should. */
static int add_checked(struct buf *b, const struct guard_options *o, const struct guard_state *s)
{
	if (s->filter == NULL || s->checked == CHECKED_PASSED)
		return 0;
	return buf_addf(b, "profile %s %s with this libc and kernel: `stint profile check %s` tries it\n", s->filter->name,
	                s->checked == CHECKED_FAILED ? "failed its check" : "was never checked", o->filter);
}

static int add_layers(struct buf *b, const struct guard_options *o, const struct guard_state *s)
{
	AUTO_BUF struct buf lacks = {0};
	int rc = s->filter != NULL ? buf_addf(b, "seccomp: profile %s; ", s->filter->name)
	                           : buf_addf(b, "seccomp: off by request; ");

	if (rc == 0 && o->no_landlock)
		return buf_addf(b, "Landlock: off by request, the file system is not confined\n");
	if (rc == 0)
		rc = buf_addf(b, "Landlock: ABI %d enforced, ABI %d requested%s%s\n",
		              s->abi < LANDLOCK_ABI_KNOWN ? s->abi : LANDLOCK_ABI_KNOWN, LANDLOCK_ABI_KNOWN,
		              s->abi > LANDLOCK_ABI_KNOWN ? ", the kernel has more" : "",
		              o->best_effort ? "; --best-effort: what it cannot hold is not refused" : "");
	if (rc == 0)
		rc = guard_lacks(&lacks, s->abi);
	return rc == 0 && lacks.len > 0 ? buf_addf(b, "this kernel cannot %.*s\n", (int)lacks.len, lacks.data) : rc;
}

static const struct {
	const char *label;
	enum landlock_grant grant;
} lines[] = {
	{"may read and run", GRANT_READ},  {"may read, not run", GRANT_READ_DATA}, {"may write", GRANT_WRITE},
	{"may write, not run", GRANT_WRITE_DATA}, {"may list", GRANT_LIST},        {"may connect to", GRANT_UNIX},
};

/* --best-effort below ABI 9. */
static const char unlimited[] = "may connect to, among all others: this kernel cannot limit UNIX sockets by path (Landlock ABI 9)";

/* What holds whatever was granted, and what does not because the kernel or the caller is against it. */
static int add_blocked(struct buf *b, const struct guard_options *o, const struct guard_state *s)
{
	static const char outside[] = "to processes outside";
	bool by_path = s->abi >= 9;

	if (o->no_scope)
		return buf_addf(b, "blocked: everything else%s%s; by request not: signals and abstract sockets %s\n",
		                by_path ? "; sockets by path " : "", by_path ? outside : "", outside);
	if (s->abi < 6)
		return buf_addf(b, "blocked: everything else; signals to other processes are not\n");
	return buf_addf(b, "blocked: everything else; signals%s abstract sockets %s\n", by_path ? ", sockets by path and" : " and",
	                outside);
}

static int add_grants(struct buf *b, const struct guard_options *o, const struct guard_state *s)
{
	int rc = 0;

	if (o->no_landlock)
		return 0;
	if (!o->no_system)
		rc = buf_addf(b, "system folders and devices: readable%s%.*s\n", s->absent.len > 0 ? "; not here: " : "",
		              (int)s->absent.len, s->absent.len > 0 ? s->absent.data : "");
	for (size_t i = 0; rc == 0 && i < sizeof(lines) / sizeof(lines[0]); i++)
		rc = add_paths(b, o, lines[i].grant == GRANT_UNIX && s->abi < 9 ? unlimited : lines[i].label, lines[i].grant, false);
	if (rc == 0)
		rc = add_paths(b, o, "optional and not there", GRANT_READ, true);
	return rc == 0 ? add_blocked(b, o, s) : rc;
}

static int add_environment(struct buf *b, const struct guard_options *o, const struct guard_state *s)
{
	int rc = buf_addf(b, "environment: %zu variables passed on, %zu dropped%s", s->env_passed, s->env_dropped,
	                  s->env_dropped > 0 ? " (--env NAME)" : "");

	if (rc == 0 && s->tmp.path != NULL)
		rc = buf_addf(b, "; TMPDIR, new and private: ");
	if (rc == 0 && s->tmp.path != NULL)
		rc = buf_add_escaped(b, s->tmp.path, strlen(s->tmp.path), false);
	if (rc == 0 && s->tmp.path == NULL && guard_wants_tmp(o))
		rc = buf_addf(b, "; no TMPDIR: ");
	if (rc == 0 && s->tmp.path == NULL && guard_wants_tmp(o))
		rc = buf_add_escaped(b, s->tmp.why, strlen(s->tmp.why), false);
	return rc == 0 ? buf_add(b, "\n", 1) : rc;
}

int guard_summary(struct buf *ret, const struct guard_options *o, const struct guard_state *s)
{
	int rc = add_grants(ret, o, s);

	if (rc == 0)
		rc = add_network(ret, o, s);
	if (rc == 0)
		rc = add_environment(ret, o, s);
	if (rc == 0)
		rc = add_checked(ret, o, s);
	return rc == 0 ? add_layers(ret, o, s) : rc;
}
