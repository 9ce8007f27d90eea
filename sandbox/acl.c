/* POSIX ACLs as values: see acl.h. */
#include "sandbox/acl.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <string.h>

/* Where a folder had no default ACL, its granted one keeps a person's new files as private as before (rule 5). */
#define MADE_UP_MODE(who) (0777u & ~((who)->umask & 077u))
#define NO_ID ((uint32_t)ACL_UNDEFINED_ID)

static bool entry_ok(const struct acl_entry *x)
{
	return x->perm <= 7 && (x->tag == ACL_USER_OBJ || x->tag == ACL_USER || x->tag == ACL_GROUP_OBJ ||
	                        x->tag == ACL_GROUP || x->tag == ACL_MASK || x->tag == ACL_OTHER);
}

int acl_decode(struct acl *ret, const void *raw, size_t len)
{
	const char *at = raw;
	struct posix_acl_xattr_header h;
	struct posix_acl_xattr_entry from;
	size_t n;

	if (len < sizeof(h))
		return -EINVAL;
	memcpy(&h, at, sizeof(h)); /* raw need not be aligned */
	n = (len - sizeof(h)) / sizeof(from);
	if (le32toh(h.a_version) != POSIX_ACL_XATTR_VERSION || n > ACL_ENTRIES_MAX || len != sizeof(h) + n * sizeof(from))
		return -EINVAL;
	ret->n = 0;
	for (size_t i = 0; i < n; i++) {
		struct acl_entry *x = &ret->e[i];

		memcpy(&from, at + sizeof(h) + i * sizeof(from), sizeof(from));
		*x = (struct acl_entry){le16toh(from.e_tag), le16toh(from.e_perm), le32toh(from.e_id)};
		if (!entry_ok(x))
			return -EINVAL;
	}
	ret->n = (uint32_t)n;
	return 0;
}

size_t acl_encode(const struct acl *a, void *raw)
{
	const struct posix_acl_xattr_header h = {.a_version = htole32(POSIX_ACL_XATTR_VERSION)};
	char *at = raw;

	if (a->n == 0)
		return 0;
	memcpy(at, &h, sizeof(h));
	at += sizeof(h);
	for (uint32_t i = 0; i < a->n; i++) {
		const struct posix_acl_xattr_entry to = {htole16(a->e[i].tag), htole16(a->e[i].perm), htole32(a->e[i].id)};

		memcpy(at, &to, sizeof(to));
		at += sizeof(to);
	}
	return (size_t)(at - (char *)raw);
}

static void insert(struct acl *a, uint32_t at, uint16_t tag, unsigned int perm, uint32_t id)
{
	assert(a->n < ACL_ENTRIES_MAX && at <= a->n);
	memmove(&a->e[at + 1], &a->e[at], (a->n - at) * sizeof(a->e[0]));
	a->e[at] = (struct acl_entry){tag, (uint16_t)perm, id};
	a->n++;
}

static void add(struct acl *a, uint16_t tag, unsigned int perm, uint32_t id)
{
	insert(a, a->n, tag, perm, id);
}

static const struct acl_entry *find(const struct acl *a, uint16_t tag, uint32_t id)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->e[i].tag == tag && a->e[i].id == id)
			return &a->e[i];
	return NULL;
}

/* The permission of an entry without an id; 0 where it is missing. */
static unsigned int perm_of(const struct acl *a, uint16_t tag)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->e[i].tag == tag)
			return a->e[i].perm;
	return 0;
}

static bool has_tag(const struct acl *a, uint16_t tag)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->e[i].tag == tag)
			return true;
	return false;
}

static void set_perm(struct acl *a, uint16_t tag, unsigned int perm)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->e[i].tag == tag)
			a->e[i].perm = (uint16_t)perm;
}

/* The upper bound of the group class: the mask, or the group where there is none. */
static unsigned int mask_of(const struct acl *a)
{
	return perm_of(a, has_tag(a, ACL_MASK) ? ACL_MASK : ACL_GROUP_OBJ);
}

static bool in_group_class(uint16_t tag)
{
	return tag == ACL_USER || tag == ACL_GROUP_OBJ || tag == ACL_GROUP;
}

void acl_copy(struct acl *to, const struct acl *from)
{
	to->n = from->n;
	memcpy(to->e, from->e, from->n * sizeof(from->e[0]));
}

void acl_of_mode(struct acl *ret, mode_t mode)
{
	ret->n = 0;
	add(ret, ACL_USER_OBJ, (mode >> 6) & 7u, NO_ID);
	add(ret, ACL_GROUP_OBJ, (mode >> 3) & 7u, NO_ID);
	add(ret, ACL_OTHER, mode & 7u, NO_ID);
}

mode_t acl_to_mode(const struct acl *a)
{
	return (mode_t)(perm_of(a, ACL_USER_OBJ) << 6 | mask_of(a) << 3 | perm_of(a, ACL_OTHER));
}

mode_t acl_plain_mode(const struct acl *a)
{
	unsigned int group = perm_of(a, ACL_GROUP_OBJ) & mask_of(a);

	return (mode_t)(perm_of(a, ACL_USER_OBJ) << 6 | group << 3 | perm_of(a, ACL_OTHER));
}

bool acl_is_mode(const struct acl *a)
{
	return a->n == 3 && !has_tag(a, ACL_MASK) && !has_tag(a, ACL_USER) && !has_tag(a, ACL_GROUP);
}

bool acl_same(const struct acl *a, const struct acl *b)
{
	return a->n == b->n && memcmp(a->e, b->e, a->n * sizeof(a->e[0])) == 0;
}

static bool is_of(const struct acl_entry *x, const struct acl_agent *agent)
{
	if (x->tag == ACL_USER)
		return x->id == agent->uid;
	return x->tag == ACL_GROUP && agent->writers != 0 && (x->id == agent->gid || x->id == agent->writers);
}

/* The agent whose entry this is, or NULL. */
static const struct acl_agent *agent_of(const struct acl_entry *x, const struct acl_who *who)
{
	for (unsigned int i = 0; i < who->n_agents; i++)
		if (is_of(x, &who->agents[i]))
			return &who->agents[i];
	return NULL;
}

/* The agent that the ACL names, and as what it was granted; NULL when there is none. */
static const struct acl_agent *granted(const struct acl *a, const struct acl_who *who, unsigned int *ret_perm)
{
	const struct acl_agent *found = NULL;

	for (uint32_t i = 0; i < a->n; i++) {
		const struct acl_agent *agent = agent_of(&a->e[i], who);
		bool writers = agent != NULL && a->e[i].tag == ACL_GROUP && a->e[i].id == agent->writers;

		if (agent == NULL || (found != NULL && !writers))
			continue;
		found = agent;
		*ret_perm = a->e[i].perm | (a->e[i].tag == ACL_GROUP ? ACL_BY_GROUPS : 0);
	}
	return found;
}

bool acl_names(const struct acl *a, const struct acl_who *who)
{
	unsigned int perm;

	return granted(a, who, &perm) != NULL;
}

bool acl_is_granted_default(const struct acl *a, const struct acl_who *who)
{
	const struct acl_entry *owner = find(a, ACL_USER, who->owner);

	return acl_names(a, who) && owner != NULL && owner->perm == 7;
}

/* Adds a named entry. A sorted list stays sorted, an unsorted one valid: the kernel wants the tags in their order. */
static void add_named(struct acl *a, uint16_t tag, uint32_t id, unsigned int perm)
{
	uint32_t at = 0;

	while (at < a->n && (a->e[at].tag < tag || (a->e[at].tag == tag && a->e[at].id < id)))
		at++;
	insert(a, at, tag, perm, id);
}

static void drop_agent(struct acl *a, const struct acl_agent *agent)
{
	for (uint32_t i = 0; i < a->n;) {
		if (is_of(&a->e[i], agent))
			memmove(&a->e[i], &a->e[i + 1], (--a->n - i) * sizeof(a->e[0]));
		else
			i++;
	}
}

static void set_mask(struct acl *a, unsigned int perm)
{
	if (has_tag(a, ACL_MASK)) {
		set_perm(a, ACL_MASK, perm);
		return;
	}
	for (uint32_t i = 0; i <= a->n; i++) {
		if (i == a->n || a->e[i].tag == ACL_OTHER) {
			insert(a, i, ACL_MASK, perm, NO_ID);
			return;
		}
	}
}

/* Rule 4, in place. As many entries as the grant has, and a mask, must still fit. */
static void grant(struct acl *a, const struct acl_agent *agent, unsigned int perm)
{
	unsigned int old = mask_of(a);
	unsigned int most = perm & 7u;

	for (uint32_t i = 0; i < a->n; i++)
		if (in_group_class(a->e[i].tag))
			a->e[i].perm = (uint16_t)(a->e[i].perm & old);
	drop_agent(a, agent);
	if ((perm & ACL_BY_GROUPS) == 0) {
		add_named(a, ACL_USER, agent->uid, most);
	} else {
		add_named(a, ACL_GROUP, agent->gid, most & ~2u);
		add_named(a, ACL_GROUP, agent->writers, most);
	}
	set_mask(a, old | most);
}

int acl_grant(struct acl *ret, const struct acl *base, const struct acl_agent *agent, unsigned int perm)
{
	if (base->n + 3 > ACL_ENTRIES_MAX)
		return -E2BIG;
	acl_copy(ret, base);
	grant(ret, agent, perm);
	return 0;
}

int acl_grant_default(struct acl *ret, const struct acl *base, const struct acl_who *who, const struct acl_agent *agent,
                      unsigned int perm)
{
	const struct acl_agent owner = {.uid = who->owner};

	if (base->n + 4 > ACL_ENTRIES_MAX)
		return -E2BIG;
	if (base->n == 0)
		acl_of_mode(ret, MADE_UP_MODE(who));
	else
		acl_copy(ret, base);
	grant(ret, agent, perm);
	grant(ret, &owner, 7);
	return 0;
}

static bool same_entry(const struct acl_entry *x, const struct acl_entry *y)
{
	return x->tag == y->tag && x->id == y->id && (!in_group_class(x->tag) || x->perm == y->perm);
}

static uint32_t count(const struct acl *a, const struct acl_entry *x)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->n; i++)
		n += same_entry(&a->e[i], x);
	return n;
}

/* True when cur has the same named and group entries as want: what differs can only come from a chmod. In any order, because tools
 * sort; counted, because the kernel takes two entries of one id. */
static bool same_group_class(const struct acl *cur, const struct acl *want)
{
	if (cur->n != want->n)
		return false;
	for (uint32_t i = 0; i < cur->n; i++)
		if (!same_entry(&cur->e[i], &want->e[i]) && count(cur, &cur->e[i]) != count(want, &cur->e[i]))
			return false;
	return true;
}

/* cur without our entries, when there is no older ACL to go back to. inherited: cur came from a default ACL of ours, so its
 * mask is the creating call's mode and not a person's chmod. */
static void strip(struct acl *ret, const struct acl *cur, const struct acl_who *who, bool inherited)
{
	unsigned int expected = 0;
	unsigned int left = 0;
	unsigned int mask = mask_of(cur);
	bool named = false;

	ret->n = 0;
	for (uint32_t i = 0; i < cur->n; i++) {
		const struct acl_entry *x = &cur->e[i];

		if (in_group_class(x->tag))
			expected |= x->perm;
		if (agent_of(x, who) != NULL || (inherited && x->tag == ACL_USER && x->id == who->owner))
			continue;
		if (in_group_class(x->tag))
			left |= x->perm;
		named = named || x->tag == ACL_USER || x->tag == ACL_GROUP;
		if (x->tag != ACL_MASK)
			add(ret, x->tag, x->perm, x->id);
	}
	if (named)
		set_mask(ret, mask & left);
	else if (inherited)
		set_perm(ret, ACL_GROUP_OBJ, perm_of(ret, ACL_GROUP_OBJ) & mask);
	else if (mask != expected)
		set_perm(ret, ACL_GROUP_OBJ, mask);
}

/* want: what we made of saved. A person's chmod meanwhile is done to saved as well; entries that a person changed
 * stay, and then nothing of saved can be trusted to be still meant. */
static void merge(struct acl *ret, const struct acl *cur, const struct acl *want, const struct acl *saved,
                  const struct acl_who *who, bool is_default)
{
	if (!same_group_class(cur, want)) {
		strip(ret, cur, who, is_default);
		return;
	}
	acl_copy(ret, saved);
	set_perm(ret, ACL_USER_OBJ, perm_of(cur, ACL_USER_OBJ));
	set_perm(ret, ACL_OTHER, perm_of(cur, ACL_OTHER));
	if (mask_of(cur) != mask_of(want))
		set_perm(ret, has_tag(ret, ACL_MASK) ? ACL_MASK : ACL_GROUP_OBJ, mask_of(cur));
}

int acl_base(struct acl *ret, const struct acl *cur, const struct acl *saved, const struct acl_who *who,
             struct acl *scratch)
{
	unsigned int perm = 0;
	const struct acl_agent *agent = granted(cur, who, &perm);
	int rc = 0;

	if (agent == NULL || (saved->n != 0 && acl_same(cur, saved))) {
		acl_copy(ret, cur);
	} else if (saved->n != 0) {
		rc = acl_grant(scratch, saved, agent, perm);
		if (rc == 0)
			merge(ret, cur, scratch, saved, who, false);
	} else {
		strip(ret, cur, who, find(cur, ACL_USER, who->owner) != NULL);
	}
	return rc;
}

int acl_base_default(struct acl *ret, const struct acl *cur, const struct acl *saved, const struct acl_who *who,
                     struct acl *scratch)
{
	unsigned int perm = 0;
	const struct acl_agent *agent = granted(cur, who, &perm);
	int rc = 0;

	if (agent == NULL || (saved->n != 0 && acl_same(cur, saved))) {
		acl_copy(ret, cur);
	} else if (saved->n != 0) {
		rc = acl_grant_default(scratch, saved, who, agent, perm);
		if (rc == 0)
			merge(ret, cur, scratch, saved, who, true);
	} else {
		strip(ret, cur, who, true);
		acl_of_mode(scratch, MADE_UP_MODE(who));
		if (acl_is_mode(ret) && ((who->umask & ACL_UMASK_GUESSED) != 0 || acl_same(ret, scratch)))
			ret->n = 0;
	}
	return rc;
}

void acl_inherit(struct acl *ret, const struct acl *def, mode_t mode)
{
	uint16_t group = has_tag(def, ACL_MASK) ? ACL_MASK : ACL_GROUP_OBJ;

	acl_copy(ret, def);
	set_perm(ret, ACL_USER_OBJ, perm_of(def, ACL_USER_OBJ) & ((mode >> 6) & 7u));
	set_perm(ret, group, perm_of(def, group) & ((mode >> 3) & 7u));
	set_perm(ret, ACL_OTHER, perm_of(def, ACL_OTHER) & (mode & 7u));
}
