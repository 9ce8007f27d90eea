/* Boxes and headings of a Markdown document: one walk over cmark's tree. */
#include "protocol/md.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/md_private.h"

void md_done(struct md *m)
{
	for (size_t i = 0; i < m->n_box; i++)
		free(m->box[i].title);
	for (size_t i = 0; i < m->n_warning; i++)
		free(m->warning[i].message);
	for (size_t i = 0; i < m->n_heading; i++)
		free(m->heading[i].text);
	free(m->box);
	free(m->warning);
	free(m->heading);
	*m = (struct md){0};
}

/* Room for one more element; doubles at powers of two. */
static int grow(void *array, size_t n, size_t size)
{
	void **p = array;
	void *bigger;

	if (n != 0 && (n & (n - 1)) != 0)
		return 0;
	bigger = reallocarray(*p, n == 0 ? 1 : 2 * n, size);
	if (bigger == NULL)
		return -ENOMEM;
	*p = bigger;
	return 0;
}

struct walk {
	struct md *m;
	const struct md_src *s;
	unsigned int quotes;      /* enclosing block quotes */
	unsigned int depth;       /* enclosing boxed items */
	int blank_end;            /* the last line that was asked for by last_text(), … */
	int blank_text;           /* … and its answer */
	struct err *e;
};

static bool is_blank_line(const struct md_src *s, int line)
{
	for (size_t i = md_src_at(s, line); i < md_src_at(s, line + 1); i++)
		if (strchr(" \t\r\n", s->p[i]) == NULL)
			return false;
	return true;
}

/* The last line up to `last` that is not blank, but `first` at least. Items within items end on one line: they are told the
 * answer of the outermost, or each would walk over the same blank lines again. */
static int last_text(struct walk *w, int first, int last)
{
	if (w->blank_end != last) {
		w->blank_end = w->blank_text = last;
		while (w->blank_text > first && is_blank_line(w->s, w->blank_text))
			w->blank_text--;
	}
	return w->blank_text > first ? w->blank_text : first;
}

static int add_box(struct walk *w, cmark_node *item, cmark_node *par, bool done)
{
	struct md *m = w->m;
	struct md_box box = {
		.line = (unsigned int)cmark_node_get_start_line(par),
		.done = done,
		.depth = w->depth,
		.box_offset = md_src_node(w->s, par) + 1,
		.start = md_src_at(w->s, cmark_node_get_start_line(item)),
	};

	if (m->n_box == MD_MAX_BOXES)
		return err_set(w->e, E2BIG, "%s:%u: more than %u boxes: split the file", w->s->name, box.line, MD_MAX_BOXES);
	box.end = md_src_at(w->s, last_text(w, (int)box.line, cmark_node_get_end_line(item)) + 1);
	if (grow(&m->box, m->n_box, sizeof(box)) != 0 || md_plain_text(w->s, par, true, &box.title) != 0)
		return -ENOMEM;
	m->box[m->n_box++] = box;
	return 0;
}

/* user_data of a boxed item: any non-NULL marks it for its EXIT event. */
static char boxed_mark;

static int enter_item(struct walk *w, cmark_node *item)
{
	cmark_node *par = cmark_node_first_child(item);
	enum md_mark mark;
	int rc;

	if (par == NULL || cmark_node_get_type(par) != CMARK_NODE_PARAGRAPH)
		return 0;
	mark = md_mark_at(w->s, md_src_node(w->s, par));
	if (mark == MD_MARK_BARE && cmark_node_get_end_line(par) > cmark_node_get_start_line(par))
		mark = w->s->p[md_src_node(w->s, par) + 1] == ' ' ? MD_MARK_OPEN : MD_MARK_DONE;
	if (mark != MD_MARK_OPEN && mark != MD_MARK_DONE)
		return 0;
	rc = add_box(w, item, par, mark == MD_MARK_DONE);
	if (rc != 0)
		return rc;
	if (cmark_node_set_user_data(item, &boxed_mark) != 1)
		return -ENOMEM;
	w->depth++;
	return 0;
}

static int enter_heading(struct walk *w, cmark_node *node)
{
	struct md *m = w->m;
	struct md_heading h = {
		.level = (unsigned int)cmark_node_get_heading_level(node),
		.start = md_src_at(w->s, cmark_node_get_start_line(node)),
	};

	if (cmark_node_get_type(cmark_node_parent(node)) != CMARK_NODE_DOCUMENT)
		return 0;
	if (grow(&m->heading, m->n_heading, sizeof(h)) != 0 || md_plain_text(w->s, node, false, &h.text) != 0)
		return -ENOMEM;
	m->heading[m->n_heading++] = h;
	return 0;
}

static int step(struct walk *w, cmark_event_type event, cmark_node *node)
{
	cmark_node_type type = cmark_node_get_type(node);
	int rc = 0;

	if (type == CMARK_NODE_BLOCK_QUOTE) {
		w->quotes += event == CMARK_EVENT_ENTER ? 1u : -1u;
		return 0;
	}
	if (event == CMARK_EVENT_EXIT) {
		if (type == CMARK_NODE_ITEM && cmark_node_get_user_data(node) != NULL)
			w->depth--;
		return 0;
	}
	if (w->quotes > 0)
		return 0;
	if (type == CMARK_NODE_ITEM)
		rc = enter_item(w, node);
	else if (type == CMARK_NODE_HEADING)
		rc = enter_heading(w, node);
	if (rc == 0)
		rc = md_lost_check(w->m, w->s, node);
	return rc;
}

static int walk_tree(struct walk *w, cmark_node *doc)
{
	cmark_iter *it = cmark_iter_new(doc);
	cmark_event_type event;
	int rc = 0;

	while (rc == 0 && (event = cmark_iter_next(it)) != CMARK_EVENT_DONE)
		rc = step(w, event, cmark_iter_get_node(it));
	cmark_iter_free(it);
	return rc;
}

int md_parse(struct md *ret, const char *name, const char *bytes, size_t n, struct err *e)
{
	struct md m = {0};
	struct md_src s = {0};
	struct walk w = {.m = &m, .s = &s, .e = e};
	cmark_node *doc;
	int rc = md_src_init(&s, name, bytes, n, e);

	if (rc != 0)
		return rc;
	/* SOURCEPOS: only then do code spans know that they end on a later line. */
	doc = cmark_parse_document(bytes + s.line[0], n - s.line[0], CMARK_OPT_SOURCEPOS);
	rc = walk_tree(&w, doc);
	cmark_node_free(doc);
	md_src_done(&s);
	if (rc != 0) {
		md_done(&m);
		return rc == -ENOMEM ? err_errno(e, ENOMEM, "cannot read %s", name) : rc;
	}
	*ret = m;
	return 0;
}
