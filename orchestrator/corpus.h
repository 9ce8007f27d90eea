/* The corpus of `stint profile check`: small programs, each with what must happen to it under which profile. A folder of YAML
 * files, read in the order of their names. Errors are `FILE:LINE:COL: …` with STOP_USAGE. Source: man/stint-profile.5. */
#ifndef STINT_ORCHESTRATOR_CORPUS_H
#define STINT_ORCHESTRATOR_CORPUS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "orchestrator/config.h"

#define CORPUS_CASES_MAX 1000u
#define CORPUS_FILE_MAX (1u << 20)

struct corpus_stop {
	char *profile;
	char *call;          /* that must be refused, and alone ends the case */
};

struct corpus_case {
	char file[NAME_MAX + 1]; /* without .yaml */
	char *name;
	char *before;        /* shell text, run first and without a profile; NULL: none */
	char *input;         /* its standard input; NULL: empty */
	char *prints;        /* what it must write when it passes, but for newlines at the end; NULL: anything */
	char *stop_all;      /* must be stopped at this call under every profile; NULL: no */
	struct strv needs;   /* programs without which it is skipped */
	struct strv run;
	struct strv passes;  /* profiles */
	struct corpus_stop *stop;
	size_t n_stop;
	bool passes_all;
	bool inet;           /* under the profile with its inet sockets, as with a port granted */
};

struct corpus {
	struct corpus_case *v;
	size_t n;
};

/* Reads every *.yaml of the folder. -ENOENT when there is none. Release with corpus_done(). */
int corpus_load(struct corpus *ret, const char *dir, struct err *e) MUST_CHECK;
/* One file's cases, added to c, from bytes (tests, fuzzing). */
int corpus_parse(struct corpus *c, const char *file, const char *bytes, size_t n, struct err *e) MUST_CHECK;
void corpus_done(struct corpus *c);

/* The folder of the built-in corpus: ../share/stint/corpus or ../../share/stint/corpus, seen from this program. */
int corpus_builtin(char *ret, size_t size, struct err *e) MUST_CHECK;

enum corpus_expect { CORPUS_NOT_MEANT, CORPUS_PASSES, CORPUS_STOPPED };

/* What the case says of a profile of this name; *ret_call (borrowed) for CORPUS_STOPPED. An empty name: what holds for all. */
enum corpus_expect corpus_expects(const struct corpus_case *k, const char *profile, const char **ret_call);

#endif
