/* ${NAME} in a skill: see skill.h. In a command a value becomes one quoted word, so that no value is ever read by the shell; where
 * quotes of the command's own would undo that, it is refused. */
#include "orchestrator/skill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

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

/* Where the shell is in its text; more than it can be in at once is taken for a place where nothing is put in. */
struct place {
	bool single, dquoted, back, comment, here;
	bool escaped; /* the next character */
	bool dollar;  /* the last one was a $: what follows a $ is not a word's beginning */
};

static void step_on(struct place *p, const char *start, const char *at)
{
	char c = *at;
	bool begins = at == start || strchr(" \t\n;|&()", at[-1]) != NULL;

	p->dollar = c == '$' && !p->escaped && !p->single && !p->comment;
	if (p->escaped) {
		p->escaped = false;
	} else if (p->comment) {
		p->comment = c != '\n';
	} else if (p->single) {
		p->single = c != '\'';
	} else if (c == '\\') {
		p->escaped = true;
	} else if (c == '"') {
		p->dquoted = !p->dquoted;
	} else if (c == '`') {
		p->back = !p->back;
	} else if (!p->dquoted && c == '\'') {
		p->single = true;
	} else if (!p->dquoted && c == '#' && begins) {
		p->comment = true;
	} else if (!p->dquoted && c == '<' && at[1] == '<') {
		p->here = true; /* to the end: what a here-document is has no quotes that hold */
	}
}

enum skill_expand skill_expand(struct skill_vars *vars, const char *text, bool shell, char **ret)
{
	AUTO_BUF struct buf b = {0};
	struct place p = {0};

	for (const char *at = text; *at != '\0';) {
		struct skill_var *v = NULL;
		size_t len = 1;
		int rc;

		if (skill_var_at(vars, at, &v, &len) && !(shell && p.escaped)) {
			if (shell && (p.single || p.dquoted || p.back || p.comment || p.here || p.dollar))
				return SKILL_QUOTED;
			rc = shell ? add_quoted(&b, v->value) : buf_add(&b, v->value, strlen(v->value));
		} else {
			len = 1;
			step_on(&p, text, at);
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

/* Zero width, direction, byte order mark; line and paragraph separator; C1. */
static bool is_hidden(unsigned int c)
{
	return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
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
