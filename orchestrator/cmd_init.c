/* `stint init`: a project to start from. Everything is checked before the first file is written, and what was written is taken
 * back when a later one cannot be: a folder is either a project afterwards, or as it was. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "orchestrator/cmd.h"
#include "orchestrator/config.h"
#include "orchestrator/init_owner.h"
#include "orchestrator/repo.h"
#include "orchestrator/templates.h"

#define IGNORE_FILE ".gitignore"
#define IGNORE_MAX (1u << 20)
#define FIRST_AUTHOR "stint <stint@localhost>"

/* The folder that path is in, or NULL for the root. malloc'ed. */
static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? NULL : strndup(path, (size_t)(slash - path));
}

/* Nothing of ours is in the way, and folders are folders. */
static int check_file(int root, const struct template_file *f, struct err *e)
{
	AUTO_FREE char *parent = parent_of(f->path);
	AUTO_FD dir = -1;
	struct stat st;

	if (fstatat(root, f->path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (f->keep && S_ISREG(st.st_mode))
			return 0;
		return err_set(e, EEXIST, "%s is there already: stint init overwrites nothing: %s", f->path,
		               str_eq(f->path, CONFIG_FILE) ? "this is a project: edit it, or take another folder"
		                                            : "take another folder, or --template bare for a project that exists");
	}
	if (errno != ENOENT && errno != ENOTDIR)
		return err_errno(e, errno, "cannot look at %s", f->path);
	if (parent == NULL)
		return 0;
	dir = fd_open_beneath(root, parent, O_PATH | O_DIRECTORY, 0, false);
	if (dir < 0 && dir != -ENOENT)
		return err_set(e, EEXIST, "%s is there already and is no folder: stint init overwrites nothing: take another folder",
		               parent);
	return 0;
}

static int write_file(int root, const struct template_file *f, struct err *e)
{
	AUTO_FREE char *parent = parent_of(f->path);
	AUTO_FD dir = -1;
	AUTO_FD fd = -1;
	int rc = 0;

	if (parent != NULL) {
		dir = fd_mkdirs_beneath(root, parent, 0777);
		if (dir < 0)
			return err_errno(e, -dir, "cannot make %s/", parent);
	}
	/* The umask decides about group and others, as for everything that a person makes. */
	fd = fd_open_beneath(root, f->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, f->mode | 0022, false);
	if (fd < 0)
		return err_errno(e, -fd, "cannot write %s", f->path);
	for (size_t i = 0; i < TEMPLATE_PARTS && f->part[i].start != NULL && rc == 0; i++)
		rc = fd_write_all(fd, f->part[i].start, (size_t)(f->part[i].end - f->part[i].start));
	if (rc != 0)
		(void)unlinkat(root, f->path, 0);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot write %s", f->path);
}

/* An existing .gitignore gets the one line that it needs, at its end. */
static int complete_ignore(int root, struct err *e)
{
	AUTO_FD fd = fd_open_beneath(root, IGNORE_FILE, O_RDONLY, 0, false);
	AUTO_FREE char *text = NULL;
	AUTO_BUF struct buf b = {0};
	struct stat st;
	size_t n = 0;
	int rc;

	if (fd < 0 || fstat(fd, &st) != 0)
		return err_errno(e, fd < 0 ? -fd : errno, "cannot open %s", IGNORE_FILE);
	rc = fd_read_all(fd, IGNORE_MAX, &text, &n);
	if (rc != 0)
		return err_errno(e, -rc, "cannot read %s", IGNORE_FILE);
	for (const char *p = strstr(text, ".stint"); p != NULL; p = strstr(p + 1, ".stint")) {
		bool begins = p == text || p[-1] == '\n' || (p[-1] == '/' && (p - 1 == text || p[-2] == '\n'));
		const char *after = p + strlen(".stint");

		after += *after == '/';
		if (begins && (*after == '\0' || *after == '\n' || *after == '\r'))
			return 0;
	}
	if (buf_add(&b, text, n) != 0 || (n > 0 && text[n - 1] != '\n' && buf_add(&b, "\n", 1) != 0) ||
	    buf_add(&b, "/.stint/\n", strlen("/.stint/\n")) != 0)
		return err_errno(e, ENOMEM, "cannot write %s", IGNORE_FILE);
	return fd_replace_file(root, IGNORE_FILE, b.data, b.len, st.st_mode & 07777, e);
}

/* Takes back what was written, newest first; folders only when they are empty. */
static void take_back(int root, const struct template *t, const bool *written, const bool *made)
{
	for (size_t i = t->n; i-- > 0;) {
		AUTO_FREE char *parent = parent_of(t->files[i].path);

		if (written[i])
			(void)unlinkat(root, t->files[i].path, 0);
		if (made[i] && parent != NULL)
			(void)unlinkat(root, parent, AT_REMOVEDIR);
	}
}

static int write_all(int root, const struct template *t, struct err *e)
{
	bool written[16] = {0};
	bool made[16] = {0};
	int rc = 0;

	for (size_t i = 0; i < t->n && rc == 0; i++)
		rc = check_file(root, &t->files[i], e);
	if (rc != 0)
		return err_stop(e, STOP_USAGE, rc);
	for (size_t i = 0; i < t->n && rc == 0; i++) {
		const struct template_file *f = &t->files[i];
		AUTO_FREE char *parent = parent_of(f->path);

		if (f->keep && faccessat(root, f->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
			if (str_eq(f->path, IGNORE_FILE))
				rc = complete_ignore(root, e);
			continue;
		}
		made[i] = parent != NULL && faccessat(root, parent, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
		rc = write_file(root, f, e);
		written[i] = rc == 0;
	}
	if (rc != 0)
		take_back(root, t, written, made);
	return rc == 0 ? 0 : err_stop(e, STOP_RECORD, rc);
}

/* Opens the folder, made if need be (its last component only). */
static int open_dir(const char *dir, bool *ret_made, struct err *e)
{
	int fd;

	*ret_made = mkdir(dir, 0777) == 0;
	if (!*ret_made && errno == ENOENT)
		return err_set(e, ENOENT, "the folder above %s does not exist: mkdir -p it first", dir);
	if (!*ret_made && errno != EEXIST)
		return err_errno(e, errno, "cannot make %s", dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : err_errno(e, errno, "cannot open %s", dir);
}

static void say_next(const char *dir, const struct template *t, bool committed)
{
	const char *at = str_eq(dir, ".") ? "" : " -C ";
	const char *where = str_eq(dir, ".") ? "" : dir;

	if (t->next != NULL) {
		(void)printf("%s: %s\n  in that folder:  %s\n", dir, t->says, t->next);
		return;
	}
	(void)printf("%s: a new project (%s)%s\n", dir, t->says, committed ? ", first commit made" : "");
	if (!committed)
		(void)printf("  git has commits already: commit the new files yourself\n");
	(void)printf("  who may touch what:  stint matrix%s%s\n", at, where);
	(void)printf("  a turn by hand:      sudo stint turn%s%s tester -- ls -l\n", at, where);
	(void)printf("  the loop:            put your agents into stint.yaml, then sudo stint run%s%s\n", at, where);
}

static int init(const char *dir, const struct template *t, struct err *e)
{
	char path[PATH_MAX];
	AUTO_FD root = -1;
	bool made = false;
	bool committed = false;
	int rc = init_become_owner(dir, e);

	if (rc != 0)
		return rc;
	root = open_dir(dir, &made, e);
	if (root < 0)
		return err_stop(e, STOP_USAGE, root);
	if (realpath(dir, path) == NULL)
		return err_stop(e, STOP_USAGE, err_errno(e, errno, "cannot open %s", dir));
	rc = write_all(root, t, e);
	if (rc != 0 && made)
		(void)rmdir(dir);
	if (rc == 0 && t->next == NULL)
		rc = repo_init(root, path, FIRST_AUTHOR, &committed, e);
	if (rc == 0)
		say_next(dir, t, committed);
	return rc;
}

static int unknown_template(const char *name)
{
	const char *names[8] = {0};
	const char *near;

	for (size_t i = 0; i < templates_n && i < 7; i++)
		names[i] = templates[i].name;
	near = str_nearest(name, names);
	log_note("init: unknown template %.40s%s%s: there are:", name, near != NULL ? ": did you mean " : "",
	         near != NULL ? near : "");
	for (size_t i = 0; i < templates_n; i++)
		log_note("  %-5s %s", templates[i].name, templates[i].says);
	return STOP_USAGE;
}

int cmd_init(struct cmd *c, int argc, char **argv)
{
	static const struct option longs[] = {{"template", required_argument, NULL, 't'}, {NULL, 0, NULL, 0}};
	const char *name = templates[0].name;
	const struct template *t;
	struct err e = {0};
	int opt;

	(void)c;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (opt != 't') {
			log_note("init: %s%s: usage: stint init [DIR] [--template NAME]",
			         opt == ':' ? "a value is missing for " : "unknown option ", argv[optind - 1]);
			return STOP_USAGE;
		}
		name = optarg;
	}
	if (argc - optind > 1) {
		log_note("init: more than one folder: usage: stint init [DIR] [--template NAME]");
		return STOP_USAGE;
	}
	t = template_find(name);
	if (t == NULL)
		return unknown_template(name);
	return init(optind < argc ? argv[optind] : ".", t, &e) == 0 ? STOP_DONE : log_err(&e, STOP_USAGE);
}
