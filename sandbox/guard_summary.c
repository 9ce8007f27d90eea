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
			rc = add_name(b, o->paths[i].path, n);
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
	int rc = buf_addf(b, "network: ");

	if (rc != 0)
		return rc;
	if (o->net_unrestricted || (o->no_landlock && s->sockets))
		return buf_addf(b, "not limited here\n");
	if (!s->sockets)
		return buf_addf(b, "none, local sockets only\n");
	if (o->connect.n + o->bind.n == 0)
		return buf_addf(b, "no TCP%s\n", s->abi < 10 ? "; UDP is not limited (Landlock ABI 10)" : ", no UDP");
	rc = add_ports(b, "TCP to port ", &o->connect);
	if (rc == 0 && o->connect.n > 0 && o->bind.n > 0)
		rc = buf_addf(b, "; ");
	if (rc == 0)
		rc = add_ports(b, "TCP server on port ", &o->bind);
	return rc != 0 ? rc
	               : buf_addf(b, "; UDP %s\n", s->abi < 10 ? "is not limited (Landlock ABI 10)" : "for DNS only");
}

static int add_kernel(struct buf *b, const struct guard_options *o, const struct guard_state *s)
{
	const char *sep = "this kernel cannot ";
	bool any = false;
	int rc;

	if (o->no_landlock)
		return buf_addf(b, "Landlock: off by request, the file system is not confined\n");
	rc = buf_addf(b, "Landlock: ABI %d enforced, ABI %d requested%s\n",
	              s->abi < LANDLOCK_ABI_KNOWN ? s->abi : LANDLOCK_ABI_KNOWN, LANDLOCK_ABI_KNOWN,
	              s->abi > LANDLOCK_ABI_KNOWN ? ", the kernel has more" : "");
	for (const struct landlock_feature *f = landlock_features; rc == 0 && f->abi != 0; f++) {
		if (f->abi <= s->abi || f->minor)
			continue;
		rc = buf_addf(b, "%s%s (ABI %d)", sep, f->lost, f->abi);
		sep = "; ";
		any = true;
	}
	return rc == 0 && any ? buf_add(b, "\n", 1) : rc;
}

static int add_grants(struct buf *b, const struct guard_options *o, const struct guard_state *s)
{
	int rc = 0;

	if (o->no_landlock)
		return 0;
	if (!o->no_system)
		rc = buf_addf(b, "system folders and devices: readable%s%.*s\n", s->absent.len > 0 ? "; not here: " : "",
		              (int)s->absent.len, s->absent.len > 0 ? s->absent.data : "");
	if (rc == 0)
		rc = add_paths(b, o, "may read and run", GRANT_READ, false);
	if (rc == 0)
		rc = add_paths(b, o, "may write", GRANT_WRITE, false);
	if (rc == 0)
		rc = add_paths(b, o, "may list", GRANT_LIST, false);
	if (rc == 0)
		rc = add_paths(b, o, "optional and not there", GRANT_READ, true);
	return rc != 0 ? rc
	               : buf_addf(b, "blocked: everything else%s\n", o->no_scope || s->abi < 6
	                                                                     ? "; signals to other processes are not"
	                                                                     : ", signals to processes outside");
}

int guard_summary(struct buf *ret, const struct guard_options *o, const struct guard_state *s)
{
	int rc = add_grants(ret, o, s);

	if (rc == 0)
		rc = add_network(ret, o, s);
	if (rc == 0 && s->profile != NULL)
		rc = buf_addf(ret, "seccomp: profile %s\n", s->profile);
	if (rc == 0 && s->profile == NULL)
		rc = buf_addf(ret, "seccomp: off by request\n");
	return rc != 0 ? rc : add_kernel(ret, o, s);
}
