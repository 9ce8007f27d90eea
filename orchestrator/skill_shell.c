/* Reading a command as a shell does: see skill_shell.h. What can be open:
 *
 *     (   a list of commands in brackets, with a $ before it or none
 *     "   double quotes          '   single quotes      `   backquotes
 *     {   ${…}                   }   ${…} in double quotes, where a quote means now this, now that
 *     +   $((…)) and ((…)): arithmetic, which reads what is quoted once more
 *     [   x[…]: a pattern, or bash's arithmetic
 *     #   a comment */
#include "orchestrator/skill_shell.h"

#include <string.h>

#define BLANK " \t\n"

static char innermost(const struct shell_place *p)
{
	return p->n > 0 ? p->in[p->n - 1] : '\0';
}

static void begin(struct shell_place *p, char what)
{
	if (p->n == SHELL_DEPTH_MAX)
		p->lost = true;
	else
		p->in[p->n++] = what;
}

/* A $ stands before it. False: it begins nothing. */
static bool begin_dollar(struct shell_place *p, const char *at)
{
	char in = innermost(p);

	if (*at == '{')
		begin(p, in == '"' || in == '}' ? '}' : '{');
	else if (*at == '(')
		begin(p, at[1] == '(' ? '+' : '(');
	return *at == '{' || *at == '(';
}

/* A command's words. */
static void in_words(struct shell_place *p, const char *start, const char *at, bool dollar)
{
	bool begins = at == start || strchr(BLANK ";|&()<>", at[-1]) != NULL;
	bool case_ends = strncmp(at, "case", 4) == 0 && at[4] != '\0' && strchr(BLANK, at[4]) != NULL;

	p->dollar = *at == '$';
	if (dollar && begin_dollar(p, at))
		return;
	if (dollar && (*at == '\'' || *at == '\\'))
		p->lost = true; /* bash has escapes in $'', dash does not */
	if (begins && case_ends && p->n > 0)
		p->lost = true; /* its patterns close brackets that nobody opened */
	if (*at == '<' && at[1] == '<')
		p->lost = true; /* in a here-document no quotes hold */
	if (*at == '\\')
		p->escaped = true;
	else if (*at == '"' || *at == '\'' || *at == '`')
		begin(p, *at);
	else if (*at == '#' && begins)
		begin(p, '#');
	else if (*at == '(')
		begin(p, at[1] == '(' ? '+' : '(');
	else if (*at == '[' && !begins)
		begin(p, '[');
	else if (*at == ')' && innermost(p) == '(')
		p->n--; /* otherwise a pattern's of a case */
}

/* Double quotes and ${…}: end is what closes it; quotes: what else may be open in it. */
static void in_quotes(struct shell_place *p, const char *at, bool dollar, char end, const char *quotes)
{
	p->dollar = *at == '$';
	if (dollar && begin_dollar(p, at))
		return;
	if (*at == '\\')
		p->escaped = true;
	else if (*at == end)
		p->n--;
	else if (strchr(quotes, *at) != NULL)
		begin(p, *at);
}

/* Where quotes are not followed any further. */
static void in_numbers(struct shell_place *p, const char *at, bool dollar, char open, char end, const char *never)
{
	p->dollar = *at == '$';
	if (strchr(never, *at) != NULL || (dollar && (*at == '(' || *at == '{')))
		p->lost = true;
	if (*at == open)
		begin(p, open == '(' ? '+' : open);
	else if (*at == end)
		p->n--;
}

void shell_step(struct shell_place *p, const char *start, const char *at)
{
	bool dollar = p->dollar;

	p->dollar = false;
	if (p->escaped) {
		p->escaped = false;
		return;
	}
	switch (innermost(p)) {
	case '\'':
		p->n -= *at == '\'' ? 1 : 0;
		break;
	case '`':
		p->escaped = *at == '\\';
		p->n -= *at == '`' ? 1 : 0;
		break;
	case '#':
		p->n -= *at == '\n' ? 1 : 0;
		break;
	case '"':
		in_quotes(p, at, dollar, '"', "`");
		break;
	case '{':
		in_quotes(p, at, dollar, '}', "\"'`");
		break;
	case '}':
		in_numbers(p, at, dollar, '\0', '}', "\"'`\\");
		break;
	case '+':
		in_numbers(p, at, dollar, '(', ')', "\"'`\\{");
		break;
	case '[':
		in_numbers(p, at, dollar, '[', ']', BLANK "\"'`\\;|&()<>");
		break;
	default:
		in_words(p, start, at, dollar);
	}
}

bool shell_takes_word(const struct shell_place *p)
{
	return !p->lost && !p->escaped && !p->dollar && (p->n == 0 || innermost(p) == '(');
}
