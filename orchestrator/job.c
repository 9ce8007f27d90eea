/* Jobs: see job.h. */
#include "orchestrator/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/fd.h"
#include "base/str.h"
#include "sandbox/descendants.h"
#include "sandbox/keeper.h"

#define CHUNK 65536u
#define DRAIN_MAX (2u << 20)  /* more than a pipe holds: what comes after that is a stranger's */
#define JOBS_MAX 256u         /* at a time; for a lost keeper's sweep */
#define OWN_WORDS 8           /* stint-guard --error-fd N --quiet --profile-fd M -- NULL */

struct stream {
	int from;                 /* owned, non-blocking; -1 after its end */
	int give;                 /* owned, the command's end */
	struct buf head;
	uint64_t total;
	struct digest digest;
};

struct job {
	struct jobs *all;
	struct job *next;
	struct keeper keeper;
	struct supervise_limits limits;
	struct stream stream[2];
	struct stream why;        /* why it was not started */
	int input;                /* owned, until it is started */
	size_t keep;
	uint64_t output_max;
	void (*seen)(void *cookie, bool is_err, const char *bytes, size_t n);
	void *cookie;
	bool limited;             /* we ended it for its output */
	bool over;
	bool lost;
	struct keeper_message last;
};

/* What the command's process needs besides. */
struct birth {
	const struct job_spec *s;
	struct job *j;
	char path[PATH_MAX + 64]; /* of stint-guard */
	const char **words;       /* its argv, or the command's; owned when guarded */
	char error_fd[16];
	char profile_fd[16];
};

/* ---- the command's process */

_Noreturn static void not_started(const struct birth *b, int status, int code, const char *what)
{
	char text[JOB_REASON_MAX];
	int n = snprintf(text, sizeof(text), "cannot start %.300s: %s", what, strerror(code));

	(void)!fd_write_all(b->j->why.give, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
	_exit(status);
}

static int take_places(const struct birth *b)
{
	const struct job *j = b->j;
	const int keep[] = {j->why.give, b->s->guarded ? b->s->profile_fd : -1};
	int err_fd = b->s->merged ? j->stream[0].give : j->stream[1].give;

	if (dup2(j->input, 0) < 0 || dup2(j->stream[0].give, 1) < 0 || dup2(err_fd, 2) < 0)
		return -errno;
	if (b->s->guarded && (fcntl(keep[0], F_SETFD, 0) != 0 || (keep[1] >= 0 && fcntl(keep[1], F_SETFD, 0) != 0)))
		return -errno;
	return fd_close_from_except(3, keep, sizeof(keep) / sizeof(keep[0]));
}

/* In a session of its own: no terminal, and no signal to its process group reaches the keeper. */
static void become(void *cookie)
{
	const struct birth *b = cookie;
	const struct job_spec *s = b->s;
	char *const *words = (char *const *)(uintptr_t)b->words;
	struct err e = {0};
	int rc = setsid() < 0 ? -errno : 0;

	(void)signal(SIGPIPE, SIG_DFL);
	if (rc == 0 && supervise_limits_enter(&b->j->limits, &e) != 0)
		rc = -e.code;
	if (rc == 0)
		rc = take_places(b);
	if (rc != 0)
		not_started(b, RUN_UNCONFINED, -rc, s->argv[0]);
	if (s->dir != NULL && chdir(s->dir) != 0)
		not_started(b, RUN_UNCONFINED, errno, s->dir);
	if (s->env != NULL)
		environ = (char **)(uintptr_t)s->env;
	if (s->guarded)
		(void)execv(b->path, words);
	else
		(void)execvp(words[0], words);
	not_started(b, errno == ENOENT || errno == ENOTDIR ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE, errno, words[0]);
}

/* ---- before */

/* Above 2: the three lowest are the command's. */
static int lift(int *fd)
{
	int high;

	if (*fd > 2)
		return 0;
	high = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
	if (high < 0)
		return -errno;
	fd_close(fd);
	*fd = high;
	return 0;
}

static int open_stream(struct stream *s, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_errno(e, errno, "cannot make a pipe");
	s->from = ends[0];
	s->give = ends[1];
	if (lift(&s->from) != 0 || lift(&s->give) != 0 || fcntl(s->from, F_SETFL, O_NONBLOCK) != 0)
		return err_errno(e, errno, "cannot make a pipe");
	return digest_begin(&s->digest) == 0 ? 0 : err_errno(e, ENOMEM, "cannot watch the output");
}

/* It lies there complete: the command neither waits for us, nor do we for it. */
static int open_input(struct job *j, const struct job_spec *s, struct err *e)
{
	int rc;

	j->input = s->n_input == 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : fd_sealed_memfd("input", s->input, s->n_input);
	if (j->input == -1)
		j->input = -errno;
	rc = j->input < 0 ? j->input : lift(&j->input);
	return rc < 0 ? err_errno(e, -rc, "cannot hand the input over") : 0;
}

static int make_words(struct birth *b, struct err *e)
{
	const struct job_spec *s = b->s;
	size_t n_guard = 0;
	size_t n_argv = 0;
	size_t n = 0;

	b->words = (const char **)(uintptr_t)s->argv;
	if (!s->guarded)
		return 0;
	while (s->guard != NULL && s->guard[n_guard] != NULL)
		n_guard++;
	while (s->argv[n_argv] != NULL)
		n_argv++;
	b->words = calloc(OWN_WORDS + n_guard + n_argv, sizeof(*b->words));
	if (b->words == NULL)
		return err_errno(e, ENOMEM, "cannot start %s", s->argv[0]);
	(void)snprintf(b->error_fd, sizeof(b->error_fd), "%d", b->j->why.give);
	(void)snprintf(b->profile_fd, sizeof(b->profile_fd), "%d", s->profile_fd);
	b->words[n++] = "stint-guard";
	b->words[n++] = "--error-fd";
	b->words[n++] = b->error_fd;
	b->words[n++] = "--quiet";
	if (s->profile_fd >= 0) {
		b->words[n++] = "--profile-fd";
		b->words[n++] = b->profile_fd;
	}
	for (size_t i = 0; i < n_guard; i++)
		b->words[n++] = s->guard[i];
	b->words[n++] = "--";
	for (size_t i = 0; i < n_argv; i++)
		b->words[n++] = s->argv[i];
	return fd_sibling_path("stint-guard", b->path, sizeof(b->path), e);
}

static void stream_done(struct stream *s)
{
	fd_close(&s->from);
	fd_close(&s->give);
	buf_done(&s->head);
	digest_done(&s->digest);
}

static void job_free(struct job *j)
{
	fd_close(&j->input);
	for (int i = 0; i < 2; i++)
		stream_done(&j->stream[i]);
	stream_done(&j->why);
	supervise_limits_close(&j->limits);
	free(j);
}

static int prepare(struct job *j, const struct job_spec *s, struct err *e)
{
	int rc = open_input(j, s, e);

	if (rc == 0)
		rc = open_stream(&j->stream[0], e);
	if (rc == 0)
		rc = open_stream(&j->stream[1], e);
	if (rc == 0)
		rc = open_stream(&j->why, e);
	return rc == 0 ? supervise_limits_open(&j->limits, s->memory, s->processes, ++j->all->serial, e) : rc;
}

int job_start(struct job **ret, struct jobs *all, const struct job_spec *s, struct err *e)
{
	struct job *j = calloc(1, sizeof(*j));
	struct birth b = {.s = s, .j = j};
	struct keeper_args a = {.timeout_ms = s->timeout_ms, .become = become, .cookie = &b};
	int rc;

	if (j == NULL)
		return err_errno(e, ENOMEM, "cannot start %s", s->argv[0]);
	*j = (struct job){.all = all, .input = -1, .keep = s->keep, .output_max = s->output_max, .seen = s->seen, .cookie = s->cookie,
	                  .stream = {{.from = -1, .give = -1}, {.from = -1, .give = -1}}, .why = {.from = -1, .give = -1},
	                  .limits = {.cg = {.fd = -1}}, .keeper = {.life_fd = -1, .status_fd = -1}};
	rc = prepare(j, s, e);
	if (rc == 0)
		rc = make_words(&b, e);
	a.cgroup_fd = j->limits.cg.fd;
	a.cgroup_name = j->limits.name;
	if (rc == 0)
		rc = keeper_start(&j->keeper, &a, e);
	if (s->guarded)
		free(b.words);
	if (rc != 0) {
		fd_close(&j->keeper.life_fd);
		fd_close(&j->keeper.status_fd);
		job_free(j);
		return rc;
	}
	fd_close(&j->input);
	for (int i = 0; i < 2; i++)
		fd_close(&j->stream[i].give);
	fd_close(&j->why.give);
	j->next = all->first;
	all->first = j;
	*ret = j;
	return 0;
}

/* ---- meanwhile */

static int keep_bytes(struct job *j, struct stream *s, const char *p, size_t n)
{
	size_t max = s == &j->why ? JOB_REASON_MAX - 1 : j->keep;
	size_t room = max - s->head.len;
	int rc = buf_add(&s->head, p, n < room ? n : room);

	s->total += n;
	return rc == 0 ? digest_add(&s->digest, p, n) : rc;
}

/* Reads what is there, at most max bytes; closes the descriptor at its end. */
static int pull(struct job *j, struct stream *s, size_t max, struct err *e)
{
	char chunk[CHUNK];
	size_t done = 0;

	while (s->from >= 0 && done < max) {
		ssize_t n = read(s->from, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0) {
			fd_close(&s->from);
			return 0;
		}
		done += (size_t)n;
		if (keep_bytes(j, s, chunk, (size_t)n) != 0)
			return err_errno(e, ENOMEM, "cannot keep the output");
		if (j->seen != NULL && s != &j->why)
			j->seen(j->cookie, s == &j->stream[1], chunk, (size_t)n);
		if (s != &j->why && j->output_max > 0 && s->total > j->output_max && !j->limited) {
			j->limited = true;
			keeper_tell(&j->keeper);
		}
	}
	return 0;
}

/* The keeper is gone without its last message: what it kept are children of ours now, beside the other jobs' keepers. */
static int replace_keeper(struct job *j, struct err *e)
{
	pid_t keepers[JOBS_MAX];
	struct descendants_spare spare = {.pid = keepers};

	j->lost = true;
	for (const struct job *other = j->all->first; other != NULL && spare.n < JOBS_MAX; other = other->next)
		if (other != j)
			keepers[spare.n++] = other->keeper.pid;
	keeper_done(&j->keeper);
	return descendants_end_but(j->limits.cg.fd, &spare, &j->last.ended, e);
}

static int on_keeper(struct job *j, struct err *e)
{
	struct keeper_message m;
	int rc = keeper_read(&j->keeper, &m);

	if (rc == 1 && m.what == KEEPER_STARTED)
		return 0;
	j->over = true;
	if (rc != 1)
		return replace_keeper(j, e);
	j->last = m;
	return m.msg[0] == '\0' ? 0 : err_set(e, EBUSY, "%s", m.msg);
}

size_t job_polls(const struct job *j, struct pollfd *ret)
{
	ret[0] = (struct pollfd){.fd = j->over ? -1 : j->keeper.status_fd, .events = POLLIN};
	ret[1] = (struct pollfd){.fd = j->stream[0].from, .events = POLLIN};
	ret[2] = (struct pollfd){.fd = j->stream[1].from, .events = POLLIN};
	ret[3] = (struct pollfd){.fd = j->why.from, .events = POLLIN};
	return JOB_POLLS;
}

int job_move(struct job *j, const struct pollfd *p, struct err *e)
{
	int rc = 0;

	if (p[1].revents != 0)
		rc = pull(j, &j->stream[0], CHUNK, e);
	if (rc == 0 && p[2].revents != 0)
		rc = pull(j, &j->stream[1], CHUNK, e);
	if (rc == 0 && p[3].revents != 0)
		rc = pull(j, &j->why, CHUNK, e);
	if (rc == 0 && !j->over && p[0].revents != 0)
		rc = on_keeper(j, e);
	if (rc != 0)
		j->over = true;
	return rc;
}

bool job_over(const struct job *j)
{
	return j->over;
}

void job_end(struct job *j)
{
	if (!j->over)
		keeper_tell(&j->keeper);
}

/* ---- afterwards */

static void unlink_job(struct job *j)
{
	struct job **at = &j->all->first;

	while (*at != NULL && *at != j)
		at = &(*at)->next;
	if (*at == j)
		*at = j->next;
}

/* The first that fits: why it is over, and what that is to a shell. */
static void judge(const struct job *j, struct job_result *r)
{
	int w = j->last.wstatus;
	const char *why = "";

	if (j->lost) {
		r->why = JOB_LOST;
		r->exit = RUN_UNCONFINED;
		why = "its keeper was killed: everything that it had started has been ended";
	} else if (j->why.head.len > 0) {
		r->why = JOB_NOT_STARTED;
		r->exit = r->code = WIFEXITED(w) ? WEXITSTATUS(w) : RUN_UNCONFINED;
	} else if (j->last.what == KEEPER_DEADLINE) {
		r->why = JOB_TIMEOUT;
		r->exit = RUN_DEADLINE;
	} else if (j->limited) {
		r->why = JOB_LIMIT;
		r->exit = RUN_DEADLINE;
		why = "it wrote more than its limit";
	} else if (j->last.what == KEEPER_TOLD) {
		r->why = JOB_ENDED;
		r->exit = 128 + SIGKILL;
	} else if (r->counted && r->counts.oom_kills > 0) {
		r->why = JOB_LIMIT;
		r->exit = WIFSIGNALED(w) ? 128 + WTERMSIG(w) : WEXITSTATUS(w);
		why = "it took more memory than its limit";
	} else {
		r->why = WIFSIGNALED(w) ? JOB_SIGNALED : JOB_EXITED;
		r->code = WIFSIGNALED(w) ? WTERMSIG(w) : WEXITSTATUS(w);
		r->exit = WIFSIGNALED(w) ? 128 + r->code : r->code;
	}
	(void)snprintf(r->reason, sizeof(r->reason), "%s", r->why == JOB_NOT_STARTED ? j->why.head.data : why);
}

static int take_output(struct stream *s, struct job_output *ret)
{
	if (buf_str(&s->head) == NULL || digest_end(&s->digest, ret->hash) != 0)
		return -ENOMEM;
	ret->bytes = s->head.data;
	ret->n = s->head.len;
	ret->total = s->total;
	s->head = (struct buf){0};
	return 0;
}

static int collect(struct job *j, struct job_result *ret, struct err *e)
{
	int rc = pull(j, &j->stream[0], DRAIN_MAX, e);

	if (rc == 0)
		rc = pull(j, &j->stream[1], DRAIN_MAX, e);
	if (rc == 0)
		rc = pull(j, &j->why, DRAIN_MAX, e);
	if (rc == 0 && buf_str(&j->why.head) == NULL)
		rc = err_errno(e, ENOMEM, "cannot keep the output");
	if (rc != 0)
		return rc;
	ret->counted = supervise_limits_counts(&j->limits, &ret->counts);
	judge(j, ret);
	ret->left = j->last.ended;
	ret->wall_ms = j->last.wall_ms;
	ret->usage = j->last.usage;
	if (take_output(&j->stream[0], &ret->out) != 0 || take_output(&j->stream[1], &ret->err) != 0)
		return err_errno(e, ENOMEM, "cannot keep the output");
	return 0;
}

static int await(struct job *j, int stop_fd, struct err *e)
{
	int rc = 0;

	while (rc == 0 && !j->over) {
		struct pollfd p[JOB_POLLS + 1];
		size_t n = job_polls(j, p);

		p[n] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
		if (poll(p, n + 1, -1) < 0) {
			if (errno != EINTR)
				return err_errno(e, errno, "cannot watch the command");
			continue;
		}
		if (p[n].revents != 0) {
			job_end(j);
			stop_fd = -1;
		}
		rc = job_move(j, p, e);
	}
	return rc;
}

int job_finish(struct job **job, struct job_result *ret, struct err *e)
{
	struct job *j = *job;
	struct job_result r = {0};
	int rc = 0;

	if (j == NULL)
		return 0;
	if (!j->over) {
		job_end(j);
		rc = await(j, -1, e);
	}
	if (rc == 0)
		rc = collect(j, &r, e);
	unlink_job(j);
	keeper_done(&j->keeper);
	job_free(j);
	*job = NULL;
	if (rc == 0)
		*ret = r;
	else
		job_result_done(&r);
	return rc;
}

void job_result_done(struct job_result *r)
{
	free(r->out.bytes);
	free(r->err.bytes);
	*r = (struct job_result){0};
}

int job_run(struct jobs *all, const struct job_spec *s, int stop_fd, struct job_result *ret, struct err *e)
{
	struct job_result r = {0};
	struct job *j = NULL;
	struct err late = {0};
	int rc = job_start(&j, all, s, e);
	int end;

	if (rc != 0)
		return rc;
	rc = await(j, stop_fd, e);
	end = job_finish(&j, &r, rc == 0 ? e : &late);
	if (rc == 0 && end == 0)
		*ret = r;
	else
		job_result_done(&r);
	return rc != 0 ? rc : end;
}
