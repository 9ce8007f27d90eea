/* A skill: a list of commands that a person confirms one by one, each with what it may touch. Source: man/stint-skill.5. */
#ifndef STINT_ORCHESTRATOR_SKILL_H
#define STINT_ORCHESTRATOR_SKILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "orchestrator/config.h"
#include "protocol/digest.h"

#define SKILL_FILE_MAX (1u << 20)
#define SKILL_STEPS_MAX 1000u
#define SKILL_VARS_MAX 256u
#define SKILL_TIMEOUT_S 300u
#define SKILL_VALUE_MAX 65536u          /* bytes of a resolved word or command */

/* ---- ${NAME} */

struct skill_var {
	char *name;
	char *value;                    /* NULL: --var must give it */
	const void *at;                 /* a node of the file, for messages; NULL: from --var */
	bool given;                     /* by --var: taken as it is */
	unsigned int seen;              /* while resolving: 1 begun, 2 done */
};

struct skill_vars {
	struct skill_var v[SKILL_VARS_MAX];
	size_t n;
};

struct skill_var *skill_var_find(struct skill_vars *vars, const char *name, size_t n);
/* True when text begins with ${NAME} of a variable: *ret is that, *ret_len the length of the whole. */
bool skill_var_at(struct skill_vars *vars, const char *text, struct skill_var **ret, size_t *ret_len);

enum skill_expand {
	SKILL_DONE, SKILL_NO_MEMORY, SKILL_TOO_LONG,
	SKILL_QUOTED,                   /* a ${NAME} where no word of its own can stand: see skill_shell.h */
};
/* The text with every ${NAME} replaced; malloc'ed. shell: as a quoted word, and only where a word of its own can stand. */
enum skill_expand skill_expand(struct skill_vars *vars, const char *text, bool shell, char **ret) MUST_CHECK;

/* Nothing that a terminal would not show as it is: valid UTF-8 without control characters (but newline and tab) and without
 * characters that change the direction of text, are invisible, or look like a blank and are none. */
bool skill_plain(const char *text);

/* ---- the file */

struct skill_step {
	char *id;
	char *command;                  /* resolved */
	struct strv guard;              /* options of stint-guard */
	int profile_fd;                 /* owned, -1: none */
	char *profile_word;             /* NULL: agent */
	struct strv env;                /* NAME=VALUE, resolved */
	unsigned int target;
	uint64_t timeout_ms;
};

struct skill {
	char *name;
	char hash[DIGEST_MAX];          /* of the file */
	uint64_t timeout_ms;
	struct skill_step *step;
	size_t n_steps;
};

/* Reads and resolves all of it. given: NAME=VALUE words of --var. Errors are FILE:LINE:COL with STOP_USAGE. Release with
 * skill_done() in either case; *ret is zeroed by the caller. */
int skill_load(struct skill *ret, const char *file, const struct strv *given, struct err *e) MUST_CHECK;
int skill_parse(struct skill *ret, const char *file, const char *bytes, size_t n, const struct strv *given,
                struct err *e) MUST_CHECK;
void skill_done(struct skill *s);

#endif
