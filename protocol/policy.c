/* The compiled policy: checking and reading it. Linked into root code: libc only, nothing outside the
 * given bytes is read, and no byte of them is printed. */
#include "protocol/policy.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/str.h"
#include "roles/path.h"

#define KNOWN_ENTRY_FLAGS ((unsigned int)ENTRY_NAMED)
#define KNOWN_ROLE_FLAGS ((unsigned int)(ROLE_FRESH_HOME | ROLE_STDIN_PROMPT | ROLE_SUITE_LOG))
#define DEADLINE_MAX_MS (1000ull * 60 * 60 * 24 * 30)

const char *policy_str(const struct policy *p, uint32_t off)
{
	return p->pool + off;
}

const char *policy_item(const struct policy *p, struct policy_list list, uint32_t i)
{
	const char *s = p->pool + list.off;

	while (i-- > 0)
		s += strlen(s) + 1;
	return s;
}

int policy_role_find(const struct policy *p, const char *name)
{
	for (uint32_t i = 0; i < p->n_roles; i++)
		if (str_eq(p->role[i].name, name))
			return (int)i;
	return -1;
}

/* No message quotes the policy: what it holds comes from a repository, and the reader is a terminal. */
#define REFUSE(e, ...) err_stop(e, STOP_USAGE, err_set(e, EINVAL, "policy refused: " __VA_ARGS__))

static bool relative_ok(const char *path)
{
	return strlen(path) <= POLICY_PATH_MAX && path_plain(path);
}

static bool absolute_ok(const char *path)
{
	return path[0] == '/' && strlen(path) <= POLICY_READ_PATH_MAX && path_plain(path + 1);
}

bool policy_env_name_ok(const char *s, size_t n)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	if (n == 0 || (s[0] >= '0' && s[0] <= '9') || strspn(s, letters) < n)
		return false;
	if (n >= 3 && strncmp(s, "LD_", 3) == 0)
		return false;
	return !(n == 14 && strncmp(s, "GLIBC_TUNABLES", n) == 0);
}

/* The list's strings all end inside the pool. The pool's last byte is NUL, so strlen never runs out of it. */
static bool list_ok(const struct policy *p, size_t pool_len, struct policy_list list)
{
	size_t off = list.off;

	if (list.n > POLICY_MAX_LIST || off >= pool_len)
		return false;
	for (uint32_t i = 0; i < list.n; i++) {
		if (off >= pool_len)
			return false;
		off += strlen(p->pool + off) + 1;
	}
	return true;
}

static int check_header(const struct policy *p, size_t len, struct err *e)
{
	size_t pool_len;

	if (len <= sizeof(*p) || len > POLICY_MAX_BYTES)
		return REFUSE(e, "its size is %zu bytes", len);
	if (p->magic != POLICY_MAGIC || p->version != POLICY_VERSION)
		return REFUSE(e, "coordinator and warden are not of one build: run make install again");
	pool_len = len - sizeof(*p);
	if (p->total != len || p->pool[0] != '\0' || p->pool[pool_len - 1] != '\0')
		return REFUSE(e, "its string pool is cut");
	if (p->n_roles == 0 || p->n_roles > ROLE_MAX)
		return REFUSE(e, "%u roles: 1 to %d are possible", p->n_roles, ROLE_MAX);
	if (p->n_entries > POLICY_MAX_ENTRIES)
		return REFUSE(e, "%u entries: at most %u are possible", p->n_entries, POLICY_MAX_ENTRIES);
	if ((p->umask & ~0777u) != 0)
		return REFUSE(e, "its umask is not a file mode");
	if (p->layers == 0 || (p->layers & ~(unsigned int)LAYER_ALL) != 0)
		return REFUSE(e, "unknown layers, or none at all");
	if (p->agent_user == 0 || p->agent_user >= pool_len || policy_str(p, p->agent_user)[0] == '\0')
		return REFUSE(e, "no agent user");
	if (p->limits.memory == 0 || p->limits.file == 0 || p->limits.processes == 0 || p->limits.open_files == 0)
		return REFUSE(e, "a limit is 0");
	return 0;
}

static int check_env(const struct policy *p, uint32_t role, struct err *e)
{
	struct policy_list env = p->role[role].env;
	const char *s = policy_str(p, env.off);

	for (uint32_t i = 0; i < env.n; i++, s += strlen(s) + 1) {
		const char *eq = strchr(s, '=');

		if (eq == NULL || !policy_env_name_ok(s, (size_t)(eq - s)))
			return REFUSE(e, "role %u: environment entry %u is no NAME=VALUE, or one for the dynamic loader", role, i);
	}
	return 0;
}

static int check_role(const struct policy *p, size_t pool_len, uint32_t i, struct err *e)
{
	const struct policy_role *r = &p->role[i];
	const char *s;

	if (memchr(r->name, '\0', sizeof(r->name)) == NULL || !role_name_ok(r->name))
		return REFUSE(e, "role %u has no proper name", i);
	if (policy_role_find(p, r->name) != (int)i)
		return REFUSE(e, "role %u has the name of another", i);
	if (!list_ok(p, pool_len, r->argv) || !list_ok(p, pool_len, r->env) || !list_ok(p, pool_len, r->read))
		return REFUSE(e, "role %u: a list leaves the string pool or is too long", i);
	if (r->argv.n > 0 && policy_str(p, r->argv.off)[0] == '\0')
		return REFUSE(e, "role %u: its command's first word is empty", i);
	if ((r->flags & ~KNOWN_ROLE_FLAGS) != 0)
		return REFUSE(e, "role %u: unknown flags", i);
	if (r->deadline_ms > DEADLINE_MAX_MS)
		return REFUSE(e, "role %u: its deadline is more than 30 days away", i);
	if (r->n_ports > POLICY_MAX_PORTS)
		return REFUSE(e, "role %u: too many ports", i);
	for (uint32_t k = 0; k < r->n_ports; k++)
		if (r->ports[k] == 0)
			return REFUSE(e, "role %u: port 0", i);
	s = policy_str(p, r->read.off);
	for (uint32_t k = 0; k < r->read.n; k++, s += strlen(s) + 1)
		if (!absolute_ok(s))
			return REFUSE(e, "role %u: read path %u is not absolute and plain", i, k);
	return check_env(p, i, e);
}

static int check_entry(const struct policy *p, size_t pool_len, uint32_t i, struct err *e)
{
	const struct policy_entry *entry = &p->entry[i];
	bool open = false;

	if (entry->path == 0 || entry->path >= pool_len || !relative_ok(policy_str(p, entry->path)))
		return REFUSE(e, "entry %u: its path is not relative and plain", i);
	if (entry->kind > POLICY_DIR || (entry->flags & ~KNOWN_ENTRY_FLAGS) != 0)
		return REFUSE(e, "entry %u: unknown kind or flags", i);
	for (uint32_t k = 0; k < ROLE_MAX; k++) {
		if (entry->level[k] > (k < p->n_roles ? LEVEL_RW : LEVEL_NONE))
			return REFUSE(e, "entry %u: unknown level, or one for a role that does not exist", i);
		open = open || entry->level[k] != LEVEL_NONE;
	}
	if (open && path_private(policy_str(p, entry->path)))
		return REFUSE(e, "entry %u: .git and .stint are closed to every role", i);
	return 0;
}

static int check_entries(const struct policy *p, size_t pool_len, struct err *e)
{
	for (uint32_t i = 0; i < p->n_entries; i++) {
		int rc = check_entry(p, pool_len, i, e);

		if (rc != 0)
			return rc;
		for (uint32_t k = 0; k < i; k++)
			if (path_overlap(policy_str(p, p->entry[i].path), policy_str(p, p->entry[k].path)))
				return REFUSE(e, "entries %u and %u are the same path or one is inside the other", k, i);
	}
	return 0;
}

/* Scratch folders are mounted over: below a zone they would hide it, above one they would hide it whole. */
static int check_scratch(const struct policy *p, size_t pool_len, struct err *e)
{
	const char *s;

	if (!list_ok(p, pool_len, p->scratch))
		return REFUSE(e, "the scratch list leaves the string pool or is too long");
	s = policy_str(p, p->scratch.off);
	for (uint32_t i = 0; i < p->scratch.n; i++, s += strlen(s) + 1) {
		if (!relative_ok(s) || path_private(s))
			return REFUSE(e, "scratch folder %u is not relative and plain", i);
		for (uint32_t k = 0; k < i; k++)
			if (path_overlap(s, policy_item(p, p->scratch, k)))
				return REFUSE(e, "scratch folders %u and %u overlap", k, i);
		for (uint32_t k = 0; k < p->n_entries; k++)
			if (path_overlap(s, policy_str(p, p->entry[k].path)))
				return REFUSE(e, "scratch folder %u overlaps entry %u", i, k);
	}
	return 0;
}

int policy_check(const struct policy *p, size_t len, struct err *e)
{
	int rc = check_header(p, len, e);

	for (uint32_t i = 0; rc == 0 && i < p->n_roles; i++)
		rc = check_role(p, len - sizeof(*p), i, e);
	if (rc == 0)
		rc = check_entries(p, len - sizeof(*p), e);
	if (rc == 0)
		rc = check_scratch(p, len - sizeof(*p), e);
	return rc;
}

int policy_map(int fd, const struct policy **ret, struct err *e)
{
	struct stat st;
	void *map;
	int rc;

	if (!fd_is_sealed(fd))
		return REFUSE(e, "it is not a sealed memfd");
	if (fstat(fd, &st) != 0 || st.st_size <= (off_t)sizeof(struct policy) || st.st_size > (off_t)POLICY_MAX_BYTES)
		return REFUSE(e, "its size is out of bounds");
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return err_errno(e, errno, "cannot map the policy");
	rc = policy_check(map, (size_t)st.st_size, e);
	if (rc != 0) {
		(void)munmap(map, (size_t)st.st_size);
		return rc;
	}
	*ret = map;
	return 0;
}

void policy_unmap(const struct policy *p)
{
	if (p != NULL)
		(void)munmap((void *)(uintptr_t)p, p->total);
}
