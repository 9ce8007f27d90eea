/* The guard's command line, as anybody may type it.
 *
 * Input: words, each ended by NUL or a newline. Checked, beside memory: a refusal is one sentence; what is accepted grants no more
 * paths and ports than there were words, each of them one of the words; the command is the end of the words, and options of the
 * command are not taken for the guard's; numbers are in their ranges; the answer is the same the second time. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "sandbox/guard.h"

#define WORDS_MAX 200

struct line {
	char *bytes;
	char *word[WORDS_MAX + 2];
	int n;
};

static void split(struct line *l, const uint8_t *data, size_t n)
{
	static char program[] = "stint-guard";
	size_t at = 0;

	l->bytes = malloc(n + 1);
	CHECK(l->bytes != NULL);
	memcpy(l->bytes, data, n);
	l->bytes[n] = '\0';
	l->word[0] = program;
	l->n = 1;
	while (at < n && l->n <= WORDS_MAX) {
		l->word[l->n++] = l->bytes + at;
		while (at < n && l->bytes[at] != '\0' && l->bytes[at] != '\n')
			at++;
		l->bytes[at++] = '\0';
	}
	l->word[l->n] = NULL;
}

static bool inside(const struct line *l, const char *p, size_t n)
{
	return p >= l->bytes && p <= l->bytes + n;
}

static void check_accepted(const struct guard_options *o, const struct line *l, size_t n)
{
	size_t words = (size_t)l->n;
	size_t at = 0;

	CHECK(o->n_paths < words && o->connect.n + o->bind.n < words);
	CHECK(o->connect.n <= GUARD_MAX_PORTS && o->bind.n <= GUARD_MAX_PORTS && o->n_paths <= GUARD_MAX_PATHS);
	for (size_t i = 0; i < o->n_paths; i++)
		CHECK(inside(l, o->paths[i].path, n) && o->paths[i].path[0] != '\0');
	for (unsigned int i = 0; i < o->connect.n; i++)
		CHECK(o->connect.port[i] > 0);
	CHECK(o->min_abi >= 1 && o->min_abi <= LANDLOCK_ABI_KNOWN);
	CHECK(o->profile_file == NULL || o->profile_file == o->filter);
	CHECK((o->probe_fd < 0) == (o->result_fd < 0));
	while (at < words && l->word + at != o->command)
		at++;
	CHECK(o->command == l->word + words || at < words);
	CHECK(o->command[0] != NULL || o->probe_fd >= 0 || o->help || o->print_policy || o->print_profile);
	/* An option before the command was the guard's own, and only what stands behind `--` may begin with two dashes. */
	if (at < words && o->command[0] != NULL && str_starts(o->command[0], "--") && o->command[0][2] != '\0')
		CHECK(at > 0 && str_eq(l->word[at - 1], "--"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct guard_options o = {0}, again = {0};
	struct err e = {0}, e2 = {0};
	struct line l;
	int rc, rc2;

	split(&l, data, n);
	rc = guard_parse(&o, l.n, l.word, &e);
	if (rc == 0)
		check_accepted(&o, &l, n);
	else
		CHECK(rc < 0 && e.code == -rc && e.msg[0] != '\0');
	rc2 = guard_parse(&again, l.n, l.word, &e2);
	CHECK(rc2 == rc && (rc != 0 ? str_eq(e.msg, e2.msg) : again.n_paths == o.n_paths && again.command == o.command));
	guard_options_done(&o);
	guard_options_done(&again);
	free(l.bytes);
	return 0;
}
