/* REVIEW.md: what its bytes mean. */
#include "protocol/review.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "protocol/md.h"

void review_done(struct review *r)
{
	free(r->developer_text);
	free(r->tester_text);
	free(r->bytes);
	*r = (struct review){0};
}

/* Blank, a byte order mark included. */
static bool is_blank(const char *p, size_t n)
{
	if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
		p += 3;
		n -= 3;
	}
	for (size_t i = 0; i < n; i++)
		if (memchr(" \t\r\n\v\f", p[i], 6) == NULL)
			return false;
	return true;
}

static bool is_tester(const struct md_heading *h)
{
	size_t n = strlen(h->text);

	if (n > 0 && h->text[n - 1] == ':')
		n--;
	return n == strlen("tester") && strncasecmp(h->text, "tester", n) == 0;
}

/* What a review consists of: parts, each from one heading to the next. */
struct parts {
	const struct md *m;
	size_t heading;                  /* next one */
	size_t box;                      /* next one */
	const struct md_heading *tester; /* the Tester heading that is in force */
	size_t texts[2];                 /* parts with text below their heading: developer, tester */
};

/* Whose the part at byte `at` is (1: the tester's), and where it ends. */
static int next_part(struct parts *p, size_t at, size_t n, size_t *ret_end)
{
	for (; p->heading < p->m->n_heading && p->m->heading[p->heading].start <= at; p->heading++) {
		const struct md_heading *h = &p->m->heading[p->heading];

		if (p->tester == NULL || h->level <= p->tester->level)
			p->tester = is_tester(h) ? h : NULL;
	}
	*ret_end = p->heading < p->m->n_heading ? p->m->heading[p->heading].start : n;
	return p->tester != NULL ? 1 : 0;
}

static size_t open_boxes(struct parts *p, size_t end)
{
	size_t n = 0;

	for (; p->box < p->m->n_box && p->m->box[p->box].box_offset < end; p->box++)
		n += p->m->box[p->box].done ? 0 : 1;
	return n;
}

static bool has_text(const struct parts *p, const char *bytes, size_t at, size_t end)
{
	if (p->heading > 0 && p->m->heading[p->heading - 1].start == at)
		while (at < end && bytes[at] != '\n' && bytes[at] != '\r')
			at++;
	return !is_blank(bytes + at, end - at);
}

/* Splits the text between the two and counts open boxes. */
static int split(struct review *r, struct parts *p)
{
	struct buf text[2] = {{0}, {0}};
	size_t open[2] = {0, 0};
	int rc = 0;

	for (size_t at = 0, end; rc == 0 && at < r->n_bytes; at = end) {
		int who = next_part(p, at, r->n_bytes, &end);

		open[who] += open_boxes(p, end);
		p->texts[who] += has_text(p, r->bytes, at, end) ? 1 : 0;
		rc = buf_add(&text[who], r->bytes + at, end - at);
	}
	if (is_blank(text[0].data, text[0].len))
		text[0].len = 0;
	if (rc != 0 || buf_str(&text[0]) == NULL || buf_str(&text[1]) == NULL) {
		buf_done(&text[0]);
		buf_done(&text[1]);
		return -ENOMEM;
	}
	r->developer_text = text[0].data;
	r->tester_text = text[1].data;
	r->n_developer = open[0];
	r->n_tester = open[1];
	return 0;
}

/* Text without any box is one finding of whoever it is for; a box that Markdown does not see as one (m->warning) is no tick. */
static void judge(struct review *r, const struct parts *p)
{
	bool boxless = p->m->n_box == 0 && !is_blank(r->bytes, r->n_bytes);

	if (r->n_developer + r->n_tester == 0 && (boxless || p->m->n_warning > 0)) {
		r->n_developer = p->texts[0] > 0 ? 1 : 0;
		r->n_tester = p->texts[1] > 0 ? 1 : 0;
		if (r->n_developer + r->n_tester == 0)
			r->n_developer = 1;
	}
	r->n_open = r->n_developer + r->n_tester;
	r->open = r->n_open > 0;
}

/* Bytes that are no Markdown are a finding of their own: never a pass, and safe to show. */
static int unreadable(struct review *r, const char *why)
{
	AUTO_BUF struct buf b = {0};
	size_t shown = r->n_bytes < 4096 ? r->n_bytes : 4096;

	if (buf_addf(&b, "- [ ] The review cannot be read: %s\n\n", why) != 0 ||
	    buf_add_escaped(&b, r->bytes, shown, true) != 0 || buf_str(&b) == NULL)
		return -ENOMEM;
	r->tester_text = strdup("");
	if (r->tester_text == NULL)
		return -ENOMEM;
	r->developer_text = b.data;
	b = (struct buf){0};
	r->open = true;
	r->n_open = r->n_developer = 1;
	return 0;
}

static int read_bytes(struct review *r, size_t n)
{
	struct err why = {0};
	struct parts p = {0};
	struct md m = {0};
	int rc;

	if (n > REVIEW_MAX_BYTES)
		return unreadable(r, REVIEW_FILE " is larger than 256 KiB");
	rc = md_parse(&m, REVIEW_FILE, r->bytes, r->n_bytes, &why);
	if (rc != 0)
		return rc == -ENOMEM ? rc : unreadable(r, why.msg);
	p.m = &m;
	rc = split(r, &p);
	if (rc == 0)
		judge(r, &p);
	md_done(&m);
	return rc;
}

int review_parse(struct review *ret, const char *bytes, size_t n, struct err *e)
{
	struct review r = {.n_bytes = n < REVIEW_MAX_BYTES ? n : REVIEW_MAX_BYTES};
	int rc = -ENOMEM;

	r.bytes = malloc(r.n_bytes + 1);
	if (r.bytes != NULL) {
		if (r.n_bytes > 0)
			memcpy(r.bytes, bytes, r.n_bytes);
		r.bytes[r.n_bytes] = '\0';
		rc = read_bytes(&r, n);
	}
	if (rc != 0) {
		review_done(&r);
		return err_errno(e, -rc, "cannot read %s", REVIEW_FILE);
	}
	*ret = r;
	return 0;
}
