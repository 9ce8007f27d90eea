/* `stint turn`: one turn of one role by hand. Its output is passed through, its exit status is ours. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "orchestrator/cmd.h"
#include "orchestrator/prompt.h"
#include "orchestrator/session.h"
#include "orchestrator/turn.h"
#include "protocol/tasks.h"

struct turn_options {
	unsigned int layers;
	const char *role;
	char *const *command;     /* NULL: the role's own */
};

#define USAGE "usage: sudo stint turn [-C DIR] [--layers L,…] ROLE [-- CMD…]"

static int parse(int argc, char **argv, struct turn_options *o)
{
	static const struct option longs[] = {{"layers", required_argument, NULL, 'l'}, {NULL, 0, NULL, 0}};
	const char *bad = NULL;
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		if (opt != 'l') {
			log_note("turn: unknown or incomplete option %s: " USAGE, argv[optind - 1]);
			return STOP_USAGE;
		}
		if (layers_parse(optarg, &o->layers, &bad) != 0) {
			log_note("--layers: unknown layer in \"%s\" at \"%s\": known are acl, landlock, seccomp", optarg, bad);
			return STOP_USAGE;
		}
	}
	if (optind >= argc) {
		log_note("turn: no role: " USAGE);
		return STOP_USAGE;
	}
	o->role = argv[optind++];
	if (optind < argc && str_eq(argv[optind], "--"))
		optind++;
	if (optind < argc)
		o->command = argv + optind;
	return STOP_DONE;
}

/* On a terminal, bytes from inside must not drive it. */
static void pass_through(void *cookie, bool is_stderr, const char *bytes, size_t n)
{
	int fd = is_stderr ? STDERR_FILENO : STDOUT_FILENO;
	AUTO_BUF struct buf b = {0};

	(void)cookie;
	if (isatty(fd) != 1)
		(void)!fd_write_all(fd, bytes, n);
	else if (buf_add_escaped(&b, bytes, n, true) == 0)
		(void)!fd_write_all(fd, b.data, b.len);
}

/* The first open task is what a turn by hand works on, where there is one. */
static int make_prompt(const struct session *s, const struct cmd *c, unsigned int role, struct buf *prompt, char **ret_title,
                       struct err *e)
{
	struct tasks t = {0};
	const struct task *task = NULL;
	struct prompt_facts f = {.task = "(no open task in TASKS.md)", .iteration = 1};
	int rc;

	f.task_len = strlen(f.task);
	if (tasks_load(&t, c->root_fd, NULL) == 0)
		task = tasks_next(&t);
	if (task != NULL) {
		f.task = t.bytes + task->start;
		f.task_len = task->end - task->start;
		*ret_title = strdup(task->title);
	}
	rc = prompt_build(&s->config, role, c->root_fd, &f, prompt, e);
	tasks_done(&t);
	return rc;
}

static void report_changes(const struct turn_result *res)
{
	const char *p = res->changes.records.data;
	const char *end = p == NULL ? NULL : p + res->changes.records.len;

	for (; p != NULL && p < end; p += strnlen(p, (size_t)(end - p)) + 1) {
		AUTO_BUF struct buf b = {0};
		const char *s = buf_add_escaped(&b, p + 1, strlen(p + 1), false) == 0 ? buf_str(&b) : NULL;

		if (p[0] == '!' && s != NULL)
			log_warn("anomaly: %s", s);
		else if (s != NULL && isatty(STDERR_FILENO) == 1)
			log_note("%c %s", p[0], s);
	}
}

static int run_turn(const struct session *s, const struct cmd *c, unsigned int role, const struct turn_options *o, struct err *e)
{
	const struct turn_watch watch = {.output = pass_through};
	struct turn_request q = {
		.sock = c->warden_fd,
		.role = role,
		.suite_log_fd = -1,
		.iteration = 1,
		.output_limit = s->config.limits.output,
		.idle_ms = s->config.role[role].idle_ms,
		.interrupt_fd = s->interrupt_fd,
		.watch = &watch,
		.stdout_file = memfd_create("stint-stdout", MFD_CLOEXEC),
		.stderr_file = memfd_create("stint-stderr", MFD_CLOEXEC),
	};
	AUTO_BUF struct buf prompt = {0};
	AUTO_FREE char *title = NULL;
	struct turn_result res = {0};
	int rc = 0;

	if (q.stdout_file < 0 || q.stderr_file < 0)
		return log_err((err_errno(e, errno, "cannot keep output"), e), RUN_UNCONFINED);
	if (o->command == NULL && role != CONFIG_RUNNER)
		rc = make_prompt(s, c, role, &prompt, &title, e);
	q.prompt = prompt.data;
	q.prompt_len = prompt.len;
	q.task = title;
	if (rc != 0)
		return log_err(e, STOP_USAGE);
	rc = turn_run(&q, &res, e);
	if (rc == 0) {
		session_warn_lines(res.ready.notes, strlen(res.ready.notes));
		if ((res.exited.flags & EXITED_UNCONFINED) != 0)
			log_note("the command was not started: %s", res.exited.msg);
		else if (res.exited.msg[0] != '\0')
			log_note("%s", res.exited.msg);
		report_changes(&res);
		rc = res.interrupted ? STOP_INTERRUPTED : turn_exit(&res);
	} else {
		rc = log_err(e, RUN_UNCONFINED);
	}
	turn_result_done(&res);
	return rc;
}

static void warn_layers(unsigned int layers)
{
	if (layers == LAYER_ALL)
		return;
	log_warn("not every layer is in force (acl %s, landlock %s, seccomp %s): for showing and testing only",
	         (layers & LAYER_ACL) != 0 ? "on" : "OFF", (layers & LAYER_LANDLOCK) != 0 ? "on" : "OFF",
	         (layers & LAYER_SECCOMP) != 0 ? "on" : "OFF");
}

int cmd_turn(struct cmd *c, int argc, char **argv)
{
	struct turn_options o = {.layers = LAYER_ALL};
	struct compile_options co = {.role = -1};
	struct session s = {.policy_fd = -1, .interrupt_fd = -1};
	struct config config = {0};
	struct err e = {0};
	int status = parse(argc, argv, &o);
	int role;
	int rc;

	if (status != STOP_DONE)
		return status;
	rc = config_load(&config, c->root_fd, false, &e);
	role = rc == 0 ? config_role_find(&config, o.role) : -1;
	if (rc == 0 && role < 0)
		rc = err_set(&e, EINVAL, "turn: %s is no role of this project: `stint matrix` lists them", o.role);
	config_done(&config);
	co.layers = o.layers;
	co.role = role;
	co.command = o.command;
	if (rc == 0)
		rc = session_open(&s, c, &co, &e);
	if (rc == 0) {
		session_warn_lines(s.notes.data, s.notes.len);
		warn_layers(o.layers);
	}
	if (rc == 0)
		rc = session_start(&s, c, &e);
	status = rc == 0 ? run_turn(&s, c, (unsigned int)role, &o, &e) : log_err(&e, STOP_USAGE);
	session_done(&s);
	/* A turn's status is the command's; its own failure to confine has a number that commands do not use. */
	return e.exit == STOP_CONFINE ? RUN_UNCONFINED : status;
}
