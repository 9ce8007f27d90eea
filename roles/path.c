/* Path rules of the access table. Linked into root code: libc only. */
#include "roles/path.h"

#include <stddef.h>
#include <string.h>

bool path_plain(const char *path)
{
	for (;;) {
		size_t n = strcspn(path, "/");

		if (n == 0 || (n == 1 && path[0] == '.') || (n == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		if (path[n] == '\0')
			return true;
		path += n + 1;
	}
}

bool path_private(const char *path)
{
	for (const char *at = path;; at++) {
		size_t n = strcspn(at, "/");

		if (n == 4 && strncmp(at, ".git", n) == 0)
			return true;
		if (at == path && n == 6 && strncmp(at, ".stint", n) == 0)
			return true;
		at += n;
		if (*at == '\0')
			return false;
	}
}

bool path_within(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

bool path_overlap(const char *a, const char *b)
{
	return path_within(a, b) || path_within(b, a);
}
