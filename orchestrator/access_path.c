/* The place that a path means to another process: see access_path.h. Looked up here, so links such as /proc/self, which mean
 * something else to every process, are put in words first. */
#include "orchestrator/access_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define DELETED " (deleted)"

/* "/proc/self/…" as this process must say it. */
static int in_words(const struct held *h, const char *text, char ret[PATH_MAX])
{
	static const struct {
		const char *link;
		const char *below; /* /proc/PID */
	} links[] = {{"/proc/self", ""}, {"/proc/thread-self", "/task"}, {"/dev/fd", "/fd"}, {"/dev/stdin", "/fd/0"},
	             {"/dev/stdout", "/fd/1"}, {"/dev/stderr", "/fd/2"}};
	int n = -1;

	for (size_t i = 0; n < 0 && i < sizeof(links) / sizeof(links[0]); i++) {
		size_t len = strlen(links[i].link);

		if (!str_starts(text, links[i].link) || (text[len] != '\0' && text[len] != '/'))
			continue;
		if (str_eq(links[i].below, "/task"))
			n = snprintf(ret, PATH_MAX, "/proc/%d/task/%d%s", (int)h->process, (int)h->thread, text + len);
		else
			n = snprintf(ret, PATH_MAX, "/proc/%d%s%s", (int)h->process, links[i].below, text + len);
	}
	if (n < 0)
		n = snprintf(ret, PATH_MAX, "%s", text);
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Where relative paths begin; -1 for an absolute one, which needs none. */
static int open_base(const struct held *h, int dir, const char *text, int *ret)
{
	char path[64];

	*ret = -1;
	if (text[0] == '/')
		return 0;
	if (dir == AT_FDCWD)
		(void)snprintf(path, sizeof(path), "/proc/%d/cwd", (int)h->thread);
	else
		(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)h->thread, dir);
	*ret = open(path, O_PATH | O_CLOEXEC);
	return *ret >= 0 ? 0 : -errno;
}

static int fill(int fd, struct place *ret)
{
	char link[64];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret->path, sizeof(ret->path) - 1);
	if (n < 0 || fstat(fd, &ret->st) != 0)
		return -errno;
	ret->path[n] = '\0';
	if (ret->path[0] != '/' || ((size_t)n > strlen(DELETED) && str_eq(ret->path + n - strlen(DELETED), DELETED)))
		return -ENXIO;
	return 0;
}

int place_of(const struct held *h, int dir, const char *text, bool follow, struct place *ret)
{
	char words[PATH_MAX];
	AUTO_FD base = -1;
	AUTO_FD fd = -1;
	int rc = in_words(h, text, words);

	if (rc == 0)
		rc = open_base(h, dir, text, &base);
	if (rc != 0)
		return rc;
	if (text[0] == '\0')
		return base >= 0 && dir != AT_FDCWD ? fill(base, ret) : -ENOENT; /* AT_EMPTY_PATH */
	fd = openat(base, words, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
	return fd < 0 ? -errno : fill(fd, ret);
}

int place_of_entry(const struct held *h, int dir, const char *text, struct place *ret, char ret_name[NAME_MAX + 1],
                   bool *ret_exists, struct stat *ret_entry)
{
	char folder[PATH_MAX];
	size_t end = strlen(text);
	size_t start;
	int rc;

	while (end > 1 && text[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && text[start - 1] != '/')
		start--;
	if (end == start || end - start > NAME_MAX || start >= sizeof(folder))
		return -ENOENT;
	memcpy(ret_name, text + start, end - start);
	ret_name[end - start] = '\0';
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)start, text);
	rc = place_of(h, dir, start == 0 ? "." : folder, true, ret);
	if (rc != 0)
		return rc;
	if (!S_ISDIR(ret->st.st_mode) || str_eq(ret_name, ".") || str_eq(ret_name, ".."))
		return -ENOENT;
	if ((size_t)snprintf(folder, sizeof(folder), "%s/%s", ret->path, ret_name) >= sizeof(folder))
		return -ENAMETOOLONG;
	*ret_exists = lstat(folder, ret_entry) == 0;
	return *ret_exists || errno == ENOENT ? 0 : -errno;
}
