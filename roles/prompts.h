/* The built-in prompts, as templates: roles/prompts/ROLE.md, embedded. */
#ifndef STINT_ROLES_PROMPTS_H
#define STINT_ROLES_PROMPTS_H

#include <stddef.h>

/* The bytes of the role's prompt (not NUL-terminated by contract), or NULL for a role without one. */
const char *prompts_builtin(const char *role, size_t *ret_len);

#endif
