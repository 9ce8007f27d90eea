/* The parts of stint.yaml that have a file of their own. Private to config*.c. */
#ifndef STINT_ORCHESTRATOR_CONFIG_PARTS_H
#define STINT_ORCHESTRATOR_CONFIG_PARTS_H

#include "orchestrator/config_value.h"

/* `access`, once all roles are known, and the checks between rows and scratch folders. */
int config_access_parse(struct reader *r, yaml_node_t *access, struct err *e) MUST_CHECK;
int config_access_builtin(struct config *c, struct err *e) MUST_CHECK;
int config_access_check(const struct config *c, struct err *e) MUST_CHECK;
int config_scratch_parse(struct reader *r, void *out, yaml_node_t *value, struct err *e) MUST_CHECK;

/* `roles` and `suite`. */
int config_roles_builtin(struct config *c, struct err *e) MUST_CHECK;
int config_roles_parse(struct reader *r, yaml_node_t *roles, struct err *e) MUST_CHECK;
int config_suite_parse(struct reader *r, void *out, yaml_node_t *value, struct err *e) MUST_CHECK;
void config_role_done(struct config_role *role);

/* Whether an extended regular expression compiles, in bounded time. 0, -EINVAL with why (what follows the key's name), or
 * another negative errno: it could not be found out. */
#define CONFIG_REGEX_WHY 192
int config_regex_check(const char *pattern, char ret_why[CONFIG_REGEX_WHY]) MUST_CHECK;

#endif
