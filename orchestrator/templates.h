/* What `stint init` writes: files of orchestrator/templates/, embedded. */
#ifndef STINT_ORCHESTRATOR_TEMPLATES_H
#define STINT_ORCHESTRATOR_TEMPLATES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TEMPLATE_PARTS 3

struct template_file {
	const char *path;                       /* below the new project's root */
	mode_t mode;
	bool keep;                              /* one that is there already stays as it is; otherwise it is an error */
	struct { const char *start, *end; } part[TEMPLATE_PARTS]; /* one after another; unused: NULL */
};

struct template {
	const char *name;
	const char *says;
	const struct template_file *files;
	size_t n;
	const char *next;                       /* what to do with it, a line; NULL: it is a project for the loop, in git */
};

/* The first is the default. */
extern const struct template templates[];
extern const size_t templates_n;

const struct template *template_find(const char *name);

#endif
