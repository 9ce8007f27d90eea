/* `stint tasks`: what the loop sees in TASKS.md, or in any Markdown file. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "orchestrator/cmd.h"
#include "orchestrator/show.h"
#include "protocol/tasks.h"

struct options {
	const char *dir;
	const char *file;   /* NULL: TASKS.md of the project */
	bool json;
};

static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "C:", longs, NULL)) != -1) {
		if (opt == 'j')
			o->json = true;
		else if (opt == 'C')
			o->dir = optarg;
		else
			return show_bad_option(argv);
	}
	if (argc - optind > 1) {
		log_note("tasks: more than one file: usage: stint tasks [FILE] [--json]");
		return STOP_USAGE;
	}
	o->file = argv[optind];
	return STOP_DONE;
}

/* A file that a person names may be a link or a pipe. */
static int load_file(struct tasks *t, const char *file, struct err *e)
{
	AUTO_FD fd = open(file, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *bytes = NULL;
	size_t n;
	int rc;

	if (fd < 0)
		return err_stop(e, STOP_USAGE, err_errno(e, errno, "cannot open %s", file));
	rc = fd_read_all(fd, TASKS_MAX_BYTES, &bytes, &n);
	if (rc == -EFBIG)
		return err_stop(e, STOP_USAGE, err_set(e, EFBIG, "%s is larger than %u MiB: split it", file, TASKS_MAX_BYTES >> 20));
	if (rc != 0)
		return err_stop(e, STOP_USAGE, err_errno(e, -rc, "cannot read %s", file));
	return tasks_parse(t, file, bytes, n, e);
}

static json_t *json_of(const struct tasks *t)
{
	json_t *tasks = json_array();
	json_t *warnings = json_array();
	int bad = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct task *k = &t->v[i];

		bad |= json_array_append_new(tasks, json_pack("{s:i, s:b, s:i, s:s}", "line", (int)k->line, "done", k->done ? 1 : 0,
		                                              "depth", (int)k->depth, "title", k->title));
	}
	for (size_t i = 0; i < t->n_warning; i++)
		bad |= json_array_append_new(warnings, json_pack("{s:i, s:s}", "line", (int)t->warning[i].line, "message",
		                                                 t->warning[i].message));
	if (bad == 0)
		return json_pack("{s:o, s:o}", "tasks", tasks, "warnings", warnings);
	json_decref(tasks);
	json_decref(warnings);
	return NULL;
}

static int print_text(const struct tasks *t, const char *name)
{
	struct show s = {0};
	size_t done;
	size_t n = tasks_count(t, &done);
	int width = t->n == 0 ? 1 : snprintf(NULL, 0, "%u", t->v[t->n - 1].line);
	int status;

	for (size_t i = 0; i < t->n; i++) {
		const struct task *k = &t->v[i];

		show_f(&s, "%*u  %*s[%c] ", width, k->line, 2 * (int)(k->depth < 20 ? k->depth : 20), "", k->done ? 'x' : ' ');
		show_add(&s, k->title, 0);
		show_f(&s, "\n");
	}
	if (t->n == 0)
		show_f(&s, "[]\n");
	else
		show_f(&s, "%zu %s, %zu done\n", n, n == 1 ? "task" : "tasks", done);
	status = show_text(&s);
	if (t->n == 0)
		log_note("%s holds no task; one looks like this: - [ ] what to do", name);
	for (size_t i = 0; i < t->n_warning; i++)
		log_warn("%s:%u: %s", name, t->warning[i].line, t->warning[i].message);
	return status;
}

int cmd_tasks(struct cmd *c, int argc, char **argv)
{
	struct options o = {0};
	struct tasks t = {0};
	struct err e = {0};
	int status = parse_options(argc, argv, &o);
	int rc;

	if (status != STOP_DONE)
		return status;
	rc = o.file != NULL ? load_file(&t, o.file, &e) : cmd_root(c, o.dir, &e);
	if (rc == 0 && o.file == NULL)
		rc = tasks_load(&t, c->root_fd, &e);
	if (rc != 0)
		return log_err(&e, STOP_USAGE);
	status = o.json ? show_json(json_of(&t)) : print_text(&t, o.file != NULL ? o.file : TASKS_FILE);
	tasks_done(&t);
	return status;
}
