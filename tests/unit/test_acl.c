/* The ACL arithmetic: what a grant makes of an ACL, and how it is undone. Written as getfacl prints it; libacl, which the
 * code under test does not use, reads and prints the text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/acl.h>

#include "sandbox/acl.h"

#define AGENT 61002
#define OWNER 61001

#define GROUP 61002   /* the agent's own */
#define WRITERS 61005

static const struct acl_agent agents[] = {{AGENT, GROUP, WRITERS}};
static const struct acl_who who = {agents, 1, OWNER, 022};
static struct acl a, b, c, saved, scratch;

/* "u::rw-,g::r--,o::---" into ret, entries in the order of the text. */
static void from_text(struct acl *ret, const char *text)
{
	char *copy = strdup(text);
	char *save = NULL;

	assert_non_null(copy);
	ret->n = 0;
	for (char *one = strtok_r(copy, ",", &save); one != NULL; one = strtok_r(NULL, ",", &save)) {
		static const uint16_t plain[] = {['u'] = 1, ['g'] = 4, ['m'] = 0x10, ['o'] = 0x20};
		static const uint16_t named[] = {['u'] = 2, ['g'] = 8};
		char *id = strchr(one, ':') + 1;
		char *perm = strchr(id, ':') + 1;
		struct acl_entry x = {.tag = plain[(unsigned char)one[0]], .id = UINT32_MAX};

		if (*id != ':') {
			x.tag = named[(unsigned char)one[0]];
			x.id = (uint32_t)strtoul(id, NULL, 10);
		}
		x.perm = (uint16_t)((perm[0] == 'r' ? 4 : 0) | (perm[1] == 'w' ? 2 : 0) | (perm[2] == 'x' ? 1 : 0));
		ret->e[ret->n++] = x;
	}
	free(copy);
}

static void check(const struct acl *got, const char *want)
{
	static struct acl w;

	from_text(&w, want);
	if (acl_same(got, &w))
		return;
	for (uint32_t i = 0; i < got->n; i++)
		print_error("  got tag %#x id %d perm %o\n", got->e[i].tag, (int)got->e[i].id, got->e[i].perm);
	fail_msg("expected %s", want);
}

/* The kernel and libacl agree that this is a valid ACL. */
static void check_valid(const struct acl *x)
{
	acl_t l = acl_init((int)x->n);

	assert_non_null(l);
	for (uint32_t i = 0; i < x->n; i++) {
		acl_entry_t en;
		acl_permset_t set;
		id_t id = x->e[i].id;

		assert_int_equal(acl_create_entry(&l, &en), 0);
		assert_int_equal(acl_set_tag_type(en, x->e[i].tag), 0);
		if (x->e[i].tag == ACL_USER || x->e[i].tag == ACL_GROUP)
			assert_int_equal(acl_set_qualifier(en, &id), 0);
		assert_int_equal(acl_get_permset(en, &set), 0);
		for (acl_perm_t bit = 1; bit <= 4; bit *= 2)
			if ((x->e[i].perm & bit) != 0)
				assert_int_equal(acl_add_perm(set, bit), 0);
	}
	assert_int_equal(acl_valid(l), 0);
	(void)acl_free(l);
}

static const char *const bases[] = {
	"u::rwx,g::r-x,o::r-x",
	"u::rw-,g::---,o::---",
	"u::---,g::---,o::---",
	"u::rwx,g::rwx,o::rwx",
	"u::rw-,u:7:rwx,g::r-x,m::r--,o::r--",
	"u::rwx,u:7:rwx,u:70000:r--,g::rwx,g:9:-w-,m::rwx,o::---",
	"u::rwx,g::rwx,m::---,o::---",
	"u::rwx,u:61001:r--,g::r-x,m::r-x,o::---",
	"u::rwx,u:70000:r-x,u:7:r-x,u:300:--x,g::r-x,g:90:r--,g:4:rwx,m::rwx,o::--x", /* unsorted */
	"u::rwx,u:7:r--,u:7:rwx,g::r-x,m::rwx,o::---",                             /* one user twice */
};
#define N_BASES (sizeof(bases) / sizeof(bases[0]))

static void test_raw_bytes_survive(void **state)
{
	static char raw[ACL_RAW_MAX], again[ACL_RAW_MAX];

	(void)state;
	for (size_t i = 0; i < N_BASES; i++) {
		size_t n;

		from_text(&a, bases[i]);
		n = acl_encode(&a, raw);
		assert_int_equal(n, 4 + 8 * a.n);
		assert_int_equal(acl_decode(&b, raw, n), 0);
		assert_int_equal(acl_encode(&b, again), n);
		assert_memory_equal(raw, again, n);
	}
}

static void test_malformed_bytes_are_refused(void **state)
{
	static char raw[ACL_RAW_MAX];
	size_t n;

	(void)state;
	from_text(&a, bases[4]);
	n = acl_encode(&a, raw);
	assert_int_equal(acl_decode(&b, raw, n), 0);
	assert_int_equal(acl_decode(&b, raw, n - 1), -EINVAL);
	assert_int_equal(acl_decode(&b, raw, 3), -EINVAL);
	raw[0] = 3; /* version */
	assert_int_equal(acl_decode(&b, raw, n), -EINVAL);
	raw[0] = 2;
	raw[4 + 2] = 8; /* permission of the first entry */
	assert_int_equal(acl_decode(&b, raw, n), -EINVAL);
	raw[4 + 2] = 7;
	raw[4] = 3; /* tag */
	assert_int_equal(acl_decode(&b, raw, n), -EINVAL);
}

static void test_grant(void **state)
{
	static const struct {
		const char *base;
		unsigned int perm;
		const char *want;
	} rows[] = {
		{"u::rwx,g::r-x,o::r-x", 0, "u::rwx,u:61002:---,g::r-x,m::r-x,o::r-x"},
		{"u::rwx,g::r-x,o::r-x", 7, "u::rwx,u:61002:rwx,g::r-x,m::rwx,o::r-x"},
		{"u::rw-,g::---,o::---", 6, "u::rw-,u:61002:rw-,g::---,m::rw-,o::---"},
		/* the old mask cut bob and the group to r: it still does */
		{"u::rw-,u:7:rwx,g::r-x,m::r--,o::r--", 6, "u::rw-,u:7:r--,u:61002:rw-,g::r--,m::rw-,o::r--"},
		{"u::rwx,g::rwx,m::---,o::---", 5, "u::rwx,u:61002:r-x,g::---,m::r-x,o::---"},
		/* an entry of the agent's own is replaced */
		{"u::rwx,u:61002:rwx,g::r-x,m::rwx,o::---", 0, "u::rwx,u:61002:---,g::r-x,m::rwx,o::---"},
		{"u::rwx,u:7:r-x,u:70000:r-x,g::r-x,m::r-x,o::---", 5, "u::rwx,u:7:r-x,u:61002:r-x,u:70000:r-x,g::r-x,m::r-x,o::---"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		from_text(&a, rows[i].base);
		assert_int_equal(acl_grant(&b, &a, agents, rows[i].perm), 0);
		check(&b, rows[i].want);
		check_valid(&b);
	}
}

/* Rule 4 for every base, every mask a chmod could have left and every grant: nobody else's effective rights grow. */
static void test_nobody_else_gains(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_BASES; i++) {
		for (unsigned int perm = 0; perm <= 7; perm++) {
			unsigned int old_mask = 0, new_mask = 0;

			from_text(&a, bases[i]);
			assert_int_equal(acl_grant(&b, &a, agents, perm), 0);
			for (uint32_t k = 0; k < a.n; k++)
				if (a.e[k].tag == ACL_MASK || (old_mask == 0 && a.n == 3 && a.e[k].tag == ACL_GROUP_OBJ))
					old_mask = a.e[k].perm;
			for (uint32_t k = 0; k < b.n; k++)
				if (b.e[k].tag == ACL_MASK)
					new_mask = b.e[k].perm;
			assert_int_equal(new_mask, old_mask | perm);
			for (uint32_t k = 0; k < b.n; k++) {
				unsigned int before = 0;

				if (b.e[k].tag == ACL_MASK || (b.e[k].tag == ACL_USER && b.e[k].id == AGENT))
					continue;
				for (uint32_t m = 0; m < a.n; m++)
					if (a.e[m].tag == b.e[k].tag && a.e[m].id == b.e[k].id)
						before |= a.e[m].perm;
				if (b.e[k].tag != ACL_USER_OBJ && b.e[k].tag != ACL_OTHER)
					assert_int_equal(b.e[k].perm & new_mask & ~(before & old_mask), 0);
				else
					assert_int_equal(b.e[k].perm, before);
			}
		}
	}
}

/* Every base, through every pair of grants, comes back as it was. */
static void test_grants_are_undone(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_BASES; i++) {
		for (unsigned int first = 0; first <= 7; first++) {
			for (unsigned int second = 0; second <= 7; second++) {
				from_text(&a, bases[i]);
				saved.n = 0;
				if (!acl_is_mode(&a))
					acl_copy(&saved, &a);
				assert_int_equal(acl_grant(&b, &a, agents, first), 0);
				assert_int_equal(acl_base(&c, &b, &saved, &who, &scratch), 0);
				assert_true(acl_same(&c, &a));
				assert_int_equal(acl_grant(&b, &c, agents, second), 0);
				assert_int_equal(acl_base(&c, &b, &saved, &who, &scratch), 0);
				assert_true(acl_same(&c, &a));
			}
		}
	}
}

static void test_every_mode_comes_back(void **state)
{
	(void)state;
	saved.n = 0;
	for (mode_t mode = 0; mode <= 0777; mode++) {
		for (unsigned int perm = 0; perm <= 7; perm++) {
			acl_of_mode(&a, mode);
			assert_int_equal(acl_to_mode(&a), mode);
			assert_int_equal(acl_grant(&b, &a, agents, perm), 0);
			assert_int_equal(acl_base(&c, &b, &saved, &who, &scratch), 0);
			assert_true(acl_same(&c, &a));
		}
	}
}

/* What a person does while the ACL is ours wins. */
static void test_a_persons_change_wins(void **state)
{
	static const struct {
		const char *saved; /* NULL: had none */
		const char *cur;
		const char *want;
	} rows[] = {
		/* chmod 640 while the agent had rw on a 0600 file: mask r */
		{NULL, "u::rw-,u:61002:rw-,g::---,m::r--,o::---", "u::rw-,g::r--,o::---"},
		/* chmod 664 while it had r on a 0644 file: mask rw */
		{NULL, "u::rw-,u:61002:r--,g::r--,m::rw-,o::r--", "u::rw-,g::rw-,o::r--"},
		/* chmod 600 on a 0644 file */
		{NULL, "u::rw-,u:61002:r--,g::r--,m::---,o::---", "u::rw-,g::---,o::---"},
		/* u+x alone */
		{NULL, "u::rwx,u:61002:rw-,g::r--,m::rw-,o::r--", "u::rwx,g::r--,o::r--"},
		/* chmod 600 on a file that had an ACL: to that ACL it is done */
		{"u::rw-,u:7:rwx,g::r-x,m::r-x,o::r--", "u::rw-,u:7:r-x,u:61002:rw-,g::r-x,m::---,o::---",
		 "u::rw-,u:7:rwx,g::r-x,m::---,o::---"},
		/* setfacl -m u:8:r on the flipped file */
		{NULL, "u::rw-,u:8:r--,u:61002:rw-,g::r--,m::rw-,o::---", "u::rw-,u:8:r--,g::r--,m::r--,o::---"},
		/* setfacl -b: what was saved is no longer meant */
		{"u::rw-,u:7:rwx,g::r-x,m::r-x,o::r--", "u::rw-,g::r--,o::---", "u::rw-,g::r--,o::---"},
		/* setfacl -x u:7 on a file that had an ACL */
		{"u::rw-,u:7:rwx,g::r-x,m::r-x,o::r--", "u::rw-,u:61002:rw-,g::r-x,m::rwx,o::r--",
		 "u::rw-,g::r-x,o::r--"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		saved.n = 0;
		if (rows[i].saved != NULL)
			from_text(&saved, rows[i].saved);
		from_text(&a, rows[i].cur);
		assert_int_equal(acl_base(&b, &a, &saved, &who, &scratch), 0);
		check(&b, rows[i].want);
	}
}

static void test_default_acl(void **state)
{
	static const struct acl_agent low[] = {{500, 500, 0}};
	static const struct acl_who private = {low, 1, OWNER, 077};

	(void)state;
	a.n = 0;
	assert_int_equal(acl_grant_default(&b, &a, &who, agents, 7), 0);
	check(&b, "u::rwx,u:61001:rwx,u:61002:rwx,g::r-x,m::rwx,o::r-x");
	check_valid(&b);
	assert_int_equal(acl_grant_default(&b, &a, &private, low, 0), 0);
	check(&b, "u::rwx,u:500:---,u:61001:rwx,g::---,m::rwx,o::---");
	saved.n = 0;
	assert_int_equal(acl_base_default(&c, &b, &saved, &private, &scratch), 0);
	assert_int_equal(c.n, 0);
	/* one that was there keeps its permissions, whatever the umask says */
	from_text(&a, "u::rwx,g::rwx,g:9:rwx,m::r-x,o::---");
	assert_int_equal(acl_grant_default(&b, &a, &private, low, 5), 0);
	check(&b, "u::rwx,u:500:r-x,u:61001:rwx,g::r-x,g:9:r-x,m::rwx,o::---");
	assert_int_equal(acl_base_default(&c, &b, &a, &private, &scratch), 0);
	assert_true(acl_same(&c, &a));
	from_text(&a, "u::rwx,g::r-x,o::---");
	assert_int_equal(acl_grant_default(&b, &a, &private, low, 7), 0);
	assert_int_equal(acl_base_default(&c, &b, &a, &private, &scratch), 0);
	assert_true(acl_same(&c, &a));
}

/* The grant to groups: one for all turns, and undone like the other form, also where the two follow each other. */
static void test_grant_by_groups(void **state)
{
	(void)state;
	from_text(&a, "u::rw-,g::rw-,g:9:rwx,m::r--,o::---");
	assert_int_equal(acl_grant(&b, &a, agents, 6 | ACL_BY_GROUPS), 0);
	check(&b, "u::rw-,g::r--,g:9:r--,g:61002:r--,g:61005:rw-,m::rw-,o::---");
	check_valid(&b);
	assert_true(acl_names(&b, &who));
	assert_int_equal(acl_base(&c, &b, &a, &who, &scratch), 0);
	assert_true(acl_same(&c, &a));
	/* closed in between */
	assert_int_equal(acl_grant(&b, &c, agents, 0), 0);
	check(&b, "u::rw-,u:61002:---,g::r--,g:9:r--,m::r--,o::---");
	assert_int_equal(acl_base(&c, &b, &a, &who, &scratch), 0);
	assert_true(acl_same(&c, &a));
	/* without a saved one: a mode */
	saved.n = 0;
	for (mode_t mode = 0; mode < 0777; mode++) {
		acl_of_mode(&a, mode);
		assert_int_equal(acl_grant(&b, &a, agents, 5 | ACL_BY_GROUPS), 0);
		assert_int_equal(acl_base(&c, &b, &saved, &who, &scratch), 0);
		assert_true(acl_same(&c, &a));
	}
	/* in a folder's default, and what is made in it */
	a.n = 0;
	assert_int_equal(acl_grant_default(&b, &a, &who, agents, 7 | ACL_BY_GROUPS), 0);
	check(&b, "u::rwx,u:61001:rwx,g::r-x,g:61002:r-x,g:61005:rwx,m::rwx,o::r-x");
	check_valid(&b);
	assert_true(acl_is_granted_default(&b, &who));
	acl_inherit(&c, &b, 0644);
	assert_int_equal(acl_base(&a, &c, &saved, &who, &scratch), 0);
	assert_true(acl_is_mode(&a));
	assert_int_equal(acl_to_mode(&a), 0644);
	assert_int_equal(acl_base_default(&c, &b, &saved, &who, &scratch), 0);
	assert_int_equal(c.n, 0);
	/* an entry of the agent's that a person had set goes before what groups may: it is put away meanwhile */
	from_text(&a, "u::rw-,u:61002:r--,g::r--,m::r--,o::---");
	assert_int_equal(acl_grant(&b, &a, agents, 6 | ACL_BY_GROUPS), 0);
	check(&b, "u::rw-,g::r--,g:61002:r--,g:61005:rw-,m::rw-,o::---");
	assert_int_equal(acl_base(&c, &b, &a, &who, &scratch), 0);
	assert_true(acl_same(&c, &a));
}

/* An account without a group of writers has no entries of groups: what names its group is a person's. */
static void test_groups_of_an_account_without_writers(void **state)
{
	static const struct acl_agent old[] = {{AGENT, GROUP, 0}};
	static const struct acl_who older = {old, 1, OWNER, 022};

	(void)state;
	from_text(&a, "u::rw-,g::r--,g:61002:rw-,m::rw-,o::---");
	assert_false(acl_names(&a, &older));
	assert_true(acl_names(&a, &who));
	assert_int_equal(acl_grant(&b, &a, old, 0), 0);
	check(&b, "u::rw-,u:61002:---,g::r--,g:61002:rw-,m::rw-,o::---");
}

/* A person's new file in a folder with our default ACL ends with the mode that umask 022 would have given it. */
static void test_inherited_acl_becomes_the_usual_mode(void **state)
{
	static const struct {
		mode_t create;
		mode_t want;
	} rows[] = {{0666, 0644}, {0600, 0600}, {0777, 0755}, {0700, 0700}, {0644, 0644}, {0640, 0640}};

	(void)state;
	a.n = 0;
	saved.n = 0;
	assert_int_equal(acl_grant_default(&b, &a, &who, agents, 7), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		acl_inherit(&c, &b, rows[i].create);
		assert_int_equal(acl_base(&a, &c, &saved, &who, &scratch), 0);
		assert_true(acl_is_mode(&a));
		assert_int_equal(acl_to_mode(&a), rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_raw_bytes_survive),
		cmocka_unit_test(test_malformed_bytes_are_refused),
		cmocka_unit_test(test_grant),
		cmocka_unit_test(test_nobody_else_gains),
		cmocka_unit_test(test_grants_are_undone),
		cmocka_unit_test(test_every_mode_comes_back),
		cmocka_unit_test(test_a_persons_change_wins),
		cmocka_unit_test(test_default_acl),
		cmocka_unit_test(test_grant_by_groups),
		cmocka_unit_test(test_groups_of_an_account_without_writers),
		cmocka_unit_test(test_inherited_acl_becomes_the_usual_mode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
