/* The kernel's records of what Landlock refused, as Linux 6.18 wrote them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "orchestrator/audit.h"

#define ACCESS 1423u
#define DOMAIN 1424u
#define GUARD 24457
#define STAMP "audit(1796276027.815:213): "
#define OURS STAMP "domain=17b428e9d status=allocated mode=enforcing pid=24457 uid=0 exe=\"/usr/bin/stint-guard\" comm=\"stint-guard\""

static void take(struct audit *a, struct violations *v, unsigned int type, const char *text)
{
	assert_int_equal(audit_record(a, type, text, GUARD, v), 0);
}

static const char *word(const struct violations *v, size_t i, const char *key)
{
	const char *s = json_string_value(json_object_get(v->v[i].json, key));

	return s != NULL ? s : "";
}

/* The domain is named after the first record of it: what came before waits. */
static void test_paths_ports_and_scopes(void **state)
{
	struct audit a = {.fd = -1};
	struct violations v = {0};

	(void)state;
	take(&a, &v, ACCESS, STAMP "domain=17b428e9d blockers=fs.read_file path=\"/srv/secret\" dev=\"vda\" ino=2719747");
	assert_int_equal(v.n, 0);
	take(&a, &v, DOMAIN, OURS);
	assert_int_equal(v.n, 1);
	take(&a, &v, ACCESS, STAMP "domain=17b428e9d blockers=fs.write_file,fs.truncate path=2F7372762F6120622F63 dev=\"vda\" ino=3");
	take(&a, &v, ACCESS, STAMP "domain=17b428e9d blockers=net.connect_tcp daddr=127.0.0.1 dest=22");
	take(&a, &v, ACCESS, STAMP "domain=17b428e9d blockers=scope.signal opid=1 ocomm=\"init\"");
	take(&a, &v, ACCESS, STAMP "domain=17b428e9d blockers=fs.read_file path=2F781B5B324A dev=\"vda\" ino=4");
	assert_int_equal(v.n, 6);
	assert_string_equal(word(&v, 5, "on"), "/x\\x1b[2J");
	assert_null(strchr(v.v[5].line, '\033'));
	assert_string_equal(word(&v, 0, "right"), "fs.read_file");
	assert_string_equal(word(&v, 0, "on"), "/srv/secret");
	assert_string_equal(word(&v, 1, "on"), "/srv/a b/c");
	assert_string_equal(word(&v, 2, "right"), "fs.truncate");
	assert_string_equal(word(&v, 3, "kind"), "port");
	assert_int_equal(json_integer_value(json_object_get(v.v[3].json, "port")), 22);
	assert_string_equal(word(&v, 4, "kind"), "scope");
	assert_string_equal(word(&v, 4, "object"), "opid=1 ocomm=\"init\"");
	violations_done(&v);
	audit_close(&a);
}

/* Another sandbox's, another process's, and one that the command made for itself. */
static void test_other_domains_are_not_ours(void **state)
{
	struct audit a = {.fd = -1};
	struct violations v = {0};

	(void)state;
	take(&a, &v, ACCESS, STAMP "domain=2 blockers=fs.read_file path=\"/other\" dev=\"vda\" ino=1");
	take(&a, &v, DOMAIN, STAMP "domain=2 status=allocated mode=enforcing pid=24458 uid=0 exe=\"/x\" comm=\"stint-guard\"");
	take(&a, &v, DOMAIN, STAMP "domain=3 status=allocated mode=enforcing pid=24457 uid=0 exe=\"/x\" comm=\"python3\"");
	take(&a, &v, ACCESS, STAMP "domain=3 blockers=fs.read_file path=\"/own\" dev=\"vda\" ino=1");
	assert_int_equal(v.n, 0);
	take(&a, &v, DOMAIN, OURS);
	take(&a, &v, ACCESS, STAMP "domain=17b428e9d blockers=fs.read_dir path=\"/ours\" dev=\"vda\" ino=1");
	take(&a, &v, ACCESS, STAMP "domain=2 blockers=fs.read_file path=\"/other\" dev=\"vda\" ino=1");
	assert_int_equal(v.n, 1);
	assert_string_equal(word(&v, 0, "on"), "/ours");
	violations_done(&v);
	audit_close(&a);
}

static void test_records_that_are_cut_or_strange(void **state)
{
	static const char *const texts[] = {
		"", "domain=", "domain=17b428e9d", "domain=17b428e9d blockers=", "domain=17b428e9d blockers=fs.read_file path=2F7", "blockers=x",
		"domain=17b428e9d blockers=fs.read_file path=\"/open", "domain=17b428e9d path=\"/x\"", "domain=zz blockers=fs.read_file path=\"/x\"",
	};
	struct audit a = {.fd = -1};
	struct violations v = {0};

	(void)state;
	take(&a, &v, DOMAIN, OURS);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		take(&a, &v, ACCESS, texts[i]);
	for (size_t i = 0; i < v.n; i++)
		assert_true(str_starts(word(&v, i, "right"), "fs."));
	violations_done(&v);
	audit_close(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_ports_and_scopes),
		cmocka_unit_test(test_other_domains_are_not_ours),
		cmocka_unit_test(test_records_that_are_cut_or_strange),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
