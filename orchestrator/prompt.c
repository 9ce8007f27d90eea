/* Prompts: see prompt.h. */
#include "orchestrator/prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "roles/prompts.h"

static int template_of(const struct config_role *role, int root_fd, struct buf *ret, struct err *e)
{
	AUTO_FREE char *bytes = NULL;
	AUTO_FD fd = -1;
	size_t n = 0;
	const char *builtin;
	int rc;

	if (role->prompt == NULL) {
		builtin = prompts_builtin(role->name, &n);
		if (builtin == NULL)
			return err_stop(e, STOP_USAGE, err_set(e, ENOENT, "role %s has no built-in prompt: give it one with `prompt: FILE` in "
			                                       "stint.yaml", role->name));
		return buf_add(ret, builtin, n) == 0 ? 0 : err_errno(e, ENOMEM, "prompt");
	}
	fd = fd_open_beneath(root_fd, role->prompt, O_RDONLY, 0, false);
	if (fd < 0)
		return err_stop(e, STOP_USAGE, err_errno(e, -fd, "cannot open the prompt of %s, %s", role->name, role->prompt));
	rc = fd_read_all(fd, PROMPT_TEMPLATE_MAX, &bytes, &n);
	if (rc == 0)
		rc = buf_add(ret, bytes, n);
	return rc == 0 ? 0 : err_stop(e, STOP_USAGE, err_errno(e, -rc, "cannot read the prompt of %s, %s", role->name, role->prompt));
}

/* The role's rows of the table, in words. */
static int add_table(const struct config *c, unsigned int role, struct buf *b)
{
	static const char *const words[] = {
		[LEVEL_NONE] = "closed",
		[LEVEL_R] = "read",
		[LEVEL_RW] = "read and write",
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < c->n_access; i++) {
		const struct config_access *a = &c->access[i];

		if (str_eq(a->path, "*"))
			rc = buf_addf(b, "- everything else in the project's root: %s\n", words[a->level[role]]);
		else
			rc = buf_addf(b, "- `%s%s`: %s\n", a->path, a->is_dir ? "/" : "", words[a->level[role]]);
	}
	if (rc == 0)
		rc = buf_addf(b, "- `.git/` and `.stint/`: closed");
	return rc;
}

static int add_spec_hint(int root_fd, struct buf *b)
{
	static const char *const names[] = {"SPEC.md", "SPECIFICATION.md", "docs/SPEC.md"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (faccessat(root_fd, names[i], R_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return buf_addf(b, "The specification is `%s`.", names[i]);
	return buf_addf(b, "The specification is the task's text and what the project's documents say.");
}

/* Bounded, so that a long review cannot make a prompt that fits into no argument. */
static int add_findings(const char *findings, struct buf *b)
{
	size_t n = findings == NULL ? 0 : strlen(findings);
	size_t cut = n;

	if (n == 0)
		return buf_addf(b, "None.");
	if (n > PROMPT_FINDINGS_MAX)
		for (cut = PROMPT_FINDINGS_MAX; cut > 0 && ((unsigned char)findings[cut] & 0xc0) == 0x80; cut--)
			;
	if (buf_add(b, findings, cut) != 0)
		return -ENOMEM;
	return cut == n ? 0 : buf_addf(b, "\n\n(%zu more bytes of findings are left out: fix these first.)", n - cut);
}

static int add_value(const struct config *c, unsigned int role, int root_fd, const struct prompt_facts *f, const char *name,
                     size_t n, struct buf *b)
{
#define IS(word) (n == sizeof(word) - 1 && memcmp(name, word, n) == 0)
	if (IS("task"))
		return buf_add(b, f->task, f->task_len);
	if (IS("findings"))
		return add_findings(f->findings, b);
	if (IS("table"))
		return add_table(c, role, b);
	if (IS("iteration"))
		return buf_addf(b, "%u", f->iteration);
	if (IS("suite_result"))
		return buf_addf(b, "%s", f->suite_result == NULL ? "The suite has not run yet." : f->suite_result);
	if (IS("suite_log"))
		return f->suite_log == NULL ? 0 : buf_addf(b, "Its log is `%s` (read-only).", f->suite_log);
	if (IS("spec_hint"))
		return add_spec_hint(root_fd, b);
#undef IS
	return -ENOENT;
}

static int unknown_placeholder(const char *role, const char *open, size_t n, struct err *e)
{
	AUTO_BUF struct buf b = {0};
	const char *s = buf_add_escaped(&b, open, n < 64 ? n : 64, false) == 0 ? buf_str(&b) : NULL;

	return err_stop(e, STOP_USAGE, err_set(e, EINVAL, "the prompt of %s has an unknown placeholder %s: known are task, "
	                                       "findings, table, iteration, suite_result, suite_log, spec_hint", role,
	                                       s != NULL ? s : "?"));
}

int prompt_build(const struct config *c, unsigned int role, int root_fd, const struct prompt_facts *f, struct buf *ret,
                 struct err *e)
{
	AUTO_BUF struct buf text = {0};
	int rc = template_of(&c->role[role], root_fd, &text, e);
	const char *s = rc == 0 ? buf_str(&text) : NULL;
	const char *open;

	if (rc != 0)
		return rc;
	if (s == NULL)
		return err_errno(e, ENOMEM, "prompt");
	for (; rc == 0 && (open = strstr(s, "{{")) != NULL;) {
		const char *close = strstr(open, "}}");

		if (close == NULL)
			break;
		rc = buf_add(ret, s, (size_t)(open - s));
		if (rc == 0)
			rc = add_value(c, role, root_fd, f, open + 2, (size_t)(close - open) - 2, ret);
		if (rc == -ENOENT)
			return unknown_placeholder(c->role[role].name, open, (size_t)(close - open) + 2, e);
		s = close + 2;
	}
	if (rc == 0)
		rc = buf_add(ret, s, strlen(s));
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot make the prompt of %s", c->role[role].name);
}
