/* A run's record as a crash or somebody's editor may leave it, and the commands that read it.
 *
 * Input: run.json of the newest run; behind a line "%%" that of an older one; behind another, what its first turn kept. Checked,
 * beside memory: status, log and view end with 0 or 2, print only what is safe on a terminal, and with --json one valid object;
 * what a resume says is inside its bounds. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>

#include "base/fd.h"
#include "orchestrator/cmd.h"
#include "protocol/record_read.h"
#include "tests/fuzz/json_mutate.h"

#define NEWER "20260102-000000-0001"
#define OLDER "20260101-000000-0001"

static int root = -1;
static int newer = -1;
static int older = -1;
static int turn = -1;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	root = fuzz_folder();
	newer = fd_mkdirs_beneath(root, ".stint/runs/" NEWER, 0700);
	older = fd_mkdirs_beneath(root, ".stint/runs/" OLDER, 0700);
	turn = fd_mkdirs_beneath(root, ".stint/runs/" NEWER "/turn-1", 0700);
	CHECK(newer >= 0 && older >= 0 && turn >= 0);
	fuzz_put(root, "TASKS.md", "- [x] one\n- [ ] two\n", 20);
	fuzz_put(newer, "events.jsonl", "", 0);
	fuzz_put(older, "events.jsonl", "", 0);
	return 0;
}

/* Runs a command with both streams in memory. */
static void run(cmd_fn *fn, char **words, bool json)
{
	struct cmd c = {.root_fd = root, .warden_fd = -1};
	FILE *out = stdout, *err = stderr;
	char *text[2] = {NULL, NULL};
	size_t n[2] = {0, 0};
	int argc = 0;
	int status;

	while (words[argc] != NULL)
		argc++;
	optind = 0;
	stdout = open_memstream(&text[0], &n[0]);
	stderr = open_memstream(&text[1], &n[1]);
	CHECK(stdout != NULL && stderr != NULL);
	status = fn(&c, argc, words);
	CHECK(fclose(stdout) == 0 && fclose(stderr) == 0);
	stdout = out;
	stderr = err;
	CHECK(status == STOP_DONE || status == STOP_USAGE);
	CHECK(status == STOP_DONE ? n[0] > 0 : n[0] == 0 && n[1] > 0);
	CHECK(fuzz_printable(text[0], n[0], "\n\t") && fuzz_printable(text[1], n[1], "\n"));
	if (json && status == STOP_DONE) {
		json_t *o = json_loadb(text[0], n[0], JSON_REJECT_DUPLICATES, NULL);

		CHECK(json_is_object(o) && text[0][n[0] - 1] == '\n');
		json_decref(o);
	}
	free(text[0]);
	free(text[1]);
}

static void check_resume(void)
{
	struct record_resume r = {0};
	struct err e = {0};
	int rc = record_resume(root, &r, &e);

	if (rc != 0) {
		fuzz_check_err(&e, rc);
		CHECK(e.exit == STOP_USAGE);
		return;
	}
	CHECK(r.step <= RECORD_COMMIT_DONE && !(r.unfinished && r.push_due) && !r.running);
	CHECK(r.title != NULL || (!r.unfinished && r.id[0] == '\0' && r.runs.len == 0));
	CHECK(r.title == NULL || str_eq(r.id, NEWER) || str_eq(r.id, OLDER));
	CHECK(r.runs.len % sizeof(NEWER) == 0 && r.runs.len <= 2 * sizeof(NEWER) && r.unfinished == (r.runs.len > 0));
	CHECK(!r.iteration_ended || r.turn == 0);
	record_resume_done(&r);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned int seed)
{
	return json_mutate_lines(data, n, max, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static char *const words[][5] = {
		{(char *)"status"}, {(char *)"status", (char *)"--json"}, {(char *)"log"}, {(char *)"log", (char *)"--json"},
		{(char *)"view"}, {(char *)"view", (char *)"--json"}, {(char *)"view", (char *)"--turn", (char *)"1"},
		{(char *)"view", (char *)"--turn", (char *)"1", (char *)"--json"},
	};
	static cmd_fn *const fns[] = {cmd_status, cmd_status, cmd_log, cmd_log, cmd_view, cmd_view, cmd_view, cmd_view};
	const char *p = n == 0 ? "" : (const char *)data;
	const char *part[3] = {"", "", ""};
	size_t len[3] = {0, 0, 0};

	for (size_t i = 0; i < 3 && fuzz_part(&p, &n, &part[i], &len[i]); i++)
		;
	fuzz_put(newer, "run.json", part[0], len[0]);
	fuzz_put(older, "run.json", part[1], len[1]);
	fuzz_put(turn, "stdout", part[2], len[2]);
	/* Half of them for each input, and a turn's files, which get 16 MiB of room each, for some: it is slow enough. */
	for (size_t i = len[0] % 2; i < (len[0] % 16 < 2 ? 8u : 6u); i += 2) {
		char *argv[5];

		memcpy(argv, words[i], sizeof(argv));
		run(fns[i], argv, i % 2 == 1);
	}
	check_resume();
	return 0;
}
