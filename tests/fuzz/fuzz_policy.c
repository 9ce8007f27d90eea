/* A policy from a coordinator that is not to be trusted, against the checks of root code.
 *
 * Input: lines that build a policy and then spoil it, so that a mutation is one of meaning and a seed is readable:
 *   role NAME | argv WORD… | env WORD… | read WORD… | port N | flags N | deadline N      of the last role
 *   entry PATH KIND FLAGS LEVEL… | scratch WORD… | user NAME | layers N | umask N
 *   off LIST N | count LIST N        where LIST is argv, env, read (of the last role) or scratch
 *   poke OFFSET BYTE                 any byte of the whole
 *   cut N                            bytes off its end
 * Checked, beside memory: what policy_check() accepts has all of policy_rules.h; the sealed memfd says the same; the zones can be
 * built and hold each entry, and the guard's command line and environment hold nothing but what stint and the policy put there. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "base/fd.h"
#include "sandbox/command.h"
#include "sandbox/zones.h"
#include "tests/fuzz/policy_rules.h"

#define WORDS_MAX 300
#define POKES_MAX 64

struct spoil { size_t off; uint8_t byte; };
struct builder {
	struct policy_builder b;
	struct spoil spoil[POKES_MAX];
	size_t n_spoil;
	size_t cut;
};

static int root = -1;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	root = fuzz_folder();
	return 0;
}

static struct policy_role *last_role(struct policy *p)
{
	return &p->role[p->n_roles == 0 || p->n_roles > ROLE_MAX ? 0 : p->n_roles - 1];
}

static struct policy_list *list_of(struct policy *p, const char *name)
{
	struct policy_role *r = last_role(p);

	return str_eq(name, "argv") ? &r->argv : str_eq(name, "env") ? &r->env : str_eq(name, "read") ? &r->read : &p->scratch;
}

static void add_list(struct builder *b, const char *name, char **w, size_t n)
{
	struct policy_list l;

	if (policy_add_list(&b->b, (const char *const *)w, (uint32_t)n, &l) == 0)
		*list_of(b->b.p, name) = l;
}

static void add_entry(struct builder *b, char **w, size_t n)
{
	struct policy *p = b->b.p;
	struct policy_entry *to;
	uint32_t off;

	if (n < 3 || p->n_entries >= POLICY_MAX_ENTRIES || policy_add_str(&b->b, w[0], &off) != 0)
		return;
	p = b->b.p;
	to = &p->entry[p->n_entries++];
	to->path = off;
	to->kind = (uint8_t)strtoul(w[1], NULL, 0);
	to->flags = (uint8_t)strtoul(w[2], NULL, 0);
	for (size_t i = 0; i < ROLE_MAX && i + 3 < n; i++)
		to->level[i] = (uint8_t)strtoul(w[i + 3], NULL, 0);
}

static void set_number(struct builder *b, const char *verb, const char *word)
{
	struct policy *p = b->b.p;
	struct policy_role *r = last_role(p);
	unsigned long long n = strtoull(word, NULL, 0);

	if (str_eq(verb, "port") && r->n_ports < POLICY_MAX_PORTS)
		r->ports[r->n_ports++] = (uint16_t)n;
	else if (str_eq(verb, "flags"))
		r->flags = (uint32_t)n;
	else if (str_eq(verb, "deadline"))
		r->deadline_ms = n;
	else if (str_eq(verb, "layers"))
		p->layers = (uint32_t)n;
	else if (str_eq(verb, "umask"))
		p->umask = (uint32_t)n;
	else if (str_eq(verb, "cut"))
		b->cut = n % 64;
}

static void run_line(struct builder *b, char **w, size_t n)
{
	struct policy *p = b->b.p;
	uint32_t off;

	if (str_eq(w[0], "role") && p->n_roles < ROLE_MAX) {
		(void)strncpy(p->role[p->n_roles++].name, n > 1 ? w[1] : "", ROLE_NAME_MAX);
	} else if (str_eq(w[0], "argv") || str_eq(w[0], "env") || str_eq(w[0], "read") || str_eq(w[0], "scratch")) {
		add_list(b, w[0], w + 1, n - 1);
	} else if (str_eq(w[0], "entry")) {
		add_entry(b, w + 1, n - 1);
	} else if (str_eq(w[0], "user") && n > 1 && policy_add_str(&b->b, w[1], &off) == 0) {
		b->b.p->agent_user = off;
	} else if (str_eq(w[0], "off") && n > 2) {
		list_of(p, w[1])->off = (uint32_t)strtoul(w[2], NULL, 0);
	} else if (str_eq(w[0], "count") && n > 2) {
		list_of(p, w[1])->n = (uint32_t)strtoul(w[2], NULL, 0);
	} else if (str_eq(w[0], "poke") && n > 2 && b->n_spoil < POKES_MAX) {
		b->spoil[b->n_spoil++] = (struct spoil){strtoul(w[1], NULL, 0), (uint8_t)strtoul(w[2], NULL, 0)};
	} else if (n > 1) {
		set_number(b, w[0], w[1]);
	}
}

static void build(struct builder *b, char *text)
{
	char *line_save = NULL;

	CHECK(policy_begin(&b->b) == 0);
	b->b.p->limits = (struct policy_limits){.memory = 1, .file = 1, .processes = 1, .open_files = 1};
	b->b.p->layers = LAYER_ALL;
	for (char *line = strtok_r(text, "\n", &line_save); line != NULL; line = strtok_r(NULL, "\n", &line_save)) {
		char *words[WORDS_MAX];
		char *save = NULL;
		size_t n = 0;

		for (char *w = strtok_r(line, " ", &save); w != NULL && n < WORDS_MAX; w = strtok_r(NULL, " ", &save))
			words[n++] = w;
		if (n > 0)
			run_line(b, words, n);
	}
}

/* The bytes as they would arrive: exactly so many, so that a step outside is seen. */
static void *finish(struct builder *b, size_t *ret_len)
{
	size_t len = sizeof(*b->b.p) + b->b.pool_len;
	uint8_t *copy;

	b->b.p->magic = POLICY_MAGIC;
	b->b.p->version = POLICY_VERSION;
	b->b.p->total = (uint32_t)len;
	for (size_t i = 0; i < b->n_spoil; i++)
		((uint8_t *)b->b.p)[b->spoil[i].off % len] = b->spoil[i].byte;
	len -= b->cut;
	copy = malloc(len);
	CHECK(copy != NULL);
	memcpy(copy, b->b.p, len);
	*ret_len = len;
	return copy;
}

static void check_zones(const struct policy *p)
{
	struct zones z;
	struct err e = {0};

	CHECK(zones_build(&z, p, &e) == 0);
	for (uint32_t i = 0; i < p->n_entries; i++) {
		char *path = strdup(policy_str(p, p->entry[i].path));
		char *save = NULL;
		int at = ZONES_ROOT;

		CHECK(path != NULL);
		for (char *part = strtok_r(path, "/", &save); part != NULL; part = strtok_r(NULL, "/", &save)) {
			at = zones_child(&z, at, part);
			CHECK(at != ZONES_NONE);
		}
		CHECK(z.v[at].entry == &p->entry[i] && z.v[at].child == ZONES_NONE);
		for (uint32_t r = 0; r < p->n_roles; r++)
			CHECK(zone_level(&z.v[at], r) == p->entry[i].level[r] && zone_most(&z.v[at], p->n_roles) >= p->entry[i].level[r]);
		free(path);
	}
	zones_done(&z);
}

static unsigned int count(char *const *v, const char *start)
{
	unsigned int n = 0;

	for (; *v != NULL; v++)
		n += str_starts(*v, start);
	return n;
}

static bool has_no_value(const char *option)
{
	return str_eq(option, "--quiet") || str_eq(option, "--net-unrestricted") || str_eq(option, "--no-landlock") ||
	       str_eq(option, "--env-all") || str_eq(option, "--no-tmp");
}

static void check_argv(const struct policy *p, uint32_t role, char **v)
{
	struct policy_list words = p->role[role].argv;
	size_t at = 0;

	CHECK(str_eq(v[0], "stint-guard") && str_eq(v[1], "--filter"));
	/* Options with a value take it whatever it is; the policy's words come after the first "--". */
	for (at = 1; !str_eq(v[at], "--"); at += has_no_value(v[at]) ? 1 : 2) {
		CHECK(str_starts(v[at], "--") && v[at + 1] != NULL);
		if (str_starts(v[at], "--allow-") && !str_eq(v[at], "--allow-connect"))
			CHECK(v[at + 1][0] == '/' && policy_rules_plain(v[at + 1] + 1));
	}
	for (uint32_t i = 0; i < words.n; i++)
		CHECK(v[++at] != NULL && str_eq(v[at], policy_item(p, words, i)));
	CHECK(v[at + 1] == NULL);
}

static void check_command(const struct policy *p, uint32_t role)
{
	struct spawn_spec s = {.policy = p, .role = role, .layers = p->layers, .root_fd = root, .root_path = "/project",
	                       .probe_fd = -1, .iteration = 1, .task = "a task"};
	struct command c;
	struct err e = {0};
	static const char *const once[] = {"HOME=", "USER=", "LOGNAME=", "STINT_ROLE=", "STINT_TASK=", "STINT_ITERATION="};

	if (command_build(&c, &s, true, &e) != 0) {
		CHECK(e.code != 0 && e.msg[0] != '\0');
		return;
	}
	check_argv(p, role, c.argv.v);
	for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++)
		CHECK(count(c.env.v, once[i]) == 1);
	CHECK(count(c.env.v, "LD_") == 0 && count(c.env.v, "HOME=" SANDBOX_HOME) == 1 && count(c.env.v, "STINT_") == 4);
	command_done(&c);
}

static void check_memfd(const void *bytes, size_t len, int want)
{
	const struct policy *p = NULL;
	struct err e = {0};
	int fd = fd_sealed_memfd("policy", bytes, len);
	int rc;

	CHECK(fd >= 0);
	rc = policy_map(fd, &p, &e);
	CHECK((rc == 0) == (want == 0));
	if (rc == 0)
		policy_unmap(p);
	CHECK(close(fd) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct builder b = {0};
	char *text = strndup(n == 0 ? "" : (const char *)data, n);
	struct err e = {0};
	size_t len;
	struct policy *p;
	int rc;

	CHECK(text != NULL);
	build(&b, text);
	p = finish(&b, &len);
	rc = policy_check(p, len, &e);
	if (rc == 0) {
		policy_rules_check(p, len);
		check_zones(p);
		for (uint32_t i = 0; i < p->n_roles; i++)
			check_command(p, i);
	} else {
		fuzz_check_err(&e, rc);
		CHECK(rc == -EINVAL && e.exit == STOP_USAGE);
	}
	check_memfd(p, len, rc);
	free(p);
	free(text);
	policy_done(&b.b);
	return 0;
}
