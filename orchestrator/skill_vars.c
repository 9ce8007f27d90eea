/* ${NAME} in a skill: see skill.h. In a command a value becomes one quoted word, so that no value is ever read by the shell; where
 * something of the command's own would undo that, it is refused. */
#include "orchestrator/skill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "orchestrator/skill_shell.h"

struct skill_var *skill_var_find(struct skill_vars *vars, const char *name, size_t n)
{
	for (size_t i = 0; i < vars->n; i++)
		if (strlen(vars->v[i].name) == n && memcmp(vars->v[i].name, name, n) == 0)
			return &vars->v[i];
	return NULL;
}

bool skill_var_at(struct skill_vars *vars, const char *text, struct skill_var **ret, size_t *ret_len)
{
	size_t n;

	if (!str_starts(text, "${"))
		return false;
	n = strcspn(text + 2, "}");
	if (text[2 + n] != '}')
		return false;
	*ret = skill_var_find(vars, text + 2, n);
	*ret_len = n + 3;
	return *ret != NULL;
}

static int add_quoted(struct buf *b, const char *value)
{
	int rc = buf_add(b, "'", 1);

	for (; rc == 0 && *value != '\0'; value++)
		rc = *value == '\'' ? buf_add(b, "'\\''", 4) : buf_add(b, value, 1);
	return rc == 0 ? buf_add(b, "'", 1) : rc;
}

enum skill_expand skill_expand(struct skill_vars *vars, const char *text, bool shell, char **ret)
{
	AUTO_BUF struct buf b = {0};
	struct shell_place p = {0};

	for (const char *at = text; *at != '\0';) {
		struct skill_var *v = NULL;
		size_t len = 1;
		int rc;

		if (skill_var_at(vars, at, &v, &len) && !(shell && p.escaped)) {
			if (shell && !shell_takes_word(&p))
				return SKILL_QUOTED;
			rc = shell ? add_quoted(&b, v->value) : buf_add(&b, v->value, strlen(v->value));
		} else {
			len = 1;
			shell_step(&p, text, at);
			rc = buf_add(&b, at, 1);
		}
		if (rc != 0)
			return SKILL_NO_MEMORY;
		if (b.len > SKILL_VALUE_MAX)
			return SKILL_TOO_LONG;
		at += len;
	}
	if (buf_str(&b) == NULL)
		return SKILL_NO_MEMORY;
	*ret = b.data;
	b = (struct buf){0};
	return SKILL_DONE;
}

/* What leaves no mark of its own: controls, separators and spaces that are not the blank, what Unicode calls format characters and
 * ignorable by default, blank letters, no characters at all. Source: Unicode 15, categories C* and Z*, DerivedCoreProperties. */
static const struct {
	unsigned int first, last;
} hidden[] = {
	{0x0, 0x8}, {0xb, 0x1f}, {0x7f, 0xa0}, {0xad, 0xad}, {0x34f, 0x34f}, {0x600, 0x605}, {0x61c, 0x61c}, {0x6dd, 0x6dd},
	{0x70f, 0x70f}, {0x890, 0x891}, {0x8e2, 0x8e2}, {0x115f, 0x1160}, {0x1680, 0x1680}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
	{0x2000, 0x200f}, {0x2028, 0x202f}, {0x205f, 0x206f}, {0x2800, 0x2800}, {0x3000, 0x3000}, {0x3164, 0x3164}, {0xfdd0, 0xfdef},
	{0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
	{0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

static bool is_hidden(unsigned int c)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return true;
	return (c & 0xfffe) == 0xfffe;
}

bool skill_plain(const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n;) {
		size_t len = str_utf8_len(text + i, n - i);
		unsigned int c = (unsigned char)text[i];

		if (len == 0)
			return false;
		if (len > 1)
			c &= 0x7fu >> len;
		for (size_t k = 1; k < len; k++)
			c = c << 6 | ((unsigned char)text[i + k] & 0x3fu);
		if (is_hidden(c))
			return false;
		i += len;
	}
	return true;
}
