/* REVIEW.md as a reviewer may leave it: the verdict, and who reads which part.
 *
 * Checked, beside memory:
 * - no file, blanks, and boxes that are all ticked are a pass; an open box at any depth, text without a box, a box lost to a
 *   slip, and bytes that cannot be read are open findings (docs/protocol.md);
 * - each byte goes to exactly one of developer and tester, by a second definition of what stands below a heading "Tester";
 * - an unreadable review is shown bounded and escaped, and never to the tester;
 * - what is written is what is loaded; only what was read is removed. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <strings.h>

#include "protocol/md.h"
#include "protocol/review.h"

static int root = -1;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	root = fuzz_folder();
	return 0;
}

static bool blank(const char *p, size_t n)
{
	size_t i = n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	while (i < n && (p[i] == ' ' || (p[i] >= '\t' && p[i] <= '\r')))
		i++;
	return i == n;
}

static bool named_tester(const struct md_heading *h)
{
	return strcasecmp(h->text, "tester") == 0 || strcasecmp(h->text, "tester:") == 0;
}

/* Some Tester heading stands above, and no heading of its level or a higher one between. */
static bool is_testers(const struct md *m, size_t at)
{
	for (size_t i = 0; i < m->n_heading && m->heading[i].start <= at; i++) {
		bool ended = false;

		for (size_t k = i + 1; k < m->n_heading && m->heading[k].start <= at; k++)
			ended = ended || m->heading[k].level <= m->heading[i].level;
		if (named_tester(&m->heading[i]) && !ended)
			return true;
	}
	return false;
}

static void check_split(const struct review *r, const struct md *m)
{
	char *mine = malloc(r->n_bytes + 1);
	char *theirs = malloc(r->n_bytes + 1);
	size_t a = 0, b = 0;
	size_t section = 0;
	bool tester = false;

	CHECK(mine != NULL && theirs != NULL);
	for (size_t i = 0; i < r->n_bytes; i++) {
		if (i == 0 || (section < m->n_heading && m->heading[section].start <= i)) {
			while (section < m->n_heading && m->heading[section].start <= i)
				section++;
			tester = is_testers(m, i);
		}
		if (tester)
			theirs[b++] = r->bytes[i];
		else
			mine[a++] = r->bytes[i];
	}
	if (blank(mine, a))
		a = 0;
	CHECK(strlen(r->developer_text) == a && memcmp(r->developer_text, mine, a) == 0);
	CHECK(strlen(r->tester_text) == b && memcmp(r->tester_text, theirs, b) == 0);
	free(mine);
	free(theirs);
}

static void check_verdict(const struct review *r, const struct md *m)
{
	size_t open = 0;
	size_t testers = 0;

	for (size_t i = 0; i < m->n_box; i++) {
		open += !m->box[i].done;
		testers += !m->box[i].done && is_testers(m, m->box[i].box_offset);
	}
	CHECK(r->open == (open > 0 || m->n_warning > 0 || (m->n_box == 0 && !blank(r->bytes, r->n_bytes))));
	if (open > 0)
		CHECK(r->n_open == open && r->n_tester == testers);
	if (r->n_tester > 0)
		CHECK(r->tester_text[0] != '\0');
}

static void check_unreadable(const struct review *r)
{
	static const char head[] = "- [ ] The review cannot be read: ";

	CHECK(r->open && r->n_open == 1 && r->n_developer == 1 && r->n_tester == 0 && r->tester_text[0] == '\0');
	CHECK(str_starts(r->developer_text, head) && strlen(r->developer_text) < 4 * 4096 + 2048);
	CHECK(fuzz_printable(r->developer_text, strlen(r->developer_text), "\n\t"));
}

static void check_disk(const char *bytes, size_t n, const struct review *want)
{
	struct review r;
	struct err e = {0};

	CHECK(review_write(root, bytes, n, &e) == 0 && review_load(&r, root, &e) == 0);
	CHECK(r.open == want->open && r.n_open == want->n_open && r.n_bytes == want->n_bytes);
	CHECK(str_eq(r.developer_text, want->developer_text) && str_eq(r.tester_text, want->tester_text));
	review_done(&r);
	CHECK(review_write(root, "- [ ] newer", 11, &e) == 0);
	if (n != 11 || memcmp(bytes, "- [ ] newer", 11) != 0)
		CHECK(review_remove(root, want, &e) == -ESTALE && e.exit == STOP_RECORD);
	CHECK(review_write(root, want->bytes, want->n_bytes, &e) == 0);
	CHECK(review_remove(root, want, &e) == 0 && review_remove(root, want, &e) == 0);
	CHECK(faccessat(root, REVIEW_FILE, F_OK, 0) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *bytes = n == 0 ? "" : (const char *)data;
	struct review r;
	struct md m = {0};
	struct err e = {0};

	CHECK(review_parse(&r, bytes, n, &e) == 0);
	CHECK(r.n_open == r.n_developer + r.n_tester && r.open == (r.n_open > 0));
	CHECK(r.n_bytes == (n < REVIEW_MAX_BYTES ? n : REVIEW_MAX_BYTES) && memcmp(r.bytes, bytes, r.n_bytes) == 0);
	if (n > REVIEW_MAX_BYTES || md_parse(&m, REVIEW_FILE, r.bytes, r.n_bytes, &e) != 0) {
		check_unreadable(&r);
	} else {
		check_verdict(&r, &m);
		check_split(&r, &m);
	}
	if (n % 8 == 0) /* slow, and the same for all */
		check_disk(bytes, n, &r);
	md_done(&m);
	review_done(&r);
	return 0;
}
