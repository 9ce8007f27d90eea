/* Rules with arguments: see profile_rule.h. */
#include "orchestrator/profile_rule.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/str.h"
#include "orchestrator/profile_file.h"

/* Values by name, so that a profile need not say 0x5412. HERE: another value on other architectures. */
#define SAME(name) {#name, name, false}
#define HERE(name) {#name, name, true}
static const struct constant {
	const char *name;
	uint64_t value;
	bool here;
} constants[] = {
	SAME(AF_UNIX), SAME(AF_INET), SAME(AF_INET6), SAME(AF_NETLINK), SAME(AF_PACKET), SAME(AF_VSOCK), SAME(AF_ALG),
	SAME(SOCK_STREAM), SAME(SOCK_DGRAM), SAME(SOCK_RAW), SAME(O_RDONLY), SAME(O_WRONLY), SAME(O_RDWR), SAME(O_ACCMODE),
	SAME(O_CREAT), SAME(O_TRUNC), SAME(O_APPEND), HERE(O_DIRECTORY), SAME(O_PATH), HERE(O_TMPFILE), SAME(PROT_EXEC),
	SAME(PROT_WRITE), SAME(MAP_SHARED), SAME(MAP_ANONYMOUS), SAME(CLONE_THREAD), SAME(CLONE_NEWUSER), SAME(CLONE_NEWNS),
	SAME(CLONE_NEWPID), SAME(CLONE_NEWNET), SAME(CLONE_NEWIPC), SAME(CLONE_NEWUTS), SAME(TIOCSTI),
	{"TIOCLINUX", 0x541c, false}, SAME(TCGETS), SAME(TIOCGWINSZ), SAME(TIOCSETD), SAME(FIONREAD), SAME(FIONBIO),
	SAME(FIOCLEX),
};
#define N_CONSTANTS (sizeof(constants) / sizeof(constants[0]))

struct rule {
	struct yaml_file *y;
	struct profile_row *row;
	struct profile_cond cond;
	yaml_node_t *call;
	bool deny;
	bool has_arg, has_value, has_mask;
};

static int number(struct rule *r, yaml_node_t *v, const char *what, uint64_t *ret, struct err *e)
{
	struct yaml_file *y = r->y;
	const char *names[N_CONSTANTS + 1];
	const char *word = yaml_word(v);
	char shown[YAML_SHOWN];
	const char *near;
	char *end;

	if (word == NULL)
		return yaml_fail(y, v, e, "%s: a number or a constant is needed, not %s", what, yaml_shown(v, shown));
	for (size_t i = 0; i < N_CONSTANTS; i++) {
		names[i] = constants[i].name;
		if (!str_eq(names[i], word))
			continue;
		*ret = constants[i].value;
		r->cond.here = r->cond.here || constants[i].here;
		return 0;
	}
	names[N_CONSTANTS] = NULL;
	errno = 0;
	*ret = strtoull(word, &end, 0);
	if (word[0] >= '0' && word[0] <= '9' && errno == 0 && *end == '\0')
		return 0;
	near = str_nearest(word, names);
	return yaml_fail(y, v, e, "%s: %s is no number%s%s%s", what, yaml_shown(v, shown), near != NULL ? ": did you mean " :
	                 " from 0 on: write it as 12 or 0xc", near != NULL ? near : "", near != NULL ? "?" : "");
}

static int cond_pair(void *cookie, yaml_node_t *key, yaml_node_t *value, struct err *e)
{
	static const char *const names[] = {"arg", "is", "mask", "bits", NULL};
	struct rule *r = cookie;
	uint64_t n = 0;
	int rc;

	if (str_eq(yaml_word(key), "arg")) {
		rc = number(r, value, "arg", &n, e);
		if (rc == 0 && n >= PROFILE_CONDS)
			return yaml_fail(r->y, value, e, "arg: a call has the arguments 0 to %d", PROFILE_CONDS - 1);
		r->cond.arg = (uint8_t)n;
		r->has_arg = true;
		return rc;
	}
	if (str_eq(yaml_word(key), "is")) {
		r->has_value = true;
		return number(r, value, "is", &r->cond.value, e);
	}
	if (str_eq(yaml_word(key), "mask")) {
		r->has_mask = true;
		return number(r, value, "mask", &r->cond.mask, e);
	}
	if (!str_eq(yaml_word(key), "bits"))
		return yaml_fail_word(r->y, key, "key in a condition", names, e);
	rc = number(r, value, "bits", &n, e);
	if (rc == 0 && n != 32 && n != 64)
		return yaml_fail(r->y, value, e, "bits: 32 (what the kernel looks at of an int) or 64");
	r->cond.wide = n == 64;
	return rc;
}

static int condition(void *cookie, yaml_node_t *item, struct err *e)
{
	struct rule *r = cookie;
	int rc;

	r->cond = (struct profile_cond){0};
	r->has_arg = r->has_value = r->has_mask = false;
	if (r->row->n_cond == PROFILE_CONDS)
		return yaml_fail(r->y, item, e, "more than %d conditions: a call has no more arguments", PROFILE_CONDS);
	rc = yaml_each_pair(r->y, item, "a condition", cond_pair, r, e);
	if (rc != 0)
		return rc;
	if (!r->has_arg || !r->has_value)
		return yaml_fail(r->y, item, e, "a condition is {arg: N, is: VALUE}, with mask: or bits: 64 where needed");
	if (!r->has_mask)
		r->cond.mask = UINT64_MAX;
	if (!r->cond.wide && (r->cond.value > UINT32_MAX || (r->has_mask && r->cond.mask > UINT32_MAX)))
		return yaml_fail(r->y, item, e, "a value of more than 32 bits: add bits: 64");
	if ((r->cond.value & ~r->cond.mask) != 0)
		return yaml_fail(r->y, item, e, "this never holds: `is` has bits outside of `mask`");
	for (unsigned int i = 0; i < r->row->n_cond; i++)
		if (r->row->cond[i].arg == r->cond.arg)
			return yaml_fail(r->y, item, e, "argument %d twice: put the bits into one mask, or write two entries", r->cond.arg);
	r->row->cond[r->row->n_cond++] = r->cond;
	return 0;
}

static int rule_pair(void *cookie, yaml_node_t *key, yaml_node_t *value, struct err *e)
{
	static const char *const names[] = {"call", "if", "errno", NULL};
	struct rule *r = cookie;

	if (str_eq(yaml_word(key), "call")) {
		r->call = value;
		return 0;
	}
	if (str_eq(yaml_word(key), "if"))
		return value->type == YAML_MAPPING_NODE ? condition(r, value, e) :
		       yaml_each_item(r->y, value, "if", condition, r, e);
	if (!str_eq(yaml_word(key), "errno"))
		return yaml_fail_word(r->y, key, "key in an entry", names, e);
	if (!r->deny)
		return yaml_fail(r->y, key, e, "errno belongs to an entry of deny");
	return profile_action_parse(r->y, value, "errno", &r->row->action, &r->row->error, e);
}

int profile_rule_parse(struct yaml_file *y, yaml_node_t *map, bool deny, struct profile_row *row, yaml_node_t **ret_call,
                       struct err *e)
{
	struct rule r = {.y = y, .row = row, .deny = deny};
	int rc = yaml_each_pair(y, map, "an entry", rule_pair, &r, e);

	if (rc == 0 && r.call == NULL)
		rc = yaml_fail(y, map, e, "an entry without call: write {call: NAME, if: [...]}");
	if (rc == 0)
		*ret_call = r.call;
	return rc;
}

int profile_action_parse(struct yaml_file *y, yaml_node_t *v, const char *what, enum profile_action *ret, uint16_t *ret_error,
                         struct err *e)
{
	const char *word = yaml_word(v);
	char shown[YAML_SHOWN];
	int error;

	if (word != NULL && (str_eq(word, "kill") || str_eq(word, "notify"))) {
		*ret = str_eq(word, "kill") ? PROFILE_KILL : PROFILE_NOTIFY;
		return 0;
	}
	if (word != NULL && str_starts(word, "errno "))
		word += strlen("errno ");
	else if (!str_eq(what, "errno"))
		word = NULL; /* "default: EPERM" leaves open what is meant */
	error = word != NULL ? profile_errno(word) : 0;
	if (error == 0)
		return yaml_fail(y, v, e, "%s: %s: it is %sNAME (such as EPERM), kill or notify", what, yaml_shown(v, shown),
		                 str_eq(what, "errno") ? "" : "errno ");
	*ret = PROFILE_ERRNO;
	*ret_error = (uint16_t)error;
	return 0;
}
