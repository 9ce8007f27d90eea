/* stint.yaml from a hostile repository, up to the policy that the warden gets.
 *
 * Checked, beside memory: a refusal is one safe line that begins with file, line and column inside the file; what is accepted
 * keeps the limits of its own; and when it compiles against a small project, the warden's check accepts the result, which is as
 * closed as the table. Nothing is written: compiling looks at the folder and makes a memfd. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "orchestrator/compile.h"
#include "orchestrator/config.h"
#include "protocol/policy.h"
#include "sandbox/zones.h"
#include "tests/fuzz/policy_rules.h"

static int root = -1;

/* src/ tests/ docs/ lib/core/src/, and a link, a secret and a file to be caught by "*". */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const folders[] = {"src", "tests", "docs", "lib", "lib/core", "lib/core/src", ".git", ".git/objects"};
	static const char *const files[] = {"TASKS.md", "README.md", "src/a.c", ".env", ".env.local"};

	(void)argc, (void)argv;
	root = fuzz_folder();
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		CHECK(mkdirat(root, folders[i], 0755) == 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		fuzz_put(root, files[i], "text\n", 5);
	CHECK(symlinkat("src", root, "link") == 0);
	return 0;
}

static void check_limits(const struct config *c)
{
	CHECK(c->n_roles >= 4 && c->n_roles <= ROLE_MAX && c->n_access > 0);
	CHECK(c->limits.iterations >= 1 && c->limits.processes > 0 && c->limits.open_files > 0 && c->limits.output > 0);
	for (size_t i = 0; i < c->n_roles; i++) {
		const struct config_role *r = &c->role[i];

		CHECK(role_name_ok(r->name) && config_role_find(c, r->name) == (int)i);
		CHECK(r->command.n <= POLICY_MAX_LIST && r->env.n <= POLICY_MAX_LIST && r->read.n <= POLICY_MAX_LIST);
		CHECK(r->n_ports <= 16 && r->deadline_ms > 0);
		CHECK(r->prompt == NULL || policy_rules_plain(r->prompt));
	}
}

/* What a row closes, no entry opens; what no row names is caught by "*" only. */
static void check_levels(const struct config *c, const struct policy *p)
{
	for (uint32_t i = 0; i < p->n_entries; i++) {
		const char *path = policy_str(p, p->entry[i].path);
		const struct config_access *row = NULL;

		for (size_t k = 0; k < c->n_access; k++)
			if (str_eq(c->access[k].path, path) || (row == NULL && str_eq(c->access[k].path, "*")))
				row = &c->access[k];
		CHECK(row != NULL);
		for (size_t r = 0; r < ROLE_MAX; r++)
			CHECK(p->entry[i].level[r] == row->level[r]);
	}
}

static void check_compiled(const struct config *c, int role)
{
	const struct compile_options o = {.layers = LAYER_ALL, .role = role};
	struct buf notes = {0};
	struct err e = {0};
	const struct policy *p;
	struct zones z;
	int fd = policy_compile(c, root, &o, &notes, &e);

	CHECK(notes.len == 0 || fuzz_printable(notes.data, notes.len, "\n"));
	buf_done(&notes);
	if (fd < 0) {
		fuzz_check_err(&e, fd);
		CHECK(e.exit == STOP_USAGE);
		return;
	}
	CHECK(policy_map(fd, &p, &e) == 0);
	CHECK(close(fd) == 0);
	policy_rules_check(p, p->total);
	check_levels(c, p);
	CHECK(zones_build(&z, p, &e) == 0);
	zones_done(&z);
	policy_unmap(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *bytes = n == 0 ? "" : (const char *)data;
	struct config c;
	struct err e = {0};
	int rc = config_parse(&c, CONFIG_FILE, bytes, n, &e);

	if (rc != 0) {
		fuzz_check_err(&e, rc);
		CHECK(e.exit == STOP_USAGE);
		if (rc == -EINVAL)
			fuzz_check_place(CONFIG_FILE, &e, bytes, n);
		return 0;
	}
	check_limits(&c);
	check_compiled(&c, COMPILE_NOBODY);
	check_compiled(&c, COMPILE_LOOP);
	config_done(&c);
	return 0;
}
