/* What must be true of every policy that policy_check() accepts, written a second time and without its helpers. */
#ifndef STINT_TESTS_POLICY_RULES_H
#define STINT_TESTS_POLICY_RULES_H

#include "protocol/policy.h"
#include "tests/fuzz/fuzz.h"

/* "/" in front and behind makes every bad component a substring. */
static inline bool policy_rules_plain(const char *path)
{
	char *s = NULL;
	bool ok;

	CHECK(asprintf(&s, "/%s/", path) > 0);
	ok = path[0] != '\0' && strstr(s, "//") == NULL && strstr(s, "/./") == NULL && strstr(s, "/../") == NULL;
	free(s);
	return ok;
}

static inline bool policy_rules_private(const char *path)
{
	char *s = NULL;
	bool found;

	CHECK(asprintf(&s, "/%s/", path) > 0);
	found = strstr(s, "/.git/") != NULL || str_starts(s, "/.stint/");
	free(s);
	return found;
}

/* One is the other, or a folder of it. */
static inline bool policy_rules_nested(const char *a, const char *b)
{
	size_t na = strlen(a);
	size_t nb = strlen(b);
	size_t least = na < nb ? na : nb;

	return memcmp(a, b, least) == 0 && (na == nb || (na < nb ? b[na] : a[nb]) == '/');
}

/* Where the string at `at` ends inside the policy's len bytes: the next one's place. */
static inline const char *policy_rules_next(const struct policy *p, size_t len, const char *at)
{
	const char *end = (const char *)p + len;
	const char *nul = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

	CHECK(at >= p->pool && nul != NULL);
	return nul + 1;
}

/* The list's words; returns how many. */
static inline uint32_t policy_rules_words(const struct policy *p, size_t len, struct policy_list list,
                                          const char *v[POLICY_MAX_LIST])
{
	const char *at = p->pool + list.off;

	CHECK(list.n <= POLICY_MAX_LIST);
	for (uint32_t i = 0; i < list.n; i++, at = policy_rules_next(p, len, at))
		v[i] = at;
	return list.n;
}

static inline void policy_rules_role(const struct policy *p, size_t len, const struct policy_role *r)
{
	const char *v[POLICY_MAX_LIST];
	uint32_t n;

	CHECK(memchr(r->name, '\0', sizeof(r->name)) != NULL && r->name[0] >= 'a' && r->name[0] <= 'z');
	CHECK(strchr(r->name, '/') == NULL && strchr(r->name, '.') == NULL);
	CHECK(r->n_ports <= POLICY_MAX_PORTS);
	for (uint32_t k = 0; k < r->n_ports; k++)
		CHECK(r->ports[k] != 0);
	n = policy_rules_words(p, len, r->argv, v);
	CHECK(n == 0 || v[0][0] != '\0');
	n = policy_rules_words(p, len, r->env, v);
	for (uint32_t k = 0; k < n; k++) {
		const char *eq = strchr(v[k], '=');

		CHECK(eq != NULL && eq != v[k] && !str_starts(v[k], "LD_") && !str_starts(v[k], "GLIBC_TUNABLES="));
	}
	n = policy_rules_words(p, len, r->read, v);
	for (uint32_t k = 0; k < n; k++)
		CHECK(v[k][0] == '/' && policy_rules_plain(v[k] + 1) && strlen(v[k]) < 4096);
}

static inline void policy_rules_scratch(const struct policy *p, size_t len)
{
	const char *v[POLICY_MAX_LIST];
	uint32_t n = policy_rules_words(p, len, p->scratch, v);

	for (uint32_t i = 0; i < n; i++) {
		CHECK(policy_rules_plain(v[i]) && strlen(v[i]) < 256 && !policy_rules_private(v[i]));
		for (uint32_t k = 0; k < i; k++)
			CHECK(!policy_rules_nested(v[i], v[k]));
		for (uint32_t k = 0; k < p->n_entries; k++)
			CHECK(!policy_rules_nested(v[i], policy_str(p, p->entry[k].path)));
	}
}

static inline void policy_rules_check(const struct policy *p, size_t len)
{
	CHECK(p->total == len && len <= POLICY_MAX_BYTES && p->n_roles >= 1 && p->n_roles <= ROLE_MAX);
	CHECK(p->n_entries <= POLICY_MAX_ENTRIES && p->scratch.n <= POLICY_MAX_LIST && p->layers != 0);
	CHECK(policy_rules_next(p, len, policy_str(p, p->agent_user)) > policy_str(p, p->agent_user) + 1);
	for (uint32_t i = 0; i < p->n_roles; i++) {
		policy_rules_role(p, len, &p->role[i]);
		for (uint32_t k = 0; k < i; k++)
			CHECK(!str_eq(p->role[i].name, p->role[k].name));
	}
	for (uint32_t i = 0; i < p->n_entries; i++) {
		const char *path = policy_str(p, p->entry[i].path);
		unsigned int open = 0;

		(void)policy_rules_next(p, len, path);
		for (size_t k = 0; k < ROLE_MAX; k++)
			open |= p->entry[i].level[k];
		CHECK(open <= (LEVEL_R | LEVEL_RW) && policy_rules_plain(path) && strlen(path) < 256);
		CHECK(open == 0 || !policy_rules_private(path));
		for (uint32_t k = 0; k < i; k++)
			CHECK(!policy_rules_nested(path, policy_str(p, p->entry[k].path)));
	}
	policy_rules_scratch(p, len);
}

#endif
