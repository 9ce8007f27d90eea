/* Lines that speak of a refused access: see denials.h. */
#include "orchestrator/denials.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "orchestrator/agent.h"

static int keep(struct denials *d, const char *line, size_t n)
{
	AUTO_BUF struct buf b = {0};
	const char *s;

	if (buf_add_escaped(&b, line, n < DENIALS_LINE_MAX ? n : DENIALS_LINE_MAX, false) != 0 || (s = buf_str(&b)) == NULL)
		return -ENOMEM;
	d->line[d->n] = strdup(s);
	if (d->line[d->n] == NULL)
		return -ENOMEM;
	d->n++;
	return 0;
}

int denials_add(struct denials *d, const char *bytes, size_t n)
{
	const char *end = bytes + n;

	while (bytes < end && d->n < DENIALS_MAX) {
		const char *nl = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t len = nl == NULL ? (size_t)(end - bytes) : (size_t)(nl - bytes);
		int rc = agent_count_denials(bytes, len) > 0 ? keep(d, bytes, len) : 0;

		if (rc != 0)
			return rc;
		bytes += len + 1;
	}
	return 0;
}

void denials_done(struct denials *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->line[i]);
	*d = (struct denials){0};
}
