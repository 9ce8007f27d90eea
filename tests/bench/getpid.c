/* What a filter costs with every system call: nanoseconds for one getpid(2) by number, of a loop of COUNT; what starting costs is left
 * out. A filter that does not allow the call refuses it, and that is measured then: the second word says which.
 *
 *   getpid COUNT     prints "NANOSECONDS allowed" or "NANOSECONDS refused" */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Answered by the vDSO: no system call, so no profile refuses it. */
static double now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	long count = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
	double start;
	long got = 0;

	if (count <= 0) {
		(void)fputs("usage: getpid COUNT\n", stderr);
		return 2;
	}
	start = now_ns();
	for (long i = 0; i < count; i++)
		got = syscall(SYS_getpid);
	(void)printf("%.2f %s\n", (now_ns() - start) / (double)count, got > 0 ? "allowed" : "refused");
	return 0;
}
