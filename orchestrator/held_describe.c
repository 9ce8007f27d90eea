/* A held call in words: see held.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "orchestrator/held.h"

#define STRING_SHOWN 256u

/* One letter an argument: i int, u unsigned, x hexadecimal, o mode, s string, d folder descriptor, f flags of open, c flags of
 * clone, F address family, T socket type, a address (its length is the next argument), R request of ioctl, P of ptrace. */
static const struct shape {
	const char *name;
	const char *args;
} shapes[] = {
	{"accept", "ixx"}, {"accept4", "ixxx"}, {"access", "so"}, {"acct", "s"}, {"add_key", "ssxui"}, {"adjtimex", "x"},
	{"bind", "iau"}, {"bpf", "ixu"}, {"chdir", "s"}, {"chmod", "so"}, {"chown", "sii"}, {"chroot", "s"},
	{"clock_settime", "ix"}, {"clone", "cxxxx"}, {"clone3", "xu"}, {"connect", "iau"}, {"creat", "so"},
	{"delete_module", "sx"}, {"execve", "sxx"}, {"execveat", "dsxxx"}, {"fanotify_init", "xx"},
	{"fanotify_mark", "ixxds"}, {"fchmod", "io"}, {"fchmodat", "dso"}, {"fchmodat2", "dsox"}, {"fchown", "iii"},
	{"fchownat", "dsiix"}, {"finit_module", "isx"}, {"fork", ""}, {"fremovexattr", "is"}, {"fsconfig", "iissi"},
	{"fsetxattr", "isxux"}, {"fsmount", "ixx"}, {"fsopen", "sx"}, {"fspick", "dsx"}, {"getpid", ""}, {"getppid", ""},
	{"getpriority", "ii"}, {"init_module", "xus"}, {"inotify_add_watch", "isx"}, {"io_uring_enter", "iuuxxu"},
	{"io_uring_register", "iuxu"}, {"io_uring_setup", "ux"}, {"ioctl", "iRx"}, {"ioperm", "uui"}, {"iopl", "i"},
	{"kcmp", "iiixx"}, {"keyctl", "ixxxx"}, {"kill", "ii"}, {"lchown", "sii"}, {"link", "ss"}, {"linkat", "dsdsx"},
	{"listen", "ii"}, {"lremovexattr", "ss"}, {"lsetxattr", "ssxux"}, {"memfd_create", "sx"}, {"mkdir", "so"},
	{"mkdirat", "dso"}, {"mknod", "sox"}, {"mknodat", "dsox"}, {"mount", "sssxs"}, {"mount_setattr", "dsxxu"},
	{"move_mount", "dsdsx"}, {"mq_open", "sfo"}, {"name_to_handle_at", "dsxxx"}, {"open", "sfo"},
	{"open_by_handle_at", "ixf"}, {"open_tree", "dsx"}, {"openat", "dsfo"}, {"openat2", "dsxu"},
	{"perf_event_open", "xiiix"}, {"personality", "x"}, {"pidfd_getfd", "iix"}, {"pivot_root", "ss"}, {"prctl", "ixxxx"},
	{"process_vm_readv", "ixuxux"}, {"process_vm_writev", "ixuxux"}, {"ptrace", "Pixx"}, {"quotactl", "xsix"},
	{"reboot", "xxxx"}, {"removexattr", "ss"}, {"rename", "ss"}, {"renameat", "dsds"}, {"renameat2", "dsdsx"},
	{"request_key", "sssi"}, {"rmdir", "s"}, {"sched_setaffinity", "iux"}, {"sched_yield", ""}, {"sendmsg", "ixx"},
	{"sendto", "ixuxau"}, {"setdomainname", "su"}, {"sethostname", "su"}, {"setns", "ix"}, {"setsid", ""},
	{"settimeofday", "xx"}, {"setuid", "i"}, {"setxattr", "ssxux"}, {"shmget", "xux"}, {"socket", "FTi"},
	{"socketpair", "FTix"}, {"swapoff", "s"}, {"swapon", "sx"}, {"symlink", "ss"}, {"symlinkat", "sds"}, {"syslog", "ixi"},
	{"tgkill", "iii"}, {"tkill", "ii"}, {"truncate", "si"}, {"umount2", "sx"}, {"unlink", "s"}, {"unlinkat", "dsx"},
	{"unshare", "c"}, {"userfaultfd", "x"}, {"utime", "sx"}, {"utimensat", "dsxx"}, {"utimes", "sx"}, {"vfork", ""},
	{"vhangup", ""},
};

struct word {
	uint64_t value;
	const char *name; /* NULL ends a table */
};

static const struct word open_flags[] = {
	{O_CREAT, "O_CREAT"}, {O_EXCL, "O_EXCL"}, {O_TRUNC, "O_TRUNC"}, {O_APPEND, "O_APPEND"}, {O_NONBLOCK, "O_NONBLOCK"},
	{O_NOCTTY, "O_NOCTTY"}, {020000000, "__O_TMPFILE"}, {O_DIRECTORY, "O_DIRECTORY"}, {O_NOFOLLOW, "O_NOFOLLOW"},
	{O_CLOEXEC, "O_CLOEXEC"}, {O_PATH, "O_PATH"}, {O_NOATIME, "O_NOATIME"}, {O_DIRECT, "O_DIRECT"}, {0, NULL},
};
static const struct word clone_flags[] = {
	{CLONE_VM, "CLONE_VM"}, {CLONE_FS, "CLONE_FS"}, {CLONE_FILES, "CLONE_FILES"}, {CLONE_SIGHAND, "CLONE_SIGHAND"},
	{CLONE_VFORK, "CLONE_VFORK"}, {CLONE_THREAD, "CLONE_THREAD"}, {CLONE_NEWNS, "CLONE_NEWNS"},
	{CLONE_NEWUTS, "CLONE_NEWUTS"}, {CLONE_NEWIPC, "CLONE_NEWIPC"}, {CLONE_NEWUSER, "CLONE_NEWUSER"},
	{CLONE_NEWPID, "CLONE_NEWPID"}, {CLONE_NEWNET, "CLONE_NEWNET"}, {0x02000000, "CLONE_NEWCGROUP"}, {0, NULL},
};
static const struct word families[] = {
	{AF_UNIX, "AF_UNIX"}, {AF_INET, "AF_INET"}, {AF_INET6, "AF_INET6"}, {AF_NETLINK, "AF_NETLINK"},
	{AF_PACKET, "AF_PACKET"}, {AF_VSOCK, "AF_VSOCK"}, {AF_ALG, "AF_ALG"}, {AF_BLUETOOTH, "AF_BLUETOOTH"},
	{AF_CAN, "AF_CAN"}, {AF_XDP, "AF_XDP"}, {0, NULL},
};
static const struct word types[] = {
	{SOCK_STREAM, "SOCK_STREAM"}, {SOCK_DGRAM, "SOCK_DGRAM"}, {SOCK_RAW, "SOCK_RAW"}, {SOCK_SEQPACKET, "SOCK_SEQPACKET"},
	{0, NULL},
};
static const struct word requests[] = {
	{TIOCSTI, "TIOCSTI"}, {0x541c, "TIOCLINUX"}, {TIOCSETD, "TIOCSETD"}, {TCGETS, "TCGETS"}, {TIOCGWINSZ, "TIOCGWINSZ"},
	{FIONREAD, "FIONREAD"}, {FIONBIO, "FIONBIO"}, {FIOCLEX, "FIOCLEX"}, {0, NULL},
};
static const struct word traces[] = {
	{PTRACE_TRACEME, "PTRACE_TRACEME"}, {PTRACE_PEEKTEXT, "PTRACE_PEEKTEXT"}, {PTRACE_ATTACH, "PTRACE_ATTACH"},
	{PTRACE_SEIZE, "PTRACE_SEIZE"}, {PTRACE_CONT, "PTRACE_CONT"}, {0, NULL},
};

static const char *word_for(const struct word *w, uint64_t value)
{
	for (; w->name != NULL; w++)
		if (w->value == value)
			return w->name;
	return NULL;
}

/* A name, or the number. */
static int add_word(struct buf *b, const struct word *w, uint64_t value)
{
	const char *name = word_for(w, value);

	return name != NULL ? buf_addf(b, "%s", name) : buf_addf(b, "0x%llx", (unsigned long long)value);
}

/* Names of bits, what is left as a number. */
static int add_bits(struct buf *b, const struct word *w, uint64_t value, const char *first)
{
	const char *sep = first != NULL ? "|" : "";
	int rc = first != NULL ? buf_addf(b, "%s", first) : 0;

	for (; rc == 0 && w->name != NULL; w++) {
		if ((value & w->value) != w->value)
			continue;
		rc = buf_addf(b, "%s%s", sep, w->name);
		value &= ~w->value;
		sep = "|";
	}
	if (rc == 0 && (value != 0 || sep[0] == '\0'))
		rc = buf_addf(b, "%s0x%llx", sep, (unsigned long long)value);
	return rc;
}

static int add_open_flags(struct buf *b, uint64_t flags)
{
	static const char *const modes[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"};

	return add_bits(b, open_flags, (flags & UINT32_MAX) & ~(uint64_t)(O_ACCMODE | 0100000 /* O_LARGEFILE */),
	                modes[flags & O_ACCMODE]);
}

static int add_type(struct buf *b, uint64_t type)
{
	int rc = add_word(b, types, type & 0xf);

	if (rc == 0 && (type & SOCK_CLOEXEC) != 0)
		rc = buf_addf(b, "|SOCK_CLOEXEC");
	if (rc == 0 && (type & SOCK_NONBLOCK) != 0)
		rc = buf_addf(b, "|SOCK_NONBLOCK");
	return rc;
}

static int add_string(struct buf *b, const struct held *h, uint64_t address)
{
	char text[STRING_SHOWN + 1];
	int rc = held_string(h, address, text, sizeof(text));

	if (rc == -EFAULT)
		return address == 0 ? buf_addf(b, "NULL") : buf_addf(b, "0x%llx", (unsigned long long)address);
	if (buf_addf(b, "\"") != 0 || buf_add_escaped(b, text, strlen(text), false) != 0)
		return -ENOMEM;
	return buf_addf(b, "\"%s", rc == -ENAMETOOLONG ? "..." : "");
}

static int add_path_address(struct buf *b, const struct sockaddr_un *un, size_t n)
{
	const char *path = un->sun_path;
	size_t len = n > offsetof(struct sockaddr_un, sun_path) ? n - offsetof(struct sockaddr_un, sun_path) : 0;
	bool abstract = len > 0 && path[0] == '\0';

	if (!abstract)
		len = strnlen(path, len);
	if (buf_addf(b, "unix:%s", abstract ? "@" : "") != 0)
		return -ENOMEM;
	return buf_add_escaped(b, path + (abstract ? 1 : 0), len - (abstract ? 1 : 0), false);
}

static int add_address(struct buf *b, const struct held *h, uint64_t address, uint64_t length)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
		struct sockaddr_storage room;
	} a;
	char text[INET6_ADDRSTRLEN];
	size_t n = (size_t)(length & UINT32_MAX) < sizeof(a) ? (size_t)(length & UINT32_MAX) : sizeof(a);

	memset(&a, 0, sizeof(a));
	if (n < sizeof(a.any.sa_family) || held_bytes(h, address, &a, n) != 0)
		return buf_addf(b, "0x%llx", (unsigned long long)address);
	if (a.any.sa_family == AF_INET && inet_ntop(AF_INET, &a.in.sin_addr, text, sizeof(text)) != NULL)
		return buf_addf(b, "%s:%u", text, (unsigned int)ntohs(a.in.sin_port));
	if (a.any.sa_family == AF_INET6 && inet_ntop(AF_INET6, &a.in6.sin6_addr, text, sizeof(text)) != NULL)
		return buf_addf(b, "[%s]:%u", text, (unsigned int)ntohs(a.in6.sin6_port));
	if (a.any.sa_family == AF_UNIX)
		return add_path_address(b, &a.un, n);
	return add_word(b, families, a.any.sa_family);
}

static int add_arg(struct buf *b, const struct held *h, char kind, unsigned int i)
{
	uint64_t v = h->n->data.args[i];

	switch (kind) {
	case 'i': return buf_addf(b, "%d", (int)v);
	case 'u': return buf_addf(b, "%llu", (unsigned long long)v);
	case 'o': return buf_addf(b, "0%o", (unsigned int)v);
	case 's': return add_string(b, h, v);
	case 'd': return (int)v == AT_FDCWD ? buf_addf(b, "AT_FDCWD") : buf_addf(b, "%d", (int)v);
	case 'f': return add_open_flags(b, v);
	case 'c': return add_bits(b, clone_flags, v & UINT32_MAX & ~UINT64_C(0xff), NULL);
	case 'F': return add_word(b, families, v & UINT32_MAX);
	case 'T': return add_type(b, v & UINT32_MAX);
	case 'a': return add_address(b, h, v, i < 5 ? h->n->data.args[i + 1] : 0);
	case 'R': return add_word(b, requests, v & UINT32_MAX);
	case 'P': return add_word(b, traces, v);
	default: return buf_addf(b, "0x%llx", (unsigned long long)v);
	}
}

int held_describe(const struct held *h, const char *name, struct buf *ret)
{
	const char *args = "xxxxxx";
	int rc = buf_addf(ret, "%s(", name);

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (str_eq(shapes[i].name, name))
			args = shapes[i].args;
	for (unsigned int i = 0; rc == 0 && args[i] != '\0'; i++) {
		rc = buf_addf(ret, "%s", i > 0 ? ", " : "");
		if (rc == 0)
			rc = add_arg(ret, h, args[i], i);
	}
	return rc == 0 ? buf_addf(ret, ")") : rc;
}
