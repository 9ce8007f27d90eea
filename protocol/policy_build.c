/* Building a policy: header and string pool in one block, sealed at the end. The coordinator's side. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"
#include "base/fd.h"
#include "protocol/policy.h"

#define POOL_FIRST 4096u

int policy_begin(struct policy_builder *b)
{
	b->p = calloc(1, sizeof(*b->p) + POOL_FIRST);
	if (b->p == NULL)
		return -ENOMEM;
	b->pool_cap = POOL_FIRST;
	b->pool_len = 1;
	return 0;
}

void policy_done(struct policy_builder *b)
{
	free(b->p);
	*b = (struct policy_builder){0};
}

/* Room for n more bytes. Moves b->p. */
static int reserve(struct policy_builder *b, size_t n)
{
	size_t most = POLICY_MAX_BYTES - sizeof(*b->p);
	size_t cap = b->pool_cap;
	struct policy *p;

	if (n > most - b->pool_len)
		return -E2BIG;
	while (cap - b->pool_len < n)
		cap *= 2;
	if (cap == b->pool_cap)
		return 0;
	p = realloc(b->p, sizeof(*b->p) + cap);
	if (p == NULL)
		return -ENOMEM;
	b->p = p;
	b->pool_cap = cap;
	return 0;
}

static int append(struct policy_builder *b, const char *s)
{
	size_t n = strlen(s) + 1;
	int rc = reserve(b, n);

	if (rc != 0)
		return rc;
	memcpy(b->p->pool + b->pool_len, s, n);
	b->pool_len += n;
	return 0;
}

int policy_add_str(struct policy_builder *b, const char *s, uint32_t *ret_off)
{
	uint32_t off = s[0] == '\0' ? 0 : (uint32_t)b->pool_len;
	int rc = off == 0 ? 0 : append(b, s);

	if (rc == 0)
		*ret_off = off;
	return rc;
}

int policy_add_list(struct policy_builder *b, const char *const *v, uint32_t n, struct policy_list *ret)
{
	struct policy_list list = {.off = n == 0 ? 0 : (uint32_t)b->pool_len, .n = n};

	if (n > POLICY_MAX_LIST)
		return -E2BIG;
	for (uint32_t i = 0; i < n; i++) {
		int rc = append(b, v[i]);

		if (rc != 0)
			return rc;
	}
	*ret = list;
	return 0;
}

int policy_seal(struct policy_builder *b, struct err *e)
{
	size_t len = sizeof(*b->p) + b->pool_len;
	int rc;

	b->p->magic = POLICY_MAGIC;
	b->p->version = POLICY_VERSION;
	b->p->total = (uint32_t)len;
	rc = policy_check(b->p, len, e);
	if (rc != 0)
		return rc;
	rc = fd_sealed_memfd("stint-policy", b->p, len);
	return rc < 0 ? err_stop(e, STOP_CONFINE, err_errno(e, -rc, "cannot make the policy's memfd")) : rc;
}
