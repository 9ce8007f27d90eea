/* What was refused: see violations.h. */
#include "orchestrator/violations.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

void violations_done(struct violations *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free(v->v[i].key);
		free(v->v[i].line);
		json_decref(v->v[i].json);
	}
	free(v->v);
	v->v = NULL;
	v->n = 0;
}

static struct violation *find(const struct violations *v, const char *key)
{
	for (size_t i = 0; i < v->n; i++)
		if (str_eq(v->v[i].key, key))
			return &v->v[i];
	return NULL;
}

/* Counts a known one. Otherwise true: it is new, and there is room. */
static bool is_new(struct violations *v, const char *key)
{
	struct violation *old = find(v, key);

	if (old != NULL)
		old->count++;
	else if (v->n >= VIOLATIONS_MAX)
		v->lost++;
	else
		return true;
	return false;
}

/* Takes json. */
static int add(struct violations *v, const char *key, const char *line, json_t *json, bool usual)
{
	struct violation *more = realloc(v->v, (v->n + 1) * sizeof(*more));
	struct violation one = {.key = strdup(key), .line = strdup(line), .json = json, .count = 1, .usual = usual};

	if (more != NULL)
		v->v = more;
	if (more == NULL || one.key == NULL || one.line == NULL || json == NULL) {
		free(one.key);
		free(one.line);
		json_decref(json);
		return -ENOMEM;
	}
	more[v->n++] = one;
	if (usual || v->tell == NULL || line[0] == '\0')
		return 0;
	if (v->said < VIOLATIONS_SAID)
		v->tell(v->cookie, line);
	else if (v->said == VIOLATIONS_SAID)
		v->tell(v->cookie, "refused: more, which --report FILE names");
	v->said++;
	return 0;
}

/* JSON takes UTF-8 only, and a terminal no control characters. */
static json_t *safe(const char *text)
{
	AUTO_BUF struct buf b = {0};

	if (buf_add_escaped(&b, text, strlen(text), false) != 0 || buf_str(&b) == NULL)
		return NULL;
	return json_string(b.data);
}

static const char *arch_name(uint32_t arch)
{
	switch (arch) {
	case AUDIT_ARCH_X86_64: return "x86_64";
	case AUDIT_ARCH_I386: return "i386";
	case AUDIT_ARCH_AARCH64: return "aarch64";
	case AUDIT_ARCH_ARM: return "arm";
	default: return "unknown";
	}
}

/* Who did it. */
static int add_process(json_t *o, const struct held *h)
{
	return json_object_set_new(o, "program", h->program[0] != '\0' ? safe(h->program) : json_null()) |
	       json_object_set_new(o, "pid", json_integer(h->process)) | json_object_set_new(o, "thread", json_integer(h->thread));
}

static json_t *raw_args(const struct seccomp_data *d)
{
	json_t *a = json_array();

	for (int i = 0; i < 6; i++) {
		char hex[24];

		(void)snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)d->args[i]);
		(void)json_array_append_new(a, json_string(hex));
	}
	return a;
}

static const char *program_of(const struct held *h)
{
	const char *slash = strrchr(h->program, '/');

	return slash != NULL ? slash + 1 : "a process";
}

int violations_add_call(struct violations *v, const struct held *h, const struct refused_call *r)
{
	const struct seccomp_data *d = &h->n->data;
	AUTO_BUF struct buf key = {0};
	AUTO_BUF struct buf line = {0};
	json_t *o;

	if (buf_addf(&key, "call %s %s %s %s", r->action, r->rule, h->program, r->call) != 0 || buf_str(&key) == NULL)
		return -ENOMEM;
	if (!is_new(v, key.data))
		return 0;
	if (buf_addf(&line, "refused: %s: %s by profile %s (%s [%d])", r->call, r->action, r->rule, program_of(h),
	             (int)h->process) != 0 || buf_str(&line) == NULL)
		return -ENOMEM;
	o = json_pack("{s:s, s:s, s:i, s:s, s:s, s:o, s:s, s:s}", "kind", "syscall", "syscall", r->name, "number", d->nr,
	              "architecture", arch_name(d->arch), "call", r->call, "arguments", raw_args(d), "action", r->action, "rule",
	              r->rule);
	if (o != NULL && add_process(o, h) != 0) {
		json_decref(o);
		o = NULL;
	}
	return add(v, key.data, line.data, o, r->usual);
}

/* "refused: /x: fs.make_reg, fs.write_file not granted (touch [123])" */
static int access_line(struct buf *b, const struct held *h, const struct access *a, struct landlock_rights lack)
{
	const char *sep = "";
	int rc = a->path[0] != '\0' ? buf_addf(b, "refused: %s: ", a->path) : buf_addf(b, "refused: port %u: ", (unsigned int)a->port);

	for (unsigned int bit = 0; rc == 0 && bit < 64; bit++) {
		uint64_t one = UINT64_C(1) << bit;

		if (((lack.fs | lack.net) & one) == 0)
			continue;
		rc = buf_addf(b, "%s%s", sep, access_right_name((lack.net & one) != 0, one));
		sep = ", ";
	}
	if (rc == 0)
		rc = buf_addf(b, " not granted (%s [%d])", program_of(h), (int)h->process);
	return rc == 0 && buf_str(b) != NULL ? 0 : -ENOMEM;
}

/* What two ways of seeing one refusal have in common. */
static int right_key(struct buf *b, const char *right, const char *on, uint16_t port)
{
	int rc = on != NULL ? buf_addf(b, "right %s %s", right, on) : buf_addf(b, "right %s %u", right, (unsigned int)port);

	return rc == 0 && buf_str(b) != NULL ? 0 : -ENOMEM;
}

/* One right on one object. */
static int add_right(struct violations *v, const struct held *h, const char *name, const struct access *a, const char *right,
                     const char *line)
{
	bool net = a->path[0] == '\0';
	AUTO_BUF struct buf key = {0};
	json_t *o;
	int rc = right_key(&key, right, net ? NULL : a->at, a->port);

	/* Entries of one folder lack the same right on it. */
	if (rc == 0 && !net)
		rc = buf_addf(&key, " %s", a->path);
	if (rc != 0 || buf_str(&key) == NULL)
		return -ENOMEM;
	if (!is_new(v, key.data))
		return 0;
	o = json_pack("{s:s, s:s, s:s, s:s}", "kind", net ? "port" : "path", "right", right, "syscall", name, "seen_by", "supervisor");
	if (o != NULL)
		rc = net ? json_object_set_new(o, "port", json_integer(a->port))
		         : json_object_set_new(o, "path", safe(a->path)) | json_object_set_new(o, "on", safe(a->at));
	if (o != NULL && (rc | add_process(o, h)) != 0) {
		json_decref(o);
		o = NULL;
	}
	return add(v, key.data, line, o, false);
}

int violations_add_access(struct violations *v, const struct held *h, const char *name, const struct access *a,
                          struct landlock_rights lack)
{
	AUTO_BUF struct buf b = {0};
	const char *line;
	int rc = 0;

	if ((lack.fs | lack.net) == 0)
		return 0;
	if (access_line(&b, h, a, lack) != 0)
		return -ENOMEM;
	line = b.data;
	for (unsigned int bit = 0; rc == 0 && bit < 64; bit++) {
		uint64_t one = UINT64_C(1) << bit;

		if (((lack.fs | lack.net) & one) == 0)
			continue;
		rc = add_right(v, h, name, a, access_right_name((lack.net & one) != 0, one), line);
		line = "";
	}
	return rc;
}

/* The supervisor has mostly seen the call before the kernel refused it. */
static bool confirm(struct violations *v, const char *right, const char *path, uint16_t port)
{
	bool found = false;

	for (size_t i = 0; i < v->n; i++) {
		json_t *o = v->v[i].json;
		const char *on = json_string_value(json_object_get(o, "on"));
		const char *itself = json_string_value(json_object_get(o, "path"));
		bool same = path != NULL ? (on != NULL && str_eq(on, path)) || (itself != NULL && str_eq(itself, path))
		                         : port != 0 && json_integer_value(json_object_get(o, "port")) == port;

		if (!same || !str_eq(json_string_value(json_object_get(o, "right")), right))
			continue;
		found = true;
		(void)json_object_set_new(o, "seen_by", json_string("supervisor and kernel"));
	}
	return found;
}

int violations_add_audit(struct violations *v, const char *right, const char *path, uint16_t port, const char *object)
{
	AUTO_BUF struct buf escaped = {0};
	AUTO_BUF struct buf key = {0};
	AUTO_BUF struct buf line = {0};
	json_t *o;

	if (path != NULL && (buf_add_escaped(&escaped, path, strlen(path), false) != 0 || buf_str(&escaped) == NULL))
		return -ENOMEM;
	if (confirm(v, right, path != NULL ? escaped.data : NULL, port))
		return 0;
	if (buf_addf(&key, "kernel %s %s", right, object) != 0 || buf_str(&key) == NULL ||
	    buf_addf(&line, "refused: %s: %s not granted (the kernel's record)", path != NULL ? escaped.data : object, right) != 0 ||
	    buf_str(&line) == NULL)
		return -ENOMEM;
	if (!is_new(v, key.data))
		return 0;
	o = json_pack("{s:s, s:s, s:s, s:o}", "kind", path != NULL ? "path" : port != 0 ? "port" : "scope", "right", right, "seen_by",
	              "kernel", "object", safe(object));
	if (o != NULL && path != NULL && json_object_set_new(o, "on", json_string(escaped.data)) != 0) {
		json_decref(o);
		o = NULL;
	}
	if (o != NULL && path == NULL && port != 0 && json_object_set_new(o, "port", json_integer(port)) != 0) {
		json_decref(o);
		o = NULL;
	}
	return add(v, key.data, line.data, o, false);
}

json_t *violations_json(const struct violations *v)
{
	json_t *all = json_array();

	for (size_t i = 0; all != NULL && i < v->n; i++) {
		json_t *one = json_copy(v->v[i].json);

		if (one == NULL || json_object_set_new(one, "count", json_integer((json_int_t)v->v[i].count)) != 0 ||
		    json_object_set_new(one, "usual", json_boolean(v->v[i].usual)) != 0 || json_array_append_new(all, one) != 0) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

void violations_say_counts(const struct violations *v)
{
	unsigned int said = 0;

	for (size_t i = 0; i < v->n && v->tell != NULL && said < VIOLATIONS_SAID; i++) {
		const struct violation *one = &v->v[i];
		AUTO_BUF struct buf line = {0};

		if (one->usual || one->line[0] == '\0' || one->count < 2)
			continue;
		said++;
		if (buf_addf(&line, "%s: %llu times", one->line, (unsigned long long)one->count) == 0 && buf_str(&line) != NULL)
			v->tell(v->cookie, line.data);
	}
}
