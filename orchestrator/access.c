/* Rights that a call takes: see access.h. */
#include "orchestrator/access.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "orchestrator/access_path.h"
#include "sandbox/landlock.h"

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#define TMPFILE 020000000u /* O_TMPFILE without O_DIRECTORY */
#define HEAD 256 /* of a program: the kernel reads as much for "#!" */

struct asked {
	const struct held *h;
	struct access *ret;
	size_t n;
};

static void add(struct asked *q, const struct place *at, const char *name, uint64_t fs)
{
	struct access *a = &q->ret[q->n];

	if (q->n == ACCESS_MAX || fs == 0)
		return;
	*a = (struct access){.fs = fs, .type = at->st.st_mode & S_IFMT};
	(void)snprintf(a->at, sizeof(a->at), "%s", at->path);
	if (name == NULL)
		(void)snprintf(a->path, sizeof(a->path), "%s", at->path);
	else if ((size_t)snprintf(a->path, sizeof(a->path), "%s/%s", str_eq(at->path, "/") ? "" : at->path, name) >= sizeof(a->path))
		return;
	q->n++;
}

static uint64_t arg(const struct asked *q, int i)
{
	return q->h->n->data.args[i];
}

static int text_arg(const struct asked *q, int i, char ret[PATH_MAX])
{
	return held_string(q->h, arg(q, i), ret, PATH_MAX);
}

static int dir_arg(const struct asked *q, int i)
{
	return i < 0 ? AT_FDCWD : (int)arg(q, i);
}

/* What mode and owner refuse never comes to Landlock. The command has the supervisor's ids, or fewer rights. */
static bool mode_allows(const struct place *p, int mode)
{
	return faccessat(AT_FDCWD, p->path, mode, AT_EACCESS) == 0;
}

/* ---- open, execve, truncate */

static void opened(struct asked *q, int dir, const char *text, unsigned int flags)
{
	unsigned int mode = flags & O_ACCMODE;
	bool creates = (flags & O_CREAT) != 0;
	uint64_t fs = (mode != O_WRONLY ? LL_FS_READ_FILE : 0) | (mode != O_RDONLY ? LL_FS_WRITE_FILE : 0);
	char name[NAME_MAX + 1];
	struct stat entry;
	struct place p;
	bool exists;
	int rc;

	if ((flags & O_PATH) != 0)
		return;
	rc = place_of(q->h, dir, text, (flags & O_NOFOLLOW) == 0, &p);
	if (rc == -ENOENT && creates) {
		if (place_of_entry(q->h, dir, text, &p, name, &exists, &entry) == 0 && !exists && mode_allows(&p, W_OK | X_OK))
			add(q, &p, name, fs | LL_FS_MAKE_REG);
		return;
	}
	if (rc != 0 || (creates && (flags & O_EXCL) != 0) || S_ISLNK(p.st.st_mode))
		return;
	if (S_ISDIR(p.st.st_mode) && (flags & TMPFILE) == 0)
		fs = mode == O_RDONLY && !creates ? LL_FS_READ_DIR : 0;
	if ((flags & O_TRUNC) != 0 && S_ISREG(p.st.st_mode))
		fs |= LL_FS_TRUNCATE;
	if (mode_allows(&p, (mode != O_WRONLY ? R_OK : 0) | (mode != O_RDONLY || (flags & O_TRUNC) != 0 ? W_OK : 0)))
		add(q, &p, NULL, fs);
}

static void open_call(struct asked *q, int dir, int path)
{
	char text[PATH_MAX];

	if (text_arg(q, path, text) == 0)
		opened(q, dir_arg(q, dir), text, (unsigned int)arg(q, path + 1));
}

static void creat_call(struct asked *q, int dir, int path)
{
	char text[PATH_MAX];

	if (text_arg(q, path, text) == 0)
		opened(q, dir_arg(q, dir), text, O_CREAT | O_WRONLY | O_TRUNC);
}

static void truncate_call(struct asked *q, int dir, int path)
{
	char text[PATH_MAX];
	struct place p;

	if (text_arg(q, path, text) == 0 && place_of(q->h, dir_arg(q, dir), text, true, &p) == 0 && S_ISREG(p.st.st_mode) &&
	    mode_allows(&p, W_OK))
		add(q, &p, NULL, LL_FS_TRUNCATE);
}

/* "#!/bin/sh -e": the interpreter is executed, too. */
static void interpreter(struct asked *q, const char *file)
{
	AUTO_FD fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char head[HEAD];
	struct place p;
	const char *at = head + 2;
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);

	if (n < 3 || head[0] != '#' || head[1] != '!')
		return;
	head[n] = '\0';
	at += strspn(at, " \t");
	head[(size_t)(at - head) + strcspn(at, " \t\r\n")] = '\0';
	if (place_of(q->h, AT_FDCWD, at, true, &p) == 0 && mode_allows(&p, X_OK))
		add(q, &p, NULL, LL_FS_EXECUTE | LL_FS_READ_FILE);
}

static void exec_call(struct asked *q, int dir, int path)
{
	char text[PATH_MAX];
	struct place p;

	if (text_arg(q, path, text) != 0 || place_of(q->h, dir_arg(q, dir), text, true, &p) != 0 || !S_ISREG(p.st.st_mode) ||
	    !mode_allows(&p, X_OK))
		return;
	add(q, &p, NULL, LL_FS_EXECUTE | LL_FS_READ_FILE);
	interpreter(q, p.path);
}

/* ---- folders' entries */

static uint64_t made(mode_t type)
{
	switch (type & S_IFMT) {
	case S_IFDIR: return LL_FS_MAKE_DIR;
	case S_IFLNK: return LL_FS_MAKE_SYM;
	case S_IFIFO: return LL_FS_MAKE_FIFO;
	case S_IFSOCK: return LL_FS_MAKE_SOCK;
	case S_IFCHR: return LL_FS_MAKE_CHAR;
	case S_IFBLK: return LL_FS_MAKE_BLOCK;
	default: return LL_FS_MAKE_REG;
	}
}

static uint64_t removed(mode_t type)
{
	return S_ISDIR(type) ? LL_FS_REMOVE_DIR : LL_FS_REMOVE_FILE;
}

struct entry {
	struct place folder;
	char name[NAME_MAX + 1];
	bool exists;
	struct stat st;
};

/* The entry of a folder that may be changed as far as modes go. */
static bool find_entry(struct asked *q, int dir, int path, struct entry *ret)
{
	char text[PATH_MAX];

	return text_arg(q, path, text) == 0 &&
	       place_of_entry(q->h, dir_arg(q, dir), text, &ret->folder, ret->name, &ret->exists, &ret->st) == 0 &&
	       mode_allows(&ret->folder, W_OK | X_OK);
}

static void make(struct asked *q, int dir, int path, mode_t type)
{
	struct entry t;

	if (find_entry(q, dir, path, &t) && !t.exists)
		add(q, &t.folder, t.name, made(type));
}

static void mkdir_call(struct asked *q, int dir, int path)
{
	make(q, dir, path, S_IFDIR);
}

static void mknod_call(struct asked *q, int dir, int path)
{
	make(q, dir, path, (mode_t)arg(q, path + 1));
}

/* symlink(2) has its new name behind the target. */
static void symlink_call(struct asked *q, int dir, int path)
{
	make(q, dir, path, S_IFLNK);
}

static void unlink_call(struct asked *q, int dir, int path)
{
	bool folder = dir >= 0 && (arg(q, path + 1) & AT_REMOVEDIR) != 0;
	struct entry t;

	if (find_entry(q, dir, path, &t) && t.exists && S_ISDIR(t.st.st_mode) == folder)
		add(q, &t.folder, t.name, removed(t.st.st_mode));
}

static void rmdir_call(struct asked *q, int dir, int path)
{
	struct entry t;

	if (find_entry(q, dir, path, &t) && t.exists && S_ISDIR(t.st.st_mode))
		add(q, &t.folder, t.name, LL_FS_REMOVE_DIR);
}

/* From an old entry to a new one; a move to another folder takes more. */
static void moved(struct asked *q, int dir, int path, bool link)
{
	int second = dir < 0 ? path + 1 : path + 2;
	struct entry from;
	struct entry to;
	uint64_t refer;

	if (!find_entry(q, dir, path, &from) || !from.exists || !find_entry(q, dir < 0 ? -1 : second - 1, second, &to))
		return;
	refer = str_eq(from.folder.path, to.folder.path) ? 0 : LL_FS_REFER;
	add(q, &from.folder, from.name, refer | (link ? 0 : removed(from.st.st_mode)));
	if (!to.exists || !link)
		add(q, &to.folder, to.name, refer | made(from.st.st_mode) | (to.exists ? removed(to.st.st_mode) : 0));
}

static void rename_call(struct asked *q, int dir, int path)
{
	moved(q, dir, path, false);
}

static void link_call(struct asked *q, int dir, int path)
{
	moved(q, dir, path, true);
}

/* ---- sockets */

/* The command's socket itself, for its protocol; -1 when this process may not have it. */
static int borrow(const struct held *h, int fd)
{
	AUTO_FD process = (int)syscall(SYS_pidfd_open, h->process, 0);

	return process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
}

static uint64_t socket_right(const struct held *h, int fd, uint64_t tcp, uint64_t udp)
{
	AUTO_FD borrowed = borrow(h, fd);
	int protocol = 0;
	socklen_t n = sizeof(protocol);

	if (borrowed < 0 || getsockopt(borrowed, SOL_SOCKET, SO_PROTOCOL, &protocol, &n) != 0)
		return 0;
	return protocol == IPPROTO_TCP ? tcp : protocol == IPPROTO_UDP ? udp : 0;
}

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

static void port(struct asked *q, const union address *a, uint64_t tcp, uint64_t udp)
{
	uint64_t net = socket_right(q->h, (int)arg(q, 0), tcp, udp);

	if (net == 0 || q->n == ACCESS_MAX)
		return;
	q->ret[q->n++] = (struct access){.net = net, .port = ntohs(a->any.sa_family == AF_INET ? a->in.sin_port : a->in6.sin6_port)};
}

static void socket_call(struct asked *q, bool binds)
{
	union address a = {.any = {.sa_family = AF_UNSPEC}};
	size_t n = (size_t)(arg(q, 2) & UINT32_MAX) < sizeof(a) - 1 ? (size_t)(arg(q, 2) & UINT32_MAX) : sizeof(a) - 1;
	struct entry t;
	struct place p;

	memset(&a, 0, sizeof(a));
	if (n <= sizeof(a.any.sa_family) || held_bytes(q->h, arg(q, 1), &a, n) != 0)
		return;
	if (a.any.sa_family == AF_INET || a.any.sa_family == AF_INET6) {
		port(q, &a, binds ? LL_NET_BIND_TCP : LL_NET_CONNECT_TCP, binds ? LL_NET_BIND_UDP : LL_NET_CONNECT_SEND_UDP);
		return;
	}
	if (a.any.sa_family != AF_UNIX || a.un.sun_path[0] == '\0')
		return;
	if (!binds && place_of(q->h, AT_FDCWD, a.un.sun_path, true, &p) == 0 && S_ISSOCK(p.st.st_mode) && mode_allows(&p, W_OK))
		add(q, &p, NULL, LL_FS_RESOLVE_UNIX);
	if (binds && place_of_entry(q->h, AT_FDCWD, a.un.sun_path, &t.folder, t.name, &t.exists, &t.st) == 0 && !t.exists &&
	    mode_allows(&t.folder, W_OK | X_OK))
		add(q, &t.folder, t.name, LL_FS_MAKE_SOCK);
}

static void bind_call(struct asked *q, int dir, int path)
{
	(void)dir;
	(void)path;
	socket_call(q, true);
}

static void connect_call(struct asked *q, int dir, int path)
{
	(void)dir;
	(void)path;
	socket_call(q, false);
}

/* ---- the tables */

static const struct call {
	const char *name;
	void (*fn)(struct asked *q, int dir, int path);
	int dir;   /* argument with the folder's descriptor, -1: the working folder */
	int path;  /* argument with the path */
} calls[] = {
	{"open", open_call, -1, 0}, {"openat", open_call, 0, 1}, {"creat", creat_call, -1, 0},
	{"truncate", truncate_call, -1, 0}, {"execve", exec_call, -1, 0}, {"execveat", exec_call, 0, 1},
	{"mkdir", mkdir_call, -1, 0}, {"mkdirat", mkdir_call, 0, 1}, {"mknod", mknod_call, -1, 0},
	{"mknodat", mknod_call, 0, 1}, {"symlink", symlink_call, -1, 1}, {"symlinkat", symlink_call, 1, 2},
	{"unlink", unlink_call, -1, 0}, {"unlinkat", unlink_call, 0, 1}, {"rmdir", rmdir_call, -1, 0},
	{"rename", rename_call, -1, 0}, {"renameat", rename_call, 0, 1}, {"renameat2", rename_call, 0, 1},
	{"link", link_call, -1, 0}, {"linkat", link_call, 0, 1}, {"bind", bind_call, -1, 1}, {"connect", connect_call, -1, 1},
};
#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

const char *access_call(size_t i)
{
	return i < N_CALLS ? calls[i].name : NULL;
}

size_t access_of(const struct held *h, const char *call, struct access ret[ACCESS_MAX])
{
	struct asked q = {.h = h, .ret = ret};

	for (size_t i = 0; i < N_CALLS; i++)
		if (str_eq(calls[i].name, call))
			calls[i].fn(&q, calls[i].dir, calls[i].path);
	return q.n;
}

const char *access_right_name(bool net, uint64_t bit)
{
	static const struct {
		bool net;
		uint64_t bit;
		const char *name;
	} rights[] = {
		{false, LL_FS_EXECUTE, "fs.execute"}, {false, LL_FS_WRITE_FILE, "fs.write_file"},
		{false, LL_FS_READ_FILE, "fs.read_file"}, {false, LL_FS_READ_DIR, "fs.read_dir"},
		{false, LL_FS_REMOVE_DIR, "fs.remove_dir"}, {false, LL_FS_REMOVE_FILE, "fs.remove_file"},
		{false, LL_FS_MAKE_CHAR, "fs.make_char"}, {false, LL_FS_MAKE_DIR, "fs.make_dir"},
		{false, LL_FS_MAKE_REG, "fs.make_reg"}, {false, LL_FS_MAKE_SOCK, "fs.make_sock"},
		{false, LL_FS_MAKE_FIFO, "fs.make_fifo"}, {false, LL_FS_MAKE_BLOCK, "fs.make_block"},
		{false, LL_FS_MAKE_SYM, "fs.make_sym"}, {false, LL_FS_REFER, "fs.refer"},
		{false, LL_FS_TRUNCATE, "fs.truncate"}, {false, LL_FS_IOCTL_DEV, "fs.ioctl_dev"},
		{false, LL_FS_RESOLVE_UNIX, "fs.resolve_unix"}, {true, LL_NET_BIND_TCP, "net.bind_tcp"},
		{true, LL_NET_CONNECT_TCP, "net.connect_tcp"}, {true, LL_NET_BIND_UDP, "net.bind_udp"},
		{true, LL_NET_CONNECT_SEND_UDP, "net.connect_send_udp"},
	};

	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
		if (rights[i].net == net && rights[i].bit == bit)
			return rights[i].name;
	return "";
}
