/* Build-time generator: compiles the tables of sets.c into BPF with libseccomp and prints them as C, so that the guard
 * only loads them. Prints to stdout; exits 1 with a sentence on stderr for anything it cannot compile. */
#include <errno.h>
#include <linux/filter.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/sets.h"

#define NAME_MAX_LEN 64
#define FAMILY_MAX 64 /* above every AF_ of the kernel (46 in 6.18): beyond, ENOSYS denies just as well */
#define NETLINK_BITS 5 /* MAX_LINKS is 32 */
#define INSNS_MAX 4096

static const struct variant {
	const char *name;
	unsigned int is; /* enum sys_only bits that hold */
	bool net;
} variants[] = {
	{"agent", ONLY_NET, true},
	{"agent", 0, false},
	{"owner", ONLY_OWNER | ONLY_NET, true},
	{"owner", ONLY_OWNER, false},
};

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fputs("gen_filter: ", stderr);
	(void)vfprintf(stderr, fmt, ap);
	(void)fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

/* The number of a system call; -1 when this architecture lacks it. */
static int number_of(const char *name)
{
	int nr = seccomp_syscall_resolve_name(name);

	if (nr >= 0)
		return nr;
	if (nr != __NR_SCMP_ERROR) /* known elsewhere: libseccomp's negative pseudo number */
		return -1;
	for (const struct sys_number *n = sys_numbers; n->name != NULL; n++)
		if (strcmp(n->name, name) == 0)
			return n->number;
	fail("sets.c names an unknown system call: %s", name);
}

/* Takes the next name of a list separated by spaces; false at its end. */
static bool next_name(const char **p, char ret[NAME_MAX_LEN])
{
	size_t n = strcspn(*p, " ");

	if (n == 0)
		return false;
	if (n >= NAME_MAX_LEN)
		fail("sets.c: name too long: %s", *p);
	memcpy(ret, *p, n);
	ret[n] = '\0';
	*p += n + ((*p)[n] == ' ' ? 1 : 0);
	return true;
}

static void add(scmp_filter_ctx ctx, uint32_t action, const char *name, unsigned int n, const struct scmp_arg_cmp *cmp)
{
	int nr = number_of(name);
	int rc;

	if (nr < 0)
		return;
	rc = seccomp_rule_add_array(ctx, action, nr, n, cmp);
	if (rc != 0 && rc != -EEXIST)
		fail("%s: libseccomp: %s", name, strerror(-rc));
}

static void add_names(scmp_filter_ctx ctx, uint32_t action, const char *names, unsigned int n,
                      const struct scmp_arg_cmp *cmp)
{
	char name[NAME_MAX_LEN];

	while (next_name(&names, name))
		add(ctx, action, name, n, cmp);
}

/* What the kernel sees of an int argument is its low half. */
static struct scmp_arg_cmp int_is(unsigned int arg, uint32_t mask, uint32_t value)
{
	return (struct scmp_arg_cmp){arg, SCMP_CMP_MASKED_EQ, mask, value};
}

static bool holds(const struct variant *v, unsigned int only)
{
	return (only & ~v->is) == 0;
}

static bool refused_always(const struct variant *v, const char *name)
{
	char other[NAME_MAX_LEN];

	for (const struct sys_refuse *r = sys_refused; r->names != NULL; r++) {
		const char *names = r->names;

		while (holds(v, r->only) && next_name(&names, other))
			if (strcmp(name, other) == 0)
				return true;
	}
	return false;
}

static scmp_filter_ctx begin(uint32_t def)
{
	scmp_filter_ctx ctx = seccomp_init(def);

	/* A foreign entry (int 0x80, x32 numbers) ends the process: every call would mean something else. */
	if (ctx == NULL || seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) != 0 ||
	    seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2) != 0)
		fail("libseccomp refuses an attribute: version 2.5 or newer is needed");
	return ctx;
}

static void allow_sockets(scmp_filter_ctx ctx, const struct variant *v)
{
	for (const struct sys_family *f = sys_families; f->family >= 0; f++) {
		struct scmp_arg_cmp cmp[3] = {int_is(0, UINT32_MAX, (uint32_t)f->family)};
		unsigned int n = 1;

		if (!holds(v, f->only))
			continue;
		if (f->type >= 0)
			cmp[n++] = int_is(1, 0xf, (uint32_t)f->type);
		if (f->proto >= 0)
			cmp[n++] = int_is(2, UINT32_MAX, (uint32_t)f->proto);
		add(ctx, SCMP_ACT_ALLOW, "socket", n, cmp);
		if (f->family == AF_UNIX)
			add(ctx, SCMP_ACT_ALLOW, "socketpair", n, cmp);
	}
}

static scmp_filter_ctx make_allow(const struct variant *v)
{
	scmp_filter_ctx ctx = begin(SCMP_ACT_ERRNO(ENOSYS));

	for (const struct sys_allow *a = sys_allowed; a->names != NULL; a++)
		add_names(ctx, SCMP_ACT_ALLOW, a->names, 0, NULL);
	for (const struct sys_personality *p = sys_personalities; p->why != NULL; p++) {
		struct scmp_arg_cmp cmp = int_is(0, UINT32_MAX, p->value);

		add(ctx, SCMP_ACT_ALLOW, "personality", 1, &cmp);
	}
	allow_sockets(ctx, v);
	return ctx;
}

static bool family_named(const struct variant *v, int family)
{
	for (const struct sys_family *f = sys_families; f->family >= 0; f++)
		if (f->family == family && holds(v, f->only))
			return true;
	return false;
}

static void refuse_families(scmp_filter_ctx ctx, const struct variant *v)
{
	for (int family = 0; family < FAMILY_MAX; family++) {
		struct scmp_arg_cmp cmp = int_is(0, UINT32_MAX, (uint32_t)family);

		if (!family_named(v, family))
			add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), "socket", 1, &cmp);
		if (family != AF_UNIX)
			add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), "socketpair", 1, &cmp);
	}
	/* A netlink protocol other than NETLINK_ROUTE (0): one of the protocol's low bits is set. */
	for (unsigned int bit = 0; bit < NETLINK_BITS && family_named(v, AF_NETLINK); bit++) {
		struct scmp_arg_cmp cmp[2] = {int_is(0, UINT32_MAX, AF_NETLINK), int_is(2, 1u << bit, 1u << bit)};

		add(ctx, SCMP_ACT_ERRNO(EPERM), "socket", 2, cmp);
	}
}

static void refuse_if(scmp_filter_ctx ctx, const struct variant *v, const struct sys_refuse_if *r)
{
	const char *names = r->names;
	struct scmp_arg_cmp cmp[SYS_CONDS];
	char name[NAME_MAX_LEN];
	unsigned int n = 0;

	for (; n < SYS_CONDS && r->cond[n].mask != 0; n++)
		cmp[n] = int_is(r->cond[n].arg, r->cond[n].mask, r->cond[n].value);
	while (next_name(&names, name))
		if (!refused_always(v, name)) /* libseccomp answers EEXIST or mixes errnos otherwise */
			add(ctx, SCMP_ACT_ERRNO((uint16_t)r->error), name, n, cmp);
}

/* Rows for inet sockets only make sense where the family is not refused as a whole. */
static bool about_refused_family(const struct variant *v, const struct sys_refuse_if *r)
{
	return strcmp(r->names, "socket") == 0 && !family_named(v, (int)r->cond[0].value);
}

static scmp_filter_ctx make_deny(const struct variant *v)
{
	scmp_filter_ctx ctx = begin(SCMP_ACT_ALLOW);

	for (const struct sys_refuse *r = sys_refused; r->names != NULL; r++)
		if (holds(v, r->only))
			add_names(ctx, SCMP_ACT_ERRNO((uint16_t)r->error), r->names, 0, NULL);
	for (const struct sys_refuse_if *r = sys_refused_if; r->names != NULL; r++)
		if (holds(v, r->only) && !about_refused_family(v, r))
			refuse_if(ctx, v, r);
	refuse_families(ctx, v);
	return ctx;
}

/* Prints the program as an array and releases the context. */
static void print_program(scmp_filter_ctx ctx, const char *what, size_t i)
{
	static struct sock_filter insn[INSNS_MAX];
	int fd = memfd_create("bpf", MFD_CLOEXEC);
	ssize_t n;

	if (fd < 0 || seccomp_export_bpf(ctx, fd) != 0)
		fail("libseccomp cannot export a program");
	n = pread(fd, insn, sizeof(insn), 0);
	if (n <= 0 || (size_t)n >= sizeof(insn))
		fail("the %s program is empty or longer than the kernel takes", what);
	(void)printf("static const struct sock_filter %s_%zu[] = {\n", what, i);
	for (size_t k = 0; k < (size_t)n / sizeof(insn[0]); k++)
		(void)printf("\t{0x%02x, %u, %u, 0x%08x},\n", insn[k].code, insn[k].jt, insn[k].jf, insn[k].k);
	(void)printf("};\n\n");
	(void)close(fd);
	seccomp_release(ctx);
}

int main(void)
{
	size_t n = sizeof(variants) / sizeof(variants[0]);

	/* What the machine that runs the command supports is its business, not the build machine's. */
	if (seccomp_api_set(3) != 0)
		fail("libseccomp is older than 2.5");
	(void)printf("/* Generated by sandbox/gen_filter.c from sandbox/sets.c. */\n"
	             "#include \"sandbox/seccomp.h\"\n\n#include <stddef.h>\n\n");
	for (size_t i = 0; i < n; i++) {
		print_program(make_allow(&variants[i]), "allow", i);
		print_program(make_deny(&variants[i]), "deny", i);
	}
	(void)printf("#define LEN(a) ((unsigned short)(sizeof(a) / sizeof((a)[0])))\n\n"
	             "const struct filter filter_data[] = {\n");
	for (size_t i = 0; i < n; i++)
		(void)printf("\t{\"%s\", %d, {LEN(allow_%zu), allow_%zu}, {LEN(deny_%zu), deny_%zu}},\n", variants[i].name,
		             variants[i].net ? 1 : 0, i, i, i, i);
	(void)printf("\t{NULL, 0, {0, NULL}, {0, NULL}},\n};\n");
	return ferror(stdout) != 0 || fflush(stdout) != 0 ? 1 : 0;
}
