/* The baseline filter's tables: see sets.h. */
#include "sandbox/sets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <stddef.h>

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif
#define NEWTIME 0x00000080u /* CLONE_NEWTIME: unshare only, in clone(2) the bit belongs to the exit signal */
#define FASTOPEN 0x20000000u /* MSG_FASTOPEN */
#define TMPFILE 020000000u   /* O_TMPFILE without O_DIRECTORY */

const struct sys_allow sys_allowed[] = {
	{"@io", "read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2", "read and write descriptors"},
	{"@io", "close close_range lseek dup dup2 dup3 fcntl flock", "keep descriptors"},
	{"@io", "sendfile copy_file_range splice tee vmsplice", "copy without user space: cp, git, web servers"},
	{"@io", "fadvise64 readahead cachestat", "page cache advice"},
	{"@file-read", "stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2", "look at metadata"},
	{"@file-read", "getdents getdents64 readlink readlinkat getcwd chdir fchdir umask", "walk folders"},
	{"@file-read", "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr getxattrat listxattrat",
	 "ls and cp read xattrs"},
	{"@file-read", "name_to_handle_at",
	 "identity of files (systemd tools, Go); opening by handle is refused below"},
	{"@file-write", "open openat creat", "open in any mode; where is Landlock's business"},
	{"@file-write", "mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat",
	 "change folders where ACL and Landlock let it"},
	{"@file-write", "mknod mknodat", "FIFOs and sockets; devices are refused below"},
	{"@file-write", "truncate ftruncate fallocate fsync fdatasync sync syncfs sync_file_range", "size and durability"},
	{"@file-attributes", "chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat",
	 "own files; set-id bits are refused below"},
	{"@file-attributes", "utime utimes futimesat utimensat", "make, tar and rsync keep times"},
	{"@file-attributes", "setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat",
	 "cp -a and package managers; user.* on own files only, by ownership"},
	{"@watch", "inotify_init inotify_init1 inotify_add_watch inotify_rm_watch", "watchers: node, tsc, cargo watch"},
	{"@memory", "memfd_create", "JITs and anonymous files"},
	{"@ioctl", "ioctl", "terminals and files; the dangerous requests are refused below"},
	{"@memory", "mmap munmap mremap mprotect madvise brk msync mincore remap_file_pages", "memory"},
	{"@memory", "mlock mlock2 munlock mlockall munlockall", "within RLIMIT_MEMLOCK"},
	{"@memory", "pkey_alloc pkey_free pkey_mprotect membarrier map_shadow_stack mseal", "JIT and hardening runtimes"},
	{"@memory", "mbind get_mempolicy set_mempolicy set_mempolicy_home_node", "own memory only: JVM, numpy"},
	{"@process", "clone fork vfork execve execveat exit exit_group wait4 waitid",
	 "processes; namespaces are refused below"},
	{"@process", "getpid getppid gettid getpgid getpgrp setpgid getsid setsid", "job control"},
	{"@thread", "set_tid_address set_robust_list get_robust_list rseq arch_prctl prctl", "libc's thread start"},
	{"@thread", "futex futex_waitv futex_wake futex_wait futex_requeue", "locks"},
	{"@identity", "getuid geteuid getgid getegid getresuid getresgid getgroups", "who am I"},
	{"@identity-set", "setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid capget capset",
	 "programs drop what they do not have; no_new_privs holds"},
	{"@limits", "getrlimit setrlimit prlimit64 getrusage times getpriority setpriority", "limits, downwards"},
	{"@sched", "sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_setparam sched_getscheduler "
	 "sched_setscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval sched_setattr "
	 "sched_getattr ioprio_get ioprio_set getcpu", "own scheduling: Go, JVM, nice, ionice"},
	{"@facts", "uname sysinfo getrandom", "harmless facts"},
	{"@signal", "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait rt_sigqueueinfo "
	 "rt_tgsigqueueinfo sigaltstack restart_syscall pause signalfd signalfd4", "signal handling"},
	{"@signal", "kill tkill tgkill pidfd_open pidfd_send_signal process_mrelease",
	 "signals; who can be reached is held by uid, pid namespace and Landlock scope"},
	{"@time", "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time alarm setitimer getitimer",
	 "clocks, reading"},
	{"@time", "timer_create timer_settime timer_gettime timer_getoverrun timer_delete timerfd_create timerfd_settime "
	 "timerfd_gettime", "timers"},
	{"@poll", "poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd "
	 "eventfd2 pipe pipe2", "event loops"},
	{"@aio", "io_setup io_submit io_destroy io_cancel io_getevents io_pgetevents", "POSIX-style AIO: databases"},
	{"@socket", "bind listen accept accept4 connect getsockname getpeername sendto recvfrom sendmsg recvmsg sendmmsg "
	 "recvmmsg shutdown setsockopt getsockopt", "sockets that socket(2) let through"},
	{"@ipc", "shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl",
	 "System V IPC: databases; a turn has its own IPC namespace"},
	{"@ipc", "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr", "POSIX queues, as above"},
	{"@confine", "unshare", "CLONE_FILES and CLONE_FS; namespaces are refused below"},
	{"@confine", "seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self",
	 "a command may confine itself further: agents' own sandboxes"},
	{NULL, NULL, NULL},
};

/* Shorthands for the conditions below. */
#define IS(n, m, v) {(n), (uint32_t)(m), (uint32_t)(v)}
#define BIT(n, b) IS(n, b, b)
#define INT(n, v) IS(n, 0xffffffffu, v)
/* Bits of open(2) that write, create, cut or make a nameless file; all clear is a plain O_RDONLY. */
#define WRITING (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | TMPFILE)

const struct sys_allow_if sys_allowed_if[] = {
	{"@file-read", "open", {IS(1, WRITING, O_RDONLY)}, "open for reading only"},
	{"@file-read", "openat", {IS(2, WRITING, O_RDONLY)}, "open for reading only"},
	{"@thread", "clone", {BIT(0, CLONE_THREAD)}, "threads, no processes"},
	{"@terminal", "ioctl", {INT(1, TCGETS)}, "is it a terminal: isatty, stdio's buffering"},
	{"@terminal", "ioctl", {INT(1, TIOCGWINSZ)}, "its size"},
	{"@terminal", "ioctl", {INT(1, FIONREAD)}, "bytes waiting"},
	{"@terminal", "ioctl", {INT(1, FIOCLEX)}, "python sets close-on-exec this way"},
	{"@start", "execve", {{0, 0, 0}}, "the guard's own step to the command"},
	{"@start", "brk mmap munmap mprotect madvise", {{0, 0, 0}}, "loader and malloc"},
	{"@start", "arch_prctl set_tid_address set_robust_list rseq prlimit64 getrandom futex", {{0, 0, 0}}, "libc's start"},
	{"@start", "exit exit_group rt_sigreturn restart_syscall", {{0, 0, 0}}, "ending; the kernel's own returns"},
	{"@start", "access faccessat faccessat2 pread64 fstat newfstatat statx", {{0, 0, 0}}, "the dynamic loader"},
	{"@start", "open", {IS(1, WRITING, O_RDONLY)}, "shared libraries"},
	{"@start", "openat", {IS(2, WRITING, O_RDONLY)}, "shared libraries"},
	{NULL, NULL, {{0, 0, 0}}, NULL},
};

const struct sys_refuse sys_refused[] = {
	{"clone3", ENOSYS, 0, "its flags lie in memory, where no filter sees them; glibc falls back on ENOSYS only"},
	{"openat2", ENOSYS, 0, "its mode lies in memory: set-id files; callers fall back to openat"},
	{"mount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick "
	 "mount_setattr", EPERM, 0, "changes what paths mean: rules bind inodes, covers are mounts"},
	{"setns", EPERM, 0, "leaves the turn's namespaces"},
	{"ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp", EPERM, 0,
	 "reaches into other processes of the same user"},
	{"open_by_handle_at", EPERM, 0, "opens an inode without walking a path"},
	{"io_uring_setup io_uring_enter io_uring_register", EPERM, 0,
	 "runs system calls where no filter sees them; libuv and others fall back"},
	{"bpf perf_event_open userfaultfd", EPERM, 0, "kernel attack surface that builds do not need"},
	{"keyctl add_key request_key", EPERM, 0, "keyrings are shared by uid, not by domain"},
	{"kexec_load kexec_file_load reboot init_module finit_module delete_module", EPERM, 0, "the kernel itself"},
	{"swapon swapoff acct quotactl quotactl_fd syslog sethostname setdomainname vhangup lookup_dcookie", EPERM, 0,
	 "administration"},
	{"settimeofday clock_settime adjtimex clock_adjtime", EPERM, 0, "the machine's clock"},
	{"iopl ioperm", EPERM, 0, "hardware ports"},
	{"move_pages migrate_pages", EPERM, 0, "other processes' memory placement; reveals physical layout"},
	{"fanotify_init fanotify_mark", EPERM, 0, "watches names outside the grants"},
	{"lsm_set_self_attr", EPERM, 0, "changes the security context"},
	{"file_setattr", EPERM, 0, "inode flags (immutable, project quota)"},
	{"chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat", EPERM, ONLY_OWNER,
	 "Landlock does not judge metadata, and the owner's uid may change all of it"},
	{"setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat", EPERM, ONLY_OWNER,
	 "ACLs are xattrs: the owner could open what is sealed"},
	{"utime utimes futimesat utimensat", EPERM, ONLY_OWNER, "times are metadata, too"},
	{NULL, 0, 0, NULL},
};

#define NAMESPACE(b) \
	{"unshare", EPERM, 0, {BIT(0, b)}, "a new namespace gives capabilities inside it and a way round mounts"}, \
	{"clone", EPERM, 0, {BIT(0, b)}, "the same by clone"}
#define SETID(b) \
	{"chmod fchmod", EPERM, 0, {BIT(1, b)}, "a set-id file outlives the turn"}, \
	{"fchmodat fchmodat2", EPERM, 0, {BIT(2, b)}, "the same"}, \
	{"open", EPERM, 0, {BIT(1, O_CREAT), BIT(2, b)}, "created with the bit"}, \
	{"open", EPERM, 0, {BIT(1, TMPFILE), BIT(2, b)}, "created with the bit, linked later"}, \
	{"creat", EPERM, 0, {BIT(1, b)}, "created with the bit"}, \
	{"openat", EPERM, 0, {BIT(2, O_CREAT), BIT(3, b)}, "created with the bit"}, \
	{"openat", EPERM, 0, {BIT(2, TMPFILE), BIT(3, b)}, "created with the bit, linked later"}, \
	{"mknod", EPERM, 0, {BIT(1, b)}, "created with the bit"}, \
	{"mknodat", EPERM, 0, {BIT(2, b)}, "created with the bit"}
#define DEVICE(t) \
	{"mknod", EPERM, 0, {IS(1, S_IFMT, t)}, "device nodes"}, \
	{"mknodat", EPERM, 0, {IS(2, S_IFMT, t)}, "device nodes"}
/* Bit 0 must be clear so that the query (all ones) passes; what is allowed is decided by sys_personalities. */
#define PERSONALITY(b) {"personality", EPERM, 0, {IS(0, (b) | 1u, b)}, "weakens the memory layout"}
#define RAW(family) {"socket", EPERM, 0, {INT(0, family), IS(1, 0xf, SOCK_RAW)}, "raw packets pass every port rule"}
/* MPTCP 262, SMC 256, SCTP 132, UDP-Lite 136, DCCP 33: what else there is falls to ENOSYS. */
#define PROTO_BIT(family, type, b) \
	{"socket", EPROTONOSUPPORT, 0, {INT(0, family), IS(1, 0xf, type), BIT(2, b)}, \
	 "streams that Landlock's TCP rules do not see"}
#define OTHER_PROTO(family, type) \
	PROTO_BIT(family, type, 0x20), PROTO_BIT(family, type, 0x80), PROTO_BIT(family, type, 0x100)

const struct sys_refuse_if sys_refused_if[] = {
	{"ioctl", EPERM, 0, {INT(1, TIOCSTI)}, "types into the terminal of whoever started the command"},
	{"ioctl", EPERM, 0, {INT(1, 0x541c)}, "TIOCLINUX: pastes into a console"},
	{"ioctl", EPERM, 0, {INT(1, TIOCSETD)}, "line disciplines: kernel modules on demand"},
	{"ioctl", EPERM, 0, {INT(1, FS_IOC_SETFLAGS)}, "inode flags outlive the turn: no dump, case folding, ..."},
	{"ioctl", EPERM, 0, {INT(1, FS_IOC_FSSETXATTR)}, "the same, and project quotas"},
	{"ioctl", EPERM, 0, {INT(1, FS_IOC_ENABLE_VERITY)}, "a file that its owner cannot change any more"},
	{"ioctl", EPERM, 0, {INT(1, FS_IOC_SET_ENCRYPTION_POLICY)}, "a folder that its owner cannot read without the key"},
	NAMESPACE(CLONE_NEWNS),
	NAMESPACE(CLONE_NEWUSER),
	NAMESPACE(CLONE_NEWPID),
	NAMESPACE(CLONE_NEWNET),
	NAMESPACE(CLONE_NEWIPC),
	NAMESPACE(CLONE_NEWUTS),
	NAMESPACE(CLONE_NEWCGROUP),
	{"unshare", EPERM, 0, {BIT(0, NEWTIME)}, "time namespace"},
	SETID(S_ISUID),
	SETID(S_ISGID),
	DEVICE(S_IFCHR),
	DEVICE(S_IFBLK),
	PERSONALITY(READ_IMPLIES_EXEC),
	PERSONALITY(MMAP_PAGE_ZERO),
	PERSONALITY(ADDR_COMPAT_LAYOUT),
	RAW(AF_INET),
	RAW(AF_INET6),
	OTHER_PROTO(AF_INET, SOCK_STREAM),
	OTHER_PROTO(AF_INET6, SOCK_STREAM),
	OTHER_PROTO(AF_INET, SOCK_DGRAM),
	OTHER_PROTO(AF_INET6, SOCK_DGRAM),
	{"socket", EACCES, 0, {INT(0, AF_INET), IS(1, 0xf, SOCK_DGRAM), INT(2, IPPROTO_ICMP)}, "ping: not a port"},
	{"socket", EPROTONOSUPPORT, 0, {INT(0, AF_INET), IS(1, 0xf, SOCK_SEQPACKET)}, "SCTP, as above"},
	{"socket", EPROTONOSUPPORT, 0, {INT(0, AF_INET6), IS(1, 0xf, SOCK_SEQPACKET)}, "SCTP, as above"},
	/* Landlock judges connect(2); a fast-open send connects without it. Clients fall back on EOPNOTSUPP. */
	{"sendto sendmmsg", EOPNOTSUPP, 0, {BIT(3, FASTOPEN)}, "connects past Landlock's port rules"},
	{"sendmsg", EOPNOTSUPP, 0, {BIT(2, FASTOPEN)}, "the same"},
	{NULL, 0, 0, {{0, 0, 0}}, NULL},
};

const struct sys_family sys_families[] = {
	{"@socket-unix", AF_UNIX, -1, -1, 0, "local sockets; abstract ones are held by Landlock's scope"},
	{"@socket-inet", AF_INET, SOCK_STREAM, 0, ONLY_NET, "TCP"},
	{"@socket-inet", AF_INET, SOCK_STREAM, IPPROTO_TCP, ONLY_NET, "TCP"},
	{"@socket-inet", AF_INET, SOCK_DGRAM, 0, ONLY_NET, "UDP: name resolution"},
	{"@socket-inet", AF_INET, SOCK_DGRAM, IPPROTO_UDP, ONLY_NET, "UDP"},
	{"@socket-inet", AF_INET6, SOCK_STREAM, 0, ONLY_NET, "TCP"},
	{"@socket-inet", AF_INET6, SOCK_STREAM, IPPROTO_TCP, ONLY_NET, "TCP"},
	{"@socket-inet", AF_INET6, SOCK_DGRAM, 0, ONLY_NET, "UDP"},
	{"@socket-inet", AF_INET6, SOCK_DGRAM, IPPROTO_UDP, ONLY_NET, "UDP"},
	{"@socket-inet", AF_NETLINK, -1, 0, ONLY_NET, "NETLINK_ROUTE: getifaddrs, name resolution; reading without capabilities"},
	{NULL, -1, 0, 0, 0, NULL},
};

const struct sys_personality sys_personalities[] = {
	{PER_LINUX, "the default"},
	{PER_LINUX32, "linux32, setarch: uname only"},
	{UNAME26, "old installers"},
	{PER_LINUX32 | UNAME26, "both"},
	{ADDR_NO_RANDOMIZE, "setarch -R: its own layout only, debuggers and reproducible builds"},
	{0xffffffffu, "the query"},
	{0, NULL},
};

const struct sys_number sys_numbers[] = {
	{"process_madvise", 440}, {"epoll_pwait2", 441}, {"mount_setattr", 442}, {"quotactl_fd", 443},
	{"landlock_create_ruleset", 444}, {"landlock_add_rule", 445}, {"landlock_restrict_self", 446},
	{"process_mrelease", 448}, {"futex_waitv", 449}, {"set_mempolicy_home_node", 450},
	{"cachestat", 451}, {"fchmodat2", 452}, {"map_shadow_stack", 453},
	{"futex_wake", 454}, {"futex_wait", 455}, {"futex_requeue", 456},
	{"lsm_set_self_attr", 460}, {"mseal", 462}, {"setxattrat", 463},
	{"getxattrat", 464}, {"listxattrat", 465}, {"removexattrat", 466},
	{"open_tree_attr", 467}, {"file_setattr", 469},
	{NULL, 0},
};
