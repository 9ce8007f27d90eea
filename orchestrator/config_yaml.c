/* stint.yaml's YAML: see config_yaml.h. libyaml does the parsing; a first pass over its events refuses what a
 * configuration has no use for, before any document is built. */
#include "orchestrator/config_yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/str.h"

/* Lines and columns count from 1. */
static int PRINTF_LIKE(5, 0) fail_at(const char *name, size_t line, size_t col, struct err *e, const char *fmt,
                                     va_list ap)
{
	char what[ERR_MSG_MAX];

	(void)vsnprintf(what, sizeof(what), fmt, ap);
	(void)err_set(e, EINVAL, "%s:%zu:%zu: %s", name, line, col, what);
	if (e != NULL)
		e->located = 1;
	return err_stop(e, STOP_USAGE, -EINVAL);
}

static int PRINTF_LIKE(4, 5) fail_mark(const char *name, yaml_mark_t m, struct err *e, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = fail_at(name, m.line + 1, m.column + 1, e, fmt, ap);
	va_end(ap);
	return rc;
}

int yaml_fail(const struct yaml_file *y, const yaml_node_t *at, struct err *e, const char *fmt, ...)
{
	yaml_mark_t start = at != NULL ? at->start_mark : (yaml_mark_t){0};
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = fail_at(y->name, start.line + 1, start.column + 1, e, fmt, ap);
	va_end(ap);
	return rc;
}

const char *yaml_shown(const yaml_node_t *n, char out[YAML_SHOWN])
{
	AUTO_BUF struct buf b = {0};
	size_t len;

	if (n->type != YAML_SCALAR_NODE)
		return n->type == YAML_MAPPING_NODE ? "a map" : "a list";
	len = n->data.scalar.length < 60 ? n->data.scalar.length : 60;
	/* The text is valid UTF-8: a cut in the middle of a character shows as escaped bytes. */
	if (buf_add_escaped(&b, n->data.scalar.value, len, false) != 0 || buf_str(&b) == NULL)
		return "?";
	(void)snprintf(out, YAML_SHOWN, "%.*s%s", (int)str_cut(b.data, b.len < YAML_SHOWN - 8 ? b.len : YAML_SHOWN - 8), b.data,
	               len < n->data.scalar.length ? "..." : "");
	return out;
}

int yaml_fail_word(const struct yaml_file *y, const yaml_node_t *at, const char *what, const char *const *words,
                   struct err *e)
{
	char shown[YAML_SHOWN];
	char all[512] = "";
	const char *word = yaml_word(at);
	const char *near = word != NULL ? str_nearest(word, words) : NULL;

	if (near != NULL)
		return yaml_fail(y, at, e, "unknown %s: %s: did you mean %s?", what, yaml_shown(at, shown), near);
	for (size_t i = 0; words[i] != NULL; i++) {
		size_t n = strlen(all);

		(void)snprintf(all + n, sizeof(all) - n, "%s%s", i == 0 ? "" : ", ", words[i]);
	}
	return yaml_fail(y, at, e, "unknown %s: %s: it is one of %s", what, yaml_shown(at, shown), all);
}

bool yaml_is_null(const yaml_node_t *n)
{
	const char *s;

	if (n->type != YAML_SCALAR_NODE || n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	s = (const char *)n->data.scalar.value;
	return s[0] == '\0' || str_eq(s, "~") || str_eq(s, "null") || str_eq(s, "Null") || str_eq(s, "NULL");
}

const char *yaml_word(const yaml_node_t *n)
{
	if (n->type != YAML_SCALAR_NODE || yaml_is_null(n))
		return NULL;
	return (const char *)n->data.scalar.value;
}

/* ---- before the document */

/* Plain text first, so that the message names the place: UTF-8 without control characters. */
static int check_text(const char *name, const char *bytes, size_t n, struct err *e)
{
	yaml_mark_t at = {0};

	for (size_t i = 0; i < n;) {
		unsigned char c = (unsigned char)bytes[i];
		size_t len = str_utf8_len(bytes + i, n - i);

		if (len == 0)
			return fail_mark(name, at, e, "byte 0x%02x is no UTF-8: save the file as UTF-8", c);
		if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f)
			return fail_mark(name, at, e, "control character 0x%02x: remove it", c);
		if (c == '\n') {
			at.line++;
			at.column = 0;
		} else {
			at.column++;
		}
		i += len;
	}
	return 0;
}

/* True when the line's indentation has a tab: the commonest reason for an unreadable file. */
static bool tab_indents(const char *bytes, size_t n, size_t line)
{
	const char *end = bytes + n;
	const char *p = bytes;

	for (; line > 0 && p != NULL; line--) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p != NULL ? p + 1 : NULL;
	}
	for (; p != NULL && p < end && (*p == ' ' || *p == '\t'); p++)
		if (*p == '\t')
			return true;
	return false;
}

static int fail_syntax(const yaml_parser_t *p, const char *name, const char *bytes, size_t n, struct err *e)
{
	const char *why = p->problem != NULL ? p->problem : "unreadable";

	if (p->error == YAML_MEMORY_ERROR)
		return err_set(e, ENOMEM, "cannot read %s: out of memory", name);
	if (tab_indents(bytes, n, p->problem_mark.line))
		return fail_mark(name, p->problem_mark, e, "a tab indents this line: use spaces");
	return fail_mark(name, p->problem_mark, e, "this is no YAML: %s: check quotes, brackets and indentation", why);
}

struct scan {
	const char *name;
	unsigned int documents;
	unsigned int nodes;
	unsigned int depth;
};

static bool has_anchor(const yaml_event_t *ev)
{
	return (ev->type == YAML_SCALAR_EVENT && ev->data.scalar.anchor != NULL) ||
	       (ev->type == YAML_SEQUENCE_START_EVENT && ev->data.sequence_start.anchor != NULL) ||
	       (ev->type == YAML_MAPPING_START_EVENT && ev->data.mapping_start.anchor != NULL) ||
	       ev->type == YAML_ALIAS_EVENT;
}

static bool has_tag(const yaml_event_t *ev)
{
	return (ev->type == YAML_SCALAR_EVENT && ev->data.scalar.tag != NULL) ||
	       (ev->type == YAML_SEQUENCE_START_EVENT && ev->data.sequence_start.tag != NULL) ||
	       (ev->type == YAML_MAPPING_START_EVENT && ev->data.mapping_start.tag != NULL);
}

static int check_event(struct scan *s, const yaml_event_t *ev, struct err *e)
{
	bool opens = ev->type == YAML_SEQUENCE_START_EVENT || ev->type == YAML_MAPPING_START_EVENT;
	bool closes = ev->type == YAML_SEQUENCE_END_EVENT || ev->type == YAML_MAPPING_END_EVENT;

	if (has_anchor(ev))
		return fail_mark(s->name, ev->start_mark, e, "anchors and aliases (& and *) are not used here: "
		                 "write the value out, or quote the word");
	if (has_tag(ev))
		return fail_mark(s->name, ev->start_mark, e, "tags (!) are not used here: remove it, or quote the word");
	if (ev->type == YAML_DOCUMENT_START_EVENT && ++s->documents > 1)
		return fail_mark(s->name, ev->start_mark, e, "a second document: a configuration is one: remove the ---");
	if (opens && ++s->depth > YAML_MAX_DEPTH)
		return fail_mark(s->name, ev->start_mark, e, "more than %d levels deep: nothing here is", YAML_MAX_DEPTH);
	if (closes)
		s->depth--;
	if ((opens || ev->type == YAML_SCALAR_EVENT) && ++s->nodes > YAML_MAX_NODES)
		return fail_mark(s->name, ev->start_mark, e, "more than %u values: shorten it", YAML_MAX_NODES);
	if (ev->type != YAML_SCALAR_EVENT)
		return 0;
	if (ev->data.scalar.length > YAML_MAX_WORD)
		return fail_mark(s->name, ev->start_mark, e, "a value of more than %u bytes: shorten it", YAML_MAX_WORD);
	if (memchr(ev->data.scalar.value, '\0', ev->data.scalar.length) != NULL)
		return fail_mark(s->name, ev->start_mark, e, "a value with a NUL byte: remove it");
	return 0;
}

static int parser_begin(yaml_parser_t *p, const char *bytes, size_t n, struct err *e)
{
	if (yaml_parser_initialize(p) == 0)
		return err_set(e, ENOMEM, "cannot read the configuration: out of memory");
	yaml_parser_set_encoding(p, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(p, (const unsigned char *)bytes, n);
	return 0;
}

static int check_events(const char *name, const char *bytes, size_t n, struct err *e)
{
	struct scan s = {.name = name};
	yaml_parser_t p;
	bool more = true;
	int rc = parser_begin(&p, bytes, n, e);

	if (rc != 0)
		return rc;
	while (rc == 0 && more) {
		yaml_event_t ev;

		if (yaml_parser_parse(&p, &ev) == 0) {
			rc = fail_syntax(&p, name, bytes, n, e);
			break;
		}
		more = ev.type != YAML_STREAM_END_EVENT;
		rc = check_event(&s, &ev, e);
		yaml_event_delete(&ev);
	}
	yaml_parser_delete(&p);
	return rc;
}

int yaml_file_read(const char *what, const char *file, size_t max, char **ret, size_t *ret_n, struct err *e)
{
	AUTO_FD fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int rc;

	if (fd < 0)
		return err_stop(e, STOP_USAGE, err_errno(e, errno, "cannot open %s %s", what, file));
	rc = fd_read_all(fd, max, ret, ret_n);
	if (rc == -EFBIG) {
		(void)err_set(e, EFBIG, "%s:1:1: more than %zu bytes: a %s is shorter", file, max, what);
		if (e != NULL)
			e->located = 1;
		return err_stop(e, STOP_USAGE, -EFBIG);
	}
	return rc == 0 ? 0 : err_stop(e, STOP_USAGE, err_errno(e, -rc, "cannot read %s %s", what, file));
}

int yaml_file_load(struct yaml_file *ret, const char *name, const char *bytes, size_t n, struct err *e)
{
	struct yaml_file y = {.name = name};
	yaml_parser_t p;
	int rc;

	if (n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
		bytes += 3;
		n -= 3;
	}
	rc = check_text(name, bytes, n, e);
	if (rc == 0)
		rc = check_events(name, bytes, n, e);
	if (rc == 0)
		rc = parser_begin(&p, bytes, n, e);
	if (rc != 0)
		return rc;
	if (yaml_parser_load(&p, &y.doc) == 0)
		rc = fail_syntax(&p, name, bytes, n, e);
	yaml_parser_delete(&p);
	if (rc != 0)
		return rc;
	y.loaded = true;
	*ret = y;
	ret->root = yaml_document_get_root_node(&ret->doc);
	if (ret->root != NULL && yaml_is_null(ret->root))
		ret->root = NULL;
	return 0;
}

void yaml_file_done(struct yaml_file *y)
{
	if (y->loaded)
		yaml_document_delete(&y->doc);
	*y = (struct yaml_file){0};
}

/* ---- walking */

static int check_key(struct yaml_file *y, const yaml_node_t *map, const yaml_node_pair_t *pair, const char *what,
                     struct err *e)
{
	const yaml_node_t *key = yaml_document_get_node(&y->doc, pair->key);
	char shown[YAML_SHOWN];

	if (yaml_word(key) == NULL)
		return yaml_fail(y, key, e, "%s: a key that is no word: write KEY: VALUE", what);
	for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < pair; p++) {
		const yaml_node_t *other = yaml_document_get_node(&y->doc, p->key);

		if (str_eq(yaml_word(other), yaml_word(key)))
			return yaml_fail(y, key, e, "%s: %s is here twice: the first is on line %zu: remove one", what,
			                 yaml_shown(key, shown), other->start_mark.line + 1);
	}
	return 0;
}

int yaml_each_pair(struct yaml_file *y, yaml_node_t *map, const char *what, yaml_pair_fn *fn, void *cookie,
                   struct err *e)
{
	char shown[YAML_SHOWN];

	if (map->type != YAML_MAPPING_NODE)
		return yaml_fail(y, map, e, "%s must be a map of KEY: VALUE, not %s", what,
		                 yaml_is_null(map) ? "empty" : yaml_shown(map, shown));
	if (map->data.mapping.pairs.top - map->data.mapping.pairs.start > (ptrdiff_t)YAML_MAX_KEYS)
		return yaml_fail(y, map, e, "%s: more than %u keys: shorten it", what, YAML_MAX_KEYS);
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++) {
		int rc = check_key(y, map, p, what, e);

		if (rc == 0)
			rc = fn(cookie, yaml_document_get_node(&y->doc, p->key), yaml_document_get_node(&y->doc, p->value), e);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int yaml_each_item(struct yaml_file *y, yaml_node_t *list, const char *what, yaml_item_fn *fn, void *cookie,
                   struct err *e)
{
	char shown[YAML_SHOWN];

	if (yaml_is_null(list))
		return 0;
	if (list->type != YAML_SEQUENCE_NODE)
		return yaml_fail(y, list, e, "%s must be a list, as [one, two], not %s", what, yaml_shown(list, shown));
	for (yaml_node_item_t *i = list->data.sequence.items.start; i < list->data.sequence.items.top; i++) {
		int rc = fn(cookie, yaml_document_get_node(&y->doc, *i), e);

		if (rc != 0)
			return rc;
	}
	return 0;
}
