/* Trying a profile on one case: see check.h. */
#include "orchestrator/check.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "orchestrator/config_value.h"
#include "orchestrator/notify.h"
#include "sandbox/profiles.h"

#define X32 0x40000000
#define DEADLINE_MS 60000u
#define OUTPUT_MAX 65536u
#define LINE_SHOWN 120u
#define WALK_FDS 16
#define FOLDER_MAX (PATH_MAX + 16)
#define NO_PATH "/usr/local/bin:/usr/bin:/bin"

void check_call_name(const struct seccomp_data *d, char ret[CHECK_CALL_MAX])
{
	char name[PROFILE_CALL_MAX] = "";

	if (d->arch == NOTIFY_ARCH && d->nr < X32)
		profile_call_name(d->nr, name);
	if (name[0] != '\0')
		(void)snprintf(ret, CHECK_CALL_MAX, "%s", name);
	else if (d->arch == NOTIFY_ARCH)
		(void)snprintf(ret, CHECK_CALL_MAX, "call %d", d->nr);
	else
		(void)snprintf(ret, CHECK_CALL_MAX, "call %d of another architecture (0x%x)", d->nr, d->arch);
}

/* ---- the folder */

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	(void)remove(path); /* what cannot be removed stays, and its folders with it */
	return 0;
}

static void remove_tree(const char *path)
{
	(void)nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
}

static int make_folder(struct check *c, struct err *e)
{
	const char *base = getenv("TMPDIR");
	int n = snprintf(c->folder, sizeof(c->folder), "%s/stint-check.XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp");

	if (n < (int)sizeof(c->folder) && mkdtemp(c->folder) != NULL)
		return 0;
	c->folder[0] = '\0';
	return err_errno(e, errno, "cannot make a folder in %s", base != NULL ? base : "/tmp");
}

/* ---- begin */

static void add_name(struct check *c, const char *name)
{
	for (size_t i = 0; i < c->n_names; i++)
		if (str_eq(c->name[i], name))
			return;
	if (c->n_names < CHECK_NAMES)
		c->name[c->n_names++] = name;
}

/* The built-in profile that a row came with: its origin's first word. */
static const char *came_with(const struct profile_row *r)
{
	for (const struct profile_builtin *b = profile_builtins; b->name != NULL; b++) {
		size_t n = strlen(b->name);

		if (strncmp(r->from, b->name, n) == 0 && (r->from[n] == ' ' || r->from[n] == '\0'))
			return b->name;
	}
	return NULL;
}

int check_begin(struct check *ret, const struct profile *p, const struct profile *plain, struct err *e)
{
	struct check c = {.profile = p};
	int rc = profile_compile(plain, &c.program[0], e);

	if (rc == 0)
		rc = profile_compile(p, &c.program[1], e);
	if (rc == 0)
		rc = make_folder(&c, e);
	if (rc != 0) {
		check_done(&c);
		return rc;
	}
	add_name(&c, p->name);
	for (size_t i = 0; i < p->n; i++)
		if (came_with(&p->row[i]) != NULL)
			add_name(&c, came_with(&p->row[i]));
	c.name[c.n_names < CHECK_NAMES ? c.n_names++ : CHECK_NAMES - 1] = "";
	*ret = c;
	return 0;
}

void check_done(struct check *c)
{
	profile_program_done(&c->program[0]);
	profile_program_done(&c->program[1]);
	if (c->folder[0] != '\0')
		remove_tree(c->folder);
	c->folder[0] = '\0';
}

/* What a profile extends speaks for it, but where the file itself allows the call. */
static bool allows_itself(const struct check *c, const char *call)
{
	const struct profile_row *r;

	for (size_t i = 0; (r = profile_find(c->profile, call, i)) != NULL; i = (size_t)(r - c->profile->row) + 1)
		if (r->action == PROFILE_ALLOW && came_with(r) == NULL)
			return true;
	return false;
}

enum corpus_expect check_expects(const struct check *c, const struct corpus_case *k, const char **ret_call)
{
	for (size_t i = 0; i < c->n_names; i++) {
		enum corpus_expect x = corpus_expects(k, c->name[i], ret_call);

		if (x == CORPUS_STOPPED && i > 0 && c->name[i][0] != '\0' && allows_itself(c, *ret_call))
			continue;
		if (x != CORPUS_NOT_MEANT)
			return x;
	}
	return CORPUS_NOT_MEANT;
}

/* ---- one run */

struct trial {
	struct check *c;
	const struct corpus_case *k;
	char path[PATH_MAX];        /* of the program */
	char made[FOLDER_MAX];      /* a folder as `before` leaves it, "" until it ran */
};

static void forget_made(struct trial *t)
{
	if (t->made[0] != '\0')
		remove_tree(t->made);
	t->made[0] = '\0';
}

/* A program's path as the shell finds it; names with a slash are as they are. */
static bool find_program(const char *name, char ret[PATH_MAX])
{
	const char *path = getenv("PATH");

	if (strchr(name, '/') != NULL)
		return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX;
	for (const char *p = path != NULL ? path : NO_PATH; *p != '\0';) {
		size_t n = strcspn(p, ":");
		struct stat st;

		if (n > 0 && snprintf(ret, PATH_MAX, "%.*s/%s", (int)n, p, name) < PATH_MAX && access(ret, X_OK) == 0 &&
		    stat(ret, &st) == 0 && S_ISREG(st.st_mode))
			return true;
		p += n + (p[n] == ':' ? 1 : 0);
	}
	return false;
}

/* A known environment, so that results can be compared; programs are those that the caller would run. */
static int environment(const char *dir, struct strv *ret)
{
	static const char *const fixed[] = {"LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1"};
	const char *path = getenv("PATH");
	const char *const own[][2] = {{"PATH", path != NULL ? path : NO_PATH}, {"HOME", dir}, {"TMPDIR", dir}};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(own) / sizeof(own[0]); i++) {
		AUTO_BUF struct buf b = {0};

		rc = buf_addf(&b, "%s=%s", own[i][0], own[i][1]);
		if (rc == 0)
			rc = buf_str(&b) != NULL ? strv_add(ret, buf_str(&b)) : -ENOMEM;
	}
	for (size_t i = 0; rc == 0 && i < sizeof(fixed) / sizeof(fixed[0]); i++)
		rc = strv_add(ret, fixed[i]);
	return rc;
}

/* What a run wrote on both streams; NULL where it was too much to look at. */
struct output {
	char *out;
	char *err;
};

static void output_done(struct output *o)
{
	free(o->out);
	free(o->err);
}

static int read_back(int fd, char **ret)
{
	size_t n = 0;
	int rc = lseek(fd, 0, SEEK_SET) == 0 ? fd_read_all(fd, OUTPUT_MAX, ret, &n) : -errno;

	return rc == -EFBIG ? 0 : rc;
}

static int run_in(struct trial *t, const char *dir, struct check_run *r, const char *input, struct check_ran *ret,
                  struct output *ret_output, struct err *e)
{
	AUTO_FD in = memfd_create("input", MFD_CLOEXEC);
	AUTO_FD out = memfd_create("output", MFD_CLOEXEC);
	AUTO_FD err = memfd_create("errors", MFD_CLOEXEC);
	size_t n = input != NULL ? strlen(input) : 0;
	int rc;

	if (in < 0 || out < 0 || err < 0 || fd_write_all(in, input, n) != 0 || lseek(in, 0, SEEK_SET) != 0)
		return err_errno(e, errno, "cannot run %s", t->k->name);
	r->dir = dir;
	r->in_fd = in;
	r->out_fd = out;
	r->err_fd = err;
	r->deadline_ms = DEADLINE_MS;
	rc = check_run(r, ret, e);
	if (rc != 0)
		return rc;
	rc = read_back(out, &ret_output->out);
	if (rc == 0)
		rc = read_back(err, &ret_output->err);
	return rc == 0 ? 0 : err_errno(e, -rc, "cannot read what %s printed", t->k->name);
}

static bool prints_it(const char *out, const char *want)
{
	size_t n = out != NULL ? strlen(out) : 0;
	size_t m = strlen(want);

	while (n > 0 && out[n - 1] == '\n')
		n--;
	while (m > 0 && want[m - 1] == '\n')
		m--;
	return out != NULL && n == m && memcmp(out, want, n) == 0;
}

/* The last line of a text, safe to print: of a traceback it says most. */
static void add_last_line(struct buf *b, const char *text)
{
	size_t end = text != NULL ? strlen(text) : 0;
	size_t begin;

	while (end > 0 && text[end - 1] == '\n')
		end--;
	for (begin = end; begin > 0 && text[begin - 1] != '\n';)
		begin--;
	if (end - begin > LINE_SHOWN)
		end = begin + str_cut(text + begin, LINE_SHOWN);
	if (end > begin && (buf_addf(b, ": ") != 0 || buf_add_escaped(b, text + begin, end - begin, false) != 0))
		buf_done(b); /* without memory without the line */
}

/* Says how a run ended that did not pass; "" when it did. */
static void ending(const struct trial *t, const struct check_ran *r, const struct output *o, char *ret, size_t size)
{
	bool printed = t->k->prints == NULL || prints_it(o->out, t->k->prints);
	AUTO_BUF struct buf line = {0};
	const char *said;

	add_last_line(&line, o->err != NULL && o->err[0] != '\0' ? o->err : o->out);
	said = buf_str(&line) != NULL ? buf_str(&line) : "";
	ret[0] = '\0';
	if (r->error != 0)
		(void)snprintf(ret, size, "%.300s: %s", t->path, strerror(r->error));
	else if (r->late)
		(void)snprintf(ret, size, "not done in %u s", DEADLINE_MS / 1000);
	else if (WIFSIGNALED(r->wstatus))
		(void)snprintf(ret, size, "ended by signal %d%s", WTERMSIG(r->wstatus), said);
	else if (WEXITSTATUS(r->wstatus) != 0)
		(void)snprintf(ret, size, "exit %d%s", WEXITSTATUS(r->wstatus), said);
	else if (!printed)
		(void)snprintf(ret, size, "prints something else%s", said);
}

/* The profile as this case is to have it. */
static struct check_run under_profile(const struct trial *t)
{
	return (struct check_run){.program = &t->c->program[t->k->inet ? 1 : 0]};
}

static int new_folder(struct check *c, char ret[FOLDER_MAX], struct err *e)
{
	(void)snprintf(ret, FOLDER_MAX, "%s/%u", c->folder, c->runs++);
	return mkdir(ret, 0700) == 0 ? 0 : err_errno(e, errno, "cannot make the folder %s", ret);
}

/* Shell text without a profile; arg is its $0. */
static int run_shell(struct trial *t, const char *dir, char *script, char *arg, bool *ret_ok, struct err *e)
{
	char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, script, arg, NULL};
	struct check_run run = {.path = "/bin/sh", .argv = argv};
	struct check_ran ran;
	struct output out = {0};
	struct strv env = {0};
	int rc = environment(dir, &env);

	run.env = env.v;
	rc = rc == 0 ? run_in(t, dir, &run, NULL, &ran, &out, e) : err_errno(e, -rc, "cannot run %s", t->k->name);
	*ret_ok = rc == 0 && ran.error == 0 && !ran.late && ran.wstatus == 0;
	output_done(&out);
	strv_done(&env);
	return rc;
}

/* Fills dir with what `before` makes, which runs once a case: often it compiles. */
static int fill(struct trial *t, const char *dir, bool *ret_ok, struct err *e)
{
	int rc = 0;

	*ret_ok = true;
	if (t->k->before == NULL)
		return 0;
	if (t->made[0] == '\0') {
		rc = new_folder(t->c, t->made, e);
		if (rc == 0)
			rc = run_shell(t, t->made, t->k->before, NULL, ret_ok, e);
		if (rc != 0 || !*ret_ok)
			forget_made(t);
	}
	return rc == 0 && *ret_ok ? run_shell(t, dir, (char[]){"cp -Rp \"$0\"/. ."}, t->made, ret_ok, e) : rc;
}

/* The program in a new folder. run: which calls are refused. ret_why is "" when it passed. */
static int run_once(struct trial *t, struct check_run run, struct check_ran *ret, char *ret_why, size_t size, struct err *e)
{
	char dir[FOLDER_MAX];
	struct output out = {0};
	struct strv env = {0};
	bool filled = false;
	int rc = new_folder(t->c, dir, e);

	*ret_why = '\0';
	if (rc != 0)
		return rc;
	rc = environment(dir, &env);
	if (rc != 0)
		(void)err_errno(e, -rc, "cannot run %s", t->k->name);
	run.path = t->path;
	run.argv = t->k->run.v;
	run.env = env.v;
	if (rc == 0)
		rc = fill(t, dir, &filled, e);
	if (rc == 0 && !filled)
		(void)snprintf(ret_why, size, "what runs before it failed");
	if (rc == 0 && filled)
		rc = run_in(t, dir, &run, t->k->input, ret, &out, e);
	if (rc == 0 && filled)
		ending(t, ret, &out, ret_why, size);
	output_done(&out);
	strv_done(&env);
	remove_tree(dir);
	return rc;
}

/* ---- judging */

/* Does it fail when of the refused calls the first n are refused and all others pass? */
static int fails_with(struct trial *t, const struct check_result *r, unsigned int n, bool *ret, struct err *e)
{
	struct check_run some = under_profile(t);
	char why[sizeof(r->why)];
	struct check_ran again;
	int rc;

	some.listed = true;
	some.list = r->run.call;
	some.n_list = n;
	rc = run_once(t, some, &again, why, sizeof(why), e);
	*ret = rc == 0 && why[0] != '\0';
	return rc;
}

/* Which refusal broke it: with the first n it fails, with those before it passes. It passes with none, that was tried. */
static int blame(struct trial *t, struct check_result *r, struct err *e)
{
	struct check_run watched = under_profile(t);
	char why[sizeof(r->why)];
	unsigned int good = 0;
	unsigned int bad;
	bool fails;
	int rc;

	watched.watch = true;
	rc = run_once(t, watched, &r->run, why, sizeof(why), e);
	bad = r->run.n;
	if (rc == 0)
		rc = fails_with(t, r, bad, &fails, e);
	if (rc == 0 && !fails)
		return 0; /* another run, other calls: none to blame */
	while (rc == 0 && bad - good > 1) {
		unsigned int n = good + (bad - good) / 2;

		rc = fails_with(t, r, n, &fails, e);
		*(fails ? &bad : &good) = n;
	}
	r->has_broke = rc == 0 && bad > 0;
	if (r->has_broke)
		r->broke = r->run.call[bad - 1];
	return rc;
}

/* A case that fails also when nothing is refused says nothing of the profile. */
static int control(struct trial *t, struct check_result *r, bool *ret_works, struct err *e)
{
	struct check_run without = {0};
	struct check_ran free_run;
	char why[sizeof(r->why)];
	int rc = run_once(t, without, &free_run, why, sizeof(why), e);

	*ret_works = rc == 0 && why[0] == '\0';
	if (rc == 0 && !*ret_works) {
		r->verdict = CHECK_SKIPPED;
		(void)snprintf(r->why, sizeof(r->why), "does not work here without a profile either: %.400s", why);
	}
	return rc;
}

/* A stand-in that starts the program, as version managers put it into PATH: it makes calls of its own. */
static bool is_script(const char *path)
{
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char begin[2];

	return fd >= 0 && read(fd, begin, sizeof(begin)) == (ssize_t)sizeof(begin) && memcmp(begin, "#!", sizeof(begin)) == 0;
}

/* ended: how it ended, "" when it passed. */
static void judge(const struct trial *t, struct check_result *r, const char *ended)
{
	bool stops = r->expected == CORPUS_STOPPED;
	char name[CHECK_CALL_MAX] = "no call that could be found";
	char must[CHECK_CALL_MAX + 32] = "must pass";

	if (r->has_broke)
		check_call_name(&r->broke, name);
	if (stops)
		(void)snprintf(must, sizeof(must), "must be stopped at %.40s", r->call);
	r->verdict = ended[0] == '\0' ? (stops ? CHECK_WRONG : CHECK_OK) : stops && str_eq(name, r->call) ? CHECK_OK : CHECK_WRONG;
	if (r->verdict == CHECK_OK)
		return;
	if (ended[0] == '\0')
		(void)snprintf(r->why, sizeof(r->why), "%s, passes (%.200s)", must, t->path);
	else
		(void)snprintf(r->why, sizeof(r->why), "%s, is stopped at %s: %.240s (%.100s%s)", must, name, ended, t->path,
		               is_script(t->path) ? ", a script" : "");
}

static int try_case(struct trial *t, struct check_result *r, struct err *e)
{
	char ended[sizeof(r->why)];
	bool works = true;
	int rc = run_once(t, under_profile(t), &r->run, ended, sizeof(ended), e);

	if (rc == 0 && (ended[0] != '\0' || r->expected == CORPUS_STOPPED))
		rc = control(t, r, &works, e);
	if (rc == 0 && works && ended[0] != '\0')
		rc = blame(t, r, e);
	if (rc == 0 && works)
		judge(t, r, ended);
	return rc;
}

int check_case(struct check *c, const struct corpus_case *k, struct check_result *ret, struct err *e)
{
	struct trial t = {.c = c, .k = k};
	int rc;

	*ret = (struct check_result){0};
	ret->expected = check_expects(c, k, &ret->call);
	for (size_t i = 0; i < k->needs.n; i++)
		if (!find_program(k->needs.v[i], t.path)) {
			ret->verdict = CHECK_SKIPPED;
			(void)snprintf(ret->why, sizeof(ret->why), "%.60s is not on this machine", k->needs.v[i]);
			return 0;
		}
	if (!find_program(k->run.v[0], t.path)) {
		ret->verdict = CHECK_SKIPPED;
		(void)snprintf(ret->why, sizeof(ret->why), "%.60s is not on this machine", k->run.v[0]);
		return 0;
	}
	rc = try_case(&t, ret, e);
	forget_made(&t);
	return rc;
}
