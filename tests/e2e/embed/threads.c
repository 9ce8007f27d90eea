/* Many threads run commands at the same time, with one policy for all and with one of their own, to normal ends, deadlines and commands
 * that are not there; each must get what belongs to it, and nothing may be left.
 *
 *   threads THREADS RUNS [PROGRAMS]     prints the number of runs; 1 with a sentence for the first thing that is wrong */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stint.h>

#define THREADS_MAX 64

struct worker {
	pthread_t thread;
	int number;
	int runs;
	const char *programs;
	struct stint_policy *shared;
	char wrong[2048]; /* "" when nothing was */
};

static struct stint_policy *make_policy(const char *programs, struct stint_error *e)
{
	struct stint_profile *profile = NULL;
	struct stint_policy *p = NULL;

	if (stint_profile_load(&profile, "build", programs, e) != 0)
		return NULL;
	if (stint_policy_new(&p, e) == 0) {
		stint_policy_profile(p, profile);
		if (stint_policy_programs(p, programs, e) != 0 || stint_policy_allow(p, STINT_READ_OPTIONAL, "/nowhere", e) != 0) {
			stint_policy_free(p);
			p = NULL;
		}
	}
	stint_profile_free(profile); /* the policy has it */
	return p;
}

static void echo(struct worker *w, const struct stint_policy *p, int i)
{
	const char *argv[] = {"sh", "-c", "read -r line; echo \"$line\"; echo problem >&2; exit 7", NULL};
	char text[64];
	int n = snprintf(text, sizeof(text), "thread %d run %d\n", w->number, i);
	const struct stint_command c = {.argv = argv, .input = text, .input_length = (size_t)n, .timeout_ms = 120000};
	struct stint_result r = {0};
	struct stint_error e = {0, ""};

	if (stint_run(p, &c, &r, &e) != 0)
		(void)snprintf(w->wrong, sizeof(w->wrong), "%s", e.message);
	else if (strcmp(r.out.bytes, text) != 0 || strcmp(r.err.bytes, "problem\n") != 0 || r.status != 7)
		(void)snprintf(w->wrong, sizeof(w->wrong), "wanted %sgot status %d, %s, %s", text, r.status, r.out.bytes, r.err.bytes);
	stint_result_done(&r);
}

static void deadline(struct worker *w, const struct stint_policy *p)
{
	const char *argv[] = {"sh", "-c", "setsid sleep 600 & sleep 600", NULL};
	const struct stint_command c = {.argv = argv, .timeout_ms = 50};
	struct stint_result r = {0};
	struct stint_error e = {0, ""};

	if (stint_run(p, &c, &r, &e) != 0 || !r.timed_out)
		(void)snprintf(w->wrong, sizeof(w->wrong), "no deadline: status %d: %s", r.status, e.message);
	stint_result_done(&r);
}

static void missing(struct worker *w, const struct stint_policy *p)
{
	const char *argv[] = {"no-such-command", NULL};
	const struct stint_command c = {.argv = argv};
	struct stint_result r = {0};
	struct stint_error e = {0, ""};

	if (stint_run(p, &c, &r, &e) != -ENOENT)
		(void)snprintf(w->wrong, sizeof(w->wrong), "a command that is not there: %s", e.message);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct stint_error e = {0, ""};
	struct stint_policy *own = make_policy(w->programs, &e);

	if (own == NULL)
		(void)snprintf(w->wrong, sizeof(w->wrong), "%s", e.message);
	for (int i = 0; i < w->runs && w->wrong[0] == '\0'; i++) {
		const struct stint_policy *p = i % 2 == 0 ? own : w->shared;

		if (i % 10 == 8)
			deadline(w, p);
		else if (i % 10 == 9)
			missing(w, p);
		else
			echo(w, p, i);
	}
	stint_policy_free(own);
	return NULL;
}

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	int threads = argc > 2 ? atoi(argv[1]) : 0;
	const char *programs = argc > 3 ? argv[3] : NULL;
	struct stint_error e = {0, ""};
	struct stint_policy *shared = make_policy(programs, &e);
	int before;
	int wrong = 0;

	if (threads < 1 || threads > THREADS_MAX || shared == NULL)
		return fprintf(stderr, "usage: threads THREADS RUNS [PROGRAMS] %s\n", e.message) < 0 ? 3 : 2;
	before = open_descriptors();
	for (int i = 0; i < threads; i++) {
		workers[i] = (struct worker){.number = i, .runs = atoi(argv[2]), .programs = programs, .shared = shared};
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			return 2;
	}
	for (int i = 0; i < threads; i++) {
		(void)pthread_join(workers[i].thread, NULL);
		if (workers[i].wrong[0] != '\0' && wrong++ == 0)
			(void)fprintf(stderr, "thread %d: %s\n", i, workers[i].wrong);
	}
	stint_policy_free(shared);
	if (open_descriptors() != before && wrong++ == 0)
		(void)fprintf(stderr, "%d descriptors before, %d after\n", before, open_descriptors());
	if ((waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD) && wrong++ == 0)
		(void)fprintf(stderr, "a child is left\n");
	if (wrong == 0)
		(void)printf("%d runs\n", threads * atoi(argv[2]));
	return wrong == 0 ? 0 : 1;
}
