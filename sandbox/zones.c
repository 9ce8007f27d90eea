/* The access table as a tree: see zones.h. */
#include "sandbox/zones.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static int add_node(struct zones *z, int parent, const char *path, size_t len)
{
	struct zone *node;
	const char *slash;

	if (z->n == z->cap) {
		int cap = z->cap == 0 ? 64 : z->cap * 2;
		struct zone *v = reallocarray(z->v, (size_t)cap, sizeof(*v));

		if (v == NULL)
			return -ENOMEM;
		z->v = v;
		z->cap = cap;
	}
	node = &z->v[z->n];
	*node = (struct zone){.kind = ZONE_PASS, .parent = parent, .child = ZONES_NONE, .next = ZONES_NONE,
	                      .inside = ZONE_LEVEL_UNKNOWN, .path = strndup(path, len)};
	if (node->path == NULL)
		return -ENOMEM;
	slash = strrchr(node->path, '/');
	node->name = slash == NULL ? node->path : slash + 1;
	if (parent != ZONES_NONE) {
		node->next = z->v[parent].child;
		z->v[parent].child = z->n;
	}
	return z->n++;
}

int zones_child(const struct zones *z, int parent, const char *name)
{
	int at = z->v[parent].child;

	while (at != ZONES_NONE && !str_eq(z->v[at].name, name))
		at = z->v[at].next;
	return at;
}

/* The node of the first len bytes of path, made when it is not there. */
static int node_of(struct zones *z, int parent, const char *path, size_t start, size_t len)
{
	AUTO_FREE char *name = strndup(path + start, len - start);
	int at;

	if (name == NULL)
		return -ENOMEM;
	at = zones_child(z, parent, name);
	return at != ZONES_NONE ? at : add_node(z, parent, path, len);
}

static int add_entry(struct zones *z, const char *path, const struct policy_entry *entry)
{
	int at = ZONES_ROOT;

	for (size_t start = 0; path[start] != '\0';) {
		size_t len = start + strcspn(path + start, "/");

		if (z->v[at].kind != ZONE_PASS)
			return -EINVAL;
		at = node_of(z, at, path, start, len);
		if (at < 0)
			return at;
		start = path[len] == '/' ? len + 1 : len;
	}
	if (at == ZONES_ROOT || z->v[at].entry != NULL || z->v[at].child != ZONES_NONE)
		return -EINVAL;
	z->v[at].kind = entry->kind == POLICY_DIR ? ZONE_DIR : ZONE_FILE;
	z->v[at].entry = entry;
	return 0;
}

int zones_build(struct zones *ret, const struct policy *p, struct err *e)
{
	struct zones z = {0};
	int rc = add_node(&z, ZONES_NONE, "", 0);

	for (uint32_t i = 0; rc >= 0 && i < p->n_entries; i++)
		rc = add_entry(&z, policy_str(p, p->entry[i].path), &p->entry[i]);
	if (rc < 0) {
		zones_done(&z);
		return err_errno(e, -rc, "cannot build the zones of the access table");
	}
	*ret = z;
	return 0;
}

void zones_done(struct zones *z)
{
	for (int i = 0; i < z->n; i++)
		free(z->v[i].path);
	free(z->v);
	*z = (struct zones){0};
}

/* Some role may write a and only read b. */
static bool apart(const struct zone *a, const struct zone *b, unsigned int n_roles)
{
	for (unsigned int r = 0; r < n_roles; r++)
		if (zone_level(a, r) == LEVEL_RW && zone_level(b, r) == LEVEL_R)
			return true;
	return false;
}

/* Some role may write it, another only read it. */
static bool is_mixed(const struct zone *z, unsigned int n_roles)
{
	bool read = false;

	for (unsigned int r = 0; r < n_roles; r++)
		read = read || zone_level(z, r) == LEVEL_R;
	return read && z->kind == ZONE_DIR && !z->foreign && zone_most(z, n_roles) == LEVEL_RW;
}

void zones_share(struct zones *z, unsigned int n_roles)
{
	for (int i = 0; i < z->n; i++) {
		struct zone *one = &z->v[i];

		one->shared = is_mixed(one, n_roles);
		for (int k = 0; one->shared && k < i; k++)
			one->shared = !z->v[k].shared || (!apart(one, &z->v[k], n_roles) && !apart(&z->v[k], one, n_roles));
	}
}

enum level zone_level(const struct zone *z, unsigned int role)
{
	return z->entry == NULL || z->foreign ? LEVEL_NONE : (enum level)z->entry->level[role];
}

enum level zone_most(const struct zone *z, unsigned int n_roles)
{
	enum level most = LEVEL_NONE;

	for (unsigned int r = 0; z->entry != NULL && r < n_roles; r++)
		if (z->entry->level[r] > most)
			most = (enum level)z->entry->level[r];
	return most;
}
