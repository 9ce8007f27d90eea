/* libstint: the sandbox of `stint guard` for programs. A command is run in it, or the calling process confines itself; no root, no
 * daemon. Link with `pkg-config --libs stint`; docs/embedding.md has examples.
 *
 * No function keeps anything outside the objects it is given. Different objects can be used by different threads at the same time;
 * so can one profile, and one policy once it is complete. Functions return 0 or a negative errno, and then say why in their last
 * argument, which may be NULL. `_free` and `_done` accept NULL and zeroed objects. */
#ifndef STINT_H
#define STINT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STINT_MESSAGE_MAX 1024

/* The caller's; a sentence for people: what failed: why: what to do. Unchanged by success. */
struct stint_error {
	int code; /* positive errno */
	char message[STINT_MESSAGE_MAX];
};

const char *stint_version(void);
/* The Landlock ABI of this kernel, or a negative errno when there is none. */
int stint_abi(void);

/* ---- which system calls may be made: stint-profile(5) */

struct stint_profile;

/* word: a built-in profile's name; or a file, told by a slash or a dot: YAML, which stint-coordinator compiles, or what
 * `stint-guard --profile FILE --print-profile` printed. programs: the folder of stint-guard and stint-coordinator, NULL for
 * those of this installation. */
int stint_profile_load(struct stint_profile **ret, const char *word, const char *programs, struct stint_error *e);
const char *stint_profile_name(const struct stint_profile *p);
void stint_profile_free(struct stint_profile *p);

/* ---- what is granted: what is not is denied. See stint-guard(1) for what each means. */

struct stint_policy;

enum stint_grant {
	STINT_LIST,          /* --allow-list: names in a folder */
	STINT_READ,          /* --allow-read: read, list, execute */
	STINT_READ_OPTIONAL, /* --optional-read: the same, may be missing */
	STINT_WRITE,         /* --allow-write: also write, create, delete, rename */
	STINT_EXEC,          /* --allow-exec: as STINT_READ, and STINT_NO_EXEC does not concern it */
	STINT_UNIX,          /* --allow-unix: connect to UNIX sockets there (Landlock ABI 9) */
};
enum stint_port { STINT_CONNECT, STINT_BIND };
enum stint_option {
	STINT_NO_SYSTEM,        /* without the system folders and devices */
	STINT_NO_SCOPE,         /* signals and abstract sockets reach outside */
	STINT_NET_UNRESTRICTED, /* the network is left alone */
	STINT_NO_EXEC,          /* granted paths can be read and written, not executed */
	STINT_BEST_EFFORT,      /* ports and sockets that this kernel cannot hold are no error */
	STINT_ENV_ALL,          /* a command gets the whole environment */
	STINT_NO_TMP,           /* a command gets no TMPDIR of its own */
};

int stint_policy_new(struct stint_policy **ret, struct stint_error *e);
void stint_policy_free(struct stint_policy *p);

/* In place of the one before; without one: agent. The policy holds it: it may be freed here at once. */
void stint_policy_profile(struct stint_policy *p, struct stint_profile *profile);
/* The path is copied, and looked up by each run: a missing one is that run's error. */
int stint_policy_allow(struct stint_policy *p, enum stint_grant grant, const char *path, struct stint_error *e);
/* TCP. Port 0 with STINT_BIND: whatever the kernel chooses. */
int stint_policy_port(struct stint_policy *p, enum stint_port direction, unsigned int port, struct stint_error *e);
int stint_policy_option(struct stint_policy *p, enum stint_option option, struct stint_error *e);
/* "NAME=VALUE" sets a variable of a command's, "NAME" passes the caller's on, which must be set then; PATH, HOME, LANG and their
 * like are passed on anyway. */
int stint_policy_env(struct stint_policy *p, const char *word, struct stint_error *e);
/* Nothing is run below this Landlock ABI. */
int stint_policy_min_abi(struct stint_policy *p, int abi, struct stint_error *e);
/* The folder of stint-guard, in place of this installation's. */
int stint_policy_programs(struct stint_policy *p, const char *folder, struct stint_error *e);

/* ---- running a command */

#define STINT_OUTPUT_DEFAULT 1048576u

struct stint_command { /* zeroed fields are defaults */
	const char *const *argv;   /* NULL-terminated; argv[0] is found in PATH. There is no shell */
	const void *input;         /* what it reads from stdin; nothing by default */
	size_t input_length;
	const char *folder;        /* where it starts and the policy's relative paths begin; the caller's by default */
	uint64_t timeout_ms;       /* 0: none */
	size_t output_max;         /* bytes kept of each of stdout and stderr: head and tail; 0: STINT_OUTPUT_DEFAULT */
	int supervised;            /* every violation is to be reported; -ENOTSUP where that cannot be */
};

enum stint_violation_kind { STINT_SYSCALL, STINT_PATH, STINT_PORT };

struct stint_violation {
	enum stint_violation_kind kind;
	int number;          /* of the system call, -1 when it is not known */
	int pid;             /* 0 when it is not known */
	char name[64];       /* of the system call, or the path or port; "" when it is not known */
	char message[256];   /* for people */
};

struct stint_output {
	char *bytes;     /* what was kept, a NUL after it; what lies between head and tail is one line that says how much it was */
	size_t length;
	uint64_t total;  /* what was written */
};

struct stint_result { /* release with stint_result_done() */
	int status;       /* as `stint guard` exits: the command's own, 124 for the deadline, 128+N for signal N */
	int signal;       /* that ended the command, or 0 */
	int timed_out;
	unsigned int left; /* processes that were still there when it ended or at the deadline: they have been ended */
	struct stint_output out;
	struct stint_output err;
	uint64_t wall_ms;
	uint64_t user_us;   /* processor time, of all its processes */
	uint64_t system_us;
	uint64_t peak_kib;  /* memory, of the largest of them */
	/* Not supervised, only what shows from outside: an end by SIGSYS. A call that the profile refuses with an errno is the
	 * command's own affair. */
	struct stint_violation *violations;
	size_t n_violations;
};

/* Runs the command and waits until it has ended and so has every process that it started; they are ended at the deadline, and when
 * the calling process dies. No descriptor of the caller's reaches it, no signal that is blocked or ignored, no terminal. No thread
 * may change the environment meanwhile.
 * 0 when it ran, however it ended; otherwise *ret is not touched. -ENOENT: not found; -EACCES: cannot be executed; -EPERM: the
 * confinement cannot be had; and others. Something of the command may have run only after these: -ECHILD: the process that watches
 * over it was killed; -EBUSY: some of its processes do not end; -ENOMEM: its output cannot be kept. */
int stint_run(const struct stint_policy *p, const struct stint_command *c, struct stint_result *ret, struct stint_error *e);
void stint_result_done(struct stint_result *r);

/* ---- confining oneself */

#define STINT_THIS_THREAD 1u

/* Confines the calling process for ever; children inherit it. Landlock and seccomp bind threads: a process that has several is
 * refused with -EBUSY, unless flags say STINT_THIS_THREAD: then the others stay as they are, and since they share memory with this
 * one that is no boundary between them. Descriptors that are open stay usable, and memory keeps what is in it. After a failure
 * the process may be confined in part: it should end. */
int stint_confine(const struct stint_policy *p, unsigned int flags, struct stint_error *e);

#ifdef __cplusplus
}
#endif

#endif
