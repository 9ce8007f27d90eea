/* Landlock rulesets: see landlock.h. */
#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

/* The kernel's structures (uapi/linux/landlock.h); the system's header may lack the later fields. */
struct ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};
struct path_beneath_attr {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));
struct net_port_attr {
	uint64_t allowed_access;
	uint64_t port;
};

#define CREATE_RULESET_VERSION 1u
#define RULE_PATH_BENEATH 1
#define RULE_NET_PORT 2
#define RESTRICT_LOG_NEW_EXEC_ON (1u << 1)
#define ABI_LOG 7

/* The system calls have one number on every architecture that stint knows. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#define FS_ABI_1 ((UINT64_C(1) << 13) - 1) /* EXECUTE … MAKE_SYM */

/* Rights that each ABI added. */
static const struct {
	int abi;
	struct landlock_rights added;
} abis[] = {
	{1, {.fs = FS_ABI_1}},
	{2, {.fs = LL_FS_REFER}},
	{3, {.fs = LL_FS_TRUNCATE}},
	{4, {.net = LL_NET_BIND_TCP | LL_NET_CONNECT_TCP}},
	{5, {.fs = LL_FS_IOCTL_DEV}},
	{6, {.scoped = LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL}},
	/* 7: audit flags, 8: all threads at once: neither adds a right. */
	{9, {.fs = LL_FS_RESOLVE_UNIX}},
	{10, {.net = LL_NET_BIND_UDP | LL_NET_CONNECT_SEND_UDP}},
};

const struct landlock_feature landlock_features[] = {
	{1, "file system", "confine access to files at all", false},
	{2, "refer", "let files move between folders (such a rename fails with EXDEV)", false},
	{3, "truncate", "stop truncate(2) of files that are readable by path only", false},
	{4, "tcp", "limit TCP to the granted ports", false},
	{5, "ioctl", "stop ioctl(2) on devices that may be opened", false},
	{6, "scopes", "stop signals and abstract UNIX sockets to processes outside", false},
	{7, "audit", "name refused accesses in the audit log", true},
	{8, "threads", "confine all threads of a running process at once", true},
	{9, "unix sockets", "stop connections to UNIX sockets by path", false},
	{10, "udp", "limit UDP to the granted ports", false},
	{0, NULL, NULL, false},
};

#define READ_RIGHTS (LL_FS_EXECUTE | LL_FS_READ_FILE | LL_FS_READ_DIR)
/* No MAKE_CHAR and MAKE_BLOCK: nobody needs device nodes. No RESOLVE_UNIX: sockets made inside the domain can
 * be reached without it, and a writable /tmp must not give access to the daemons that listen there. */
#define WRITE_RIGHTS                                                                                               \
	(READ_RIGHTS | LL_FS_WRITE_FILE | LL_FS_TRUNCATE | LL_FS_REMOVE_DIR | LL_FS_REMOVE_FILE | LL_FS_MAKE_DIR |  \
	 LL_FS_MAKE_REG | LL_FS_MAKE_SOCK | LL_FS_MAKE_FIFO | LL_FS_MAKE_SYM | LL_FS_REFER)
#define SHARED_RIGHTS (LL_FS_READ_FILE | LL_FS_WRITE_FILE | LL_FS_TRUNCATE | LL_FS_MAKE_REG | LL_FS_REMOVE_FILE)
#define NO_EXECUTE(rights) ((rights) & ~LL_FS_EXECUTE)
#define DEVICE_RIGHTS (LL_FS_READ_FILE | LL_FS_WRITE_FILE | LL_FS_TRUNCATE | LL_FS_READ_DIR | LL_FS_IOCTL_DEV)

static const uint64_t grant_rights[] = {
	[GRANT_LIST] = LL_FS_READ_DIR,
	[GRANT_READ] = READ_RIGHTS,
	[GRANT_WRITE] = WRITE_RIGHTS,
	[GRANT_SHARED] = SHARED_RIGHTS,
	[GRANT_DEVICE] = DEVICE_RIGHTS,
	[GRANT_READ_DATA] = NO_EXECUTE(READ_RIGHTS),
	[GRANT_WRITE_DATA] = NO_EXECUTE(WRITE_RIGHTS),
	[GRANT_UNIX] = LL_FS_RESOLVE_UNIX,
};

/* Rights that something other than a folder can have. Source: ACCESS_FILE in security/landlock/fs.c. */
#define FILE_RIGHTS                                                                                                \
	(LL_FS_EXECUTE | LL_FS_WRITE_FILE | LL_FS_READ_FILE | LL_FS_TRUNCATE | LL_FS_IOCTL_DEV | LL_FS_RESOLVE_UNIX)

int landlock_abi(void)
{
	long v = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

	return v < 0 ? -errno : (int)v;
}

struct landlock_rights landlock_rights_for(int abi)
{
	struct landlock_rights r = {0, 0, 0};

	for (size_t i = 0; i < sizeof(abis) / sizeof(abis[0]) && abis[i].abi <= abi; i++) {
		r.fs |= abis[i].added.fs;
		r.net |= abis[i].added.net;
		r.scoped |= abis[i].added.scoped;
	}
	return r;
}

uint64_t landlock_access_for(enum landlock_grant grant, mode_t type, int abi)
{
	uint64_t access = grant_rights[grant];
	mode_t fmt = type & S_IFMT;

	/* A device that is named for writing is meant to be used: a terminal is nothing without ioctl. */
	if ((grant == GRANT_WRITE || grant == GRANT_WRITE_DATA) && (fmt == S_IFCHR || fmt == S_IFBLK))
		access |= LL_FS_IOCTL_DEV;
	if (fmt != S_IFDIR)
		access &= FILE_RIGHTS;
	return access & landlock_rights_for(abi).fs;
}

static const char *const fs_names[] = {
	"fs.execute",  "fs.write_file", "fs.read_file", "fs.read_dir",  "fs.remove_dir", "fs.remove_file",
	"fs.make_char", "fs.make_dir",  "fs.make_reg",  "fs.make_sock", "fs.make_fifo",  "fs.make_block",
	"fs.make_sym", "fs.refer",      "fs.truncate",  "fs.ioctl_dev", "fs.resolve_unix",
};
static const char *const net_names[] = {"net.bind_tcp", "net.connect_tcp", "net.bind_udp", "net.connect_send_udp"};
static const char *const scope_names[] = {"scope.abstract_unix_socket", "scope.signal"};

#define NAME_OF(table, bit) ((bit) < sizeof(table) / sizeof((table)[0]) ? (table)[bit] : NULL)

const char *landlock_fs_name(unsigned int bit)
{
	return NAME_OF(fs_names, bit);
}

const char *landlock_net_name(unsigned int bit)
{
	return NAME_OF(net_names, bit);
}

const char *landlock_scope_name(unsigned int bit)
{
	return NAME_OF(scope_names, bit);
}

int landlock_begin(struct landlock *ret, int abi, struct landlock_rights handled, struct err *e)
{
	struct ruleset_attr attr = {
		.handled_access_fs = handled.fs,
		.handled_access_net = handled.net,
		.scoped = handled.scoped,
	};
	long fd = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	if (fd < 0)
		return err_errno(e, errno, "cannot create a Landlock ruleset (ABI %d)", abi);
	*ret = (struct landlock){.fd = (int)fd, .abi = abi, .handled = handled};
	return 0;
}

void landlock_done(struct landlock *l)
{
	fd_close(&l->fd);
}

static bool out_of_reach(int code)
{
	return code == ENOENT || code == ENOTDIR || code == EACCES;
}

int landlock_open(const char *path, bool optional, int *ret_fd, struct err *e)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0 && optional && out_of_reach(errno))
		return 1;
	if (fd < 0)
		return err_set(e, errno, "cannot grant %s: %s: name a path that exists", path, strerror(errno));
	*ret_fd = fd;
	return 0;
}

int landlock_check_fit(int fd, const char *path, enum landlock_grant grant, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return err_errno(e, errno, "cannot grant %s", path);
	if (grant == GRANT_LIST && !S_ISDIR(st.st_mode))
		return err_set(e, ENOTDIR, "cannot grant listing of %s: it is not a folder", path);
	if (grant == GRANT_UNIX && !S_ISDIR(st.st_mode) && !S_ISSOCK(st.st_mode))
		return err_set(e, ENOTSOCK, "cannot grant connecting to %s: it is neither a socket nor a folder of sockets", path);
	return 0;
}

int landlock_add_fd(const struct landlock *l, int fd, const char *path, enum landlock_grant grant, struct err *e)
{
	struct path_beneath_attr attr = {0, fd};
	struct stat st;
	int rc = landlock_check_fit(fd, path, grant, e);

	if (rc != 0)
		return rc;
	if (fstat(fd, &st) != 0)
		return err_errno(e, errno, "cannot grant %s", path);
	attr.allowed_access = landlock_access_for(grant, st.st_mode, l->abi) & l->handled.fs;
	if (attr.allowed_access == 0) /* a right that this kernel does not know, so it denies nothing */
		return 0;
	if (syscall(SYS_landlock_add_rule, l->fd, RULE_PATH_BENEATH, &attr, 0) != 0)
		return err_errno(e, errno, "cannot grant %s: Landlock refuses the rule", path);
	return 0;
}

int landlock_add_path(const struct landlock *l, const char *path, enum landlock_grant grant, bool optional,
                      struct err *e)
{
	AUTO_FD fd = -1;
	int rc = landlock_open(path, optional, &fd, e);

	return rc == 0 ? landlock_add_fd(l, fd, path, grant, e) : rc;
}

int landlock_add_port(const struct landlock *l, uint64_t rights, uint16_t port, struct err *e)
{
	struct net_port_attr attr = {.allowed_access = rights & l->handled.net, .port = port};

	if (attr.allowed_access == 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, l->fd, RULE_NET_PORT, &attr, 0) != 0)
		return err_errno(e, errno, "cannot grant port %u: Landlock refuses the rule", (unsigned int)port);
	return 0;
}

int landlock_enforce(const struct landlock *l, struct err *e)
{
	if (syscall(SYS_landlock_restrict_self, l->fd, l->log && l->abi >= ABI_LOG ? RESTRICT_LOG_NEW_EXEC_ON : 0) != 0)
		return err_errno(e, errno, "cannot enter the Landlock domain");
	return 0;
}
