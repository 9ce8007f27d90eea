/* Single values of stint.yaml: see config_value.h. */
#include "orchestrator/config_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "protocol/policy.h"

#define DURATION_MAX_MS (1000ull * 60 * 60 * 24 * 30)

static const struct {
	const char *name;
	uint64_t ms;
} time_units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

static const struct {
	const char *name;
	uint64_t bytes;
} size_units[] = {{"", 1}, {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40}};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

int strv_add(struct strv *v, const char *s)
{
	char **bigger = realloc(v->v, (v->n + 2) * sizeof(*bigger));
	char *copy = strdup(s);

	if (bigger != NULL)
		v->v = bigger;
	if (bigger == NULL || copy == NULL) {
		free(copy);
		return -ENOMEM;
	}
	v->v[v->n++] = copy;
	v->v[v->n] = NULL;
	return 0;
}

void strv_done(struct strv *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->v[i]);
	free(v->v);
	*v = (struct strv){0};
}

/* Decimal digits at *s, which moves behind them. */
static int take_number(const char **s, uint64_t *ret)
{
	uint64_t n = 0;
	const char *p = *s;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, 10u, &n) || __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return -ERANGE;
	*s = p;
	*ret = n;
	return 0;
}

int parse_duration(const char *s, uint64_t *ret_ms)
{
	uint64_t total = 0;
	size_t unit = 0;

	do {
		uint64_t n;
		size_t len;
		int rc = take_number(&s, &n);

		if (rc != 0)
			return rc;
		len = strcspn(s, "0123456789");
		while (unit < COUNT(time_units) &&
		       (strlen(time_units[unit].name) != len || strncmp(time_units[unit].name, s, len) != 0))
			unit++;
		if (unit == COUNT(time_units))
			return -EINVAL;
		if (__builtin_mul_overflow(n, time_units[unit].ms, &n) || __builtin_add_overflow(total, n, &total))
			return -ERANGE;
		unit++;
		s += len;
	} while (*s != '\0');
	if (total == 0 || total > DURATION_MAX_MS)
		return -ERANGE;
	*ret_ms = total;
	return 0;
}

int parse_size(const char *s, uint64_t *ret_bytes)
{
	uint64_t n;
	int rc = take_number(&s, &n);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < COUNT(size_units); i++) {
		if (!str_eq(size_units[i].name, s))
			continue;
		if (__builtin_mul_overflow(n, size_units[i].bytes, &n) || n > INT64_MAX)
			return -ERANGE;
		*ret_bytes = n;
		return 0;
	}
	return -EINVAL;
}

/* ---- nodes */

struct map_walk {
	struct reader *r;
	const char *what;
	const struct config_key *keys;
	size_t n;
	void *out;
};

static int map_pair(void *cookie, yaml_node_t *key, yaml_node_t *value, struct err *e)
{
	struct map_walk *w = cookie;
	const char *words[32] = {0};

	for (size_t i = 0; i < w->n && i + 1 < COUNT(words); i++) {
		if (str_eq(w->keys[i].name, yaml_word(key)))
			return w->keys[i].set(w->r, w->out, value, e);
		words[i] = w->keys[i].name;
	}
	return yaml_fail_word(w->r->y, key, w->what, words, e);
}

int config_map(struct reader *r, yaml_node_t *map, const char *what, const struct config_key *keys, size_t n, void *out,
               struct err *e)
{
	char key[64];
	struct map_walk w = {r, key, keys, n, out};

	(void)snprintf(key, sizeof(key), "key in %s", what);
	return yaml_each_pair(r->y, map, what, map_pair, &w, e);
}

/* The node's word, or an error that says what it is instead. */
static int need_word(struct reader *r, yaml_node_t *n, const char *what, const char *kind, const char **ret,
                     struct err *e)
{
	char shown[YAML_SHOWN];

	*ret = yaml_word(n);
	if (*ret != NULL)
		return 0;
	return yaml_fail(r->y, n, e, "%s must be %s, not %s", what, kind, yaml_is_null(n) ? "empty" : yaml_shown(n, shown));
}

/* C0, DEL, and C1 as UTF-8, which an escape in a quoted word can still bring in. */
static bool has_control(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f || (s[0] == '\xc2' && (unsigned char)s[1] < 0xa0))
			return true;
	return false;
}

int value_text(struct reader *r, yaml_node_t *n, const char *what, char **ret, struct err *e)
{
	const char *s;
	char *copy;
	int rc = need_word(r, n, what, "a word", &s, e);

	if (rc != 0)
		return rc;
	if (s[0] == '\0' || has_control(s))
		return yaml_fail(r->y, n, e, "%s must be one line of text", what);
	copy = strdup(s);
	if (copy == NULL)
		return err_errno(e, ENOMEM, "cannot read %s", r->c->file);
	free(*ret);
	*ret = copy;
	return 0;
}

int value_number(struct reader *r, yaml_node_t *n, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
                 struct err *e)
{
	char shown[YAML_SHOWN];
	const char *s;
	uint64_t v;
	int rc = need_word(r, n, what, "a number", &s, e);

	if (rc != 0)
		return rc;
	rc = take_number(&s, &v);
	if (rc == -EINVAL || (rc == 0 && *s != '\0'))
		return yaml_fail(r->y, n, e, "%s must be a number, not %s", what, yaml_shown(n, shown));
	if (rc != 0 || v < min || v > max)
		return yaml_fail(r->y, n, e, "%s: %s is out of range: %llu to %llu are possible", what, yaml_shown(n, shown),
		                 (unsigned long long)min, (unsigned long long)max);
	*ret = v;
	return 0;
}

int value_size(struct reader *r, yaml_node_t *n, const char *what, uint64_t min, uint64_t *ret, struct err *e)
{
	char shown[YAML_SHOWN];
	const char *s;
	uint64_t v;
	int rc = need_word(r, n, what, "a size", &s, e);

	if (rc != 0)
		return rc;
	rc = parse_size(s, &v);
	if (rc == -EINVAL)
		return yaml_fail(r->y, n, e, "%s: %s is no size: write bytes, or a number with KiB, MiB, GiB or TiB, as 4GiB",
		                 what, yaml_shown(n, shown));
	if (rc != 0 || v < min)
		return yaml_fail(r->y, n, e, "%s: %s is out of range: at least %llu bytes", what, yaml_shown(n, shown),
		                 (unsigned long long)min);
	*ret = v;
	return 0;
}

int value_duration(struct reader *r, yaml_node_t *n, const char *what, uint64_t *ret, struct err *e)
{
	char shown[YAML_SHOWN];
	const char *s;
	int rc = need_word(r, n, what, "a time", &s, e);

	if (rc != 0)
		return rc;
	rc = parse_duration(s, ret);
	if (rc == -EINVAL)
		return yaml_fail(r->y, n, e, "%s: %s is no time: write a number with ms, s, m, h or d, as 30m or 1h30m", what,
		                 yaml_shown(n, shown));
	if (rc != 0)
		return yaml_fail(r->y, n, e, "%s: %s is out of range: 1ms to 30d are possible", what, yaml_shown(n, shown));
	return 0;
}

int value_choice(struct reader *r, yaml_node_t *n, const char *what, const char *const *words, unsigned int *ret,
                 struct err *e)
{
	const char *s = yaml_word(n);

	for (unsigned int i = 0; s != NULL && words[i] != NULL; i++)
		if (str_eq(words[i], s)) {
			*ret = i;
			return 0;
		}
	return yaml_fail_word(r->y, n, what, words, e);
}

struct words_walk {
	struct reader *r;
	const char *what;
	value_check_fn *check;
	struct strv got;
};

static int words_item(void *cookie, yaml_node_t *item, struct err *e)
{
	struct words_walk *w = cookie;
	const char *s;
	int rc = need_word(w->r, item, w->what, "a list of words", &s, e);

	if (rc == 0 && w->got.n >= POLICY_MAX_LIST)
		return yaml_fail(w->r->y, item, e, "%s: more than %u words: shorten it", w->what, POLICY_MAX_LIST);
	if (rc == 0 && w->check != NULL)
		rc = w->check(w->r, &w->got, item, e);
	if (rc == 0 && strv_add(&w->got, s) != 0)
		rc = err_errno(e, ENOMEM, "cannot read %s", w->r->c->file);
	return rc;
}

int value_words(struct reader *r, yaml_node_t *n, const char *what, value_check_fn *check, struct strv *ret,
                struct err *e)
{
	struct words_walk w = {.r = r, .what = what, .check = check};
	int rc = yaml_each_item(r->y, n, what, words_item, &w, e);

	if (rc != 0) {
		strv_done(&w.got);
		return rc;
	}
	strv_done(ret);
	*ret = w.got;
	return 0;
}
