/* `stint matrix`: who may touch what. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "base/exit.h"
#include "base/log.h"
#include "base/str.h"
#include "orchestrator/cmd.h"
#include "orchestrator/matrix.h"

struct matrix_options {
	const char *dir;
	const char *role;         /* of --explain */
	const char *path;
	unsigned int layers;
	bool layers_given;
	bool prove;
	bool json;
};

static int usage(const char *what, const char *word)
{
	log_note("matrix: %s%s: usage: stint matrix [-C DIR] [--prove] [--layers L,...] [--explain ROLE PATH] [--json]", what,
	         word != NULL ? word : "");
	return STOP_USAGE;
}

static int take_layers(struct matrix_options *o, const char *list)
{
	const char *bad = NULL;

	o->layers_given = true;
	if (layers_parse(list, &o->layers, &bad) == 0)
		return STOP_DONE;
	log_note("matrix: --layers: unknown layer at \"%.40s\": it is one of acl, landlock, seccomp", bad);
	return STOP_USAGE;
}

static int parse(int argc, char **argv, struct matrix_options *o)
{
	static const struct option longs[] = {
		{"explain", required_argument, NULL, 'e'}, {"prove", no_argument, NULL, 'p'},
		{"layers", required_argument, NULL, 'l'}, {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0},
	};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":C:", longs, NULL)) != -1) {
		if (opt == 'C')
			o->dir = optarg;
		else if (opt == 'e')
			o->role = optarg;
		else if (opt == 'p')
			o->prove = true;
		else if (opt == 'j')
			o->json = true;
		else if (opt == 'l' && take_layers(o, optarg) == STOP_DONE)
			continue;
		else if (opt == 'l')
			return STOP_USAGE;
		else
			return usage(opt == ':' ? "an option wants a value: " : "unknown option ", argv[optind - 1]);
	}
	if (o->role != NULL && optind < argc)
		o->path = argv[optind++];
	if (o->role != NULL && o->path == NULL)
		return usage("--explain wants a role and a path", NULL);
	if (optind < argc)
		return usage("unexpected word ", argv[optind]);
	if (o->prove && o->role != NULL)
		return usage("--prove and --explain do not go together", NULL);
	if (o->layers_given && !o->prove)
		return usage("--layers needs --prove", NULL);
	return STOP_DONE;
}

int cmd_matrix(struct cmd *c, int argc, char **argv)
{
	struct matrix_options o = {.layers = LAYER_ALL};
	struct config config = {0};
	struct err e = {0};
	bool ok;
	int rc = parse(argc, argv, &o);

	if (rc != STOP_DONE)
		return rc;
	if (o.prove && c->warden_fd >= 0)
		return matrix_prove(c, o.layers, o.json);
	if (o.prove) {
		log_note("matrix: --prove needs root, because it flips ACLs and starts the agent user: sudo stint matrix --prove");
		return STOP_CONFINE;
	}
	rc = cmd_root(c, o.dir, &e);
	if (rc == 0)
		rc = config_load(&config, c->root_fd, false, &e);
	if (rc == 0)
		rc = o.role != NULL ? matrix_explain(&config, c->root_fd, o.role, o.path, o.json, &e)
		                    : matrix_print(&config, NULL, 0, o.json, &ok, &e);
	config_done(&config);
	return rc == 0 ? STOP_DONE : log_err(&e, STOP_USAGE);
}
