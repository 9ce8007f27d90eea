/* Kept results of `stint profile check`: see checked.h. */
#include "sandbox/checked.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

#define FILE_MAX_BYTES 16384u
#define LINES_MAX 16
#define LINE_MAX_BYTES (PATH_MAX + 128)

int checked_folder(char *ret, size_t size)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	int n;

	if (state != NULL && state[0] == '/') /* a relative one is to be ignored, says the specification */
		n = snprintf(ret, size, "%s/stint/checked", state);
	else if (home != NULL && home[0] == '/')
		n = snprintf(ret, size, "%s/.local/state/stint/checked", home);
	else
		return -ENOENT;
	return n < (int)size ? 0 : -ENAMETOOLONG;
}

/* NAME-CONTENT-KERNEL. Names of profiles and kernels have no slash. */
static int file_name(const char *name, uint64_t content, char ret[NAME_MAX + 1])
{
	struct utsname u;

	if (uname(&u) != 0)
		return -errno;
	return snprintf(ret, NAME_MAX + 1, "%s-%016" PRIx64 "-%s", name, content, u.release) <= NAME_MAX ? 0 : -ENAMETOOLONG;
}

/* "SIZE SECONDS.NANOSECONDS FILE": what must be the same for a line to hold. */
static int libc_key(const char *file, char *ret, size_t size)
{
	struct stat st;

	if (stat(file, &st) != 0)
		return -errno;
	return snprintf(ret, size, "%lld %lld.%09ld %s", (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
	                file) < (int)size ? 0 : -ENAMETOOLONG;
}

/* A line is "WORD VERSION KEY"; the key begins behind the second blank. */
static const char *key_of(const char *line)
{
	const char *p = strchr(line, ' ');

	p = p != NULL ? strchr(p + 1, ' ') : NULL;
	return p != NULL ? p + 1 : "";
}

static bool still_holds(const char *line)
{
	const char *file = strchr(key_of(line), '/');
	char key[LINE_MAX_BYTES];

	return file != NULL && libc_key(file, key, sizeof(key)) == 0 && str_eq(key, key_of(line));
}

/* The file's text, "" when there is none. It lies in a folder of the caller's, where anything may be. */
static char *read_file(int dir, const char *name)
{
	AUTO_FD fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	char *text = NULL;
	struct stat st;
	size_t n = 0;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || fd_read_all(fd, FILE_MAX_BYTES, &text, &n) != 0)
		return strdup("");
	return text;
}

enum checked checked_look(const char *name, uint64_t content)
{
	enum checked found = CHECKED_NEVER;
	char file[NAME_MAX + 1];
	AUTO_FREE char *text = NULL;
	char folder[PATH_MAX];
	AUTO_FD dir = -1;
	char *save = NULL;

	if (checked_folder(folder, sizeof(folder)) != 0 || file_name(name, content, file) != 0)
		return CHECKED_NEVER;
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	text = dir >= 0 ? read_file(dir, file) : NULL;
	if (text == NULL)
		return CHECKED_NEVER;
	for (char *line = strtok_r(text, "\n", &save); line != NULL && found == CHECKED_NEVER; line = strtok_r(NULL, "\n", &save))
		if (still_holds(line))
			found = str_starts(line, "passed ") ? CHECKED_PASSED : CHECKED_FAILED;
	return found;
}

/* ---- keeping */

static int make_folders(char *path, struct err *e)
{
	for (char *p = path + 1; p != NULL;) {
		p = strchr(p, '/');
		if (p != NULL)
			*p = '\0';
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			return err_errno(e, errno, "cannot make the folder %s", path);
		if (p != NULL)
			*p++ = '/';
	}
	return 0;
}

/* The new line first, then what the file says of other libraries. */
static int new_text(const char *line, char *old, struct buf *ret)
{
	char *save = NULL;
	int lines = 1;
	int rc = buf_addf(ret, "%s\n", line);

	for (char *l = strtok_r(old, "\n", &save); rc == 0 && l != NULL && lines < LINES_MAX; l = strtok_r(NULL, "\n", &save)) {
		if (strlen(l) >= LINE_MAX_BYTES || str_eq(key_of(l), key_of(line)))
			continue;
		rc = buf_addf(ret, "%s\n", l);
		lines++;
	}
	return rc;
}

int checked_keep(const char *name, uint64_t content, bool passed, const char *libc, const char *libc_file, char *ret_path,
                 size_t size, struct err *e)
{
	char key[LINE_MAX_BYTES];
	char line[LINE_MAX_BYTES + 64];
	char file[NAME_MAX + 1];
	AUTO_FREE char *old = NULL;
	AUTO_BUF struct buf text = {0};
	char folder[PATH_MAX];
	AUTO_FD dir = -1;
	int rc = checked_folder(folder, sizeof(folder));

	if (rc != 0)
		return err_set(e, -rc, "the result cannot be kept: set HOME or XDG_STATE_HOME");
	rc = file_name(name, content, file);
	if (rc == 0)
		rc = libc_key(libc_file, key, sizeof(key));
	if (rc != 0)
		return err_errno(e, -rc, "the result cannot be kept: %s", libc_file);
	(void)snprintf(line, sizeof(line), "%s %.40s %s", passed ? "passed" : "failed", libc, key);
	rc = make_folders(folder, e);
	if (rc != 0)
		return rc;
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_errno(e, errno, "cannot open %s", folder);
	old = read_file(dir, file);
	if (old == NULL || new_text(line, old, &text) != 0)
		return err_errno(e, ENOMEM, "the result cannot be kept");
	(void)snprintf(ret_path, size, "%s/%s", folder, file);
	return fd_replace_file(dir, file, text.data, text.len, 0600, e);
}
