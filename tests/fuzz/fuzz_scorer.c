/* What an agent writes, scored; and what a scorer's command answers.
 *
 * Input: one byte for the scorer, then target, what was kept, and what was cut off, with a line "%%" between. Checked, beside
 * memory:
 * - scoring ends in pass, fail or error with a score to match and one line of text; the same asked again is the same;
 * - what is decided of what was kept is what the whole comes to;
 * - JSON that equals the target still does when it is written anew, and equality goes both ways.
 * The regular expressions' matching is PCRE2's, and in a process of its own: only compiled here. */
#include "tests/fuzz/fuzz.h"

#include "orchestrator/scorer.h"

static const char *const names[] = {"exact_match", "contains", "json", "regex", "exit_status", "answer"};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

static void check_score(const struct score *s)
{
	CHECK(s->status == SCORE_PASS || s->status == SCORE_FAIL || s->status == SCORE_ERROR);
	CHECK(s->value >= 0 && s->value <= 1 && strlen(s->words) < SCORER_WORDS_MAX);
	CHECK(s->status != SCORE_ERROR || s->words[0] != '\0');
	for (size_t i = 0, len; s->words[i] != '\0'; i += len) {
		len = str_utf8_len(s->words + i, strlen(s->words + i));
		CHECK(len > 0 && (unsigned char)s->words[i] >= 0x20 && s->words[i] != 0x7f);
	}
}

static struct score ask(const struct scorer *s, const char *output, size_t n, bool cut)
{
	const struct scored in = {.output = output, .len = n, .cut = cut};
	struct score ret;
	struct score again;
	struct err e = {0};

	CHECK(scorer_score(&ret, s, &in, &e) == 0 && scorer_score(&again, s, &in, &e) == 0);
	check_score(&ret);
	CHECK(ret.status == again.status && strcmp(ret.words, again.words) == 0);
	return ret;
}

/* The output as a target, and the target as the output of it. */
static void check_json(const struct scorer *s, const char *output, size_t n, bool same)
{
	char why[SCORER_WHY_MAX];
	json_t *value = scorer_json_load(output, n, why);
	char *text;

	if (value == NULL)
		return;
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	CHECK(text != NULL);
	CHECK((ask(s, text, strlen(text), false).status == SCORE_PASS) == same);
	if (strlen(text) <= SCORER_TARGET_MAX) {
		struct scorer back;
		struct err e = {0};

		CHECK(scorer_from_word(&back, "task", "json", text, strlen(text), &e) == 0);
		CHECK((ask(&back, s->target, s->target_len, false).status == SCORE_PASS) == same);
		scorer_done(&back);
	}
	free(text);
	json_decref(value);
}

static void check_scorer(const char *name, const char *target, size_t n_target, const char *output, size_t kept, size_t n)
{
	struct scorer s;
	struct err e = {0};
	struct score whole, part;
	int rc = scorer_from_word(&s, "task", name, target, n_target, &e);

	if (rc != 0) {
		fuzz_check_err(&e, rc);
		return;
	}
	if (s.kind == SCORER_REGEX) {
		scorer_done(&s);
		return;
	}
	whole = ask(&s, output, n, false);
	part = ask(&s, output, kept, true);
	CHECK(whole.status != SCORE_ERROR);
	CHECK(part.status == SCORE_ERROR || part.status == whole.status);
	if (s.kind == SCORER_JSON)
		check_json(&s, output, n, whole.status == SCORE_PASS);
	scorer_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *p, *target = "", *kept = "", *rest = "";
	size_t n_target = 0, n_kept = 0, n_rest = 0;
	struct buf all = {0};
	struct score s = {0};

	if (n < 1)
		return 0;
	p = (const char *)data + 1;
	n--;
	if (data[0] % N_NAMES == N_NAMES - 1) {
		scorer_command_answer(&s, p, n, false, 0);
		check_score(&s);
		return 0;
	}
	(void)fuzz_part(&p, &n, &target, &n_target);
	(void)fuzz_part(&p, &n, &kept, &n_kept);
	(void)fuzz_part(&p, &n, &rest, &n_rest);
	CHECK(buf_add(&all, kept, n_kept) == 0 && buf_add(&all, rest, n_rest) == 0);
	check_scorer(names[data[0] % N_NAMES], target, n_target, all.data != NULL ? all.data : "", n_kept, all.len);
	buf_done(&all);
	return 0;
}
