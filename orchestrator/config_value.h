/* Single values of stint.yaml: words, numbers, sizes, durations, lists of words. */
#ifndef STINT_ORCHESTRATOR_CONFIG_VALUE_H
#define STINT_ORCHESTRATOR_CONFIG_VALUE_H

#include <stdint.h>

#include "orchestrator/config.h"
#include "orchestrator/config_yaml.h"

/* What every setter gets: the file being read and the configuration being filled. */
struct reader {
	struct yaml_file *y;
	struct config *c;
};

/* One key of a map with known keys: set() fills out. A map is checked by its table alone. */
struct config_key {
	const char *name;
	int (*set)(struct reader *r, void *out, yaml_node_t *value, struct err *e);
};

/* Walks a map whose keys are all in keys[]; what names it in messages. */
int config_map(struct reader *r, yaml_node_t *map, const char *what, const struct config_key *keys, size_t n, void *out,
               struct err *e) MUST_CHECK;

/* "30m", "10s", "500ms", "1h30m": larger units first, each once. 0, -EINVAL, or -ERANGE (0, or above 30 days). */
int parse_duration(const char *s, uint64_t *ret_ms) MUST_CHECK;
/* "4GiB", "16MiB", "64KiB", "1TiB" or plain bytes. 0, -EINVAL, or -ERANGE. */
int parse_size(const char *s, uint64_t *ret_bytes) MUST_CHECK;

/* Each of these fails at the node with a sentence; what is the key as the user wrote it ("limits.memory"). */
int value_text(struct reader *r, yaml_node_t *n, const char *what, char **ret, struct err *e) MUST_CHECK;
int value_number(struct reader *r, yaml_node_t *n, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
                 struct err *e) MUST_CHECK;
int value_size(struct reader *r, yaml_node_t *n, const char *what, uint64_t min, uint64_t *ret, struct err *e) MUST_CHECK;
int value_duration(struct reader *r, yaml_node_t *n, const char *what, uint64_t *ret, struct err *e) MUST_CHECK;
/* The number of the word in words[]. */
int value_choice(struct reader *r, yaml_node_t *n, const char *what, const char *const *words, unsigned int *ret,
                 struct err *e) MUST_CHECK;
/* A list of words, at most POLICY_MAX_LIST; check (or NULL) looks at each. Replaces *ret. */
typedef int value_check_fn(struct reader *r, const struct strv *before, yaml_node_t *word, struct err *e);
int value_words(struct reader *r, yaml_node_t *n, const char *what, value_check_fn *check, struct strv *ret,
                struct err *e) MUST_CHECK;

int strv_add(struct strv *v, const char *s) MUST_CHECK;   /* 0 or -ENOMEM */
void strv_done(struct strv *v);

#endif
