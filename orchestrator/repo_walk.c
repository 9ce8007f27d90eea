/* The walk: compares what lies below a path with a tree of git, file by file, by raw bytes. Iterative; folders still to
 * be visited wait on a list, so depth costs no stack. */
#include "orchestrator/repo_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"

#define BYTES_MAX (64ull << 30)

struct pending {
	struct pending *next;
	bool on_disk;            /* false: deleted with all its files */
	bool in_head;
	git_oid tree;
	char path[];
};

struct walk {
	struct repo *r;
	repo_seen_fn *fn;
	void *ctx;
	struct pending *list;
	uint64_t bytes;          /* of the files hashed so far */
};

/* What HEAD has at a path. */
struct entry {
	bool present;
	git_object_t type;
	git_filemode_t mode;
	git_oid oid;
};

bool repo_in_zones(const char *const *zones, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(zones[i]);

		if (len == 0 || (strncmp(path, zones[i], len) == 0 && (path[len] == '\0' || path[len] == '/')))
			return true;
	}
	return false;
}

bool repo_is_private(const char *path)
{
	static const char *const ours[] = {".git", ".stint"};

	return repo_in_zones(ours, sizeof(ours) / sizeof(ours[0]), path);
}

static struct entry entry_of(const git_tree_entry *te)
{
	struct entry en = {0};

	if (te != NULL) {
		en.present = true;
		en.type = git_tree_entry_type(te);
		en.mode = git_tree_entry_filemode(te);
		(void)git_oid_cpy(&en.oid, git_tree_entry_id(te));
	}
	return en;
}

static int push(struct walk *w, const char *path, bool on_disk, const struct entry *en, struct err *e)
{
	size_t n = strlen(path) + 1;
	struct pending *p = calloc(1, sizeof(*p) + n);

	if (p == NULL)
		return err_errno(e, ENOMEM, "cannot look through %s", repo_show(path).s);
	memcpy(p->path, path, n);
	p->on_disk = on_disk;
	if (en->present && en->type == GIT_OBJECT_TREE) {
		p->in_head = true;
		(void)git_oid_cpy(&p->tree, &en->oid);
	}
	p->next = w->list;
	w->list = p;
	return 0;
}

static int report(struct walk *w, char what, const char *path, const struct repo_seen *disk, struct err *e)
{
	struct repo_seen s = {0};

	if (disk != NULL)
		s = *disk;
	s.what = what;
	s.path = path;
	return w->fn(w->ctx, &s, e);
}

/* INT, TERM and HUP are blocked and read between turns (session.c); agents decide how much there is to read here. */
static int check_signals(struct err *e)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigpending(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigismember(&set, signals[i]) == 1)
			return err_stop(e, STOP_INTERRUPTED, err_set(e, EINTR, "interrupted: the work is kept, run `stint run` to go on"));
	return 0;
}

/* An agent can make files of any size that take no space. */
static int check_bytes(struct walk *w, const char *path, const struct repo_file *f, struct err *e)
{
	if (f->kind != REPO_BLOB)
		return 0;
	w->bytes += (uint64_t)f->st.st_size;
	if (w->bytes <= BYTES_MAX)
		return 0;
	return err_set(e, EFBIG, "more than %llu GiB of files to compare with git, %s among them: remove them, or name them in "
	               ".gitignore", BYTES_MAX >> 30, repo_show(path).s);
}

/* A file or link on disk; HEAD has a blob there or nothing. */
static int visit_file(struct walk *w, const char *path, const struct repo_file *f, const struct entry *en,
                      struct err *e)
{
	struct repo_seen disk = {.mode = f->mode};
	bool tracked = en->present;
	int rc;

	if (!tracked) {
		bool ignored = false;

		rc = repo_ignored(w->r, path, false, &ignored, e);
		if (rc != 0 || ignored)
			return rc;
	}
	rc = check_bytes(w, path, f, e);
	if (rc != 0)
		return rc;
	if (tracked && !w->r->filemode && en->mode != GIT_FILEMODE_LINK && f->mode != GIT_FILEMODE_LINK)
		disk.mode = en->mode;
	rc = repo_file_hash(f, path, &disk.oid, e);
	if (rc != 0)
		return rc;
	if (tracked && disk.mode == en->mode && git_oid_equal(&disk.oid, &en->oid))
		return report(w, '=', path, &disk, e);
	return report(w, tracked ? 'M' : 'A', path, &disk, e);
}

/* An untracked folder is left out when it is ignored or a repository of its own. */
static int wanted_dir(struct walk *w, const char *path, const struct repo_file *f, bool *ret, struct err *e)
{
	struct stat st;
	bool ignored = false;
	int rc;

	*ret = false;
	if (path[0] != '\0' && fstatat(f->fd, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	rc = path[0] == '\0' ? 0 : repo_ignored(w->r, path, true, &ignored, e);
	*ret = !ignored;
	return rc;
}

static int visit_dir(struct walk *w, const char *path, const struct repo_file *f, const struct entry *en, struct err *e)
{
	bool wanted = true;
	int rc = 0;

	if (!en->present || en->type == GIT_OBJECT_BLOB)
		rc = wanted_dir(w, path, f, &wanted, e);
	if (rc == 0 && en->present && en->type == GIT_OBJECT_BLOB)
		rc = report(w, 'D', path, NULL, e);
	return rc != 0 || !wanted ? rc : push(w, path, true, en, e);
}

/* One path: what the disk has against what HEAD has. */
static int visit(struct walk *w, const char *path, const struct entry *en, struct err *e)
{
	static const struct entry nothing;
	REPO_AUTO_FILE f = {0};
	int rc = check_signals(e);

	if (rc != 0)
		return rc;
	if (repo_is_private(path) || (!en->present && !repo_fits(w->r, path)))
		return 0;
	if (en->present && en->type == GIT_OBJECT_COMMIT)
		return report(w, 'S', path, NULL, e);
	rc = repo_file_open(w->r, path, &f, e);
	if (rc != 0)
		return rc;
	if (f.kind == REPO_DIR)
		return visit_dir(w, path, &f, en, e);
	if (en->present && en->type == GIT_OBJECT_TREE) {
		rc = push(w, path, false, en, e);
		en = &nothing;
	}
	if (rc == 0 && f.kind == REPO_BLOB)
		return visit_file(w, path, &f, en, e);
	if (rc == 0 && en->present)
		rc = report(w, 'D', path, NULL, e);
	return rc;
}

static int visit_child(struct walk *w, const char *dir, const char *name, const git_tree_entry *te, struct err *e)
{
	AUTO_FREE char *path = NULL;
	struct entry en = entry_of(te);

	if (asprintf(&path, "%s%s%s", dir, dir[0] == '\0' ? "" : "/", name) < 0) {
		path = NULL;
		return err_errno(e, ENOMEM, "cannot look through %s", repo_show(dir).s);
	}
	return visit(w, path, &en, e);
}

/* The names on disk that HEAD's tree does not have. */
static int visit_new_names(struct walk *w, const char *dir, const git_tree *tree, struct err *e)
{
	int fd = fd_open_beneath(w->r->root_fd, dir[0] == '\0' ? "." : dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, false);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;
	int rc = 0;

	if (d == NULL) {
		rc = fd < 0 ? -fd : errno;
		if (fd >= 0)
			fd_close(&fd);
		return err_errno(e, rc, "cannot list %s", dir[0] == '\0' ? "the project" : repo_show(dir).s);
	}
	while (rc == 0 && (errno = 0, de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0 || strcmp(de->d_name, ".git") == 0)
			continue;
		if (tree == NULL || git_tree_entry_byname(tree, de->d_name) == NULL)
			rc = visit_child(w, dir, de->d_name, NULL, e);
	}
	if (rc == 0 && errno != 0)
		rc = err_errno(e, errno, "cannot list %s", repo_show(dir).s);
	(void)closedir(d);
	return rc;
}

static int visit_pending(struct walk *w, const struct pending *p, struct err *e)
{
	REPO_AUTO(tree, tree) = NULL;
	int rc = 0;

	if (p->in_head) {
		rc = git_tree_lookup(&tree, w->r->git, &p->tree);
		if (rc != 0)
			return repo_git_error(e, rc, 0, "cannot read the tree of %s", repo_show(p->path).s);
		for (size_t i = 0; rc == 0 && i < git_tree_entrycount(tree); i++) {
			const git_tree_entry *te = git_tree_entry_byindex(tree, i);

			rc = visit_child(w, p->path, git_tree_entry_name(te), te, e);
		}
	}
	return rc == 0 && p->on_disk ? visit_new_names(w, p->path, tree, e) : rc;
}

static int head_entry(struct repo *r, git_tree *head, const char *path, struct entry *ret, struct err *e)
{
	git_tree_entry *te = NULL;
	int rc;

	*ret = (struct entry){0};
	if (head == NULL)
		return 0;
	if (path[0] == '\0') {
		*ret = (struct entry){.present = true, .type = GIT_OBJECT_TREE, .mode = GIT_FILEMODE_TREE};
		(void)git_oid_cpy(&ret->oid, git_tree_id(head));
		return 0;
	}
	rc = git_tree_entry_bypath(&te, head, path);
	if (rc != 0 && rc != GIT_ENOTFOUND)
		return repo_git_error(e, rc, 0, "cannot read the tree of %s", r->root_path);
	*ret = entry_of(te);
	git_tree_entry_free(te);
	return 0;
}

int repo_walk(struct repo *r, git_tree *head, const char *start, unsigned int flags, repo_seen_fn *fn, void *ctx,
              struct err *e)
{
	struct walk w = {.r = r, .fn = fn, .ctx = ctx};
	struct entry en;
	int rc = head_entry(r, head, start, &en, e);

	if (rc != 0)
		return rc;
	if ((flags & REPO_WALK_CANDIDATE) != 0 && en.present && en.type == GIT_OBJECT_TREE) {
		REPO_AUTO_FILE f = {0};

		rc = repo_file_open(r, start, &f, e);
		if (rc != 0 || f.kind == REPO_DIR)
			return rc;
	}
	rc = visit(&w, start, &en, e);
	while (w.list != NULL) {
		struct pending *p = w.list;

		w.list = p->next;
		if (rc == 0)
			rc = visit_pending(&w, p, e);
		free(p);
	}
	return rc < 0 ? rc : 0;
}
