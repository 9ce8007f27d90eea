/* libstint: loading profiles. A built-in is a name; a file is compiled by stint-coordinator, which stint-guard asks, once without
 * and once with inet sockets, and the bytes are kept. See stint.h. */
#include "sandbox/stint_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/filter_file.h"
#include "sandbox/seccomp.h"

#define MESSAGE_MAX 65536u
#define NAMES_MAX 64u

/* Is this what --print-profile prints? */
static bool is_compiled(const struct stint_compiled *c)
{
	struct filter_file head;

	if (c->n < sizeof(head))
		return false;
	memcpy(&head, c->bytes, sizeof(head));
	return head.magic == FILTER_FILE_MAGIC && c->n == sizeof(head) + (size_t)head.n * 8;
}

static bool has_sockets(const struct stint_compiled *c)
{
	struct filter_file head;

	memcpy(&head, c->bytes, sizeof(head));
	return head.sockets != 0;
}

static int no_such(const char *word, struct err *e)
{
	const char *names[NAMES_MAX + 1];
	const char *near;
	size_t n = 0;

	for (const struct filter *f = filter_data; f->name != NULL && n < NAMES_MAX; f++)
		names[n++] = f->name;
	names[n] = NULL;
	near = str_nearest(word, names);
	return err_set(e, EINVAL, "%s: there is no such profile: %s%s%s", word, near != NULL ? "did you mean " : "",
	               near != NULL ? near : "stint profile list names them; a file has a / or . in its name", near != NULL ? "?" : "");
}

/* ---- compiling */

static int rewind_and_read(int fd, size_t max, struct stint_compiled *ret)
{
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : fd_read_all(fd, max, &ret->bytes, &ret->n);
}

/* What the programs say is for people at a terminal: their name in front goes. */
static int said(int fd, const char *word, struct err *e)
{
	AUTO_BUF struct buf safe = {0};
	struct stint_compiled text = {NULL, 0};
	const char *line;
	int rc = rewind_and_read(fd, MESSAGE_MAX, &text);

	if (rc != 0)
		return err_errno(e, -rc, "cannot compile profile %s", word);
	line = str_starts(text.bytes, "stint: ") ? text.bytes + 7 : text.bytes;
	rc = buf_add_escaped(&safe, line, strcspn(line, "\n"), false);
	free(text.bytes);
	if (rc != 0 || safe.len == 0)
		return err_set(e, EINVAL, "cannot compile profile %s: stint-guard does not say why", word);
	return err_set(e, EINVAL, "%s", buf_str(&safe));
}

static int compile(const char *path, const char *word, bool sockets, struct stint_compiled *ret, struct err *e)
{
	const char *words[] = {"stint-guard", "--profile", word, "--print-profile", sockets ? "--net-unrestricted" : NULL, NULL};
	AUTO_FD in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	AUTO_FD out = memfd_create("profile", MFD_CLOEXEC);
	AUTO_FD err = memfd_create("errors", MFD_CLOEXEC);
	struct stint_start s = {.path = path, .words = (char *const *)(uintptr_t)words, .fds = {in, out, err, -1, -1, -1}};
	struct stint_compiled c = {NULL, 0};
	pid_t pid;
	int rc;

	if (in < 0 || out < 0 || err < 0)
		return err_errno(e, errno, "cannot compile profile %s", word);
	rc = stint_start(&s, &pid, e);
	if (rc != 0)
		return rc;
	(void)stint_reap(pid); /* may be anybody's: the output is judged */
	rc = rewind_and_read(out, FILTER_FILE_MAX, &c);
	if (rc == 0 && is_compiled(&c)) {
		*ret = c;
		return 0;
	}
	free(c.bytes);
	return said(err, word, e);
}

/* ---- loading */

/* Something that --print-profile printed before is taken as it is; *ret_found says so. */
static int read_compiled(const char *word, struct stint_compiled *ret, bool *ret_found, struct err *e)
{
	struct stint_compiled c = {NULL, 0};
	uint32_t magic = 0;
	AUTO_FD fd = open(word, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc;

	if (fd < 0)
		return err_errno(e, errno, "cannot read profile %s", word);
	if (pread(fd, &magic, sizeof(magic), 0) != (ssize_t)sizeof(magic) || magic != FILTER_FILE_MAGIC)
		return 0;
	rc = fd_read_all(fd, FILTER_FILE_MAX, &c.bytes, &c.n);
	if (rc != 0)
		return err_errno(e, -rc, "cannot read profile %s", word);
	if (!is_compiled(&c)) {
		free(c.bytes);
		return err_set(e, EINVAL, "%s: the compiled profile is damaged: compile it again", word);
	}
	*ret = c;
	*ret_found = true;
	return 0;
}

static int load_file(struct stint_profile *p, const char *word, const char *programs, struct err *e)
{
	struct stint_compiled c = {NULL, 0};
	char path[PATH_MAX];
	bool found = false;
	int rc = read_compiled(word, &c, &found, e);

	if (rc == 0 && found) {
		*(has_sockets(&c) ? &p->sockets : &p->plain) = c;
		return 0;
	}
	if (rc == 0)
		rc = stint_guard_path(programs, path, e);
	if (rc == 0)
		rc = compile(path, word, false, &p->plain, e);
	return rc == 0 ? compile(path, word, true, &p->sockets, e) : rc;
}

static int load(struct stint_profile *p, const char *word, const char *programs, struct err *e)
{
	p->name = strdup(word);
	if (p->name == NULL)
		return err_errno(e, ENOMEM, "cannot load profile %s", word);
	if (strpbrk(word, "/.") != NULL)
		return load_file(p, word, programs, e);
	p->builtin = true;
	return filter_find(word, true) != NULL ? 0 : no_such(word, e);
}

int stint_profile_load(struct stint_profile **ret, const char *word, const char *programs, struct stint_error *error)
{
	struct stint_profile *p = calloc(1, sizeof(*p));
	struct err e = {0};
	int rc;

	if (p != NULL)
		atomic_init(&p->holders, 1);
	rc = p != NULL && word != NULL ? load(p, word, programs, &e)
	                               : err_errno(&e, word != NULL ? ENOMEM : EINVAL, "cannot load a profile");
	if (rc == 0)
		*ret = p;
	else
		stint_profile_free(p);
	return stint_fail(error, &e, rc);
}

const char *stint_profile_name(const struct stint_profile *p)
{
	return p->name;
}

void stint_profile_free(struct stint_profile *p)
{
	if (p == NULL || atomic_fetch_sub(&p->holders, 1) > 1)
		return;
	free(p->name);
	free(p->plain.bytes);
	free(p->sockets.bytes);
	free(p);
}

int stint_profile_fd(const struct stint_profile *p, bool net, int *ret, struct err *e)
{
	/* With sockets and no port: Landlock holds them. Without sockets and with ports: nothing would work, and nobody would know. */
	const struct stint_compiled *c = net || p->plain.bytes == NULL ? &p->sockets : &p->plain;
	int fd;

	if (p->builtin) {
		*ret = -1;
		return 0;
	}
	if (c->bytes == NULL)
		return err_set(e, EINVAL, "%s was compiled for policies without ports: compile it with a port, or load the YAML file",
		               p->name);
	fd = fd_sealed_memfd("profile", c->bytes, c->n);
	if (fd < 0)
		return err_errno(e, -fd, "cannot hand profile %s over", p->name);
	*ret = fd;
	return 0;
}
