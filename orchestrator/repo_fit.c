/* What an agent may leave in the tree and git cannot hold, or git fsck --strict refuses: names that some file system would
 * take for .git, a .gitmodules in a zone, paths longer than a path may be, a .gitignore or .gitattributes that is no file.
 * It is left out or removed, and said: work beside it must not wait for it. */
#include "orchestrator/repo_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/exit.h"

/* Length of a character that HFS+ leaves out when it compares names; 0: none. Source: git's utf8.c, next_hfs_char(). */
static size_t ignored_by_hfs(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;

	if (p[0] == 0xe2 && p[1] == 0x80)
		return (p[2] >= 0x8c && p[2] <= 0x8f) || (p[2] >= 0xaa && p[2] <= 0xae) ? 3 : 0;
	if (p[0] == 0xe2 && p[1] == 0x81)
		return p[2] >= 0xaa && p[2] <= 0xaf ? 3 : 0;
	return p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf ? 3 : 0;
}

/* Would HFS+, or a file system that folds case, take the name for a repository or its list of submodules? */
static bool is_git_name(const char *name)
{
	char plain[NAME_MAX + 1];
	size_t n = 0;

	while (*name != '\0' && n < NAME_MAX) {
		size_t skip = ignored_by_hfs(name);

		if (skip == 0)
			plain[n++] = *name;
		name += skip == 0 ? 1 : skip;
	}
	plain[n] = '\0';
	return strcasecmp(plain, ".git") == 0 || strcasecmp(plain, ".gitmodules") == 0;
}

/* libgit2 has no function for it, but a tree refuses such a name. As a submodule: of anything else the object is looked up, and
 * one that cannot be read just now would be taken for a name that does not fit, and the work under it left out. */
static bool name_fits(git_treebuilder *b, const char *name)
{
	static const git_oid any = {.id = {1}};

	return git_treebuilder_insert(NULL, b, name, &any, GIT_FILEMODE_COMMIT) == 0 || git_error_last() == NULL ||
	       git_error_last()->klass != GIT_ERROR_TREE;
}

bool repo_fits(struct repo *r, const char *path)
{
	AUTO_FREE char *copy = strdup(path);
	git_treebuilder *b = NULL;
	char *save = NULL;
	bool fits = strlen(path) < PATH_MAX;

	/* Out of memory here is out of memory in the commit, which says so. */
	if (copy == NULL || git_treebuilder_new(&b, r->git, NULL) != 0)
		return fits;
	for (char *name = strtok_r(copy, "/", &save); fits && name != NULL; name = strtok_r(NULL, "/", &save))
		fits = !is_git_name(name) && name_fits(b, name);
	git_treebuilder_free(b);
	return fits;
}

/* Of these git reads files only, and calls a link an error. */
static bool must_be_file(const char *base)
{
	return str_eq(base, REPO_IGNORE_FILE) || str_eq(base, ".gitattributes") || str_eq(base, ".mailmap");
}

static int drop_odd_file(struct repo *r, const char *path, const char **ret_why, struct err *e)
{
	const char *base = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;
	AUTO_FREE char *dir = strndup(path, (size_t)(base - path));
	REPO_AUTO_FILE f = {0};
	AUTO_FD at = -1;
	int rc;

	if (!must_be_file(base))
		return 0;
	rc = repo_file_open(r, path, &f, e);
	if (rc != 0 || f.kind == REPO_ABSENT || f.kind == REPO_DIR || S_ISREG(f.st.st_mode))
		return rc;
	at = dir == NULL ? -ENOMEM : fd_open_beneath(r->root_fd, dir[0] == '\0' ? "." : dir, O_PATH | O_DIRECTORY, 0, false);
	if (at < 0 || unlinkat(at, base, 0) != 0)
		return err_errno(e, at < 0 ? -at : errno, "cannot remove %s, which is no regular file", repo_show(path).s);
	*ret_why = "no regular file, and git would not read it: removed";
	return 0;
}

int repo_left_out(struct repo *r, const char *path, const char **ret_why, struct err *e)
{
	int rc = 0;

	*ret_why = NULL;
	if (!repo_fits(r, path))
		*ret_why = strlen(path) < PATH_MAX ? "git refuses this name: not in the commit"
		                                   : "longer than a path may be: not in the commit";
	else
		rc = drop_odd_file(r, path, ret_why, e);
	return err_stop(e, rc == 0 ? 0 : STOP_RECORD, rc);
}
