/* `stint doctor`: looks at everything that a run needs, and says what to do about what is missing. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "orchestrator/bundle.h"
#include "orchestrator/cmd.h"
#include "orchestrator/doctor_report.h"

static void root_path(const struct cmd *c, char root[PATH_MAX])
{
	char link[64];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", c->root_fd);
	n = readlink(link, root, PATH_MAX - 1);
	root[n > 0 ? n : 0] = '\0';
}

static void examine(struct doctor_report *r, const struct cmd *c, const char *root)
{
	doctor_kernel(r);
	doctor_spaces(r);
	doctor_files(r, c->root_fd, root);
	doctor_accounts(r, c->root_fd);
	doctor_install(r);
}

/* As the project's owner, never as root: the record and stint.yaml are read, and root parses nothing that an agent wrote. */
static int bundle(const struct doctor_report *r, const struct cmd *c, const char *root, const char *file)
{
	struct err e = {0};
	struct stat st;
	size_t n = 0;

	if (geteuid() == 0 && fstat(c->root_fd, &st) == 0 && st.st_uid != 0) {
		log_note("doctor: --bundle reads the project as its owner: run it without sudo");
		return STOP_USAGE;
	}
	if (bundle_write(r, c->root_fd, root, file, &n, &e) != 0)
		return log_err(&e, STOP_RECORD);
	if (printf("%s: %zu bytes, text: look through it, then attach it. Left out: contents of files, arguments, values of\n"
	           "environment variables, titles of tasks, what agents and suites printed.\n", file, n) < 0 ||
	    fflush(stdout) != 0)
		return STOP_RECORD;
	return STOP_DONE;
}

int cmd_doctor(struct cmd *c, int argc, char **argv)
{
	static const struct option options[] = {{"json", no_argument, NULL, 'j'},
	                                       {"bundle", required_argument, NULL, 'b'}, {0}};
	struct doctor_report r = {0};
	const char *dir = NULL;
	const char *file = NULL;
	char root[PATH_MAX];
	bool json = false;
	struct err e = {0};
	int o;

	opterr = 0;
	while ((o = getopt_long(argc, argv, "C:", options, NULL)) != -1) {
		switch (o) {
		case 'C': dir = optarg; break;
		case 'j': json = true; break;
		case 'b': file = optarg; break;
		default:
			log_note("doctor: unknown or incomplete option %s: stint doctor --help shows them", argv[optind - 1]);
			return STOP_USAGE;
		}
	}
	if (optind < argc) {
		log_note("doctor: takes no argument, so not %s: -C names a folder", argv[optind]);
		return STOP_USAGE;
	}
	if (json && file != NULL) {
		log_note("doctor: --json and --bundle do not go together: the bundle holds what --json prints");
		return STOP_USAGE;
	}
	if (cmd_root(c, dir, &e) != 0)
		return log_err(&e, STOP_USAGE);
	root_path(c, root);
	examine(&r, c, root);
	if (file != NULL)
		return bundle(&r, c, root, file);
	if (!json) {
		doctor_print(&r, stdout);
	} else if (doctor_print_json(&r, stdout) != 0) {
		log_note("cannot write the findings to standard output");
		return STOP_RECORD;
	}
	return doctor_possible(&r) ? STOP_DONE : STOP_CONFINE;
}
