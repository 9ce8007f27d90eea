/* `stint profile check`: a profile is run against a corpus of small programs before it is trusted; the result is kept for the
 * guard. */
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <gnu/libc-version.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/exit.h"
#include "base/log.h"
#include "base/str.h"
#include "orchestrator/check.h"
#include "orchestrator/cmd.h"
#include "orchestrator/corpus.h"
#include "orchestrator/profile_file.h"
#include "orchestrator/show.h"
#include "sandbox/checked.h"

struct tally {
	unsigned int ok, wrong, skipped;
};

struct options {
	const char *profile;
	const char *corpus;
	bool json;
};

static int usage(const char *what, const char *word)
{
	log_note("profile check: %s%s: usage: stint profile check PROFILE [--corpus DIR] [--json]", what, word);
	return STOP_USAGE;
}

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {"corpus", required_argument, NULL, 'c'}, {0}};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		switch (opt) {
		case 'j': o->json = true; break;
		case 'c': o->corpus = optarg; break;
		default: return usage("unknown or incomplete option ", argv[optind - 1]);
		}
	}
	if (optind == argc)
		return usage("a profile's name or file is needed", "");
	o->profile = argv[optind++];
	return optind < argc ? usage("unexpected word ", argv[optind]) : STOP_DONE;
}

/* ---- one case, said */

static const char *verdict_word(enum check_verdict v)
{
	return v == CHECK_OK ? "ok" : v == CHECK_WRONG ? "WRONG" : "skipped";
}

static void count(struct tally *t, enum check_verdict v)
{
	unsigned int *n = v == CHECK_OK ? &t->ok : v == CHECK_WRONG ? &t->wrong : &t->skipped;

	(*n)++;
}

/* A line as soon as the case is done. What was refused in a failure, in order: the first that is enough is in `why` already. */
static int say(const struct corpus_case *k, const struct check_result *r)
{
	char name[CHECK_CALL_MAX];
	struct show s = {0};

	show_f(&s, "%-8s", verdict_word(r->verdict));
	show_add(&s, k->file, 0);
	show_f(&s, "/");
	show_add(&s, k->name, 0);
	if (r->verdict != CHECK_OK)
		show_f(&s, ": %s", r->why);
	else if (r->expected == CORPUS_STOPPED)
		show_f(&s, ": stopped at %s", r->call);
	show_f(&s, "\n");
	if (r->verdict == CHECK_WRONG && r->run.n > 0) {
		show_f(&s, "        refused, in this order:");
		for (unsigned int i = 0; i < r->run.n; i++) {
			check_call_name(&r->run.call[i], name);
			show_f(&s, "%s %s (%d)", i > 0 ? "," : "", name, r->run.call[i].nr);
		}
		show_f(&s, "\n");
	}
	return show_text(&s);
}

static json_t *case_json(const struct corpus_case *k, const struct check_result *r)
{
	json_t *refused = json_array();
	char name[CHECK_CALL_MAX];

	for (unsigned int i = 0; i < r->run.n; i++) {
		check_call_name(&r->run.call[i], name);
		(void)json_array_append_new(refused, json_pack("{s:s, s:i}", "call", name, "number", r->run.call[i].nr));
	}
	check_call_name(&r->broke, name);
	return json_pack("{s:s, s:s, s:s, s:s?, s:s, s:s?, s:s, s:o}", "file", k->file, "case", k->name, "expected",
	                 r->expected == CORPUS_STOPPED ? "stopped" : "passes", "at", r->call, "verdict", verdict_word(r->verdict),
	                 "stopped_at", r->has_broke ? name : NULL, "why", r->why, "refused", refused);
}

static int each_case(struct check *c, const struct corpus *corpus, bool json, json_t *cases, struct tally *t, struct err *e)
{
	struct check_result r;
	const char *call;

	for (size_t i = 0; i < corpus->n; i++) {
		const struct corpus_case *k = &corpus->v[i];
		int rc;

		if (check_expects(c, k, &call) == CORPUS_NOT_MEANT)
			continue;
		rc = check_case(c, k, &r, e);
		if (rc != 0)
			return err_wrap(e, "%s/%s", k->file, k->name);
		count(t, r.verdict);
		if (json)
			(void)json_array_append_new(cases, case_json(k, &r));
		else if (say(k, &r) != STOP_DONE)
			return err_set(e, EIO, "the result cannot be printed");
	}
	return 0;
}

/* ---- the whole */

/* Version and file of the library that the programs of this machine load: ours. */
static int keep(const struct profile *p, const struct tally *t, char ret_path[PATH_MAX], struct err *e)
{
	Dl_info info = {0};

	if (dladdr((void *)(uintptr_t)gnu_get_libc_version, &info) == 0 || info.dli_fname == NULL)
		return err_set(e, ENOENT, "the result cannot be kept: there is no file of the C library");
	return checked_keep(p->name, profile_hash(p), t->wrong == 0, gnu_get_libc_version(), info.dli_fname, ret_path, PATH_MAX, e);
}

static json_t *result_json(const struct profile *p, const char *kernel, const struct tally *t, bool ok, const char *kept,
                           json_t *cases)
{
	return json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:b, s:s?, s:O}", "profile", p->name, "libc", gnu_get_libc_version(), "kernel",
	                 kernel, "passed", (int)t->ok, "wrong", (int)t->wrong, "skipped", (int)t->skipped, "ok", ok, "kept",
	                 kept[0] != '\0' ? kept : NULL, "cases", cases);
}

static int show_result(const struct profile *p, const char *kernel, const struct tally *t, const char *kept)
{
	struct show s = {0};

	show_f(&s, "profile %s, libc %s, Linux %s: %u ok, %u wrong, %u skipped%s", p->name, gnu_get_libc_version(), kernel, t->ok,
	       t->wrong, t->skipped, kept[0] != '\0' ? "; kept in " : "");
	if (kept[0] != '\0')
		show_add(&s, kept, 0);
	show_f(&s, "\n");
	return show_text(&s);
}

static int finish(const struct profile *p, const struct options *o, const struct tally *t, json_t *cases, struct err *e)
{
	bool tried = t->ok + t->wrong > 0;
	char path[PATH_MAX] = "";
	struct utsname u;
	int rc = tried ? keep(p, t, path, e) : 0;
	int status = rc != 0 ? log_err(e, STOP_RECORD) : tried && t->wrong == 0 ? STOP_DONE : STOP_UNFINISHED;

	if (uname(&u) != 0)
		u.release[0] = '\0';
	if (!tried)
		log_note("profile check: no case of the corpus could be tried, so nothing is known of %s: install what the cases need, or "
		         "give --corpus DIR", p->name);
	rc = o->json ? show_json(result_json(p, u.release, t, status == STOP_DONE, path, cases)) : show_result(p, u.release, t, path);
	return rc != STOP_DONE ? rc : status;
}

static int check(const struct options *o, const struct profile *p, const struct profile *plain, const struct corpus *corpus)
{
	struct tally t = {0};
	struct check c = {0};
	struct err e = {0};
	json_t *cases = json_array();
	int rc = check_begin(&c, p, plain, &e);
	int status;

	if (rc == 0)
		rc = each_case(&c, corpus, o->json, cases, &t, &e);
	check_done(&c);
	status = rc == 0 ? finish(p, o, &t, cases, &e) : log_err(&e, STOP_CONFINE);
	json_decref(cases);
	return status;
}

int cmd_profile_check(struct cmd *c, int argc, char **argv)
{
	char builtin[PATH_MAX + 64];
	struct options o = {0};
	struct corpus corpus = {0};
	struct profile p = {0};
	struct profile plain = {0};
	struct err e = {0};
	int status = parse(argc, argv, &o);
	int rc;

	(void)c;
	if (status != STOP_DONE)
		return status;
	rc = profile_load(&p, o.profile, true, &e);
	if (rc == 0)
		rc = profile_load(&plain, o.profile, false, &e);
	if (rc == 0 && o.corpus == NULL)
		rc = corpus_builtin(builtin, sizeof(builtin), &e);
	if (rc == 0)
		rc = corpus_load(&corpus, o.corpus != NULL ? o.corpus : builtin, &e);
	status = rc == 0 ? check(&o, &p, &plain, &corpus) : log_err(&e, STOP_USAGE);
	corpus_done(&corpus);
	profile_done(&p);
	profile_done(&plain);
	return status;
}
