/* The built-in prompts: see prompts.h. */
#include "roles/prompts.h"

#include <string.h>

#include "base/embed.h"
#include "roles/role.h"

EMBED(stint_prompt_developer, "roles/prompts/developer.md");
EMBED(stint_prompt_tester, "roles/prompts/tester.md");
EMBED(stint_prompt_reviewer, "roles/prompts/reviewer.md");

static const struct {
	const char *role;
	const char *start;
	const char *end;
} prompts[] = {
	{ROLE_DEVELOPER, stint_prompt_developer, stint_prompt_developer_end},
	{ROLE_TESTER, stint_prompt_tester, stint_prompt_tester_end},
	{ROLE_REVIEWER, stint_prompt_reviewer, stint_prompt_reviewer_end},
};

const char *prompts_builtin(const char *role, size_t *ret_len)
{
	for (size_t i = 0; i < sizeof(prompts) / sizeof(prompts[0]); i++)
		if (strcmp(prompts[i].role, role) == 0) {
			*ret_len = (size_t)(prompts[i].end - prompts[i].start);
			return prompts[i].start;
		}
	return NULL;
}
