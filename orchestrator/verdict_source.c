/* Does a line of a suite's output quote source? Test source must not reach the developer through REVIEW.md, so the
 * rules would rather withhold too much. They are a guess, for the format "exit" and for a build that fails; `tap` hands
 * on names and values. */
#include "orchestrator/verdict_impl.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define INDENT_MAX 3u   /* quoted source is nearly always indented further */

/* How tools begin a line that quotes: pytest (>, E), diffs (+ - @@), carets and gutters of compilers. */
static const char quote_marks[] = ">|^~+-@";

static const char *const openings[] = {
	"E  ", "assert ", "assert(", "assert_", "assert.", "expect(", "self.assert", "def ", "func ", "function ", "fn ",
	"class ", "import ", "from ", "#include", "return ", "if ", "if(", "for ", "for(", "while ", "let ", "const ", "var ",
	"it(", "test(", "describe(", "[[ ", "[ ", "run ", "require(", "use ", "package ", "public ", "private ", "static ",
	"int ", "void ", "char ",
};

static const char *const contained[] = {
	"==", "!=", "=>", "->", "&&", "||", ":=", "+=", "::", "();", "){", ") {", "Assertion `", "assert(", "assert ",
	"expect(", "$(", "`", "<<", ">>",
};

static const char line_ends[] = ";{}(,\\";

static bool has(const char *line, size_t n, const char *word)
{
	return memmem(line, n, word, strlen(word)) != NULL;
}

/* "  12 | int x": a gutter. */
static bool gutter(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && isdigit((unsigned char)p[i]))
		i++;
	if (i == 0)
		return false;
	while (i < n && p[i] == ' ')
		i++;
	return i < n && (p[i] == '|' || p[i] == ':' || p[i] == '>');
}

bool verdict_quotes_source(const char *line, size_t n)
{
	size_t indent = 0;

	while (indent < n && line[indent] == ' ')
		indent++;
	if (indent > INDENT_MAX || (n > 0 && memchr(line, '\t', n) != NULL))
		return true;
	line += indent;
	n -= indent;
	while (n > 0 && line[n - 1] == ' ')
		n--;
	if (n == 0)
		return false;
	if (strchr(quote_marks, line[0]) != NULL || strchr(line_ends, line[n - 1]) != NULL || gutter(line, n))
		return true;
	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++)
		if (n >= strlen(openings[i]) && strncmp(line, openings[i], strlen(openings[i])) == 0)
			return true;
	for (size_t i = 0; i < sizeof(contained) / sizeof(contained[0]); i++)
		if (has(line, n, contained[i]))
			return true;
	return false;
}
