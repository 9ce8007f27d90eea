/* The prompt put into the command's words, by whoever the command runs as: see guard.h. */
#include "sandbox/guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/policy.h"

#define PROMPT "{prompt}"
#define PROMPT_FILE "{prompt_file}"
#define WORD_MAX (128u << 10) /* MAX_ARG_STRLEN of the kernel with 4 KiB pages, the NUL included */
#define REMEDY "use stdin or {prompt_file}"

/* What a placeholder stands for; NULL text leaves it as it is. */
struct value {
	const char *name;
	const char *text;
};

static bool wanted(char *const *words, const char *name)
{
	for (; *words != NULL; words++)
		if (strstr(*words, name) != NULL)
			return true;
	return false;
}

/* Reads the prompt from its start wherever the shared offset stands; a pipe is read as it comes. */
static int read_prompt(int fd, struct buf *ret, struct err *e)
{
	char chunk[4096];

	for (;;) {
		ssize_t n = pread(fd, chunk, sizeof(chunk), (off_t)ret->len);

		if (n < 0 && errno == ESPIPE)
			n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, errno, "cannot read the prompt");
		if (n == 0)
			return 0;
		if (memchr(chunk, '\0', (size_t)n) != NULL)
			return err_set(e, EINVAL, "the prompt holds a NUL byte, which no argument can: " REMEDY);
		if (buf_add(ret, chunk, (size_t)n) != 0)
			return err_errno(e, ENOMEM, "cannot read the prompt");
		if (ret->len > POLICY_PROMPT_MAX)
			return err_set(e, E2BIG, "the prompt is longer than %u KiB, which does not fit in an argument: " REMEDY,
			               POLICY_PROMPT_MAX >> 10);
	}
}

/* The placeholder that p begins with and that has a value, or NULL. */
static const struct value *at(const char *p, const struct value *values)
{
	for (; values->name != NULL; values++)
		if (values->text != NULL && str_starts(p, values->name))
			return values;
	return NULL;
}

static int expand_word(const char *word, const struct value *values, char **ret, struct err *e)
{
	AUTO_BUF struct buf b = {0};
	const char *p = word;

	while (*p != '\0') {
		const struct value *v = at(p, values);
		int rc = v != NULL ? buf_add(&b, v->text, strlen(v->text)) : buf_add(&b, p, 1);

		if (rc != 0)
			return err_errno(e, ENOMEM, "cannot put the prompt into the command");
		if (b.len >= WORD_MAX)
			return err_set(e, E2BIG, "a word of the command is longer than the kernel takes: " REMEDY);
		p += v != NULL ? strlen(v->name) : 1;
	}
	if (buf_str(&b) == NULL)
		return err_errno(e, ENOMEM, "cannot put the prompt into the command");
	*ret = b.data;
	b = (struct buf){0};
	return 0;
}

static int expand_all(char **words, size_t n, const struct value *values, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		bool has = strstr(words[i], PROMPT) != NULL || strstr(words[i], PROMPT_FILE) != NULL;
		int rc = has ? expand_word(words[i], values, &words[i], e) : 0;

		if (rc != 0)
			return rc;
	}
	return 0;
}

int guard_expand(const struct guard_options *o, char ***ret, struct err *e)
{
	AUTO_BUF struct buf prompt = {0};
	struct value values[] = {{PROMPT, NULL}, {PROMPT_FILE, o->prompt_file}, {NULL, NULL}};
	char **words;
	size_t n = 0;
	int rc;

	while (o->command[n] != NULL)
		n++;
	words = calloc(n + 1, sizeof(*words));
	if (words == NULL)
		return err_errno(e, ENOMEM, "cannot copy the command");
	memcpy(words, o->command, n * sizeof(*words));
	if (o->prompt_fd >= 0 && wanted(words, PROMPT)) {
		rc = read_prompt(o->prompt_fd, &prompt, e);
		values[0].text = rc == 0 ? buf_str(&prompt) : NULL;
		if (rc == 0 && values[0].text == NULL)
			rc = err_errno(e, ENOMEM, "cannot keep the prompt");
	} else {
		rc = 0;
	}
	if (rc == 0)
		rc = expand_all(words, n, values, e);
	if (rc != 0) {
		free(words);
		return rc;
	}
	*ret = words;
	return 0;
}
