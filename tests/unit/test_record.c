/* The run's record: written step by step, read back, interrupted, damaged, resumed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/str.h"
#include "protocol/record.h"
#include "protocol/record_read.h"

struct project {
	char path[64];
	int fd;
};

static int setup(void **state)
{
	struct project *p = calloc(1, sizeof(*p));

	(void)snprintf(p->path, sizeof(p->path), "/tmp/stint-record.XXXXXX");
	if (mkdtemp(p->path) == NULL)
		return -1;
	p->fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = p;
	return p->fd < 0 ? -1 : 0;
}

/* Removes what is below dir; the depth is that of a record. */
static void empty(int dir, int depth)
{
	int fd = fd_open_beneath(dir, ".", O_RDONLY | O_DIRECTORY, 0, false);
	DIR *d = fdopendir(fd);
	struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		int child;

		if (str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..") || unlinkat(dir, entry->d_name, 0) == 0)
			continue;
		child = fd_open_beneath(dir, entry->d_name, O_RDONLY | O_DIRECTORY, 0, false);
		if (child >= 0 && depth > 0)
			empty(child, depth - 1);
		fd_close(&child);
		(void)unlinkat(dir, entry->d_name, AT_REMOVEDIR);
	}
	(void)closedir(d);
}

static int teardown(void **state)
{
	struct project *p = *state;
	int rc;

	empty(p->fd, 6);
	fd_close(&p->fd);
	rc = rmdir(p->path);
	free(p);
	return rc;
}

/* Every call of the API that must succeed. */
#define MUST(call) do { struct err e_ = {0}; int rc_ = call; if (rc_ < 0) fail_msg("%s: %s", #call, e_.msg); } while (0)

static struct record *begin(const struct project *p, const char *kind)
{
	static const char *const layers[] = {"acl", "landlock", "seccomp", NULL};
	static const char *const command[] = {"make", "te\xffst", NULL};
	const struct record_info info = {.kind = kind, .project = "/home/o/p", .agent_user = "stint-agent", .layers = layers,
	                                 .landlock_abi = 7, .suite_command = command, .suite_format = "tap"};
	struct record *r = NULL;

	MUST(record_create(&r, p->fd, &info, &e_));
	return r;
}

static unsigned int one_turn(struct record *r, const char *role, const char *changes, size_t n)
{
	const struct record_turn t = {.status = "ok", .exit = 3, .wall_ms = 1500, .user_ms = 20, .sys_ms = 10, .max_rss = 4096,
	                              .changes = changes, .n_changes_bytes = n, .stdout_bytes = 5, .stderr_bytes = 0};
	unsigned int number = 0;

	MUST(record_turn_begin(r, role, &number, &e_));
	MUST(record_turn_file(r, "prompt", "do it", 5, &e_));
	MUST(record_turn_end(r, &t, &e_));
	return number;
}

static json_t *read_run(const struct project *p, const char *id)
{
	json_t *run = NULL;

	MUST(record_read(p->fd, id, &run, &e_));
	return run;
}

static const json_t *at(const json_t *o, const char *key, size_t i)
{
	const json_t *a = json_object_get(o, key);

	if (json_array_size(a) <= i)
		fail_msg("%s has %zu elements", key, json_array_size(a));
	return json_array_get(a, i);
}

static const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	if (s == NULL)
		fail_msg("no string %s", key);
	return s;
}

static void id_of(const struct record *r, char ret[RECORD_ID_MAX])
{
	(void)snprintf(ret, RECORD_ID_MAX, "%s", record_id(r));
}

static void test_a_whole_run(void **state)
{
	static const char changes[] = "Asrc/a.c\0Msrc/\xff.c\0Dsrc/old\0!src/s: a socket was removed\0";
	static const char *const failing[] = {"parses nothing", NULL};
	static const char *const denials[] = {"open tests/: EACCES", NULL};
	const struct record_suite suite = {.format = "tap", .verified = true, .planned = 3, .passed = 2, .failed = 1,
	                                   .failing = failing};
	const struct record_turn suite_turn = {.status = "failed", .exit = 1, .verdict = "fail", .suite = &suite, .denials = denials};
	struct project *p = *state;
	struct record *r = begin(p, "loop");
	char id[RECORD_ID_MAX];
	const json_t *turn, *iteration;
	unsigned int n = 0;
	json_t *run;

	id_of(r, id);
	MUST(record_task_begin(r, "first \xc3\xa9\x1b", 3, &e_));
	MUST(record_iteration_begin(r, 1, &e_));
	assert_int_equal(one_turn(r, "developer", changes, sizeof(changes) - 1), 1);
	MUST(record_turn_begin(r, "runner", &n, &e_));
	assert_int_equal(n, 2);
	MUST(record_turn_end(r, &suite_turn, &e_));
	MUST(record_iteration_end(r, false, "1 test failed", &e_));
	MUST(record_commit_step(r, RECORD_COMMIT_DONE, "abc123", &e_));
	MUST(record_task_end(r, "pass", &e_));
	MUST(record_end(r, 0, NULL, &e_));
	record_free(r);

	run = read_run(p, id);
	assert_string_equal(text(run, "state"), "ended");
	assert_string_equal(record_liveness(p->fd, id, run), "ended");
	assert_string_equal(json_string_value(at(json_object_get(run, "suite"), "command", 1)), "te\\xffst");
	assert_string_equal(text(at(run, "tasks", 0), "title"), "first \xc3\xa9\x1b");
	assert_string_equal(text(at(run, "tasks", 0), "commit"), "abc123");
	iteration = at(at(run, "tasks", 0), "iterations", 0);
	assert_string_equal(text(iteration, "reason"), "1 test failed");
	turn = at(iteration, "turns", 0);
	assert_int_equal(json_integer_value(json_object_get(turn, "exit")), 3);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(turn, "changes"), "total")), 3);
	assert_string_equal(text(at(json_object_get(turn, "changes"), "list", 1), "path"), "src/\\xff.c");
	assert_string_equal(json_string_value(at(json_object_get(turn, "anomalies"), "list", 0)), "src/s: a socket was removed");
	turn = at(iteration, "turns", 1);
	assert_string_equal(text(turn, "verdict"), "fail");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(turn, "suite"), "failed")), 1);
	assert_string_equal(json_string_value(at(json_object_get(turn, "denials"), "list", 0)), denials[0]);
	json_decref(run);
}

static void mode_is(const struct project *p, const char *path, mode_t want)
{
	struct stat st;

	if (fstatat(p->fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
		fail_msg("%s: %s", path, strerror(errno));
	if ((st.st_mode & 07777) != want)
		fail_msg("%s has mode %o", path, (unsigned int)st.st_mode & 07777);
}

static void test_files_are_the_owners(void **state)
{
	struct project *p = *state;
	mode_t old = umask(0);
	struct record *r = begin(p, "turn");
	char path[128];

	(void)one_turn(r, "tester", "", 0);
	(void)umask(old);
	mode_is(p, ".stint", 0700);
	mode_is(p, ".stint/runs", 0700);
	mode_is(p, record_dir(r), 0700);
	mode_is(p, record_turn_dir(r), 0700);
	(void)snprintf(path, sizeof(path), "%s/run.json", record_dir(r));
	mode_is(p, path, 0600);
	(void)snprintf(path, sizeof(path), "%s/events.jsonl", record_dir(r));
	mode_is(p, path, 0600);
	(void)snprintf(path, sizeof(path), "%s/prompt", record_turn_dir(r));
	mode_is(p, path, 0600);
	record_free(r);
}

static void test_turn_files(void **state)
{
	struct project *p = *state;
	struct record *r = begin(p, "turn");
	struct err e = {0};
	char *bytes = NULL;
	size_t len = 0;
	unsigned int n;

	assert_int_equal(record_turn_file(r, "prompt", "x", 1, &e), -EINVAL); /* no turn is open */
	assert_int_equal(e.exit, STOP_RECORD);
	MUST(record_turn_begin(r, "tester", &n, &e_));
	assert_int_equal(record_turn_open(r, "../run.json", &e), -EINVAL);
	assert_int_equal(record_turn_open(r, ".hidden", &e), -EINVAL);
	MUST(record_turn_file(r, "stdout", "0123456789", 10, &e_));
	MUST(record_turn_read(p->fd, record_id(r), n, "stdout", 100, &bytes, &len, &e_));
	assert_int_equal(len, 10);
	assert_string_equal(bytes, "0123456789");
	free(bytes);
	MUST(record_turn_read(p->fd, record_id(r), n, "stdout", 4, &bytes, &len, &e_));
	assert_string_equal(bytes, "0123");
	free(bytes);
	assert_int_equal(record_turn_read(p->fd, record_id(r), n, "diff", 4, &bytes, &len, &e), -ENOENT);
	record_free(r);
}

static void test_lists_and_strings_are_bounded(void **state)
{
	struct project *p = *state;
	struct record *r = begin(p, "turn");
	char *title = malloc(2 * RECORD_MAX_STRING);
	char changes[RECORD_MAX_LIST * 4 + 400];
	const json_t *list;
	json_t *run;

	for (size_t i = 0; i < sizeof(changes); i += 4)
		memcpy(changes + i, "Aab", 4);
	(void)one_turn(r, "tester", changes, sizeof(changes));
	for (size_t i = 0; i < 2 * RECORD_MAX_STRING; i += 2)
		memcpy(title + i, "\xc3\xa9", 2);
	title[0] = 'a'; /* now the bound falls inside a character, whose half must not stay */
	title[1] = 'b';
	title[2] = 'c';
	memmove(title + 3, title + 4, 2 * RECORD_MAX_STRING - 4);
	title[2 * RECORD_MAX_STRING - 1] = '\0';
	MUST(record_task_begin(r, title, 1, &e_));
	run = read_run(p, record_id(r));
	list = json_object_get(at(run, "turns", 0), "changes");
	assert_int_equal(json_integer_value(json_object_get(list, "total")), (RECORD_MAX_LIST * 4 + 400) / 4);
	assert_int_equal(json_array_size(json_object_get(list, "list")), RECORD_MAX_LIST);
	assert_int_equal(strlen(text(at(run, "tasks", 0), "title")), RECORD_MAX_STRING - 1);
	json_decref(run);
	record_free(r);
	free(title);
}

/* Every line of events.jsonl is an object with a time and a name, in the order of the steps. */
static void test_events(void **state)
{
	static const char *const want[] = {"run-begin", "task-begin", "iteration-begin", "turn-begin", "turn-end", "iteration-end",
	                                   "own", "commit", "task-end", "run-end", NULL};
	struct project *p = *state;
	struct record *r = begin(p, "loop");
	char path[128];
	char line[4096];
	size_t i = 0;
	FILE *f;

	MUST(record_task_begin(r, "a", 1, &e_));
	MUST(record_iteration_begin(r, 1, &e_));
	(void)one_turn(r, "developer", "", 0);
	MUST(record_iteration_end(r, true, NULL, &e_));
	MUST(record_event(r, "own", json_pack("{s:i}", "answer", 42), &e_));
	MUST(record_commit_step(r, RECORD_COMMIT_BUILT, "ab", &e_));
	MUST(record_task_end(r, "pass", &e_));
	MUST(record_end(r, 1, "enough", &e_));
	(void)snprintf(path, sizeof(path), "%s/%s/events.jsonl", p->path, record_dir(r));
	f = fopen(path, "re");
	assert_non_null(f);
	for (; fgets(line, sizeof(line), f) != NULL; i++) {
		json_t *event = json_loads(line, 0, NULL);

		assert_non_null(event);
		assert_non_null(want[i]);
		assert_string_equal(text(event, "event"), want[i]);
		assert_int_equal(strlen(text(event, "t")), strlen("2026-01-02T03:04:05.678Z"));
		json_decref(event);
	}
	assert_null(want[i]);
	(void)fclose(f);
	record_free(r);
}

/* A process that dies in the middle of a run leaves "running" behind; nobody holds its lock. */
static void test_interrupted(void **state)
{
	struct project *p = *state;
	char id[RECORD_ID_MAX];
	struct record_resume left;
	int ready[2];
	int status;
	char byte;
	pid_t child;
	json_t *run;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		struct record *r = begin(p, "loop");

		if (record_task_begin(r, "cut", 9, NULL) != 0 || record_iteration_begin(r, 4, NULL) != 0 ||
		    write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	MUST(record_find(p->fd, "latest", id, &e_));
	run = read_run(p, id);
	assert_string_equal(record_liveness(p->fd, id, run), "running");
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_string_equal(text(run, "state"), "running");
	assert_string_equal(record_liveness(p->fd, id, run), "interrupted");
	json_decref(run);
	MUST(record_resume(p->fd, &left, &e_));
	assert_true(left.unfinished);
	assert_false(left.running);
	assert_string_equal(left.title, "cut");
	assert_int_equal(left.line, 9);
	assert_int_equal(left.iteration, 4);
	assert_false(left.iteration_ended);
	assert_int_equal(left.step, RECORD_COMMIT_NONE);
	record_resume_done(&left);
	(void)close(ready[0]);
	(void)close(ready[1]);
}

static void test_commit_steps_survive(void **state)
{
	struct project *p = *state;
	struct record_resume left;
	struct record *r;

	MUST(record_resume(p->fd, &left, &e_)); /* no run at all */
	assert_false(left.unfinished);
	assert_null(left.title);
	record_resume_done(&left);
	r = begin(p, "loop");
	MUST(record_task_begin(r, "t", 1, &e_));
	MUST(record_iteration_begin(r, 1, &e_));
	MUST(record_iteration_end(r, true, NULL, &e_));
	for (int step = RECORD_COMMIT_BUILT; step <= RECORD_COMMIT_DONE; step++) {
		MUST(record_commit_step(r, (enum record_commit)step, "0123456789abcdef", &e_));
		MUST(record_resume(p->fd, &left, &e_));
		assert_true(left.running);
		assert_int_equal(left.unfinished, step != RECORD_COMMIT_DONE);
		assert_int_equal(left.step, step);
		assert_string_equal(left.commit, "0123456789abcdef");
		record_resume_done(&left);
	}
	MUST(record_task_end(r, "pass", &e_));
	MUST(record_end(r, 0, NULL, &e_));
	record_free(r);
	MUST(record_resume(p->fd, &left, &e_));
	assert_false(left.unfinished);
	record_resume_done(&left);
}

static void loop_run(const struct project *p, const char *title, const char *change, const char *status)
{
	struct record *r = begin(p, "loop");

	MUST(record_task_begin(r, title, 1, &e_));
	MUST(record_iteration_begin(r, 1, &e_));
	(void)one_turn(r, "developer", change, strlen(change) + 1);
	MUST(record_iteration_end(r, false, NULL, &e_));
	MUST(record_task_end(r, status, &e_));
	MUST(record_end(r, 1, NULL, &e_));
	record_free(r);
}

/* A task that several runs worked on: all of them are named, newest first, and no other. */
static void test_runs_of_a_task(void **state)
{
	struct project *p = *state;
	struct record_resume left;
	char first[RECORD_ID_MAX];

	loop_run(p, "mine", "A0", "pass"); /* an older task of that name, done */
	loop_run(p, "mine", "A1", "fail");
	MUST(record_find(p->fd, "latest", first, &e_));
	loop_run(p, "mine", "A2", "open");
	record_free(begin(p, "turn")); /* in between, by hand */
	record_free(begin(p, "loop")); /* killed before it began anything */
	MUST(record_resume(p->fd, &left, &e_));
	assert_int_equal(left.runs.len, 2 * (strlen(first) + 1));
	assert_string_equal(left.runs.data, left.id);
	assert_string_equal(left.runs.data + strlen(first) + 1, first);
	record_resume_done(&left);
}

static void overwrite(const struct project *p, const char *id, const char *bytes)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), ".stint/runs/%s/run.json", id);
	fd = openat(p->fd, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, bytes, strlen(bytes)), 0);
	fd_close(&fd);
}

static void refused(const struct project *p, const char *id, const char *bytes, int code, const char *says)
{
	struct err e = {0};
	json_t *run = NULL;

	overwrite(p, id, bytes);
	assert_int_equal(record_read(p->fd, id, &run, &e), code);
	assert_null(run);
	assert_int_equal(e.exit, STOP_USAGE);
	if (strstr(e.msg, says) == NULL)
		fail_msg("%s: not in: %s", says, e.msg);
}

#define RUN_HEAD "{\"schema\":1,\"kind\":\"loop\",\"id\":\"x\",\"state\":\"running\",\"started\":\"s\",\"ended\":null,\"stop\":null," \
	"\"reason\":null,\"project\":null,\"agent_user\":null,\"layers\":[],\"kernel\":null,\"landlock_abi\":0,\"suite\":null,"

static void test_damage(void **state)
{
	struct project *p = *state;
	struct record *r = begin(p, "loop");
	struct record_resume left;
	struct err e = {0};
	char id[RECORD_ID_MAX];

	id_of(r, id);
	overwrite(p, id, RUN_HEAD "\"turns\":[],\"tasks\":[]}");
	json_decref(read_run(p, id)); /* the control: this much is enough */
	refused(p, id, "", -EBADMSG, "run.json:1: ");
	refused(p, id, "{\"schema\":1,\n\"kind\":", -EBADMSG, "run.json:2: ");
	refused(p, id, "[]", -EBADMSG, "schema");
	refused(p, id, "{\"schema\":1,\"schema\":1}", -EBADMSG, "duplicate");
	refused(p, id, "{\"schema\":99}", -EPROTONOSUPPORT, "newer stint");
	refused(p, id, RUN_HEAD "\"turns\":[]}", -EBADMSG, "tasks");
	refused(p, id, RUN_HEAD "\"turns\":{},\"tasks\":[]}", -EBADMSG, "turns");
	refused(p, id, RUN_HEAD "\"turns\":[],\"tasks\":[3]}", -EBADMSG, "a task");
	refused(p, id, RUN_HEAD "\"turns\":[{\"n\":1,\"role\":7,\"status\":\"\",\"started\":\"\"}],\"tasks\":[]}", -EBADMSG, "role");
	refused(p, id, RUN_HEAD "\"turns\":[{\"n\":1,\"role\":\"\",\"status\":\"\",\"started\":\"\",\"changes\":{}}],\"tasks\":[]}",
	        -EBADMSG, "total");
	/* Guessing over a damaged record would hide work. */
	assert_int_equal(record_resume(p->fd, &left, &e), -EBADMSG);
	record_free(r);
}

static void test_find(void **state)
{
	static const char *const names[] = {"20260101-000000-0001", "20260102-000000-0001", "20260102-000000-00ff", "notes",
	                                    "20260103-000000-000g", "20260104-000000"};
	struct project *p = *state;
	struct record_ids ids;
	struct err e = {0};
	char id[RECORD_ID_MAX];
	int runs;

	assert_int_equal(record_find(p->fd, NULL, id, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "stint run"));
	runs = fd_mkdirs_beneath(p->fd, RECORD_RUNS_DIR, 0700);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(mkdirat(runs, names[i], 0700), 0);
	fd_close(&runs);
	MUST(record_list(p->fd, &ids, &e_));
	assert_int_equal(ids.n, 3);
	assert_string_equal(ids.v[0], names[2]);
	assert_string_equal(ids.v[2], names[0]);
	record_ids_done(&ids);
	MUST(record_find(p->fd, NULL, id, &e_));
	assert_string_equal(id, names[2]);
	MUST(record_find(p->fd, "20260101", id, &e_));
	assert_string_equal(id, names[0]);
	MUST(record_find(p->fd, names[1], id, &e_));
	assert_string_equal(id, names[1]);
	assert_int_equal(record_find(p->fd, "20260102", id, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "more than one"));
	assert_int_equal(record_find(p->fd, "2025", id, &e), -ENOENT);
	assert_int_equal(record_find(p->fd, "", id, &e), -ENOENT);
	assert_int_equal(record_find(p->fd, "../../etc", id, &e), -ENOENT);
	/* A folder without run.json: killed before its first record. It hides nothing. */
	{
		struct record_resume left;

		MUST(record_resume(p->fd, &left, &e_));
		assert_null(left.title);
	}
}

/* Killed, or out of room, before its first record: there is no such run, and the one before is still the latest. */
static void test_a_run_has_a_record(void **state)
{
	struct project *p = *state;
	struct record *r = begin(p, "loop");
	const struct record_info info = {.kind = "loop", .project = "/p", .agent_user = "a"};
	struct record *none = NULL;
	struct record_ids ids;
	struct err e = {0};
	struct rlimit nothing;
	struct rlimit was;
	struct stat st;
	int runs = fd_mkdirs_beneath(p->fd, RECORD_RUNS_DIR, 0700);

	assert_int_equal(mkdirat(runs, ".29990101-000000-0000", 0700), 0); /* as a kill leaves it */
	assert_int_equal(close(openat(runs, ".29990101-000000-0000/.run.json.new", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	nothing = (struct rlimit){0, was.rlim_max};
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &nothing), 0);
	assert_int_equal(record_create(&none, p->fd, &info, &e), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(e.exit, STOP_RECORD);
	MUST(record_list(p->fd, &ids, &e_));
	assert_int_equal(ids.n, 1);
	assert_string_equal(ids.v[0], record_id(r));
	record_ids_done(&ids);
	assert_int_equal(fstat(runs, &st), 0);
	assert_int_equal(st.st_nlink, 2 + 1); /* the failed one took its folder away, and the killed one's */
	fd_close(&runs);
	record_free(r);
}

/* The newest run is found by name, also of two in one second and after the clock was set back. */
static void test_names_grow(void **state)
{
	struct project *p = *state;
	char last[RECORD_ID_MAX] = "";
	int runs;

	for (int i = 0; i < 20; i++) {
		struct record *r = begin(p, "turn");

		assert_true(strcmp(record_id(r), last) > 0);
		id_of(r, last);
		record_free(r);
	}
	runs = fd_mkdirs_beneath(p->fd, RECORD_RUNS_DIR, 0700);
	assert_int_equal(mkdirat(runs, "29991231-235959-00ff", 0700), 0);
	fd_close(&runs);
	{
		struct record *r = begin(p, "turn");

		assert_string_equal(record_id(r), "29991231-235959-0100");
		record_free(r);
	}
}

static void test_no_link_is_followed(void **state)
{
	struct project *p = *state;
	const struct record_info info = {.kind = "loop", .project = "/", .agent_user = "a"};
	struct record *r = NULL;
	struct err e = {0};

	assert_int_equal(mkdirat(p->fd, "elsewhere", 0700), 0);
	assert_int_equal(symlinkat("elsewhere", p->fd, ".stint"), 0);
	assert_int_equal(record_create(&r, p->fd, &info, &e), -ELOOP);
	assert_int_equal(e.exit, STOP_RECORD);
	assert_int_equal(unlinkat(p->fd, ".stint", 0), 0);
	assert_int_equal(record_create(&r, p->fd, &info, &e), 0);
	record_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_whole_run, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files_are_the_owners, setup, teardown),
		cmocka_unit_test_setup_teardown(test_turn_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lists_and_strings_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interrupted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_commit_steps_survive, setup, teardown),
		cmocka_unit_test_setup_teardown(test_runs_of_a_task, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_find, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_run_has_a_record, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_grow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_link_is_followed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
