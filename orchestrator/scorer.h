/* Scorers: whether what a task's command wrote is what the task asked for.
 *
 *     exact_match   output and target are the same bytes
 *     contains      the target's bytes are somewhere in the output
 *     regex         the target, a PCRE2 pattern, matches somewhere in the output
 *     json          output and target are the same JSON value
 *     exit_status   the command's exit status is the target, 0 without one
 *     command       the author's own: JSON in, JSON out
 *
 * For the first three, line ends (LF, CR) at the very end of output and target do not count; every other byte does: no case is
 * folded, no space trimmed, no character normalised. JSON equality is said in scorer_json.c, what a command gets and answers in
 * scorer_command.c. docs/scorers.md says all of it for people.
 *
 * In a record, a task's "scored" is true where a scorer decided its status, score and reason; false where the run did (a crash, a
 * deadline, a limit, a no), which no scorer changes later: `stint score` looks at it.
 *
 * A scorer is plain data after parsing: nothing is read or run again. Scoring neither prints nor changes the scorer. */
#ifndef STINT_ORCHESTRATOR_SCORER_H
#define STINT_ORCHESTRATOR_SCORER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "orchestrator/config_yaml.h"

#define SCORER_TARGET_MAX 65536u        /* bytes; YAML_MAX_WORD */
#define SCORER_PATTERN_MAX 4096u        /* bytes of a regex's target */
#define SCORER_COMMAND_MAX 4096u        /* bytes of a command's line */
#define SCORER_ANSWER_MAX 65536u        /* bytes that a command may answer with */
#define SCORER_TIMEOUT_S 60u            /* of a command that names none */
#define SCORER_TIMEOUT_MAX_S 86400u
#define SCORER_WORDS_MAX 256

enum scorer_kind {
	SCORER_EXACT_MATCH,
	SCORER_CONTAINS,
	SCORER_REGEX,
	SCORER_JSON,
	SCORER_EXIT_STATUS,
	SCORER_COMMAND,
};

struct scorer {
	enum scorer_kind kind;
	char *target;           /* as the record has it, NUL-terminated; NULL: none (exit_status and command only) */
	size_t target_len;
	int exit;               /* exit_status: what is expected */
	void *regex;            /* regex: pcre2_code, compiled */
	json_t *json;           /* json: the target, parsed */
	char *command;          /* command: a line for /bin/sh -c */
	unsigned int timeout_s; /* command */
};

/* What a task's command came to. */
struct scored {
	const char *output;     /* borrowed; the head of it when it was cut */
	size_t len;
	bool cut;               /* there was more than this */
	int exit;               /* as a shell has it: 128+N for signal N */
};

/* In the order of scorer_status_names[]; the words that a record has. */
enum score_status { SCORE_PASS, SCORE_FAIL, SCORE_ERROR };
extern const char *const scorer_status_names[]; /* "pass", "fail", "error" */

struct score {
	enum score_status status;
	double value;           /* 0 to 1; 1 of a pass and 0 of a fail, unless a command says otherwise; 0 of an error */
	char words[SCORER_WORDS_MAX]; /* why not, or what a command said: one line, not escaped; "" when there is nothing to say */
};

/* The names, NULL-terminated, in the order of enum scorer_kind. */
extern const char *const scorer_names[];

/* From a suite. scorer is a word ("regex") or {command: LINE, timeout_s: N}; NULL is exact_match. target is a word, for json also a
 * map or a list (written as JSON would be); NULL: the task has none. at is where to point when what is missing has no place.
 * Every error is FILE:LINE:COL with STOP_USAGE: an unknown name, a missing target, a regex that does not compile, no JSON. */
int scorer_parse(struct scorer *ret, struct yaml_file *y, const yaml_node_t *at, yaml_node_t *scorer, yaml_node_t *target,
                 struct err *e) MUST_CHECK;

/* From a record, or a word of a command line: scorer as scorer_to_json() made it, target a string or null. what names the task in
 * messages. The errors are sentences with STOP_USAGE. */
int scorer_from_json(struct scorer *ret, const char *what, const json_t *scorer, const json_t *target, struct err *e) MUST_CHECK;
/* One of scorer_names[] that needs no more than a target; target NULL: none. */
int scorer_from_word(struct scorer *ret, const char *what, const char *name, const char *target, size_t target_len,
                     struct err *e) MUST_CHECK;

/* As a record has it: "regex", or {"command": LINE, "timeout_s": N}. The caller's; NULL when out of memory. */
json_t *scorer_to_json(const struct scorer *s);
void scorer_done(struct scorer *s);

/* Scores. An output that was cut is scored where the rest cannot change the result; elsewhere that is an error with the reason. Not
 * for a command, which the caller runs between the two below. A negative errno only when stint itself cannot go on (memory). */
int scorer_score(struct score *ret, const struct scorer *s, const struct scored *in, struct err *e) MUST_CHECK;

/* What is left to score where no output decides: true and the score is filled, false when the command must be run. */
bool scorer_command_settled(struct score *ret, const struct scored *in);
/* The JSON that a scorer's command reads: one line. id and input are the task's, as it has them. */
int scorer_command_input(struct buf *ret, const struct scorer *s, const struct scored *in, const char *id, const char *input,
                         struct err *e) MUST_CHECK;
/* What its answer comes to. exit: its status as a shell has it, -1 when its time was up. */
void scorer_command_answer(struct score *ret, const char *answer, size_t n, bool cut, int exit);

/* Of the parts, for scorer.c. */
struct score scorer_pass(void);
struct score PRINTF_LIKE(2, 3) scorer_says(enum score_status status, const char *fmt, ...);
/* Text as one line without control characters, cut to room bytes with its NUL: what commands and outputs put into messages. */
void scorer_line(char *ret, size_t room, const char *text);
size_t scorer_trimmed(const char *p, size_t n);          /* n without the line ends at the end */
#define SCORER_WHY_MAX 256
int scorer_regex_compile(void **ret, const char *pattern, size_t n, char why[SCORER_WHY_MAX]) MUST_CHECK;
void scorer_regex_done(void *regex);
int scorer_regex_score(struct score *ret, const void *regex, const struct scored *in, struct err *e) MUST_CHECK;
json_t *scorer_json_load(const char *p, size_t n, char why[SCORER_WHY_MAX]);   /* NULL and why */
json_t *scorer_json_from_yaml(struct yaml_file *y, yaml_node_t *node, struct err *e);
int scorer_json_score(struct score *ret, const json_t *target, const struct scored *in, struct err *e) MUST_CHECK;

#endif
