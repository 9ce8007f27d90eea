/* `stint view`: one run, readable; with --turn one of its turns with everything that was kept of it. */
#include <getopt.h>
#include <stdlib.h>

#include "base/exit.h"
#include "base/log.h"
#include "orchestrator/cmd.h"
#include "orchestrator/show.h"
#include "orchestrator/view.h"
#include "protocol/record_read.h"

struct options {
	const char *dir;
	const char *which;
	unsigned int turn;  /* 0: the whole run */
	bool json;
};

static int parse_turn(const char *text, unsigned int *ret)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || n < 1 || n > 1000000) {
		log_note("--turn: %s is no turn: turns count from 1", text);
		return STOP_USAGE;
	}
	*ret = (unsigned int)n;
	return STOP_DONE;
}

static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {"turn", required_argument, NULL, 't'},
	                                      {NULL, 0, NULL, 0}};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "C:", longs, NULL)) != -1) {
		if (opt == 'j')
			o->json = true;
		else if (opt == 'C')
			o->dir = optarg;
		else if (opt != 't')
			return show_bad_option(argv);
		else if (parse_turn(optarg, &o->turn) != STOP_DONE)
			return STOP_USAGE;
	}
	if (argc - optind > 1) {
		log_note("view: more than one run: usage: stint view [-C DIR] [RUN] [--turn N] [--json]");
		return STOP_USAGE;
	}
	o->which = argv[optind];
	return STOP_DONE;
}

int cmd_view(struct cmd *c, int argc, char **argv)
{
	struct options o = {0};
	char id[RECORD_ID_MAX];
	json_t *run = NULL;
	struct err e = {0};
	int status = parse_options(argc, argv, &o);

	if (status != STOP_DONE)
		return status;
	if (cmd_root(c, o.dir, &e) != 0 || record_find(c->root_fd, o.which, id, &e) != 0 ||
	    record_read(c->root_fd, id, &run, &e) != 0)
		return log_err(&e, STOP_USAGE);
	if (o.turn > 0)
		status = view_turn(c->root_fd, id, run, o.turn, o.json);
	else
		status = o.json ? show_json(json_incref(run)) : view_run(c->root_fd, id, run);
	json_decref(run);
	return status;
}
