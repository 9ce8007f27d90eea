/* `stint profile`: the built-in syscall profiles and those in files: listed, flattened, compiled; `check` is in a file of its
 * own. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "orchestrator/cmd.h"
#include "orchestrator/profile_file.h"
#include "orchestrator/show.h"
#include "sandbox/profiles.h"
#include "sandbox/sets.h"

static const char usage_line[] =
	"usage: stint profile list [--sets | --calls] | show PROFILE [--json] | "
	"compile PROFILE [--arch x86-64|arm64] [--out FILE] | check PROFILE [--corpus DIR] [--json]";

struct options {
	const char *profile;
	const char *out;
	enum profile_arch arch;
	bool json, sets, calls;
};

static int usage(const char *what, const char *word)
{
	log_note("profile: %s%s: %s", what, word != NULL ? word : "", usage_line);
	return STOP_USAGE;
}

static int parse(int argc, char **argv, bool wants_profile, struct options *o)
{
	static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {"out", required_argument, NULL, 'o'},
	                                      {"sets", no_argument, NULL, 's'}, {"calls", no_argument, NULL, 'c'},
	                                      {"arch", required_argument, NULL, 'a'}, {0}};
	int opt;

	o->arch = PROFILE_NATIVE;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		switch (opt) {
		case 'j': o->json = true; break;
		case 'o': o->out = optarg; break;
		case 's': o->sets = true; break;
		case 'c': o->calls = true; break;
		case 'a':
			if (!profile_arch_find(optarg, &o->arch))
				return usage("--arch is x86-64 or arm64, not ", optarg);
			break;
		default: return usage("unknown or incomplete option ", argv[optind - 1]);
		}
	}
	if (wants_profile && optind == argc)
		return usage("a profile's name or file is needed", NULL);
	if (wants_profile)
		o->profile = argv[optind++];
	return optind < argc ? usage("unexpected word ", argv[optind]) : STOP_DONE;
}

/* ---- list */

static int list_sets(void)
{
	const char *names[PROFILE_SETS_MAX + 1];
	struct show s = {0};

	(void)profile_set_names(names);
	for (size_t i = 0; names[i] != NULL; i++) {
		for (const struct sys_allow_if *a = sys_allowed_if; a->names != NULL; a++)
			if (str_eq(a->set, names[i]))
				show_f(&s, "%-17s %s%s: %s\n", a->set, a->names, a->cond[0].mask != 0 ? " (some arguments)" : "", a->why);
		for (const struct sys_allow *a = sys_allowed; a->names != NULL; a++)
			if (str_eq(a->set, names[i]))
				show_f(&s, "%-17s %s: %s\n", a->set, a->names, a->why);
		for (const struct sys_family *f = sys_families; f->family >= 0; f++)
			if (str_eq(f->set, names[i]))
				show_f(&s, "%-17s socket (family %d, type %d, protocol %d; -1: any): %s\n", f->set, f->family, f->type,
				       f->proto, f->why);
	}
	return show_text(&s);
}

static int list_calls(void)
{
	struct show s = {0};
	char name[PROFILE_CALL_MAX];

	for (int nr = 0; nr < PROFILE_NUMBERS; nr++) {
		profile_call_name(nr, name);
		if (name[0] != '\0')
			show_f(&s, "%4d  %s\n", nr, name);
	}
	return show_text(&s);
}

static int list(int argc, char **argv)
{
	struct options o = {0};
	struct show s = {0};
	int status = parse(argc, argv, false, &o);

	if (status != STOP_DONE)
		return status;
	if (o.sets)
		return list_sets();
	if (o.calls)
		return list_calls();
	for (const struct profile_builtin *b = profile_builtins; b->name != NULL; b++)
		if (!b->hidden)
			show_f(&s, "%-23s %s\n", b->name, b->why);
	return show_text(&s);
}

/* ---- show */

static const char *action_name(enum profile_action action, int error)
{
	switch (action) {
	case PROFILE_ALLOW: return "allow";
	case PROFILE_KILL: return "kill";
	case PROFILE_NOTIFY: return "notify";
	case PROFILE_ERRNO:
	default: return strerrorname_np(error);
	}
}

static void add_cond(struct show *s, const struct profile_cond *c, const char *between)
{
	uint64_t all = c->wide ? UINT64_MAX : UINT32_MAX;

	show_f(s, "%sarg %u", between, (unsigned int)c->arg);
	if ((c->mask & all) != all)
		show_f(s, " & 0x%llx", (unsigned long long)(c->mask & all));
	show_f(s, " == 0x%llx", (unsigned long long)c->value);
}

static int show_plain(const struct profile *p)
{
	struct show s = {0};

	show_f(&s, "profile %s: what no line allows gets %s; of two lines on one call the refusal wins\n\n", p->name,
	       action_name(p->otherwise, p->otherwise_error));
	for (size_t i = 0; i < p->n; i++) {
		const struct profile_row *r = &p->row[i];

		show_f(&s, "%-23s %-15s ", r->call, action_name(r->action, r->error));
		if (r->n_cond > 0)
			show_column(&s, r->from, 28);
		else
			show_add(&s, r->from, 0);
		for (unsigned int k = 0; k < r->n_cond; k++)
			add_cond(&s, &r->cond[k], k == 0 ? "  if " : " and ");
		if (profile_call_number(r->call) == -1)
			show_f(&s, "  (not on this architecture)");
		show_f(&s, "\n");
	}
	return show_text(&s);
}

/* Masks and values as hexadecimal words: JSON's integers are signed. */
static json_t *row_json(const struct profile_row *r)
{
	json_t *conds = json_array();

	for (unsigned int k = 0; k < r->n_cond; k++) {
		const struct profile_cond *c = &r->cond[k];
		char mask[24];
		char value[24];

		(void)snprintf(mask, sizeof(mask), "0x%llx", (unsigned long long)(c->wide ? c->mask : c->mask & UINT32_MAX));
		(void)snprintf(value, sizeof(value), "0x%llx", (unsigned long long)c->value);
		(void)json_array_append_new(conds, json_pack("{s:i, s:i, s:s, s:s}", "arg", (int)c->arg, "bits", c->wide ? 64 : 32,
		                                             "mask", mask, "is", value));
	}
	return json_pack("{s:s, s:i, s:s, s:o, s:s}", "call", r->call, "number", profile_call_number(r->call), "action",
	                 action_name(r->action, r->error), "if", conds, "from", r->from);
}

static int show(int argc, char **argv)
{
	struct options o = {0};
	struct profile p;
	struct err e = {0};
	json_t *rows;
	int status = parse(argc, argv, true, &o);

	if (status != STOP_DONE)
		return status;
	if (profile_load(&p, o.profile, true, &e) != 0)
		return log_err(&e, STOP_USAGE);
	if (!o.json) {
		status = show_plain(&p);
	} else {
		rows = json_array();
		for (size_t i = 0; i < p.n; i++)
			(void)json_array_append_new(rows, row_json(&p.row[i]));
		status = show_json(json_pack("{s:s, s:s, s:o}", "name", p.name, "default", action_name(p.otherwise, p.otherwise_error),
		                             "rows", rows));
	}
	profile_done(&p);
	return status;
}

/* ---- compile */

static void disassemble(struct show *s, const struct profile_program *p)
{
	static const char *const fields[] = {
		"number", "arch", "ip", "ip high", "arg 0", "arg 0 high", "arg 1", "arg 1 high", "arg 2", "arg 2 high", "arg 3",
		"arg 3 high", "arg 4", "arg 4 high", "arg 5", "arg 5 high",
	};

	for (unsigned int i = 0; i < p->n; i++) {
		const struct sock_filter *b = &p->insn[i];
		unsigned int op = BPF_OP(b->code);

		show_f(s, "%5u  ", i);
		if (BPF_CLASS(b->code) == BPF_LD && b->k / 4 < sizeof(fields) / sizeof(fields[0]))
			show_f(s, "load %s\n", fields[b->k / 4]);
		else if (BPF_CLASS(b->code) == BPF_ALU)
			show_f(s, "and 0x%x\n", b->k);
		else if (BPF_CLASS(b->code) == BPF_RET)
			show_f(s, "return 0x%08x%s\n", b->k, b->k == SECCOMP_RET_ALLOW ? " (allow)" : (b->k & SECCOMP_RET_ACTION_FULL) ==
			       SECCOMP_RET_ERRNO ? " (errno)" : b->k == SECCOMP_RET_KILL_PROCESS ? " (kill)" : "");
		else if (op == BPF_JA)
			show_f(s, "go to %u\n", i + 1 + b->k);
		else
			show_f(s, "%s 0x%x: to %u, else %u\n", op == BPF_JEQ ? "==" : op == BPF_JGT ? ">" : op == BPF_JGE ? ">=" : "has",
			       b->k, i + 1 + b->jt, i + 1 + b->jf);
	}
}

/* Raw: the kernel's struct sock_filter. */
static int write_out(const char *file, const struct profile_program *made, struct err *e)
{
	AUTO_FD fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int rc;

	if (fd < 0)
		return err_stop(e, STOP_USAGE, err_errno(e, errno, "cannot create %s", file));
	rc = fd_write_all(fd, made->insn, made->n * sizeof(struct sock_filter));
	return rc == 0 ? 0 : err_stop(e, STOP_RECORD, err_errno(e, -rc, "cannot write %s", file));
}

static int compile(int argc, char **argv)
{
	struct profile_program made = {0};
	struct options o = {0};
	struct show s = {0};
	struct profile p;
	struct err e = {0};
	int status = parse(argc, argv, true, &o);
	int rc;

	if (status != STOP_DONE)
		return status;
	if (profile_load(&p, o.profile, true, &e) != 0)
		return log_err(&e, STOP_USAGE);
	rc = profile_compile_for(&p, o.arch, &made, &e);
	if (rc == 0 && o.out != NULL)
		rc = write_out(o.out, &made, &e);
	if (rc == 0) {
		show_f(&s, "%s: %u instructions%s%s\n", p.name, (unsigned int)made.n, o.arch != PROFILE_NATIVE ? " for " : "",
		       o.arch != PROFILE_NATIVE ? profile_arch_name(o.arch) : "");
		if (o.out == NULL)
			disassemble(&s, &made);
		status = show_text(&s);
	}
	profile_program_done(&made);
	profile_done(&p);
	return rc == 0 ? status : log_err(&e, STOP_USAGE);
}

int cmd_profile(struct cmd *c, int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} verbs[] = {{"list", list}, {"show", show}, {"compile", compile}};

	if (argc >= 2 && str_eq(argv[1], "check"))
		return cmd_profile_check(c, argc - 1, argv + 1);
	for (size_t i = 0; argc >= 2 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (str_eq(argv[1], verbs[i].name))
			return verbs[i].run(argc - 1, argv + 1);
	return usage(argc >= 2 ? "no such verb: " : "a verb is needed", argc >= 2 ? argv[1] : NULL);
}
