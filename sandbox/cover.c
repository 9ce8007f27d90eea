/* Covers: see cover.h. */
#include "sandbox/cover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "roles/path.h"
#include "sandbox/mnt.h"

#define MAX_COVERS 16384u
#define MAX_FOLDERS 4096u

/* Folders whose entries still have to be judged, relative to the base; ours to free. */
struct work {
	char *path[MAX_FOLDERS];
	unsigned int depth[MAX_FOLDERS];
	unsigned int next;
	unsigned int n;
	unsigned int covers;
};

static void work_free(struct work **w)
{
	for (unsigned int i = 0; *w != NULL && i < (*w)->n; i++)
		free((*w)->path[i]);
	free(*w);
}
#define AUTO_WORK __attribute__((cleanup(work_free))) struct work

static int work_add(struct work *w, const char *path, unsigned int depth)
{
	if (w->n == MAX_FOLDERS)
		return -E2BIG;
	w->path[w->n] = strdup(path);
	if (w->path[w->n] == NULL)
		return -ENOMEM;
	w->depth[w->n++] = depth;
	return 0;
}

int cover_nodes(struct err *e)
{
	AUTO_FD fd = -1;

	if (mkdir("/run/stint/sealed", 0700) != 0 || mkdir(COVER_DIR, 0) != 0)
		return err_errno(e, errno, "cannot make the covers' nodes");
	fd = open(COVER_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	return fd >= 0 ? 0 : err_errno(e, errno, "cannot make the covers' nodes");
}

static int cover_fd(struct work *w, int target, bool is_dir)
{
	AUTO_FD mnt = -1;

	if (w->covers++ == MAX_COVERS)
		return -E2BIG;
	mnt = mnt_clone(AT_FDCWD, is_dir ? COVER_DIR : COVER_FILE, false, MNT_RO | MNT_NOSUID | MNT_NODEV | MNT_NOEXEC);
	return mnt < 0 ? mnt : mnt_attach(mnt, target);
}

enum verdict { LEAVE, COVER, ENTER };

typedef enum verdict judge_fn(const void *rules, const char *path, unsigned int depth, const struct stat *st);

/* Judges one name of the folder dir_fd. full: its path relative to the base. */
static int judge_entry(struct work *w, int dir_fd, const char *name, const char *full, unsigned int depth,
                       judge_fn *judge, const void *rules)
{
	AUTO_FD fd = fd_open_beneath(dir_fd, name, O_PATH | O_NOFOLLOW, 0, false);
	struct stat st;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) != 0)
		return fd < 0 ? fd : -errno;
	if (S_ISLNK(st.st_mode))
		return 0;
	switch (judge(rules, full, depth, &st)) {
	case LEAVE:
		return 0;
	case ENTER:
		return work_add(w, full, depth + 1);
	case COVER:
		break;
	}
	return cover_fd(w, fd, S_ISDIR(st.st_mode));
}

static int judge_folder(struct work *w, int base, const char *path, unsigned int depth, judge_fn *judge,
                        const void *rules)
{
	int fd = fd_open_beneath(base, *path == '\0' ? "." : path, O_RDONLY | O_DIRECTORY, 0, false);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int rc = 0;

	if (fd == -ENOENT)
		return 0;
	if (dir == NULL) {
		rc = fd < 0 ? fd : -errno;
		fd_close(&fd);
		return rc;
	}
	for (struct dirent *d = readdir(dir); rc == 0 && d != NULL; d = readdir(dir)) {
		AUTO_BUF struct buf full = {0};

		if (str_eq(d->d_name, ".") || str_eq(d->d_name, ".."))
			continue;
		rc = buf_addf(&full, "%s%s%s", path, *path == '\0' ? "" : "/", d->d_name);
		if (rc == 0)
			rc = judge_entry(w, dirfd(dir), d->d_name, buf_str(&full), depth, judge, rules);
	}
	(void)closedir(dir);
	return rc;
}

static int run(int base, judge_fn *judge, const void *rules, const char *what, struct err *e)
{
	AUTO_WORK *w = calloc(1, sizeof(*w));
	int rc = w == NULL ? -ENOMEM : work_add(w, "", 0);

	while (rc == 0 && w->next < w->n) {
		const char *path = w->path[w->next];
		unsigned int depth = w->depth[w->next++];

		rc = judge_folder(w, base, path, depth, judge, rules);
		if (rc != 0)
			return err_errno(e, -rc, "cannot cover what is sealed in %s/%s", what, path);
	}
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot cover what is sealed in %s", what);
}

struct zone_rules {
	const struct policy *p;
	unsigned int role;
};

/* The table is looked up for each name of the root and of traverse-only folders: few names, at most 1024 rows. */
static enum verdict judge_zone(const void *rules, const char *path, unsigned int depth, const struct stat *st)
{
	const struct zone_rules *z = rules;
	const struct policy *p = z->p;
	enum verdict verdict = COVER;

	(void)depth;
	for (uint32_t i = 0; i < p->scratch.n; i++) {
		const char *known = policy_item(p, p->scratch, i);

		if (str_eq(known, path))
			return LEAVE;
		if (path_within(known, path) && S_ISDIR(st->st_mode))
			verdict = ENTER;
	}
	for (uint32_t i = 0; i < p->n_entries; i++) {
		const char *known = policy_str(p, p->entry[i].path);

		if (str_eq(known, path))
			return p->entry[i].level[z->role] == LEVEL_NONE ? COVER : LEAVE;
		if (path_within(known, path) && S_ISDIR(st->st_mode))
			verdict = ENTER;
	}
	return verdict;
}

int cover_project(int project_fd, const struct policy *p, unsigned int role, struct err *e)
{
	const struct zone_rules rules = {p, role};

	return run(project_fd, judge_zone, &rules, "the project", e);
}

/* Depth bounds the walk: deeper secrets are below a folder that is itself closed, in every layout known to us. */
static enum verdict judge_secret(const void *rules, const char *path, unsigned int depth, const struct stat *st)
{
	const unsigned int *max_depth = rules;
	mode_t need = S_ISDIR(st->st_mode) ? S_IXOTH : S_IROTH;

	(void)path;
	if ((st->st_mode & need) == 0)
		return COVER;
	return S_ISDIR(st->st_mode) && depth + 1 < *max_depth ? ENTER : LEAVE;
}

int cover_root_secrets(struct err *e)
{
	static const struct {
		const char *path;
		unsigned int depth;
	} places[] = {{"/etc", 4}, {"/usr/local", 2}, {"/opt", 2}};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		AUTO_FD fd = open(places[i].path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		int rc;

		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0)
			return err_errno(e, errno, "cannot cover root's own files in %s", places[i].path);
		rc = run(fd, judge_secret, &places[i].depth, places[i].path, e);
		if (rc != 0)
			return rc;
	}
	return 0;
}
