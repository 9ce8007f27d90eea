/* stint-guard: confines itself, then becomes the command. libc only; runs as whoever starts it.
 *
 * Exit status: the command's own, or 125 nothing was started because the confinement failed, 126 the command cannot be
 * executed, 127 it was not found. Nothing is ever started without every layer that was asked for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "sandbox/filter_file.h"
#include "sandbox/guard.h"
#include "sandbox/probe.h"

static const char usage[] =
	"usage: stint guard [options] -- CMD [ARG...]\n"
	"Runs CMD with Landlock and seccomp around it; no root, no daemon. What is not granted is denied.\n"
	"Files\n"
	"  --allow-read PATH      read, list and execute below PATH       --optional-read PATH  the same, may be missing\n"
	"  --allow-write PATH     also write, create, delete, rename      --allow-list PATH     names only\n"
	"  --no-exec              granted paths may not be executed       --allow-exec PATH     but this one may\n"
	"  --allow-unix PATH      connect to UNIX sockets at or below PATH (Landlock ABI 9)\n"
	"  --no-system            without the system folders (/usr, /etc, /dev/null, ...) and a TMPDIR of its own\n"
	"  --no-tmp               without a TMPDIR of its own\n"
	"Network\n"
	"  --allow-connect PORT   TCP to PORT; without any port no network\n"
	"  --allow-bind PORT      TCP server on PORT (0: any)             --net-unrestricted    leave the network alone\n"
	"Environment\n"
	"  --env NAME[=VALUE]     pass NAME on, or set it; PATH, HOME, TERM, LANG and the like are passed on anyway\n"
	"  --env-all              pass everything on\n"
	"Layers\n"
	"  --profile NAME|FILE    which system calls: agent (default), `stint profile list` names the others\n"
	"  --checked              refuse a profile that `stint profile check` has not passed here\n"
	"  --filter NAME          agent, owner (no chmod, chown, xattr, utime either) or none\n"
	"  --no-landlock  --no-scope                                      leave a layer out\n"
	"  --min-abi N            refuse to start below Landlock ABI N\n"
	"  --best-effort          start even if this kernel cannot hold what was asked for (ports, sockets); it is said\n"
	"Output\n"
	"  --quiet                no summary                              --print-policy json   what would hold; runs nothing\n"
	"For callers\n"
	"  --prompt-fd N          text for {prompt} in CMD's words        --prompt-file PATH    text for {prompt_file}\n"
	"  --timeout D            ends everything after D (90s, 5m)        --max-output SIZE    head and tail of longer output\n"
	"  --max-memory SIZE      --max-procs N                           --report FILE        JSON: what was refused, usage\n"
	"  --keeper-fd N          first: stay as CMD's keeper             --print-profile       the compiled profile, no CMD\n"
	"  --keep-fd N            descriptor N for CMD as well; it gets 0, 1 and 2 only\n"
	"  --error-fd N           why CMD did not start, in place of stderr\n"
	"  --probe-fd N --result-fd M   try what the targets in N say instead of a command\n"
	"Exit status: CMD's own; 124 --timeout, 125 confinement failed, 126 CMD cannot be executed, 127 CMD not found.\n";

/* Says why nothing was started; names in it may come from anywhere. An error descriptor that is not one must not
 * swallow the reason. */
static int give_up(const struct guard_options *o, const struct err *e, int status)
{
	AUTO_BUF struct buf safe = {0};
	const char *msg = buf_add_escaped(&safe, e->msg, strlen(e->msg), false) == 0 ? buf_str(&safe) : NULL;

	if (msg == NULL)
		msg = "out of memory";
	if (o->error_fd < 0 || fd_write_all(o->error_fd, msg, strlen(msg)) != 0)
		log_note("%s", msg);
	return status;
}

/* One line each on stderr, when a person started us. */
static void print_summary(const struct guard_options *o, const struct guard_state *s)
{
	AUTO_BUF struct buf b = {0};
	const char *p;

	if (o->quiet || o->error_fd >= 0 || guard_summary(&b, o, s) != 0)
		return;
	for (p = buf_str(&b); p != NULL && *p != '\0';) {
		size_t n = strcspn(p, "\n");

		log_note("guard: %.*s", (int)n, p);
		p += n + 1;
	}
}

static int exec_command(const struct guard_options *o, char **words)
{
	struct err e = {0};
	int code;

	(void)execvp(words[0], words);
	code = errno;
	if (code == ENOENT || code == ENOTDIR) {
		(void)err_set(&e, code, "%s: not found (or its interpreter): check PATH and the spelling", words[0]);
		return give_up(o, &e, RUN_NOT_FOUND);
	}
	if (code == EACCES)
		(void)err_set(&e, code, "%s: cannot be executed: not executable, or not granted: --allow-read its "
		              "folder (with --no-exec: --allow-exec)",
		              words[0]);
	else if (code == E2BIG)
		(void)err_set(&e, code, "%s: its arguments are too long: use stdin or {prompt_file}", words[0]);
	else
		(void)err_errno(&e, code, "%s: cannot be executed", words[0]);
	return give_up(o, &e, RUN_NOT_EXECUTABLE);
}

/* An open descriptor is a right that no layer takes back: what the caller happens to have open is not the command's. */
static int close_inherited(const struct guard_options *o, struct err *e)
{
	const int own[] = {o->prompt_fd, o->error_fd, o->probe_fd, o->result_fd, o->profile_fd, o->supervisor_fd};
	int keep[GUARD_MAX_KEPT + sizeof(own) / sizeof(own[0])];
	size_t n = 0;
	int rc;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i] >= 0)
			keep[n++] = own[i];
	for (unsigned int i = 0; i < o->n_kept; i++)
		keep[n++] = o->kept[i];
	rc = fd_close_from_except(STDERR_FILENO + 1, keep, n);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot close the descriptors that the command is not to have");
}

static int run(struct guard_options *o, struct guard_state *s)
{
	struct err e = {0};
	char **words = NULL;
	int rc = close_inherited(o, &e);

	if (rc == 0)
		rc = guard_expand(o, &words, &e);
	if (rc == 0)
		rc = guard_confine(o, s, &e);
	if (rc != 0)
		return give_up(o, &e, RUN_UNCONFINED);
	print_summary(o, s);
	environ = s->env;
	if (o->probe_fd < 0)
		return exec_command(o, words);
	if (probe_run(o->probe_fd, o->result_fd, &e) != 0)
		return give_up(o, &e, RUN_UNCONFINED);
	return 0;
}

static int guard(struct guard_options *o)
{
	struct guard_state state = {.tmp.fd = -1};
	struct err e = {0};
	int rc = guard_plan(o, &state, &e);
	int status;

	if (rc == 0 && o->print_policy)
		rc = guard_policy(o, &state, &e); /* returns when it failed */
	status = rc != 0 ? give_up(o, &e, RUN_UNCONFINED) : run(o, &state);
	guard_state_done(&state);
	return status;
}

/* What --profile FILE was compiled to, for --profile-fd. */
static int print_profile(const struct guard_options *o)
{
	AUTO_FREE char *bytes = NULL;
	struct err e = {0};
	size_t n = 0;
	int rc;

	if (o->profile_fd < 0) {
		(void)err_set(&e, EINVAL, "--print-profile: a profile in a file is needed: --profile FILE");
		return give_up(o, &e, RUN_UNCONFINED);
	}
	rc = fd_read_all(o->profile_fd, FILTER_FILE_MAX, &bytes, &n);
	if (rc == 0)
		rc = fd_write_all(STDOUT_FILENO, bytes, n);
	if (rc == 0)
		return 0;
	(void)err_errno(&e, -rc, "cannot print the profile");
	return give_up(o, &e, RUN_UNCONFINED);
}

static int start(int argc, char **argv)
{
	struct guard_options o = {.error_fd = -1};
	struct err e = {0};
	int status;

	if (guard_parse(&o, argc, argv, &e) != 0)
		status = give_up(&o, &e, RUN_UNCONFINED);
	else if (!o.help && ((o.profile_file != NULL && o.profile_fd < 0) || guard_wants_supervisor(&o)))
		status = guard_compile(&o, argv, &e) != 0 ? give_up(&o, &e, RUN_UNCONFINED) : 0;
	else if (o.help)
		status = fputs(usage, stdout) == EOF ? 1 : 0;
	else
		status = o.print_profile ? print_profile(&o) : guard(&o);
	guard_options_done(&o);
	return status;
}

int main(int argc, char **argv)
{
	const struct guard_options none = {.error_fd = -1};
	struct err e = {0};

	if (!guard_wants_keeper(argc, argv))
		return start(argc, argv);
	(void)!guard_keep(argc, argv, start, &e);
	return give_up(&none, &e, RUN_UNCONFINED);
}
