/* YAML as stint.yaml may use it: one document of maps, lists and words, every one with its place. Anchors, aliases,
 * tags, more documents, tabs as indentation, control characters and duplicate keys are errors; depth and count are bounded.
 * All errors are `FILE:LINE:COL: …` with STOP_USAGE. */
#ifndef STINT_ORCHESTRATOR_CONFIG_YAML_H
#define STINT_ORCHESTRATOR_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

#include "base/err.h"

#define YAML_MAX_DEPTH 8
#define YAML_MAX_NODES 20000u
#define YAML_MAX_KEYS 1024u     /* in one map */
#define YAML_MAX_WORD 65536u    /* bytes of one word */
#define YAML_SHOWN 200          /* room for a word in a message */

struct yaml_file {
	const char *name;           /* for messages, borrowed */
	yaml_document_t doc;
	yaml_node_t *root;          /* NULL: nothing but comments */
	bool loaded;
};

/* A file of at most max bytes that the user named; what it is ("skill") goes into the messages. *ret is malloc'ed. STOP_USAGE. */
int yaml_file_read(const char *what, const char *file, size_t max, char **ret, size_t *ret_n, struct err *e) MUST_CHECK;
/* Checks and parses all of it. */
int yaml_file_load(struct yaml_file *ret, const char *name, const char *bytes, size_t n, struct err *e) MUST_CHECK;
void yaml_file_done(struct yaml_file *y);

/* An error at a node: returns -EINVAL. */
int yaml_fail(const struct yaml_file *y, const yaml_node_t *at, struct err *e, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* As yaml_fail(), for a word that is none of words[]: names it and the nearest one, or all of them. */
int yaml_fail_word(const struct yaml_file *y, const yaml_node_t *at, const char *what, const char *const *words,
                   struct err *e);

/* The word, escaped and cut, for messages. Returns out. "a map" and "a list" for those. */
const char *yaml_shown(const yaml_node_t *n, char out[YAML_SHOWN]);

/* An unquoted ~, null or nothing. */
bool yaml_is_null(const yaml_node_t *n);
/* The text of a word; NULL for a list, a map, or null. */
const char *yaml_word(const yaml_node_t *n);

/* Calls fn for each pair of a map; what names the map in messages. Keys are words and unique. */
typedef int yaml_pair_fn(void *cookie, yaml_node_t *key, yaml_node_t *value, struct err *e);
int yaml_each_pair(struct yaml_file *y, yaml_node_t *map, const char *what, yaml_pair_fn *fn, void *cookie,
                   struct err *e) MUST_CHECK;
/* Calls fn for each item of a list; a null is an empty list. */
typedef int yaml_item_fn(void *cookie, yaml_node_t *item, struct err *e);
int yaml_each_item(struct yaml_file *y, yaml_node_t *list, const char *what, yaml_item_fn *fn, void *cookie,
                   struct err *e) MUST_CHECK;

#endif
