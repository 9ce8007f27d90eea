/* Output of the reading commands: see show.h. */
#include "orchestrator/show.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/exit.h"
#include "base/log.h"
#include "orchestrator/report.h"

void show_f(struct show *s, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		text = NULL;
		s->rc = -ENOMEM;
	}
	if (s->rc == 0)
		s->rc = buf_add(&s->b, text, (size_t)n);
}

void show_add(struct show *s, const char *text, size_t max)
{
	size_t n = text == NULL ? 0 : strlen(text);
	size_t chars = 0;
	size_t at = 0;

	if (n == 0) {
		show_f(s, "-");
		return;
	}
	for (; at < n && (max == 0 || chars < max); chars++) {
		size_t len = str_utf8_len(text + at, n - at);

		at += len == 0 ? 1 : len;
	}
	if (s->rc == 0)
		s->rc = buf_add_escaped(&s->b, text, at, false);
	if (at < n)
		show_f(s, "…");
}

void show_column(struct show *s, const char *text, size_t max)
{
	size_t start = s->b.len;
	size_t chars = 0;

	show_add(s, text, max);
	for (size_t i = start; i < s->b.len; i++)
		chars += ((unsigned char)s->b.data[i] & 0xc0) != 0x80 ? 1 : 0;
	if (chars < max)
		show_f(s, "%*s", (int)(max - chars), "");
}

void show_block(struct show *s, const void *bytes, size_t n)
{
	if (s->rc == 0)
		s->rc = buf_add_escaped(&s->b, bytes, n, true);
	if (n > 0 && ((const char *)bytes)[n - 1] != '\n')
		show_f(s, "\n");
}

void show_time(struct show *s, int width, int64_t ms)
{
	char text[16] = "-";

	if (ms >= 0)
		report_time(text, sizeof(text), (uint64_t)ms);
	show_f(s, "%*s", width, text);
}

int show_text(struct show *s)
{
	bool written = s->rc == 0 && (s->b.len == 0 || fwrite(s->b.data, s->b.len, 1, stdout) == 1) && fflush(stdout) == 0;

	buf_done(&s->b);
	if (written)
		return STOP_DONE;
	log_note("cannot write the output: %s", strerror(s->rc != 0 ? -s->rc : errno));
	return STOP_RECORD;
}

/* JSON leaves DEL and the C1 controls as they are; a terminal obeys them. They stand in strings only. */
static void add_json(struct show *s, const char *text)
{
	const char *from = text;

	for (const char *p = text; *p != '\0'; p++) {
		bool c1 = p[0] == '\xc2' && (unsigned char)p[1] < 0xa0;

		if (p[0] != '\x7f' && !c1)
			continue;
		show_f(s, "%.*s\\u00%02x", (int)(p - from), from, (unsigned int)(unsigned char)(c1 ? p[1] : p[0]));
		p += c1 ? 1 : 0;
		from = p + 1;
	}
	show_f(s, "%s\n", from);
}

int show_json(json_t *o)
{
	struct show s = {.rc = o == NULL ? -ENOMEM : 0};
	char *text = json_dumps(o, JSON_COMPACT);

	if (text == NULL)
		s.rc = -ENOMEM;
	else
		add_json(&s, text);
	free(text);
	json_decref(o);
	return show_text(&s);
}

int show_bad_option(char **argv)
{
	log_note("%s: %s is no option or lacks its value: `stint %s --help` shows the usage", argv[0], argv[optind - 1], argv[0]);
	return STOP_USAGE;
}

int show_options(int argc, char **argv, const char *usage, const char **ret_dir, bool *ret_json)
{
	static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "C:", longs, NULL)) != -1) {
		if (opt == 'j')
			*ret_json = true;
		else if (opt == 'C')
			*ret_dir = optarg;
		else
			return show_bad_option(argv);
	}
	if (optind == argc)
		return STOP_DONE;
	log_note("%s: \"%s\" is too much: usage: %s", argv[0], argv[optind], usage);
	return STOP_USAGE;
}

const char *show_str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s == NULL ? "" : s;
}

int64_t show_int(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static bool seconds_of(const char *iso, time_t *ret)
{
	struct tm tm = {0};
	const char *end = strptime(iso, "%Y-%m-%dT%H:%M:%S", &tm);

	if (end == NULL)
		return false;
	*ret = timegm(&tm);
	return true;
}

int64_t show_span(const char *from, const char *to)
{
	time_t a;
	time_t b = time(NULL);

	if (!seconds_of(from, &a) || (to[0] != '\0' && !seconds_of(to, &b)))
		return -1;
	return ((int64_t)b - (int64_t)a) * 1000;
}

static int each_of(const json_t *turns, const json_t *task, const json_t *iteration, show_turn_fn *each, void *cookie)
{
	const json_t *turn;
	size_t i;
	int rc = 0;

	json_array_foreach(turns, i, turn) {
		rc = each(cookie, task, iteration, turn);
		if (rc != 0)
			break;
	}
	return rc;
}

int show_each_turn(const json_t *run, show_turn_fn *each, void *cookie)
{
	const json_t *task, *iteration;
	size_t i, j;
	int rc;

	json_array_foreach(json_object_get(run, "tasks"), i, task) {
		json_array_foreach(json_object_get(task, "iterations"), j, iteration) {
			rc = each_of(json_object_get(iteration, "turns"), task, iteration, each, cookie);
			if (rc != 0)
				return rc;
		}
	}
	return each_of(json_object_get(run, "turns"), NULL, NULL, each, cookie);
}
