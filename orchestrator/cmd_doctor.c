/* `stint doctor`: looks at everything that a run needs, and says what to do about what is missing. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "orchestrator/cmd.h"
#include "orchestrator/doctor_report.h"

static void examine(struct doctor_report *r, const struct cmd *c)
{
	char link[64];
	char root[PATH_MAX];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", c->root_fd);
	n = readlink(link, root, sizeof(root) - 1);
	root[n > 0 ? n : 0] = '\0';
	doctor_kernel(r);
	doctor_spaces(r);
	doctor_files(r, c->root_fd, root);
	doctor_accounts(r, c->root_fd);
	doctor_install(r);
}

int cmd_doctor(struct cmd *c, int argc, char **argv)
{
	static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {0}};
	struct doctor_report r = {0};
	const char *dir = NULL;
	bool json = false;
	struct err e = {0};
	int o;

	opterr = 0;
	while ((o = getopt_long(argc, argv, "C:", options, NULL)) != -1) {
		switch (o) {
		case 'C': dir = optarg; break;
		case 'j': json = true; break;
		default:
			log_note("doctor: unknown or incomplete option %s: stint doctor --help shows them", argv[optind - 1]);
			return STOP_USAGE;
		}
	}
	if (optind < argc) {
		log_note("doctor: takes no argument, so not %s: -C names a folder", argv[optind]);
		return STOP_USAGE;
	}
	if (cmd_root(c, dir, &e) != 0)
		return log_err(&e, STOP_USAGE);
	examine(&r, c);
	if (!json) {
		doctor_print(&r, stdout);
	} else if (doctor_print_json(&r, stdout) != 0) {
		log_note("cannot write the findings to standard output");
		return STOP_RECORD;
	}
	return doctor_possible(&r) ? STOP_DONE : STOP_CONFINE;
}
