/* What is granted: see grants.h. Source: the kernel's security/landlock/fs.c, is_access_to_paths_allowed(): each right must come
 * from a rule on the object or on a folder above it. */
#include "orchestrator/grants.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/landlock.h"

int grants_add(struct grants *g, const char *path, enum landlock_grant grant)
{
	AUTO_FD fd = open(path, O_PATH | O_CLOEXEC);
	struct grant *more;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return -errno;
	more = realloc(g->path, (g->n_path + 1) * sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	g->path = more;
	more[g->n_path++] = (struct grant){.dev = st.st_dev, .ino = st.st_ino, .fs = landlock_access_for(grant, st.st_mode, g->abi)};
	return 0;
}

int grants_open(struct grants *ret, const struct guard_options *o, struct err *e)
{
	int abi = landlock_abi();
	struct grants g = {.o = o, .abi = abi < 0 ? 0 : abi};
	int rc = 0;

	if (!o->no_landlock)
		g.handled = landlock_rights_for(g.abi);
	if (o->net_unrestricted)
		g.handled.net = 0;
	for (const struct guard_system_row *row = guard_system; !o->no_system && rc != -ENOMEM && row->path != NULL; row++)
		rc = grants_add(&g, row->path, row->grant);
	for (size_t i = 0; rc != -ENOMEM && i < o->n_paths; i++)
		rc = grants_add(&g, o->paths[i].path, o->paths[i].grant); /* what is missing is the guard's to say */
	if (rc == -ENOMEM) {
		grants_done(&g);
		return err_errno(e, ENOMEM, "cannot note the grants");
	}
	*ret = g;
	return 0;
}

void grants_done(struct grants *g)
{
	free(g->path);
	*g = (struct grants){0};
}

/* Of the object itself, not of what is above it. */
static uint64_t rights_on(const struct grants *g, const char *path)
{
	struct stat st;
	uint64_t fs = 0;

	if (lstat(path, &st) != 0)
		return 0;
	for (size_t i = 0; i < g->n_path; i++)
		if (g->path[i].dev == st.st_dev && g->path[i].ino == st.st_ino)
			fs |= g->path[i].fs;
	return fs;
}

static uint64_t lacking(const struct grants *g, const char *at, uint64_t wanted)
{
	char path[PATH_MAX];
	size_t n = strlen(at);

	if (n == 0 || n >= sizeof(path))
		return wanted;
	memcpy(path, at, n + 1);
	for (;;) {
		char *slash;

		wanted &= ~rights_on(g, path);
		slash = strrchr(path, '/');
		if (wanted == 0 || slash == NULL || str_eq(path, "/"))
			return wanted;
		slash[slash == path ? 1 : 0] = '\0';
	}
}

static bool has_port(const struct guard_ports *p, uint16_t port)
{
	for (unsigned int i = 0; i < p->n; i++)
		if (p->port[i] == port)
			return true;
	return false;
}

static bool port_granted(const struct guard_options *o, uint64_t right, uint16_t port)
{
	switch (right) {
	case LL_NET_CONNECT_TCP: return has_port(&o->connect, port);
	case LL_NET_BIND_TCP: return has_port(&o->bind, port);
	case LL_NET_CONNECT_SEND_UDP: return o->connect.n > 0 && port == GUARD_DNS_PORT;
	default: return o->connect.n > 0 && port == 0; /* LL_NET_BIND_UDP */
	}
}

struct landlock_rights grants_lack(const struct grants *g, const struct access *a)
{
	struct landlock_rights r = {.fs = a->fs & g->handled.fs, .net = a->net & g->handled.net};

	if (r.fs != 0)
		r.fs = lacking(g, a->at, r.fs);
	if (r.net != 0 && port_granted(g->o, r.net, a->port))
		r.net = 0;
	return r;
}
