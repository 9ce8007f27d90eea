/* One entry of a profile that is more than a word: {call: ioctl, if: [{arg: 1, is: 0x5412}], errno: EPERM}. */
#ifndef STINT_ORCHESTRATOR_PROFILE_RULE_H
#define STINT_ORCHESTRATOR_PROFILE_RULE_H

#include "orchestrator/config_yaml.h"
#include "sandbox/profile.h"

/* Reads a map into row (action, error, conditions) and *ret_call, the node that names the call. deny: `errno` is allowed. */
int profile_rule_parse(struct yaml_file *y, yaml_node_t *map, bool deny, struct profile_row *row, yaml_node_t **ret_call,
                       struct err *e) MUST_CHECK;

/* "errno NAME", "kill" or "notify"; an errno's name alone where what is "errno". */
int profile_action_parse(struct yaml_file *y, yaml_node_t *v, const char *what, enum profile_action *ret, uint16_t *ret_error,
                         struct err *e) MUST_CHECK;

#endif
