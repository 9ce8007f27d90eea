/* The log sink: see log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/str.h"

static struct {
	void (*before)(void *);
	void *cookie;
} sink;

void log_set_before(void (*before)(void *), void *cookie)
{
	sink.before = before;
	sink.cookie = cookie;
}

/* Whatever a message quotes, the terminal sees no control character but newlines and tabs. */
static void PRINTF_LIKE(2, 0) line(const char *prefix, const char *fmt, va_list ap)
{
	AUTO_BUF struct buf b = {0};
	AUTO_FREE char *text = NULL;
	int n = vasprintf(&text, fmt, ap);

	if (sink.before != NULL)
		sink.before(sink.cookie);
	if (n < 0)
		text = NULL;
	if (n < 0 || buf_add_escaped(&b, text, (size_t)n, true) != 0 || buf_str(&b) == NULL)
		(void)fprintf(stderr, "%sout of memory\n", prefix);
	else
		(void)fprintf(stderr, "%s%s\n", prefix, b.data);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("stint: warning: ", fmt, ap);
	va_end(ap);
}

void log_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("stint: ", fmt, ap);
	va_end(ap);
}

static void PRINTF_LIKE(1, 2) plain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("", fmt, ap);
	va_end(ap);
}

int log_err(const struct err *e, int fallback)
{
	if (e->located != 0)
		plain("%s", e->msg);
	else
		log_note("%s", e->msg);
	return e->exit != 0 ? e->exit : fallback;
}
