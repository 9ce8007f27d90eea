/* Findings: what people and programs get to see of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "orchestrator/doctor_report.h"

/* Catches what is printed; the caller frees it. */
static char *printed(const struct doctor_report *r, bool json)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	if (json)
		assert_int_equal(doctor_print_json(r, f), 0);
	else
		doctor_print(r, f);
	(void)fclose(f);
	return text;
}

static void worst_finding_decides(void **state)
{
	struct doctor_report r = {0};

	(void)state;
	doctor_add(&r, DOCTOR_OK, "a", NULL, NULL, "fine");
	doctor_add(&r, DOCTOR_WARN, "b", "why", "do", "so so");
	assert_true(doctor_possible(&r));
	doctor_add(&r, DOCTOR_FAIL, "c", "why", "do", "bad");
	assert_false(doctor_possible(&r));
}

static void too_many_is_a_failure(void **state)
{
	struct doctor_report r = {0};

	(void)state;
	for (unsigned int i = 0; i < DOCTOR_MAX; i++)
		doctor_add(&r, DOCTOR_OK, "a", NULL, NULL, "%u", i);
	assert_true(doctor_possible(&r));
	doctor_add(&r, DOCTOR_OK, "a", NULL, NULL, "one more");
	assert_false(doctor_possible(&r));
}

static void lines(void **state)
{
	struct doctor_report r = {0};
	char *text;

	(void)state;
	doctor_add(&r, DOCTOR_OK, "a", "not shown", "not shown", "in\x1b[31m /tmp/%s", "x\ny");
	doctor_add(&r, DOCTOR_WARN, "longer", "because", "this", "odd");
	text = printed(&r, false);
	assert_string_equal(text, "ok    a       in\\x1b[31m /tmp/x\\x0ay\n"
	                          "warn  longer  odd\n"
	                          "              why: because\n"
	                          "              do:  this\n"
	                          "\na run is possible here: 1 ok, 1 warned, 0 failed\n");
	free(text);
}

static void one_object(void **state)
{
	struct doctor_report r = {0};
	char *text;
	json_t *all;
	json_t *first;

	(void)state;
	doctor_add(&r, DOCTOR_FAIL, "a", "because", NULL, "bytes \xff\xfe");
	text = printed(&r, true);
	all = json_loads(text, 0, NULL);
	assert_non_null(all);
	assert_true(json_is_false(json_object_get(all, "possible")));
	first = json_array_get(json_object_get(all, "findings"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "id")), "a");
	assert_string_equal(json_string_value(json_object_get(first, "status")), "fail");
	assert_string_equal(json_string_value(json_object_get(first, "what")), "bytes \\xff\\xfe");
	assert_string_equal(json_string_value(json_object_get(first, "why")), "because");
	assert_true(json_is_null(json_object_get(first, "do")));
	json_decref(all);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worst_finding_decides),
		cmocka_unit_test(too_many_is_a_failure),
		cmocka_unit_test(lines),
		cmocka_unit_test(one_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
