/* Runs a command on a "lesser kernel": each named system call fails with the given errno, in it and in all its children.
 *
 *   refuse NUMBER=ERRNO [NUMBER=ERRNO]… -- COMMAND [ARGUMENT]…
 *
 * Exit status: the command's own; 125 when the filter could not be had. As root no_new_privs is not needed, so that set-id
 * and capabilities of the command stay what they are. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_CALLS 16

int main(int argc, char **argv)
{
	struct sock_filter code[2 * MAX_CALLS + 2];
	struct sock_fprog program = {.filter = code};
	unsigned short n = 0;
	int i;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		unsigned int call;
		unsigned int error;

		if (i > MAX_CALLS || sscanf(argv[i], "%u=%u", &call, &error) != 2) {
			fprintf(stderr, "refuse: %s is not NUMBER=ERRNO\n", argv[i]);
			return 125;
		}
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA));
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	if (i + 1 >= argc) {
		fprintf(stderr, "usage: refuse NUMBER=ERRNO… -- COMMAND…\n");
		return 125;
	}
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	     syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)) {
		fprintf(stderr, "refuse: no filter: %s\n", strerror(errno));
		return 125;
	}
	execvp(argv[i + 1], argv + i + 1);
	fprintf(stderr, "refuse: %s: %s\n", argv[i + 1], strerror(errno));
	return 127;
}
