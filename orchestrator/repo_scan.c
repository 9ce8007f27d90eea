/* What the walk is for outside a commit: the list of paths that differ from HEAD, and a fingerprint of the tree. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"

struct dirty {
	struct buf *paths;
	size_t n;
	size_t max;
};

static int add_dirty(void *ctx, const struct repo_seen *s, struct err *e)
{
	struct dirty *d = ctx;

	if (s->what == '=' || s->what == 'S')
		return 0;
	if (buf_add(d->paths, s->path, strlen(s->path) + 1) != 0)
		return err_errno(e, ENOMEM, "cannot list what changed");
	d->n++;
	return d->max != 0 && d->n >= d->max ? 1 : 0;
}

int repo_dirty(struct repo *r, const char *const *zones, size_t n, size_t max, struct buf *ret_paths, size_t *ret_n,
               struct err *e)
{
	REPO_AUTO(commit, head) = NULL;
	REPO_AUTO(tree, tree) = NULL;
	struct dirty d = {.paths = ret_paths, .max = max};
	int rc = repo_head_commit(r, NULL, &head, STOP_RECORD, e);

	if (rc != 0)
		return rc;
	rc = git_commit_tree(&tree, head);
	if (rc != 0)
		return repo_git_error(e, rc, STOP_RECORD, "cannot read HEAD's tree");
	for (size_t i = 0; i < n && (max == 0 || d.n < max); i++) {
		rc = repo_walk(r, tree, zones[i], 0, add_dirty, &d, e);
		if (rc != 0)
			return err_stop(e, STOP_RECORD, rc);
	}
	if (ret_n != NULL)
		*ret_n = d.n;
	return 0;
}

/* The sum does not depend on the order of files, so none has to be kept or sorted. */
struct sum {
	unsigned char bytes[GIT_OID_RAWSZ];
};

static int add_sum(void *ctx, const struct repo_seen *s, struct err *e)
{
	struct sum *sum = ctx;
	AUTO_BUF struct buf b = {0};
	git_oid oid;
	unsigned int carry = 0;

	if (s->what == 'D' || s->what == 'S')
		return 0;
	if (buf_addf(&b, "%o ", (unsigned int)s->mode) != 0 || buf_add(&b, s->oid.id, sizeof(s->oid.id)) != 0 ||
	    buf_add(&b, s->path, strlen(s->path)) != 0)
		return err_errno(e, ENOMEM, "cannot take a fingerprint");
	if (git_odb_hash(&oid, b.data, b.len, GIT_OBJECT_BLOB) != 0)
		return repo_git_error(e, GIT_ERROR, STOP_RECORD, "cannot take a fingerprint");
	for (size_t i = 0; i < sizeof(sum->bytes); i++) {
		carry += (unsigned int)sum->bytes[i] + oid.id[i];
		sum->bytes[i] = (unsigned char)carry;
		carry >>= 8;
	}
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Splits a NUL-separated list into sorted pointers without repeats. */
static const char **split(const char *paths, size_t len, size_t *ret_n)
{
	size_t n = 0;
	size_t kept = 0;
	const char **v;

	for (size_t i = 0; i < len; i++)
		n += paths[i] == '\0';
	v = calloc(n + 1, sizeof(*v));
	if (v == NULL)
		return NULL;
	n = 0;
	for (size_t at = 0; at < len && memchr(paths + at, 0, len - at) != NULL; at += strlen(paths + at) + 1)
		v[n++] = paths + at;
	qsort(v, n, sizeof(*v), by_text);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || strcmp(v[i], v[kept - 1]) != 0)
			v[kept++] = v[i];
	*ret_n = kept;
	return v;
}

/* Is a folder above this path in the list too? Then its walk counts the path already. */
static bool covered(const char *const *v, size_t n, const char *path)
{
	AUTO_FREE char *above = strdup(path);
	const char *key = above;

	if (path[0] != '\0' && n > 0 && v[0][0] == '\0')
		return true;
	for (char *p = above == NULL ? NULL : strrchr(above, '/'); p != NULL; p = strrchr(above, '/')) {
		*p = '\0';
		if (bsearch(&key, v, n, sizeof(*v), by_text) != NULL)
			return true;
	}
	return false;
}

int repo_fingerprint(struct repo *r, const char *paths, size_t paths_len, char ret_hex[REPO_OID_SIZE], struct err *e)
{
	AUTO_FREE const char **v = NULL;
	REPO_AUTO(commit, head) = NULL;
	REPO_AUTO(tree, tree) = NULL;
	struct sum sum = {{0}};
	size_t n = 0;
	int rc = repo_head_commit(r, NULL, &head, STOP_RECORD, e);

	if (rc != 0)
		return rc;
	if (git_commit_tree(&tree, head) != 0)
		return repo_git_error(e, GIT_ERROR, STOP_RECORD, "cannot read HEAD's tree");
	v = split(paths, paths_len, &n);
	if (v == NULL)
		return err_stop(e, STOP_RECORD, err_errno(e, ENOMEM, "cannot take a fingerprint"));
	for (size_t i = 0; i < n; i++) {
		rc = covered(v, n, v[i]) ? 0 : repo_walk(r, tree, v[i], 0, add_sum, &sum, e);
		if (rc != 0)
			return err_stop(e, STOP_RECORD, rc);
	}
	for (size_t i = 0; i < sizeof(sum.bytes); i++) {
		static const char hex[] = "0123456789abcdef";

		ret_hex[2 * i] = hex[sum.bytes[i] >> 4];
		ret_hex[2 * i + 1] = hex[sum.bytes[i] & 15];
	}
	ret_hex[REPO_OID_SIZE - 1] = '\0';
	return 0;
}
