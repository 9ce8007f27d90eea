/* The tree of a commit: HEAD's tree with a list of updates applied. Nothing is staged anywhere. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"

void repo_updates_done(struct repo_updates *u)
{
	for (size_t i = 0; i < u->n; i++)
		free(u->v[i].path);
	free(u->v);
	*u = (struct repo_updates){0};
}

int repo_updates_add(struct repo_updates *u, const char *path, const git_oid *oid, git_filemode_t mode)
{
	struct repo_update *v;

	if (u->n == u->cap) {
		size_t cap = u->cap == 0 ? 64 : u->cap * 2;

		v = reallocarray(u->v, cap, sizeof(*v));
		if (v == NULL)
			return -ENOMEM;
		u->v = v;
		u->cap = cap;
	}
	v = &u->v[u->n];
	*v = (struct repo_update){.path = strdup(path), .mode = mode, .remove = oid == NULL};
	if (v->path == NULL)
		return -ENOMEM;
	if (oid != NULL)
		(void)git_oid_cpy(&v->oid, oid);
	u->n++;
	return 0;
}

int repo_updates_seen(void *ctx, const struct repo_seen *s, struct err *e)
{
	struct repo_updates *u = ctx;
	int rc = 0;

	if (s->what == 'A' || s->what == 'M')
		rc = repo_updates_add(u, s->path, &s->oid, s->mode);
	else if (s->what == 'D')
		rc = repo_updates_add(u, s->path, NULL, 0);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot note %s", repo_show(s->path).s);
}

/* The executable bit is the walk's business (core.fileMode); only a file that became a link, or back, takes a new
 * mode. */
static int store_one(struct repo *r, struct repo_update *u, struct err *e)
{
	REPO_AUTO_FILE f = {0};
	int rc = repo_file_open(r, u->path, &f, e);

	if (rc != 0)
		return rc;
	if (f.kind != REPO_BLOB)
		return err_set(e, ESTALE, "%s changed while it was committed: start stint run again", repo_show(u->path).s);
	if ((f.mode == GIT_FILEMODE_LINK) != (u->mode == GIT_FILEMODE_LINK))
		u->mode = f.mode;
	return repo_file_store(r, &f, u->path, &u->oid, e);
}

int repo_updates_store(struct repo *r, struct repo_updates *u, struct err *e)
{
	for (size_t i = 0; i < u->n; i++) {
		int rc = u->v[i].remove ? 0 : store_one(r, &u->v[i], e);

		if (rc != 0)
			return rc;
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct repo_update *x = a;
	const struct repo_update *y = b;
	int c = strcmp(x->path, y->path);

	/* An update that stores comes before one that removes: it wins when repeats are dropped. */
	return c != 0 ? c : (int)x->remove - (int)y->remove;
}

static void drop_repeats(struct repo_updates *u)
{
	size_t kept = 0;

	if (u->n == 0)
		return;
	qsort(u->v, u->n, sizeof(u->v[0]), by_path);
	for (size_t i = 1; i < u->n; i++) {
		if (strcmp(u->v[i].path, u->v[kept].path) == 0)
			free(u->v[i].path);
		else
			u->v[++kept] = u->v[i];
	}
	u->n = kept + 1;
}

/* A file of the base where an update needs a folder goes first, whether or not it was reported. */
static int remove_parents(git_tree *base, struct repo_updates *u)
{
	size_t n = u->n;

	for (size_t i = 0; base != NULL && i < n; i++) {
		AUTO_FREE char *path = strdup(u->v[i].path);
		int rc = 0;

		if (path == NULL)
			return -ENOMEM;
		for (char *p = strchr(path, '/'); rc == 0 && p != NULL && !u->v[i].remove; p = strchr(p + 1, '/')) {
			git_tree_entry *te = NULL;

			*p = '\0';
			rc = git_tree_entry_bypath(&te, base, path);
			if (rc == 0 && git_tree_entry_type(te) != GIT_OBJECT_TREE && repo_updates_add(u, path, NULL, 0) != 0)
				rc = -ENOMEM;
			git_tree_entry_free(te);
			*p = '/';
		}
		if (rc == -ENOMEM)
			return rc;
	}
	return 0;
}

/* libgit2 cannot turn a file into a folder in one step: removals are one pass, the rest a second. */
static int apply(struct repo *r, git_tree *base, const struct repo_updates *u, bool remove, git_oid *ret, struct err *e)
{
	AUTO_FREE git_tree_update *v = calloc(u->n + 1, sizeof(*v));
	size_t n = 0;
	int rc;

	if (v == NULL)
		return err_errno(e, ENOMEM, "cannot build a tree");
	for (size_t i = 0; i < u->n; i++) {
		if (u->v[i].remove != remove)
			continue;
		v[n].action = remove ? GIT_TREE_UPDATE_REMOVE : GIT_TREE_UPDATE_UPSERT;
		(void)git_oid_cpy(&v[n].id, &u->v[i].oid);
		v[n].filemode = u->v[i].mode;
		v[n].path = u->v[i].path;
		n++;
	}
	rc = git_tree_create_updated(ret, r->git, base, n, v);
	return rc == 0 ? 0 : repo_git_error(e, rc, STOP_RECORD, "cannot build the commit's tree");
}

int repo_updates_apply(struct repo *r, git_tree *base, struct repo_updates *u, git_oid *ret_oid, struct err *e)
{
	REPO_AUTO(tree, less) = NULL;
	git_oid oid;
	int rc = remove_parents(base, u);

	if (rc != 0)
		return err_errno(e, -rc, "cannot build a tree");
	drop_repeats(u);
	if (base != NULL) {
		rc = apply(r, base, u, true, &oid, e);
		if (rc != 0)
			return rc;
		rc = git_tree_lookup(&less, r->git, &oid);
		if (rc != 0)
			return repo_git_error(e, rc, STOP_RECORD, "cannot read the commit's tree");
	}
	return apply(r, less, u, false, ret_oid, e);
}
