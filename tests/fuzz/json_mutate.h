/* A mutator that keeps JSON valid, so that what stands behind the parser is reached: it changes, drops, doubles or moves one
 * value of a document. Half of the time, and where there is no JSON, libFuzzer's own mutations of bytes. */
#ifndef STINT_TESTS_JSON_MUTATE_H
#define STINT_TESTS_JSON_MUTATE_H

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned int seed);

static inline unsigned int json_mutate_random(unsigned int *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 16;
}

static inline json_t *json_mutate_value(unsigned int *s)
{
	static const char *const words[] = {
		"", "pass", "open", "ended", "\x1b[2J", "\302\23331m", "2026-01-01T00:00:00Z", "9999999999-99-99T99:99:99", "rejected",
		"error", "stop", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80", "429", "try again in 99999999999 days", "line\nline",
	};
	static const json_int_t numbers[] = {0, 1, -1, 2, 429, 4294967296, INT64_MAX, INT64_MIN, 1767225601, 100000000001};
	char text[64];

	switch (json_mutate_random(s) % 8) {
	case 0: return json_null();
	case 1: return json_true();
	case 2: return json_array();
	case 3: return json_object();
	case 4: return json_integer(numbers[json_mutate_random(s) % (sizeof(numbers) / sizeof(numbers[0]))]);
	case 5: return json_real(1e300);
	case 6: memset(text, 'a' + (int)(json_mutate_random(s) % 26), sizeof(text)); return json_stringn(text, sizeof(text));
	default: return json_string(words[json_mutate_random(s) % (sizeof(words) / sizeof(words[0]))]);
	}
}

/* One step down at random; the child's place in *ret_key or *ret_index. */
static inline json_t *json_mutate_child(json_t *o, unsigned int *s, const char **ret_key, size_t *ret_index)
{
	size_t n = json_is_array(o) ? json_array_size(o) : json_object_size(o);
	void *it;

	if (n == 0)
		return NULL;
	*ret_index = json_mutate_random(s) % n;
	if (json_is_array(o))
		return json_array_get(o, *ret_index);
	it = json_object_iter(o);
	for (size_t i = 0; i < *ret_index; i++)
		it = json_object_iter_next(o, it);
	*ret_key = json_object_iter_key(it);
	return json_object_iter_value(it);
}

static inline void json_mutate_one(json_t *root, unsigned int *s)
{
	json_t *at = root;
	json_t *child = NULL;
	const char *key = NULL;
	size_t index = 0;

	for (;;) {
		child = json_mutate_child(at, s, &key, &index);
		if (child == NULL || (!json_is_array(child) && !json_is_object(child)) || json_mutate_random(s) % 5 == 0)
			break;
		at = child;
	}
	if (json_is_array(at)) {
		switch (json_mutate_random(s) % 4) {
		case 0: (void)json_array_append_new(at, json_mutate_value(s)); break;
		case 1: (void)json_array_remove(at, index); break;
		case 2: (void)json_array_append_new(at, json_deep_copy(child)); break;
		default: (void)json_array_set_new(at, index, json_mutate_value(s)); break;
		}
	} else if (key != NULL) {
		if (json_mutate_random(s) % 4 == 0)
			(void)json_object_del(at, key);
		else
			(void)json_object_set_new(at, key, json_mutate_value(s));
	}
}

/* One document in data[0..n), of at most max bytes after it. */
static inline size_t json_mutate(uint8_t *data, size_t n, size_t max, unsigned int seed)
{
	unsigned int s = seed;
	json_t *root = json_mutate_random(&s) % 2 == 0 ? json_loadb((const char *)data, n, 0, NULL) : NULL;
	char *text = NULL;
	size_t len = 0;

	if (root != NULL) {
		json_mutate_one(root, &s);
		text = json_dumps(root, JSON_COMPACT);
		json_decref(root);
	}
	if (text != NULL)
		len = strlen(text);
	if (len == 0 || len > max) {
		free(text);
		return LLVMFuzzerMutate(data, n, max);
	}
	memcpy(data, text, len);
	free(text);
	return len;
}

/* One of the lines is a document. */
static inline size_t json_mutate_lines(uint8_t *data, size_t n, size_t max, unsigned int seed)
{
	size_t start = n == 0 ? 0 : seed % n;
	size_t end = start;
	uint8_t *tail;
	size_t tail_n, len;

	while (start > 0 && data[start - 1] != '\n')
		start--;
	while (end < n && data[end] != '\n')
		end++;
	tail_n = n - end;
	tail = malloc(tail_n + 1);
	if (tail == NULL || end == start) {
		free(tail);
		return LLVMFuzzerMutate(data, n, max);
	}
	memcpy(tail, data + end, tail_n);
	len = json_mutate(data + start, end - start, max - start - tail_n, seed);
	memcpy(data + start + len, tail, tail_n);
	free(tail);
	return start + len + tail_n;
}

#endif
