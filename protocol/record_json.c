/* JSON values of a record: every string is valid UTF-8 and bounded, whatever bytes it was made of. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "protocol/record_private.h"

void record_now(char ret[RECORD_TIME_MAX], bool millis)
{
	struct timespec now;
	struct tm tm;
	char day[RECORD_TIME_MAX];

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (gmtime_r(&now.tv_sec, &tm) == NULL || strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		day[0] = '\0';
	if (millis)
		(void)snprintf(ret, RECORD_TIME_MAX, "%.19s.%03dZ", day, (int)(now.tv_nsec / 1000000));
	else
		(void)snprintf(ret, RECORD_TIME_MAX, "%.19sZ", day);
}

json_t *record_str_n(const char *s, size_t n)
{
	AUTO_BUF struct buf b = {0};
	size_t ok = 0;
	size_t len;

	if (s == NULL)
		return json_null();
	if (n > RECORD_MAX_STRING)
		n = RECORD_MAX_STRING;
	while (ok < n && s[ok] != '\0' && (len = str_utf8_len(s + ok, n - ok)) > 0)
		ok += len;
	/* A sequence cut by the bound is dropped; anything else that stops the scan makes it bytes. */
	if (ok == n || (n == RECORD_MAX_STRING && n - ok < 4 && str_utf8_len(s + ok, strnlen(s + ok, 4)) > 0))
		return json_stringn(s, ok);
	if (buf_add_escaped(&b, s, n, false) != 0)
		return NULL;
	return json_stringn(b.data, b.len);
}

json_t *record_str(const char *s)
{
	return record_str_n(s, s == NULL ? 0 : strlen(s));
}

int record_put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value) == 0 ? 0 : -ENOMEM;
}

int record_list_add(json_t *list, json_t *value)
{
	json_t *kept = json_object_get(list, "list");
	json_int_t total = json_integer_value(json_object_get(list, "total"));

	if (json_array_size(kept) >= RECORD_MAX_LIST)
		json_decref(value);
	else if (json_array_append_new(kept, value) != 0)
		return -ENOMEM;
	return record_put(list, "total", json_integer(total + 1));
}

json_t *record_strv(const char *const *v)
{
	json_t *list = json_pack("{s:i, s:[]}", "total", 0, "list");
	int rc = list == NULL ? -ENOMEM : 0;

	for (; rc == 0 && v != NULL && *v != NULL; v++)
		rc = record_list_add(list, record_str(*v));
	if (rc != 0) {
		json_decref(list);
		return NULL;
	}
	return list;
}
