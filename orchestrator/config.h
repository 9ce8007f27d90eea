/* stint.yaml: the parsed and checked configuration. Paths are relative to the project root unless said.
 * Every error is `FILE:LINE:COL: what: why: what to do` with the nearest known word, and STOP_USAGE.
 * Source: docs in man/stint.yaml.5. */
#ifndef STINT_ORCHESTRATOR_CONFIG_H
#define STINT_ORCHESTRATOR_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "roles/role.h"

#define CONFIG_FILE "stint.yaml"
#define CONFIG_MAX_BYTES (1u << 20)

struct strv { char **v; size_t n; };      /* NULL-terminated, owned */

struct config_access {                    /* one row of the table */
	char *path;                           /* without trailing slash; "*" for the rest */
	bool is_dir;                          /* written with a trailing slash */
	enum level level[ROLE_MAX];           /* by role number */
	unsigned int line, col;               /* 0: built-in */
};

struct config_role {
	char name[ROLE_NAME_MAX];
	struct strv command;                  /* empty: none given */
	bool stdin_prompt;
	char *prompt;                         /* file relative to the root; NULL: built-in text */
	struct strv env;                      /* NAME or NAME=VALUE */
	uint16_t ports[16];
	size_t n_ports;
	struct strv read;
	uint64_t deadline_ms;
	uint64_t idle_ms;                     /* ended when it printed nothing for so long; 0: never */
	unsigned int line, col;               /* where its map begins; 0: not in the file */
};

enum suite_format { SUITE_TAP, SUITE_EXIT };

struct config {
	char *file;                           /* name for messages */
	char *agent_user;
	unsigned int agent_line, agent_col;   /* 0: not in the file */
	struct config_access *access;
	size_t n_access;
	struct strv scratch;
	struct config_role role[ROLE_MAX];    /* 0 developer, 1 tester, 2 reviewer, 3 runner (the suite), then others */
	size_t n_roles;
	enum suite_format suite_format;
	char *must_match;                     /* POSIX extended regex or NULL (format exit) */
	struct {
		unsigned int iterations;
		uint64_t output;                  /* bytes kept of one stream */
		uint64_t memory, file;
		uint32_t processes, open_files;
	} limits;
	char *commit_author;                  /* "Name <mail>" */
	char *commit_push;                    /* remote name or NULL */
};

enum { CONFIG_DEVELOPER = 0, CONFIG_TESTER = 1, CONFIG_REVIEWER = 2, CONFIG_RUNNER = 3 };

/* Reads stint.yaml beneath root_fd (or defaults where allow_missing and it is absent). Syntax, keys, types, levels, paths
 * as text, duplicates and nesting are checked here; nothing of the tree is looked at. */
int config_load(struct config *ret, int root_fd, bool allow_missing, struct err *e) MUST_CHECK;
/* The same from bytes (tests, fuzzing). */
int config_parse(struct config *ret, const char *file, const char *bytes, size_t n, struct err *e) MUST_CHECK;
void config_done(struct config *c);

/* Role number by name, or -1. */
int config_role_find(const struct config *c, const char *name);

/* An error at a place in the file, for checks that come after parsing: `FILE:LINE:COL: …`, STOP_USAGE, -EINVAL. Line 0 (what
 * the file does not say): 1:1. */
int config_fail(const struct config *c, unsigned int line, unsigned int col, struct err *e, const char *fmt, ...)
	PRINTF_LIKE(5, 6);

#endif
