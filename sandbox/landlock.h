/* Landlock: what each ABI of it can enforce, and building one ruleset from paths and ports.
 *
 * stint carries its own constants: distribution headers stop years behind the running kernel.
 * Source: include/uapi/linux/landlock.h and Documentation/userspace-api/landlock.rst of Linux 5.13 … 7.2. */
#ifndef STINT_SANDBOX_LANDLOCK_H
#define STINT_SANDBOX_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define LANDLOCK_ABI_KNOWN 10 /* the newest ABI whose rights stint handles */

/* Rights, by the bit that the kernel gives them. */
#define LL_FS_EXECUTE (UINT64_C(1) << 0)
#define LL_FS_WRITE_FILE (UINT64_C(1) << 1)
#define LL_FS_READ_FILE (UINT64_C(1) << 2)
#define LL_FS_READ_DIR (UINT64_C(1) << 3)
#define LL_FS_REMOVE_DIR (UINT64_C(1) << 4)
#define LL_FS_REMOVE_FILE (UINT64_C(1) << 5)
#define LL_FS_MAKE_CHAR (UINT64_C(1) << 6)
#define LL_FS_MAKE_DIR (UINT64_C(1) << 7)
#define LL_FS_MAKE_REG (UINT64_C(1) << 8)
#define LL_FS_MAKE_SOCK (UINT64_C(1) << 9)
#define LL_FS_MAKE_FIFO (UINT64_C(1) << 10)
#define LL_FS_MAKE_BLOCK (UINT64_C(1) << 11)
#define LL_FS_MAKE_SYM (UINT64_C(1) << 12)
#define LL_FS_REFER (UINT64_C(1) << 13)        /* ABI 2 */
#define LL_FS_TRUNCATE (UINT64_C(1) << 14)     /* ABI 3 */
#define LL_FS_IOCTL_DEV (UINT64_C(1) << 15)    /* ABI 5 */
#define LL_FS_RESOLVE_UNIX (UINT64_C(1) << 16) /* ABI 9 */

#define LL_NET_BIND_TCP (UINT64_C(1) << 0)         /* ABI 4 */
#define LL_NET_CONNECT_TCP (UINT64_C(1) << 1)      /* ABI 4 */
#define LL_NET_BIND_UDP (UINT64_C(1) << 2)         /* ABI 10; port 0: the implicit ephemeral port */
#define LL_NET_CONNECT_SEND_UDP (UINT64_C(1) << 3) /* ABI 10 */

#define LL_SCOPE_ABSTRACT_UNIX (UINT64_C(1) << 0) /* ABI 6 */
#define LL_SCOPE_SIGNAL (UINT64_C(1) << 1)        /* ABI 6 */

struct landlock_rights {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

/* What a path is granted. The rights of each are one table row in landlock.c. */
enum landlock_grant {
	GRANT_LIST,   /* the names in a folder, nothing below them */
	GRANT_READ,   /* read, list, execute */
	GRANT_WRITE,  /* plus write, truncate, create, delete, rename; never device nodes */
	GRANT_SHARED, /* files made, opened and deleted by name; no listing, no folders, no execute */
	GRANT_DEVICE, /* read, write and ioctl of existing devices */
	GRANT_READ_DATA,  /* GRANT_READ without execute */
	GRANT_WRITE_DATA, /* GRANT_WRITE without execute */
	GRANT_UNIX,       /* connect to UNIX sockets by path, at it or below it; nothing else */
};
#define GRANT_COUNT (GRANT_UNIX + 1)

/* What a kernel below this ABI cannot enforce. */
struct landlock_feature {
	int abi;
	const char *name;
	const char *lost; /* completes "this kernel cannot …" */
	bool minor;       /* costs a stint command nothing */
};
extern const struct landlock_feature landlock_features[]; /* ends with abi 0, ascending */

/* The running kernel's ABI (>= 1), -ENOSYS (not built in), -EOPNOTSUPP (switched off at boot) or -EPERM (a seccomp filter). */
int landlock_abi(void) MUST_CHECK;

/* Every right that this ABI knows and stint handles; all zero for abi < 1. Pure. */
struct landlock_rights landlock_rights_for(int abi);

/* The rights of a grant on an object of this type (S_IFMT bits) under this ABI: rights that only a folder can
 * have are masked for everything else, because the kernel answers EINVAL to them. Pure. */
uint64_t landlock_access_for(enum landlock_grant grant, mode_t type, int abi);

/* The name of one right of the file system, network or scope by its bit, as the kernel's audit records have it
 * ("fs.read_file"); NULL for a bit that stint does not handle. */
const char *landlock_fs_name(unsigned int bit);
const char *landlock_net_name(unsigned int bit);
const char *landlock_scope_name(unsigned int bit);

/* A ruleset in the making. Zeroed is not valid: use landlock_begin(). */
struct landlock {
	int fd; /* owned, -1 when none */
	int abi;
	struct landlock_rights handled;
	bool log; /* set before landlock_enforce(): what is refused after execve goes to the audit log, too (ABI 7) */
};

/* Creates the ruleset that handles everything in `handled`. 0 or a negative errno. */
int landlock_begin(struct landlock *ret, int abi, struct landlock_rights handled, struct err *e) MUST_CHECK;
void landlock_done(struct landlock *l);

/* Grants what `path` leads to (symlinks followed by the kernel: the rule lands on the target's inode).
 * 0, or 1 when optional and it is missing or out of reach, or a negative errno naming the path. */
int landlock_add_path(const struct landlock *l, const char *path, enum landlock_grant grant, bool optional,
                      struct err *e) MUST_CHECK;

/* Opens (O_PATH) what `path` leads to, for a rule. 0 and *ret_fd; 1 when optional and it is missing or out of reach; or a
 * negative errno naming the path. */
int landlock_open(const char *path, bool optional, int *ret_fd, struct err *e) MUST_CHECK;
/* Is what fd is open on something that can have this grant? -ENOTDIR or -ENOTSOCK naming the path. */
int landlock_check_fit(int fd, const char *path, enum landlock_grant grant, struct err *e) MUST_CHECK;
/* Grants what fd (O_PATH will do) is open on; path is for messages. 0 or a negative errno. */
int landlock_add_fd(const struct landlock *l, int fd, const char *path, enum landlock_grant grant, struct err *e) MUST_CHECK;

/* Grants network rights on one port; rights that this ruleset does not handle are dropped. */
int landlock_add_port(const struct landlock *l, uint64_t rights, uint16_t port, struct err *e) MUST_CHECK;

/* Confines the calling thread for ever; no_new_privs must be set. */
int landlock_enforce(const struct landlock *l, struct err *e) MUST_CHECK;

#endif
