/* Reading the corpus: see corpus.h. */
#include "orchestrator/corpus.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/str.h"
#include "orchestrator/config_value.h"
#include "orchestrator/config_yaml.h"
#include "sandbox/profile.h"

#define LIST_MAX 64u /* words of a command, names of a list */

struct corpus_file {
	struct yaml_file *y;
	struct corpus *c;
	struct corpus_case *k;  /* being read */
	struct strv *list;      /* being filled */
	const char *what;       /* its key */
};

static int no_memory(const struct corpus_file *f, struct err *e)
{
	return err_errno(e, ENOMEM, "cannot read %s", f->y->name);
}

/* ---- values */

static int text(struct corpus_file *f, yaml_node_t *v, const char *key, char **ret, struct err *e)
{
	char shown[YAML_SHOWN];

	if (yaml_word(v) == NULL)
		return yaml_fail(f->y, v, e, "%s must be text, not %s", key, yaml_shown(v, shown));
	*ret = strdup(yaml_word(v));
	return *ret != NULL ? 0 : no_memory(f, e);
}

static int word(void *cookie, yaml_node_t *item, struct err *e)
{
	struct corpus_file *f = cookie;
	char shown[YAML_SHOWN];

	if (yaml_word(item) == NULL)
		return yaml_fail(f->y, item, e, "%s must be a list of words, not %s", f->what, yaml_shown(item, shown));
	if (f->list->n == LIST_MAX)
		return yaml_fail(f->y, item, e, "%s: more than %u words: shorten it", f->what, LIST_MAX);
	return strv_add(f->list, yaml_word(item)) == 0 ? 0 : no_memory(f, e);
}

static int words(struct corpus_file *f, yaml_node_t *v, const char *key, struct strv *ret, struct err *e)
{
	f->list = ret;
	f->what = key;
	return yaml_each_item(f->y, v, key, word, f, e);
}

static int call(struct corpus_file *f, yaml_node_t *v, char **ret, struct err *e)
{
	char near[PROFILE_CALL_MAX];
	char shown[YAML_SHOWN];
	const char *name = yaml_word(v);

	if (name != NULL && profile_call_number(name) != -2)
		return text(f, v, "stopped", ret, e);
	if (name != NULL && profile_nearest_call(name, near))
		return yaml_fail(f->y, v, e, "unknown system call: %s: did you mean %s?", yaml_shown(v, shown), near);
	return yaml_fail(f->y, v, e, "unknown system call: %s: stint profile list --calls names them", yaml_shown(v, shown));
}

/* ---- keys of a case */

static int set_needs(struct corpus_file *f, yaml_node_t *v, struct err *e)
{
	return words(f, v, "needs", &f->k->needs, e);
}

static int set_run(struct corpus_file *f, yaml_node_t *v, struct err *e)
{
	return words(f, v, "run", &f->k->run, e);
}

static int set_before(struct corpus_file *f, yaml_node_t *v, struct err *e)
{
	return text(f, v, "before", &f->k->before, e);
}

static int set_input(struct corpus_file *f, yaml_node_t *v, struct err *e)
{
	return text(f, v, "input", &f->k->input, e);
}

static int set_prints(struct corpus_file *f, yaml_node_t *v, struct err *e)
{
	return text(f, v, "prints", &f->k->prints, e);
}

static int set_inet(struct corpus_file *f, yaml_node_t *v, struct err *e)
{
	static const char *const answers[] = {"yes", "no", NULL};

	const char *answer = yaml_word(v);

	if (answer == NULL || (!str_eq(answer, answers[0]) && !str_eq(answer, answers[1])))
		return yaml_fail_word(f->y, v, "answer to inet", answers, e);
	f->k->inet = str_eq(answer, answers[0]);
	return 0;
}

static int set_passes(struct corpus_file *f, yaml_node_t *v, struct err *e)
{
	f->k->passes_all = yaml_word(v) != NULL && str_eq(yaml_word(v), "all");
	return f->k->passes_all ? 0 : words(f, v, "passes", &f->k->passes, e);
}

static int stop(void *cookie, yaml_node_t *key, yaml_node_t *value, struct err *e)
{
	struct corpus_file *f = cookie;
	struct corpus_case *k = f->k;
	struct corpus_stop *more = reallocarray(k->stop, k->n_stop + 1, sizeof(*more));

	if (more == NULL)
		return no_memory(f, e);
	k->stop = more;
	more[k->n_stop] = (struct corpus_stop){.profile = strdup(yaml_word(key))};
	if (more[k->n_stop++].profile == NULL)
		return no_memory(f, e);
	return call(f, value, &more[k->n_stop - 1].call, e);
}

static int set_stopped(struct corpus_file *f, yaml_node_t *v, struct err *e)
{
	if (v->type == YAML_SCALAR_NODE)
		return call(f, v, &f->k->stop_all, e);
	return yaml_each_pair(f->y, v, "stopped", stop, f, e);
}

static const struct key {
	const char *name;
	int (*set)(struct corpus_file *f, yaml_node_t *v, struct err *e);
} keys[] = {
	{"needs", set_needs}, {"before", set_before}, {"run", set_run}, {"input", set_input}, {"prints", set_prints},
	{"inet", set_inet}, {"passes", set_passes}, {"stopped", set_stopped},
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static int case_pair(void *cookie, yaml_node_t *key, yaml_node_t *value, struct err *e)
{
	const char *names[N_KEYS + 1];
	struct corpus_file *f = cookie;

	for (size_t i = 0; i < N_KEYS; i++) {
		if (str_eq(yaml_word(key), keys[i].name))
			return keys[i].set(f, value, e);
		names[i] = keys[i].name;
	}
	names[N_KEYS] = NULL;
	return yaml_fail_word(f->y, key, "key in a case", names, e);
}

/* ---- files */

static int add_case(void *cookie, yaml_node_t *key, yaml_node_t *value, struct err *e)
{
	struct corpus_file *f = cookie;
	struct corpus_case *more;
	const char *slash = strrchr(f->y->name, '/');
	int rc;

	if (f->c->n == CORPUS_CASES_MAX)
		return yaml_fail(f->y, key, e, "more than %u cases: split the corpus", CORPUS_CASES_MAX);
	more = reallocarray(f->c->v, f->c->n + 1, sizeof(*more));
	if (more == NULL)
		return no_memory(f, e);
	f->c->v = more;
	f->k = &more[f->c->n++];
	*f->k = (struct corpus_case){.name = strdup(yaml_word(key))};
	if (f->k->name == NULL)
		return no_memory(f, e);
	(void)snprintf(f->k->file, sizeof(f->k->file), "%s", slash != NULL ? slash + 1 : f->y->name);
	if (strlen(f->k->file) > strlen(".yaml") && str_eq(f->k->file + strlen(f->k->file) - strlen(".yaml"), ".yaml"))
		f->k->file[strlen(f->k->file) - strlen(".yaml")] = '\0';
	rc = yaml_each_pair(f->y, value, "a case", case_pair, f, e);
	if (rc == 0 && f->k->run.n == 0)
		rc = yaml_fail(f->y, value, e, "a case without run: write run: [PROGRAM, ARGUMENT]");
	if (rc == 0 && !f->k->passes_all && f->k->passes.n + f->k->n_stop == 0 && f->k->stop_all == NULL)
		f->k->passes_all = true;
	if (rc == 0 && f->k->passes_all && f->k->stop_all != NULL)
		rc = yaml_fail(f->y, value, e, "passes: all and stopped at one call everywhere: name the profiles of one of them");
	return rc;
}

int corpus_parse(struct corpus *c, const char *file, const char *bytes, size_t n, struct err *e)
{
	struct yaml_file y = {0};
	struct corpus_file f = {.y = &y, .c = c};
	int rc = yaml_file_load(&y, file, bytes, n, e);

	if (rc == 0 && y.root != NULL)
		rc = yaml_each_pair(&y, y.root, file, add_case, &f, e);
	yaml_file_done(&y);
	return err_stop(e, STOP_USAGE, rc);
}

static int add_file(struct corpus *c, const char *dir, const char *name, struct err *e)
{
	AUTO_BUF struct buf path = {0};
	AUTO_FREE char *bytes = NULL;
	AUTO_FD fd = -1;
	size_t n = 0;
	int rc;

	if (buf_addf(&path, "%s/%s", dir, name) != 0 || buf_str(&path) == NULL)
		return err_errno(e, ENOMEM, "cannot read %s", dir);
	fd = open(buf_str(&path), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	rc = fd < 0 ? -errno : fd_read_all(fd, CORPUS_FILE_MAX, &bytes, &n);
	return rc != 0 ? err_errno(e, -rc, "cannot read %s", buf_str(&path)) : corpus_parse(c, buf_str(&path), bytes, n, e);
}

static int is_yaml(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > strlen(".yaml") && str_eq(d->d_name + n - strlen(".yaml"), ".yaml");
}

int corpus_load(struct corpus *ret, const char *dir, struct err *e)
{
	struct corpus c = {0};
	struct dirent **names = NULL;
	int n = scandir(dir, &names, is_yaml, alphasort);
	int rc = n < 0 ? err_errno(e, errno, "cannot read the corpus %s", dir) : 0;

	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = add_file(&c, dir, names[i]->d_name, e);
		free(names[i]);
	}
	free(names);
	if (rc == 0 && c.n == 0)
		rc = err_set(e, ENOENT, "there is no case in %s: stint-profile(5) says how to write one", dir);
	if (rc != 0) {
		corpus_done(&c);
		return err_stop(e, STOP_USAGE, rc);
	}
	*ret = c;
	return 0;
}

static void case_done(struct corpus_case *k)
{
	free(k->name);
	free(k->before);
	free(k->input);
	free(k->prints);
	free(k->stop_all);
	strv_done(&k->needs);
	strv_done(&k->run);
	strv_done(&k->passes);
	for (size_t i = 0; i < k->n_stop; i++) {
		free(k->stop[i].profile);
		free(k->stop[i].call);
	}
	free(k->stop);
}

void corpus_done(struct corpus *c)
{
	for (size_t i = 0; i < c->n; i++)
		case_done(&c->v[i]);
	free(c->v);
	*c = (struct corpus){0};
}

int corpus_builtin(char *ret, size_t size, struct err *e)
{
	static const char *const places[] = {"../share/stint/corpus", "../../share/stint/corpus"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash == NULL)
		return err_set(e, ENOENT, "cannot find stint's own files: /proc/self/exe");
	slash[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(ret, size, "%s%s", self, places[i]) < (int)size && access(ret, R_OK | X_OK) == 0)
			return 0;
	return err_set(e, ENOENT, "the corpus %s%s is missing: the installation is incomplete: run make install again, or give "
	               "--corpus DIR", self, places[1]);
}

enum corpus_expect corpus_expects(const struct corpus_case *k, const char *profile, const char **ret_call)
{
	for (size_t i = 0; i < k->n_stop; i++)
		if (str_eq(k->stop[i].profile, profile)) {
			*ret_call = k->stop[i].call;
			return CORPUS_STOPPED;
		}
	for (size_t i = 0; i < k->passes.n; i++)
		if (str_eq(k->passes.v[i], profile))
			return CORPUS_PASSES;
	if (profile[0] != '\0')
		return CORPUS_NOT_MEANT;
	*ret_call = k->stop_all;
	return k->passes_all ? CORPUS_PASSES : k->stop_all != NULL ? CORPUS_STOPPED : CORPUS_NOT_MEANT;
}
