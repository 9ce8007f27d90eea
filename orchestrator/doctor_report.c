/* Findings of `stint doctor`: see doctor_report.h. */
#include "orchestrator/doctor_report.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <string.h>

#include "base/str.h"

static const char *const status_name[] = {[DOCTOR_OK] = "ok", [DOCTOR_WARN] = "warn", [DOCTOR_FAIL] = "fail"};

const char *doctor_status_name(enum doctor_status status)
{
	return status_name[status];
}

void doctor_add(struct doctor_report *r, enum doctor_status status, const char *id, const char *why, const char *todo,
                const char *what, ...)
{
	struct doctor_finding *f;
	va_list ap;

	if (r->n == DOCTOR_MAX) {
		r->dropped++;
		return;
	}
	f = &r->v[r->n++];
	*f = (struct doctor_finding){.status = status, .id = id, .why = why, .todo = todo};
	va_start(ap, what);
	(void)vsnprintf(f->what, sizeof(f->what), what, ap);
	va_end(ap);
}

static size_t count(const struct doctor_report *r, enum doctor_status status)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->v[i].status == status;
	return n;
}

bool doctor_possible(const struct doctor_report *r)
{
	return r->dropped == 0 && count(r, DOCTOR_FAIL) == 0;
}

static int id_width(const struct doctor_report *r)
{
	size_t width = 0;

	for (size_t i = 0; i < r->n; i++)
		if (strlen(r->v[i].id) > width)
			width = strlen(r->v[i].id);
	return (int)width;
}

static void print_finding(const struct doctor_finding *f, int width, FILE *to)
{
	AUTO_BUF struct buf what = {0};
	const char *text = buf_add_escaped(&what, f->what, strlen(f->what), false) == 0 ? buf_str(&what) : NULL;

	(void)fprintf(to, "%-4s  %-*s  %s\n", status_name[f->status], width, f->id, text == NULL ? "" : text);
	if (f->status != DOCTOR_OK && f->why != NULL)
		(void)fprintf(to, "%*s  why: %s\n", width + 6, "", f->why);
	if (f->status != DOCTOR_OK && f->todo != NULL)
		(void)fprintf(to, "%*s  do:  %s\n", width + 6, "", f->todo);
}

void doctor_print(const struct doctor_report *r, FILE *to)
{
	int width = id_width(r);

	for (size_t i = 0; i < r->n; i++)
		print_finding(&r->v[i], width, to);
	(void)fprintf(to, "\n%s: %zu ok, %zu warned, %zu failed\n",
	              doctor_possible(r) ? "a run is possible here" : "no run is possible here",
	              count(r, DOCTOR_OK), count(r, DOCTOR_WARN), count(r, DOCTOR_FAIL));
}

/* JSON strings must be UTF-8: bytes that are not are escaped as on a terminal. */
static json_t *text(const char *s)
{
	AUTO_BUF struct buf b = {0};
	const char *safe;

	if (s == NULL)
		return json_null();
	safe = buf_add_escaped(&b, s, strlen(s), false) == 0 ? buf_str(&b) : NULL;
	return safe == NULL ? NULL : json_string(safe);
}

int doctor_print_json(const struct doctor_report *r, FILE *to)
{
	json_t *list = json_array();
	json_t *all = json_pack("{s:b, s:o}", "possible", doctor_possible(r) ? 1 : 0, "findings", list);
	int rc = all == NULL ? -ENOMEM : 0;

	for (size_t i = 0; rc == 0 && i < r->n; i++) {
		const struct doctor_finding *f = &r->v[i];
		json_t *row = json_pack("{s:s, s:s, s:o, s:o, s:o}", "id", f->id, "status", status_name[f->status],
		                        "what", text(f->what), "why", text(f->why), "do", text(f->todo));

		if (row == NULL || json_array_append_new(list, row) != 0)
			rc = -ENOMEM;
	}
	if (rc == 0 && (json_dumpf(all, to, JSON_INDENT(1)) != 0 || fputc('\n', to) == EOF || fflush(to) != 0))
		rc = -EIO;
	json_decref(all);
	return rc;
}
