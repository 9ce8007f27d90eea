/* The templates as data: see templates.h. */
#include "orchestrator/templates.h"

#include "base/embed.h"
#include "base/str.h"

#define FILE_OF(name, file) EMBED(stint_template_##name, "orchestrator/templates/" file)
#define PART(name) {stint_template_##name, stint_template_##name##_end}

FILE_OF(head, "common/stint.yaml.head");
FILE_OF(tail, "common/stint.yaml.tail");
FILE_OF(suite_sh, "sh/suite.yaml");
FILE_OF(suite_c, "c/suite.yaml");
FILE_OF(suite_bare, "bare/suite.yaml");
FILE_OF(ignore, "common/gitignore");
FILE_OF(ignore_c, "c/gitignore");
FILE_OF(tasks_sh, "sh/tasks.md");
FILE_OF(tasks_c, "c/tasks.md");
FILE_OF(tasks_bare, "bare/tasks.md");
FILE_OF(greet_sh, "sh/greet");
FILE_OF(run_sh, "sh/run");
FILE_OF(greet_t, "sh/greet.t");
FILE_OF(greet_h, "c/greet.h");
FILE_OF(greet_c, "c/greet.c");
FILE_OF(test_greet_c, "c/test_greet.c");
FILE_OF(makefile_c, "c/Makefile");
FILE_OF(skill, "skill/skill.yaml");
FILE_OF(skill_notes, "skill/today.md");
FILE_OF(skill_keep, "skill/keep");

/* .gitignore is kept and completed, not replaced: see cmd_init.c. */
static const struct template_file sh_files[] = {
	{"stint.yaml", 0644, false, {PART(head), PART(suite_sh), PART(tail)}},
	{"TASKS.md", 0644, false, {PART(tasks_sh)}},
	{"src/greet", 0755, false, {PART(greet_sh)}},
	{"tests/run", 0755, false, {PART(run_sh)}},
	{"tests/greet.t", 0644, false, {PART(greet_t)}},
	{".gitignore", 0644, true, {PART(ignore)}},
};

static const struct template_file c_files[] = {
	{"stint.yaml", 0644, false, {PART(head), PART(suite_c), PART(tail)}},
	{"TASKS.md", 0644, false, {PART(tasks_c)}},
	{"Makefile", 0644, false, {PART(makefile_c)}},
	{"src/greet.h", 0644, false, {PART(greet_h)}},
	{"src/greet.c", 0644, false, {PART(greet_c)}},
	{"tests/test_greet.c", 0644, false, {PART(test_greet_c)}},
	{".gitignore", 0644, true, {PART(ignore_c)}},
};

static const struct template_file bare_files[] = {
	{"stint.yaml", 0644, false, {PART(head), PART(suite_bare), PART(tail)}},
	{"TASKS.md", 0644, true, {PART(tasks_bare)}},
	{".gitignore", 0644, true, {PART(ignore)}},
};

static const struct template_file skill_files[] = {
	{"skill.yaml", 0644, false, {PART(skill)}},
	{"notes/today.md", 0644, false, {PART(skill_notes)}},
	{"backup/.keep", 0644, false, {PART(skill_keep)}},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const struct template templates[] = {
	{"sh", "a shell program with a TAP suite", sh_files, COUNT(sh_files), NULL},
	{"c", "a C library with make and a TAP suite", c_files, COUNT(c_files), NULL},
	{"bare", "stint.yaml and TASKS.md alone, for a project that exists", bare_files, COUNT(bare_files), NULL},
	{"skill", "steps that a person confirms, each with what it may touch", skill_files, COUNT(skill_files),
	 "stint skill run skill.yaml"},
};
const size_t templates_n = COUNT(templates);

const struct template *template_find(const char *name)
{
	for (size_t i = 0; i < templates_n; i++)
		if (str_eq(templates[i].name, name))
			return &templates[i];
	return NULL;
}
