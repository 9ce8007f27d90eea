/* A judge of small programs: gives each answer the same input in a sandbox and says what became of it.
 *
 *   cc judge.c $(pkg-config --cflags --libs stint) -o judge && ./judge judge.yaml */
#include <stdio.h>
#include <string.h>

#include <stint.h>

static const char input[] = "1\n2\n39\n";
static const char expected[] = "42\n";

static const struct answer {
	const char *who;
	const char *argv[4];
} answers[] = {
	{"right", {"awk", "{ s += $1 } END { print s }"}},
	{"wrong", {"awk", "END { print NR }"}},
	{"endless", {"awk", "BEGIN { while (1) ; }"}},
	{"copied", {"cat", "solution.txt"}},
	{"missing", {"no-such-program"}},
	{"online", {"python3", "-c", "import socket; socket.socket()"}},
};

static void judge(const struct stint_policy *policy, const struct answer *a)
{
	const struct stint_command command = {.argv = a->argv, .input = input, .input_length = strlen(input), .timeout_ms = 3000};
	struct stint_result r;
	struct stint_error e;

	if (stint_run(policy, &command, &r, &e) != 0) {
		printf("%-8s not started: %s\n", a->who, e.message);
		return;
	}
	if (r.n_violations > 0)
		printf("%-8s forbidden\n", a->who);
	else if (r.timed_out)
		printf("%-8s too slow\n", a->who);
	else if (r.status != 0)
		printf("%-8s failed with status %d: %s", a->who, r.status, r.err.bytes);
	else
		printf("%-8s %s\n", a->who, strcmp(r.out.bytes, expected) == 0 ? "accepted" : "wrong answer");
	stint_result_done(&r);
}

int main(int argc, char **argv)
{
	struct stint_profile *profile = NULL;
	struct stint_policy *policy = NULL;
	struct stint_error e;
	int rc;

	if (argc != 2) {
		fprintf(stderr, "usage: judge PROFILE\n");
		return 2;
	}
	/* Once; a policy can be used any number of times, by any number of threads. */
	rc = stint_profile_load(&profile, argv[1], NULL, &e);
	if (rc == 0)
		rc = stint_policy_new(&policy, &e);
	if (rc == 0) {
		stint_policy_profile(policy, profile);
		for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
			judge(policy, &answers[i]);
	} else {
		fprintf(stderr, "judge: %s\n", e.message);
	}
	stint_policy_free(policy);
	stint_profile_free(profile);
	return rc == 0 ? 0 : 1;
}
