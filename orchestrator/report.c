/* Lines for people: see report.h. */
#include "orchestrator/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"

#define TITLE_MAX 100u

static const char *const on[] = {[REPORT_PLAIN] = "", [REPORT_GOOD] = "\033[32m", [REPORT_BAD] = "\033[31m"};

static void clear_live(void *cookie)
{
	struct report *r = cookie;

	if (r->line_open)
		(void)fputs("\r\033[K", stdout);
	r->line_open = false;
	(void)fflush(stdout);
}

void report_begin(struct report *r)
{
	*r = (struct report){.live = isatty(STDOUT_FILENO) == 1};
	r->colour = r->live && getenv("NO_COLOR") == NULL;
	log_set_before(clear_live, r);
}

void report_end(struct report *r)
{
	clear_live(r);
	log_set_before(NULL, NULL);
}

void report_time(char *ret, size_t size, uint64_t ms)
{
	unsigned long long s = ms / 1000u;

	if (s >= 3600)
		(void)snprintf(ret, size, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
	else
		(void)snprintf(ret, size, "%llu:%02llu", s / 60, s % 60);
}

static void paint(const struct report *r, enum report_mark mark, const char *text)
{
	bool colour = r->colour && mark != REPORT_PLAIN;

	(void)printf("%s%s%s", colour ? on[mark] : "", text, colour ? "\033[0m" : "");
}

/* Escaped, cut at a whole character with an ellipsis. */
static void put_title(const char *title)
{
	AUTO_BUF struct buf b = {0};
	const char *s;
	size_t n;

	if (buf_add_escaped(&b, title, strlen(title), false) != 0 || (s = buf_str(&b)) == NULL)
		return;
	n = b.len;
	if (n <= TITLE_MAX) {
		(void)printf("%s", s);
		return;
	}
	for (n = TITLE_MAX; n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80; n--)
		;
	(void)printf("%.*s...", (int)n, s);
}

void report_task(struct report *r, size_t n, size_t of, const char *title)
{
	clear_live(r);
	(void)printf("\ntask %zu of %zu  ", n, of);
	put_title(title);
	(void)printf("\n");
	(void)fflush(stdout);
}

void report_turn_begin(struct report *r, unsigned int iteration, const char *role)
{
	r->iteration = iteration;
	(void)snprintf(r->role, sizeof(r->role), "%s", role);
	r->last_tick_ms = 0;
	report_turn_tick(r, 0, 0);
}

static void turn_head(const struct report *r, uint64_t elapsed_ms)
{
	char time[16];

	report_time(time, sizeof(time), elapsed_ms);
	(void)printf("  %2u  %-10s %7s", r->iteration, r->role, time);
}

void report_turn_tick(struct report *r, uint64_t elapsed_ms, unsigned int denials)
{
	if (!r->live || (elapsed_ms > 0 && elapsed_ms / 500u == r->last_tick_ms / 500u))
		return;
	r->last_tick_ms = elapsed_ms;
	(void)fputs("\r\033[K", stdout);
	turn_head(r, elapsed_ms);
	if (denials > 0)
		(void)printf("  %u refused", denials);
	r->line_open = true;
	(void)fflush(stdout);
}

void report_turn_end(struct report *r, uint64_t elapsed_ms, long changed, unsigned int denials, const char *verdict,
                     enum report_mark mark)
{
	char files[32] = "";
	char refused[32] = "";

	clear_live(r);
	turn_head(r, elapsed_ms);
	if (changed >= 0)
		(void)snprintf(files, sizeof(files), "%ld changed", changed);
	if (denials > 0)
		(void)snprintf(refused, sizeof(refused), "%u refused", denials);
	if (verdict[0] != '\0') {
		(void)printf("  %-11s  %-10s  ", files, refused);
		paint(r, mark, verdict);
	} else if (refused[0] != '\0') {
		(void)printf("  %-11s  %s", files, refused);
	} else {
		(void)printf("  %s", files);
	}
	(void)printf("\n");
	(void)fflush(stdout);
}

static void PRINTF_LIKE(4, 0) put_line(struct report *r, enum report_mark mark, const char *indent, const char *fmt, va_list ap)
{
	AUTO_FREE char *s = NULL;
	AUTO_BUF struct buf b = {0};
	const char *text;

	clear_live(r);
	if (vasprintf(&s, fmt, ap) < 0) {
		s = NULL;
		return;
	}
	if (buf_add_escaped(&b, s, strlen(s), false) != 0 || (text = buf_str(&b)) == NULL)
		return;
	(void)fputs(indent, stdout);
	paint(r, mark, text);
	(void)fputc('\n', stdout);
	(void)fflush(stdout);
}

void report_note(struct report *r, enum report_mark mark, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(r, mark, "      ", fmt, ap);
	va_end(ap);
}

void report_line(struct report *r, enum report_mark mark, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(r, mark, "", fmt, ap);
	va_end(ap);
}
