/* What the tree costs in a run, without processes and proof: opens a project, flips it for each role in turn and takes it back, and
 * restores it. One line a step: name, wall ms, processor ms (all threads), KiB of peak memory so far.
 *
 *   cycle ROOT STATE OWNER AGENT GROUP WRITERS CYCLES     as root; STATE: an empty folder */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "protocol/policy.h"
#include "sandbox/tree_private.h"

/* The last has nothing: what sealing costs. */
static const char *const roles[] = {"developer", "tester", "runner", "reviewer", "nobody"};
#define N_ROLES 5u

static const struct {
	const char *path;
	enum policy_kind kind;
	enum level level[N_ROLES];
} rows[] = {
	{"TASKS.md", POLICY_FILE, {LEVEL_R, LEVEL_R, LEVEL_NONE, LEVEL_RW, LEVEL_NONE}},
	{"REVIEW.md", POLICY_FILE, {LEVEL_R, LEVEL_NONE, LEVEL_NONE, LEVEL_RW, LEVEL_NONE}},
	{"src", POLICY_DIR, {LEVEL_RW, LEVEL_NONE, LEVEL_R, LEVEL_R, LEVEL_NONE}},
	{"tests", POLICY_DIR, {LEVEL_NONE, LEVEL_RW, LEVEL_R, LEVEL_R, LEVEL_NONE}},
};

static double ms_of(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Not ru_maxrss, which counts what called exec. */
static long peak_kib(void)
{
	AUTO_FREE char *line = NULL;
	size_t size = 0;
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "re");

	while (f != NULL && kib == 0 && getline(&line, &size, f) > 0)
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = atol(line + 6);
	if (f != NULL)
		(void)fclose(f);
	return kib;
}

static void step(const char *name, int rc, const struct err *e)
{
	static double wall, cpu;
	double wall_now = ms_of(CLOCK_MONOTONIC);
	double cpu_now = ms_of(CLOCK_PROCESS_CPUTIME_ID);

	if (rc != 0) {
		(void)fprintf(stderr, "cycle: %s: %s\n", name, e->msg);
		exit(1);
	}
	(void)printf("%s\t%.3f\t%.3f\t%ld\n", name, wall_now - wall, cpu_now - cpu, peak_kib());
	(void)fflush(stdout);
	wall = ms_of(CLOCK_MONOTONIC);
	cpu = ms_of(CLOCK_PROCESS_CPUTIME_ID);
}

static int make_policy(struct policy_builder *b)
{
	int rc = policy_begin(b);

	for (unsigned int i = 0; rc == 0 && i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_entry x = {.kind = (uint8_t)rows[i].kind, .flags = ENTRY_NAMED};

		for (unsigned int r = 0; r < N_ROLES; r++)
			x.level[r] = (uint8_t)rows[i].level[r];
		rc = policy_add_str(b, rows[i].path, &x.path);
		b->p->entry[i] = x;
		b->p->n_entries++;
	}
	for (unsigned int r = 0; rc == 0 && r < N_ROLES; r++)
		(void)snprintf(b->p->role[r].name, sizeof(b->p->role[r].name), "%s", roles[r]);
	if (rc == 0)
		b->p->n_roles = N_ROLES;
	return rc;
}

static void turn(struct tree *t, unsigned int role)
{
	struct tree_changes changes = {0};
	struct err e = {0};
	char name[64];
	int rc = tree_flip(t, role, &e);

	(void)snprintf(name, sizeof(name), "flip %s", roles[role]);
	step(name, rc, &e);
	rc = tree_reclaim(t, &changes, &e);
	tree_changes_done(&changes);
	(void)snprintf(name, sizeof(name), "reclaim %s", roles[role]);
	step(name, rc, &e);
}

int main(int argc, char **argv)
{
	struct policy_builder b = {0};
	struct tree *t = NULL;
	struct tree_owner who = {.umask = 022};
	struct err e = {0};
	int root, state, rc;

	if (argc != 8)
		return 2;
	root = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	state = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	who.owner = who.owner_gid = (uid_t)atoi(argv[3]);
	who.agent.uid = (uid_t)atoi(argv[4]);
	who.agent.gid = (gid_t)atoi(argv[5]);
	who.agent.writers = (gid_t)atoi(argv[6]);
	if (root < 0 || state < 0)
		rc = err_errno(&e, errno, "cannot open %s", argv[root < 0 ? 1 : 2]);
	else if ((rc = make_policy(&b)) != 0)
		rc = err_errno(&e, -rc, "cannot make the policy");
	step("nothing", rc, &e);
	rc = tree_open_at(&t, state, root, argv[1], b.p, &who, &e);
	if (rc == 0)
		rc = tree_repair(t, &e);
	step("start", rc, &e);
	for (int i = 0; i < atoi(argv[7]); i++)
		for (unsigned int role = 0; role < N_ROLES; role++)
			turn(t, role);
	rc = tree_restore(t, &e);
	step("restore", rc, &e);
	tree_free(t);
	policy_done(&b);
	return 0;
}
