/* Which projects are not yet as they were: see journal.h. */
#include "sandbox/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "roles/role.h"

#define SUFFIX ".project"

static void file_name(const struct journal *j, const char *suffix, char ret[SNAP_NAME_MAX])
{
	(void)snprintf(ret, SNAP_NAME_MAX, "%" PRIx64 "-%" PRIx64 "%s", (uint64_t)j->dev, (uint64_t)j->ino, suffix);
}

void journal_snapshot_name(const struct journal *j, char ret[SNAP_NAME_MAX])
{
	file_name(j, ".snapshot", ret);
}

void journal_last_name(const struct journal *j, unsigned int role, char ret[SNAP_NAME_MAX])
{
	char suffix[32];

	(void)snprintf(suffix, sizeof(suffix), ".snapshot.%u", role);
	file_name(j, suffix, ret);
}

int journal_dir(int state_fd, struct err *e)
{
	AUTO_FD fd = -1;
	struct stat st;

	if (mkdirat(state_fd, "journal", 0700) != 0 && errno != EEXIST)
		return err_errno(e, errno, "cannot make the journal folder");
	fd = fd_open_beneath(state_fd, "journal", O_RDONLY | O_DIRECTORY, 0, false);
	if (fd < 0)
		return err_errno(e, -fd, "cannot open the journal folder");
	if (fstat(fd, &st) != 0)
		return err_errno(e, errno, "cannot open the journal folder");
	if (st.st_uid != 0 || (st.st_mode & 077) != 0)
		return err_set(e, EPERM, "the journal folder is not trusted: others than root could write it: look into it, then "
		               "chown root and chmod 0700");
	return fd_take(&fd);
}

static int add_number(struct buf *b, const char *key, uint64_t value)
{
	return buf_addf(b, "%s=%" PRIu64 "%c", key, value, '\0');
}

int journal_write(int dir_fd, const struct journal *j, struct err *e)
{
	AUTO_BUF struct buf b = {0};
	char name[SNAP_NAME_MAX];

	if (add_number(&b, "version", 1) != 0 || add_number(&b, "dev", j->dev) != 0 || add_number(&b, "ino", j->ino) != 0 ||
	    add_number(&b, "owner", j->owner) != 0 || add_number(&b, "owner_gid", j->owner_gid) != 0 ||
	    add_number(&b, "agent", j->agent.uid) != 0 || add_number(&b, "agent_gid", j->agent.gid) != 0 ||
	    add_number(&b, "writers", j->agent.writers) != 0 || add_number(&b, "umask", j->umask) != 0 ||
	    add_number(&b, "flipping", j->flipping) != 0 ||
	    buf_addf(&b, "path=%s%c", j->path, '\0') != 0)
		return err_errno(e, ENOMEM, "cannot write the journal");
	file_name(j, SUFFIX, name);
	return fd_replace_file(dir_fd, name, b.data, b.len, 0600, e);
}

static int take_pair(struct journal *j, const char *key, const char *value)
{
	char *end;
	uint64_t n;

	if (str_eq(key, "path"))
		return snprintf(j->path, sizeof(j->path), "%s", value) < (int)sizeof(j->path) ? 0 : -EINVAL;
	errno = 0;
	n = strtoull(value, &end, 10);
	if (errno != 0 || end == value || *end != '\0')
		return -EINVAL;
	if (str_eq(key, "version"))
		return n == 1 ? 0 : -EINVAL;
	if (str_eq(key, "dev"))
		j->dev = n;
	else if (str_eq(key, "ino"))
		j->ino = n;
	else if (str_eq(key, "owner"))
		j->owner = (uid_t)n;
	else if (str_eq(key, "owner_gid"))
		j->owner_gid = (gid_t)n;
	else if (str_eq(key, "agent"))
		j->agent.uid = (uid_t)n;
	else if (str_eq(key, "agent_gid"))
		j->agent.gid = (gid_t)n;
	else if (str_eq(key, "writers")) /* these two are not in the entries of older versions */
		j->agent.writers = (gid_t)n;
	else if (str_eq(key, "umask"))
		j->umask = (mode_t)n & 0777;
	else if (str_eq(key, "flipping"))
		j->flipping = n != 0;
	else
		return -EINVAL;
	return 0;
}

static int parse(char *text, size_t len, struct journal *ret)
{
	struct journal j = {.owner = (uid_t)-1, .agent.uid = (uid_t)-1};

	for (size_t at = 0; at < len; at += strlen(text + at) + 1) {
		char *value = strchr(text + at, '=');
		int rc;

		if (value == NULL)
			return -EINVAL;
		*value = '\0';
		rc = take_pair(&j, text + at, value + 1);
		*value = '='; /* the loop's step counts the whole pair */
		if (rc != 0)
			return rc;
	}
	if (j.owner == (uid_t)-1 || j.agent.uid == (uid_t)-1 || j.agent.uid == 0 || j.ino == 0)
		return -EINVAL;
	*ret = j;
	return 0;
}

/* 0, 1 when there is no such file, or an error. */
static int read_entry(int dir_fd, const char *name, struct journal *ret, struct err *e)
{
	AUTO_FD fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t len = 0;
	int rc;

	if (fd < 0 && errno == ENOENT)
		return 1;
	if (fd < 0)
		return err_errno(e, errno, "cannot read the journal's %s", name);
	rc = fd_read_all(fd, JOURNAL_BYTES_MAX, &text, &len);
	if (rc == 0)
		rc = parse(text, len, ret);
	if (rc != 0)
		return err_errno(e, -rc, "cannot read the journal's %s: look at it, it may have to be deleted", name);
	return 0;
}

/* A device number need not outlive a reboot; an inode number at its path does. */
static int find_by_path(int dir_fd, ino_t ino, const char *path, struct journal *ret, struct err *e)
{
	AUTO_FD fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	int rc = 1;

	if (dir == NULL)
		return err_errno(e, errno, "cannot read the journal");
	fd = -1; /* dir's now */
	while (rc == 1 && (d = readdir(dir)) != NULL) {
		size_t len = strlen(d->d_name);

		if (len < sizeof(SUFFIX) || !str_eq(d->d_name + len - (sizeof(SUFFIX) - 1), SUFFIX) || d->d_name[0] == '.')
			continue;
		rc = read_entry(dir_fd, d->d_name, ret, e);
		if (rc == 0 && (ret->ino != ino || !str_eq(ret->path, path)))
			rc = 1;
	}
	(void)closedir(dir);
	return rc;
}

int journal_find(int dir_fd, dev_t dev, ino_t ino, const char *path, struct journal *ret, struct err *e)
{
	struct journal key = {.dev = dev, .ino = ino};
	char name[SNAP_NAME_MAX];
	int rc;

	file_name(&key, SUFFIX, name);
	rc = read_entry(dir_fd, name, ret, e);
	return rc == 1 ? find_by_path(dir_fd, ino, path, ret, e) : rc;
}

static int remove_file(int dir_fd, const char *name, struct err *e)
{
	if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	return err_errno(e, errno, "cannot remove the journal's %s", name);
}

int journal_remove(int dir_fd, const struct journal *j, struct err *e)
{
	/* The entry last. What ends in .new is what a kill left of writing one of them. */
	static const struct {
		const char *before;
		const char *after;
	} files[] = {{"", ".snapshot"}, {"", ".snapshot.new"}, {".", SUFFIX ".new"}, {"", SUFFIX}};

	char name[SNAP_NAME_MAX];
	int rc = 0;

	for (unsigned int role = 0; rc == 0 && role < ROLE_MAX; role++) {
		journal_last_name(j, role, name);
		rc = remove_file(dir_fd, name, e);
	}
	for (size_t i = 0; rc == 0 && i < sizeof(files) / sizeof(files[0]); i++) {
		char full[SNAP_NAME_MAX + 1];

		file_name(j, files[i].after, name);
		(void)snprintf(full, sizeof(full), "%s%s", files[i].before, name);
		rc = remove_file(dir_fd, full, e);
	}
	if (rc == 0 && fsync(dir_fd) != 0)
		rc = err_errno(e, errno, "cannot write the journal");
	return rc;
}
