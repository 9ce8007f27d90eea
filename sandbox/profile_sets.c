/* The tables of sets.h as rows of a profile: see profile.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/str.h"
#include "sandbox/profile.h"
#include "sandbox/sets.h"

#define FAMILY_MAX 64  /* above every AF_ of the kernel (46 in 6.18): beyond, ENOSYS denies just as well */
#define NETLINK_BITS 5 /* MAX_LINKS is 32 */

/* Takes the next name of a list separated by spaces; false at its end. */
static bool next_name(const char **p, char ret[PROFILE_CALL_MAX])
{
	size_t n = strcspn(*p, " ");

	if (n == 0 || n >= PROFILE_CALL_MAX)
		return false;
	memcpy(ret, *p, n);
	ret[n] = '\0';
	*p += n + ((*p)[n] == ' ' ? 1 : 0);
	return true;
}

/* What the kernel sees of an int argument is its low half. */
static struct profile_cond int_is(unsigned int arg, uint32_t mask, uint32_t value)
{
	return (struct profile_cond){.arg = (uint8_t)arg, .mask = mask, .value = value};
}

/* One row for each name of the list; row says all but the call. */
static int add_names(struct profile *p, const char *names, struct profile_row *row, struct err *e)
{
	int rc = 0;

	while (rc == 0 && next_name(&names, row->call))
		rc = profile_add(p, row, e);
	return rc;
}

static struct profile_row row_of(enum profile_action action, int error, const char *from, const char *set)
{
	struct profile_row row = {.action = action, .error = (uint16_t)error};

	(void)snprintf(row.from, sizeof(row.from), "%s%s%s", from, from[0] != '\0' && set[0] != '\0' ? " " : "", set);
	return row;
}

static void add_cond(struct profile_row *row, struct profile_cond cond)
{
	row->cond[row->n_cond++] = cond;
}

static void add_conds(struct profile_row *row, const struct sys_cond *cond)
{
	for (unsigned int n = 0; n < SYS_CONDS && cond[n].mask != 0; n++)
		add_cond(row, int_is(cond[n].arg, cond[n].mask, cond[n].value));
}

static bool holds(unsigned int is, unsigned int only)
{
	return (only & ~is) == 0;
}

static int add_socket(struct profile *p, const struct sys_family *f, const char *from, const char *set, struct err *e)
{
	struct profile_row row = row_of(PROFILE_ALLOW, 0, from, set);
	int rc;

	add_cond(&row, int_is(0, UINT32_MAX, (uint32_t)f->family));
	if (f->type >= 0)
		add_cond(&row, int_is(1, 0xf, (uint32_t)f->type));
	if (f->proto >= 0)
		add_cond(&row, int_is(2, UINT32_MAX, (uint32_t)f->proto));
	rc = add_names(p, "socket", &row, e);
	return rc == 0 && f->family == AF_UNIX ? add_names(p, "socketpair", &row, e) : rc;
}

int profile_add_set(struct profile *p, const char *set, const char *from, struct err *e)
{
	bool found = false;
	int rc = 0;

	for (const struct sys_allow *a = sys_allowed; rc == 0 && a->names != NULL; a++) {
		struct profile_row row = row_of(PROFILE_ALLOW, 0, from, set);

		if (!str_eq(a->set, set))
			continue;
		found = true;
		rc = add_names(p, a->names, &row, e);
	}
	for (const struct sys_allow_if *a = sys_allowed_if; rc == 0 && a->names != NULL; a++) {
		struct profile_row row = row_of(PROFILE_ALLOW, 0, from, set);

		if (!str_eq(a->set, set))
			continue;
		found = true;
		add_conds(&row, a->cond);
		rc = add_names(p, a->names, &row, e);
	}
	for (const struct sys_family *f = sys_families; rc == 0 && f->family >= 0; f++) {
		if (!str_eq(f->set, set))
			continue;
		found = true;
		rc = add_socket(p, f, from, set, e);
	}
	return rc == 0 && !found ? err_set(e, ENOENT, "there is no set %s", set) : rc;
}

static void note_name(const char **ret, size_t *n, const char *set)
{
	for (size_t i = 0; i < *n; i++)
		if (str_eq(ret[i], set))
			return;
	if (*n < PROFILE_SETS_MAX)
		ret[(*n)++] = set;
}

size_t profile_set_names(const char **ret)
{
	size_t n = 0;

	for (const struct sys_allow_if *a = sys_allowed_if; a->names != NULL; a++)
		note_name(ret, &n, a->set);
	for (const struct sys_allow *a = sys_allowed; a->names != NULL; a++)
		note_name(ret, &n, a->set);
	for (const struct sys_family *f = sys_families; f->family >= 0; f++)
		note_name(ret, &n, f->set);
	ret[n] = NULL;
	return n;
}

/* ---- the baseline */

static int add_allowed(struct profile *p, unsigned int is, const char *from, struct err *e)
{
	int rc = 0;

	for (const struct sys_allow *a = sys_allowed; rc == 0 && a->names != NULL; a++) {
		struct profile_row row = row_of(PROFILE_ALLOW, 0, from, a->set);

		rc = add_names(p, a->names, &row, e);
	}
	for (const struct sys_personality *v = sys_personalities; rc == 0 && v->why != NULL; v++) {
		struct profile_row row = row_of(PROFILE_ALLOW, 0, from, "");

		add_cond(&row, int_is(0, UINT32_MAX, v->value));
		rc = add_names(p, "personality", &row, e);
	}
	for (const struct sys_family *f = sys_families; rc == 0 && f->family >= 0; f++)
		if (holds(is, f->only))
			rc = add_socket(p, f, from, f->set, e);
	return rc;
}

static bool family_named(unsigned int is, int family)
{
	for (const struct sys_family *f = sys_families; f->family >= 0; f++)
		if (f->family == family && holds(is, f->only))
			return true;
	return false;
}

static int refuse_families(struct profile *p, unsigned int is, const char *from, struct err *e)
{
	int rc = 0;

	for (int family = 0; rc == 0 && family < FAMILY_MAX; family++) {
		struct profile_row row = row_of(PROFILE_ERRNO, EAFNOSUPPORT, from, "");

		add_cond(&row, int_is(0, UINT32_MAX, (uint32_t)family));
		if (!family_named(is, family))
			rc = add_names(p, "socket", &row, e);
		if (rc == 0 && family != AF_UNIX)
			rc = add_names(p, "socketpair", &row, e);
	}
	/* A netlink protocol other than NETLINK_ROUTE (0): one of the protocol's low bits is set. */
	for (unsigned int bit = 0; rc == 0 && bit < NETLINK_BITS && family_named(is, AF_NETLINK); bit++) {
		struct profile_row row = row_of(PROFILE_ERRNO, EPERM, from, "");

		add_cond(&row, int_is(0, UINT32_MAX, AF_NETLINK));
		add_cond(&row, int_is(2, 1u << bit, 1u << bit));
		rc = add_names(p, "socket", &row, e);
	}
	return rc;
}

/* Rows for inet sockets only make sense where the family is not refused as a whole. */
static bool about_refused_family(unsigned int is, const struct sys_refuse_if *r)
{
	return str_eq(r->names, "socket") && !family_named(is, (int)r->cond[0].value);
}

int profile_add_refused(struct profile *p, unsigned int is, const char *from, struct err *e)
{
	int rc = 0;

	for (const struct sys_refuse *r = sys_refused; rc == 0 && r->names != NULL; r++) {
		struct profile_row row = row_of(PROFILE_ERRNO, r->error, from, "");

		if (holds(is, r->only))
			rc = add_names(p, r->names, &row, e);
	}
	for (const struct sys_refuse_if *r = sys_refused_if; rc == 0 && r->names != NULL; r++) {
		struct profile_row row = row_of(PROFILE_ERRNO, r->error, from, "");

		if (!holds(is, r->only) || about_refused_family(is, r))
			continue;
		add_conds(&row, r->cond);
		rc = add_names(p, r->names, &row, e);
	}
	return rc == 0 ? refuse_families(p, is, from, e) : rc;
}

int profile_add_agent(struct profile *p, unsigned int only, const char *from, struct err *e)
{
	int rc = add_allowed(p, only, from, e);

	return rc == 0 ? profile_add_refused(p, only, from, e) : rc;
}
