/* What one command sees: the project with its covers, private folders, read paths, HOME, scratch, network, terminals.
 * With an argument this program is a command inside the view that reports exact errnos. */
#include "tests/unit/spawn_fixture.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define AGENT 64110u
#define DENIED "Permission denied\n"

/* The errno of a refused command, as libc words it. */
#define WHY " 2>&1 | grep -oE 'Permission denied|No such file or directory|Read-only file system|Operation not permitted|" \
	"Invalid argument|Device or resource busy'; "

static struct fx fx;

static int setup(void **state)
{
	char command[1024];

	*state = &fx;
	fx_open(&fx, "/tmp", AGENT);
	fx_fill(&fx);
	(void)snprintf(command, sizeof(command), "cp /proc/%d/exe %s/src/self && chmod 755 %s/src/self", getpid(), fx.root, fx.root);
	assert_int_equal(system(command), 0);
	return 0;
}

static int teardown(void **state)
{
	fx_close(*state);
	return 0;
}

static void say(const char *what, int rc)
{
	(void)printf("%s %s\n", what, rc == 0 ? "0" : strerrorname_np(errno));
	(void)fflush(stdout);
}

static void test_covers(void **state)
{
	struct fx *f = *state;

	fx_reset(f);
	f->layers = LAYER_ACL;
	f->covers = false;
	assert_prints(f, "cat tests/secret .git/config notes lib/other lib/core/c; ls tests",
	              "the answer\n[core]\nunlisted\nother\ncore\nsecret\n");
	f->covers = true;
	assert_prints(f, "cat TASKS.md src/a.c lib/core/c; cat tests/secret" WHY "ls tests" WHY "stat tests/secret" WHY
	              "cat .git/config" WHY "cat notes" WHY "cat lib/other" WHY "ls .stint" WHY
	              "stat -c '%n %a %u %s' tests notes lib/other",
	              "- [ ] one\nint a;\ncore\n" DENIED DENIED DENIED DENIED DENIED DENIED DENIED
	              "tests 0 0 40\nnotes 0 0 0\nlib/other 0 0 0\n");
	assert_prints(f, "echo new >src/b && mv src/b src/c && cat src/c && rm src/c && ls src", "new\na.c\nself\n");
}

/* By the owner, who may rename and remove everything in the real folder: the covers do not move. */
static void test_covers_stay(void **state)
{
	struct fx *f = *state;

	fx_reset(f);
	f->as_owner = true;
	f->layers = 0;
	f->covers = false;
	assert_prints(f, "mv notes x && cat x && mv x notes", "unlisted\n");
	f->covers = true;
	assert_prints(f, "mv notes x" WHY "rm -f notes" WHY "rmdir tests" WHY "chmod 755 tests" WHY "ln -s ../tests/secret src/link; "
	              "cat src/link" WHY "rm src/link; cat tests/secret" WHY,
	              "Device or resource busy\nDevice or resource busy\nDevice or resource busy\nRead-only file system\n" DENIED
	              DENIED);
}

/* A user namespace of its own gives the command capabilities, but mounts inherited from ours stay locked. */
static int inside_own_namespace(void)
{
	say("unshare", unshare(CLONE_NEWUSER | CLONE_NEWNS));
	say("mount", mount("x", "/tmp", "tmpfs", 0, NULL));
	say("umount", umount2("/tmp", 0));
	say("cover", umount2("tests", MNT_DETACH));
	say("root", umount2("/", MNT_DETACH));
	say("rw", mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL));
	say("read", open("tests/secret", O_RDONLY) >= 0 ? 0 : -1);
	say("bind", mount(".", "/tmp", NULL, MS_BIND, NULL)); /* the tree without the mounts on it */
	say("rbind", mount(".", "/tmp", NULL, MS_BIND | MS_REC, NULL));
	say("read", open("/tmp/tests/secret", O_RDONLY) >= 0 ? 0 : -1);
	say("move", mount("tests", "/tmp", NULL, MS_MOVE, NULL));
	return 0;
}

static void test_covers_are_locked(void **state)
{
	struct fx *f = *state;

	fx_reset(f);
	f->layers = LAYER_ACL;
	assert_int_equal(fx_run(f, "src/self namespace"), 0);
	/* Inside a chroot the kernel makes no user namespace at all; then there is no capability to begin with. */
	if (strncmp(f->text, "unshare EPERM\n", 14) == 0)
		assert_string_equal(f->text, "unshare EPERM\nmount EPERM\numount EPERM\ncover EPERM\nroot EPERM\nrw EPERM\n"
		                    "read EACCES\nbind EPERM\nrbind EPERM\nread ENOENT\nmove EPERM\n");
	else
		assert_string_equal(f->text, "unshare 0\nmount 0\numount 0\ncover EINVAL\nroot EINVAL\nrw EPERM\n"
		                    "read EACCES\nbind EINVAL\nrbind 0\nread EACCES\nmove EINVAL\n");
}

/* The project lies on a shared mount, as under systemd: nothing that a turn mounts shows on the host. */
static void test_nothing_propagates(void **state)
{
	struct fx *f = *state;
	const char *argv[] = {"/bin/sh", "-c", "ls -d tests; sleep 1000", NULL};
	char command[512];
	char line[16] = "";

	fx_reset(f);
	(void)snprintf(command, sizeof(command), "mount --bind %s %s && mount --make-shared %s", f->base, f->base, f->base);
	assert_int_equal(system(command), 0);
	fd_close(&f->root_fd);
	f->root_fd = open(f->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fx_start(f, argv), 0);
	assert_int_equal(read(f->out, line, sizeof(line) - 1), 6);
	(void)snprintf(command, sizeof(command), "grep -q ' %s .* shared:' /proc/self/mountinfo && ! grep -e sealed -e '%s/' "
	               "/proc/self/mountinfo && test \"$(cat %s/tests/secret)\" = 'the answer'", f->base, f->base, f->root);
	assert_int_equal(system(command), 0);
	spawn_kill(&f->spawn);
	fx_finish(f);
	fd_close(&f->root_fd);
	assert_int_equal(umount(f->base), 0);
	f->root_fd = open(f->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int host_socket(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	(void)unlink(path);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(chmod(path, 0777), 0);
	return fd;
}

static int call(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	AUTO_FD fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	return connect(fd, (struct sockaddr *)&a, sizeof(a));
}

static void test_only_what_is_listed(void **state)
{
	struct fx *f = *state;
	int run = host_socket("/run/stint-test-view.sock");
	char want[512];

	fx_reset(f);
	f->layers = LAYER_ACL;
	assert_int_equal(call("/run/stint-test-view.sock"), 0);
	assert_prints(f, "src/self call /run/stint-test-view.sock; src/self call /var/run/stint-test-view.sock",
	              "call ENOENT\ncall ENOENT\n");
	(void)close(run);
	(void)unlink("/run/stint-test-view.sock");
	(void)snprintf(want, sizeof(want), "stint\n%s\nlib run tmp\nstint\nhome\nproj\n", f->base + 5);
	assert_prints(f, "ls -A /run; ls -A /tmp; ls -A /var | tr '\\n' ' ' | sed 's/ $//'; echo; ls -A /var/lib; ls -A /var/lib/stint; "
	              "ls -A ..", want);
	assert_prints(f, "for d in /home /root /srv /mnt /boot /media /sys/kernel /sys/class; do ls $d" WHY "done | sort | uniq -c | "
	              "tr -s ' '", " 8 No such file or directory\n");
	assert_prints(f, "(echo x >/x)" WHY "(echo x >/run/x)" WHY "(echo x >/usr/x)" WHY "(echo x >../x)" WHY
	              "ls /proc | grep -c '^[0-9]'; cat /proc/1/comm >/dev/null && echo pid1; cat /etc/hostname >/dev/null && echo etc",
	              "Read-only file system\nRead-only file system\nRead-only file system\nPermission denied\n4\npid1\netc\n");
}

static void test_devices(void **state)
{
	struct fx *f = *state;

	fx_reset(f);
	assert_prints(f, "echo x >/dev/null && head -c 2 /dev/zero | wc -c && head -c 3 /dev/urandom | wc -c && head -c 1 /dev/random "
	              "| wc -c; head -c 1 /dev/zero 2>&1 >/dev/full | grep -o 'No space left'; echo out >/dev/stdout; echo err >/dev/stderr; "
	              "nproc >/dev/null && test -d /sys/devices/system/cpu/cpu0 && echo cpu; ls /dev/pts",
	              "2\n3\n1\nNo space left\nout\nerr\ncpu\nptmx\n");
	assert_prints(f, "src/self pty", "ptmx 0\nunlock 0\nslave 0\nwrite 0\nread 0\nname /dev/pts/0\n");
	assert_prints(f, "for d in /tmp /var/tmp /dev/shm $HOME; do cp src/self $d/x && $d/x hello && rm $d/x; done; "
	              "stat -c %a /tmp /var/tmp /dev/shm", "hello\nhello\nhello\nhello\n1777\n1777\n1777\n");
}

static int use_terminal(void)
{
	char name[64] = "";
	char line[8] = "";
	int unlock = 0;
	int ptmx = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	int slave;

	say("ptmx", ptmx < 0 ? -1 : 0);
	say("unlock", ioctl(ptmx, TIOCSPTLCK, &unlock));
	if (ptsname_r(ptmx, name, sizeof(name)) != 0)
		return 1;
	slave = open(name, O_RDWR | O_NOCTTY);
	say("slave", slave < 0 ? -1 : 0);
	say("write", write(ptmx, "hi\n", 3) == 3 ? 0 : -1);
	say("read", read(slave, line, sizeof(line)) == 3 ? 0 : -1);
	(void)printf("name %s\n", name);
	return 0;
}

static void test_home(void **state)
{
	struct fx *f = *state;

	fx_reset(f);
	assert_prints(f, "echo kept >$HOME/.conf; mkdir -p ~/.cache/x; stat -c '%a %u' ~; cd; pwd", "700 64110\n" SANDBOX_HOME "\n");
	assert_prints(f, "cat ~/.conf", "kept\n");
	/* Given back to the owner between turns, it is the agent's again in the next one; and the owner's without acl. */
	f->as_owner = true;
	f->layers = LAYER_LANDLOCK;
	assert_prints(f, "stat -c '%u' ~ ~/.conf ~/.cache/x", "64111\n64111\n64111\n");
	f->as_owner = false;
	assert_prints(f, "cat ~/.conf; echo more >>~/.conf", "kept\n");
	f->role_name = "tester";
	assert_prints(f, "ls -A ~; echo other >~/.conf", "");
	f->role_flags = ROLE_FRESH_HOME;
	assert_prints(f, "ls -A ~; echo poison >~/.profile; mkdir -p ~/a/b", "");
	assert_prints(f, "ls -A ~", "");
	f->role_flags = 0;
	f->role_name = "developer";
	assert_prints(f, "cat ~/.conf", "kept\nmore\n");
}

/* Neither the command's user nor anybody else is given what is a third one's. */
static void test_home_of_a_stranger(void **state)
{
	struct fx *f = *state;
	char home[256];
	struct stat st;

	fx_reset(f);
	assert_prints(f, "echo mine >~/x; cat ~/x", "mine\n");
	(void)snprintf(home, sizeof(home), "%s/.stint/home/developer", f->root);
	assert_int_equal(chown(home, 65534, 65534), 0);
	assert_int_equal(fx_start(f, (const char *const []){"sh", "-c", "echo started", NULL}), -EPERM);
	assert_non_null(strstr(f->e.msg, "belongs to uid 65534"));
	(void)close(f->out);
	assert_int_equal(stat(home, &st), 0);
	assert_int_equal(st.st_uid, 65534);
	assert_int_equal(chown(home, f->owner, f->owner), 0);
	assert_prints(f, "cat ~/x", "mine\n");
}

static void refuse_fchown(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchown, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDQUOT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = 4, .filter = code};

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(2);
}

/* A HOME and a scratch folder whose making was cut short are the owner's, and the next turn goes on with them. */
static void test_folders_cut_short(void **state)
{
	struct fx *f = *state;
	char path[256];
	struct stat st;
	int status;
	pid_t pid;

	fx_reset(f);
	f->role_name = "late";
	pid = fork();
	if (pid == 0) {
		refuse_fchown();
		_exit(fx_start(f, (const char *const []){"true", NULL}) == -EDQUOT ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void)snprintf(path, sizeof(path), "%s/.stint/home/late", f->root);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, f->owner);
	assert_int_equal(st.st_gid, f->owner);
	assert_prints(f, "echo mine >~/x; cat ~/x", "mine\n");
}

static void test_scratch(void **state)
{
	struct fx *f = *state;
	char path[256];
	struct stat st;

	fx_reset(f);
	f->scratch[0] = "build";
	f->scratch[1] = "lib/out/obj";
	assert_prints(f, "echo mine >build/x; echo obj >lib/out/obj/y; cat build/x lib/out/obj/y; ls lib/out; cat lib/other" WHY,
	              "mine\nobj\nobj\n" DENIED);
	assert_prints(f, "cat build/x lib/out/obj/y", "mine\nobj\n");
	f->role_name = "tester";
	assert_prints(f, "ls -A build lib/out/obj", "build:\n\nlib/out/obj:\n");
	(void)snprintf(path, sizeof(path), "%s/build", f->root);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, f->owner);
	assert_int_equal(st.st_mode & 07777, 0755);
	(void)snprintf(path, sizeof(path), "%s/build/x", f->root);
	assert_int_equal(stat(path, &st), -1);
	(void)snprintf(path, sizeof(path), "%s/.stint/scratch/developer/0/x", f->root);
	assert_int_equal(stat(path, &st), 0);
	/* Not a scratch folder any more: an unlisted entry of the root, covered. */
	f->scratch[0] = NULL;
	assert_prints(f, "ls build" WHY, DENIED);
}

static void test_read_paths(void **state)
{
	struct fx *f = *state;
	char path[128], link[128], script[1024], command[1024];

	fx_reset(f);
	(void)snprintf(command, sizeof(command), "mkdir -p %s/tool/bin %s/beside && echo tool >%s/tool/bin/t && ln -s tool %s/current && "
	               "mkdir -m 700 %s/hidden && mkdir %s/hidden/in", f->base, f->base, f->base, f->base, f->base, f->base);
	assert_int_equal(system(command), 0);
	(void)snprintf(path, sizeof(path), "%s/tool", f->base);
	(void)snprintf(link, sizeof(link), "%s/current", f->base);
	f->read[0] = path;
	f->read[1] = link;
	(void)snprintf(script, sizeof(script), "cat %s/bin/t %s/bin/t; ls %s/beside" WHY "(echo x >%s/x)" WHY, path, link, f->base, path);
	(void)snprintf(command, sizeof(command), "tool\ntool\nNo such file or directory\nRead-only file system\n");
	assert_prints(f, script, command);
	f->read[0] = "/usr/bin";
	f->read[1] = NULL;
	assert_prints(f, "echo yes", "yes\n");
	/* Root does not lead the way to what the account cannot reach. */
	(void)snprintf(path, sizeof(path), "%s/hidden/in", f->base);
	f->read[0] = path;
	assert_int_equal(fx_run(f, "echo started"), 125);
	assert_int_equal(f->gone.flags, EXITED_UNCONFINED);
	assert_non_null(strstr(f->gone.msg, "Permission denied"));
}

static void test_refused_read_paths(void **state)
{
	struct fx *f = *state;
	char tests[256];
	const char *const refused[] = {tests, "/tmp", "/run", "/", "/proc/self", "/dev/null", f->base};

	fx_reset(f);
	(void)snprintf(tests, sizeof(tests), "%s/tests", f->root);
	assert_int_equal(chmod(f->root, 0755), 0);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		f->read[0] = refused[i];
		assert_int_equal(fx_run(f, "echo started"), 125);
		assert_int_equal(f->gone.flags, EXITED_UNCONFINED);
		assert_string_equal(f->text, "");
	}
	f->as_owner = true;
	f->layers = LAYER_LANDLOCK | LAYER_SECCOMP;
	f->read[0] = "/usr";
	assert_int_equal(fx_run(f, "echo started"), 0);
	(void)snprintf(tests, sizeof(tests), "%s/plain", f->base);
	assert_int_equal(mkdir(tests, 0755), 0);
	f->read[0] = tests;
	assert_int_equal(fx_run(f, "echo started"), 125);
	assert_non_null(strstr(f->gone.msg, "acl layer"));
}

/* The grant on /tmp must not hold for a project below /tmp: by the owner, whom no mode stops, without ACLs. */
static void test_below_tmp(void **state)
{
	static const char script[] = "(echo x >>TASKS.md)" WHY "(echo x >new)" WHY "mv lib/core/c lib/d" WHY "echo y >src/new && "
	                             "mv src/new lib/core/new && cat lib/core/new && rm lib/core/new; rm -f new; echo z >/tmp/z && cat /tmp/z";
	struct fx *f = *state;

	fx_reset(f);
	f->as_owner = true;
	f->layers = 0;
	assert_prints(f, script, "y\nz\n");
	f->covers = false;
	assert_prints(f, "mv lib/d lib/core/c; echo '- [ ] one' >TASKS.md", "");
	f->covers = true;
	f->layers = LAYER_LANDLOCK;
	assert_prints(f, script, "Read-only file system\nRead-only file system\nRead-only file system\ny\nz\n");
}

/* In a system folder that the view shows, below a folder that only the owner may traverse: a skeleton takes its place. */
static void test_below_system_folder(void **state)
{
	struct fx other;
	struct fx *f = &other;
	char path[256];

	(void)state;
	fx_open(f, "/usr/local", AGENT);
	fx_fill(f);
	(void)snprintf(path, sizeof(path), "%.64s/closed/private", f->base);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_prints(f, "ls ..; cat src/a.c && echo new >src/b && cat src/b; cat tests/secret" WHY "(echo x >../y)" WHY
	              "(echo x >TASKS.md)" WHY "stat -c '%a %u' ..",
	              "proj\nint a;\nnew\n" DENIED "Read-only file system\n" DENIED "755 0\n");
	/* The owner can traverse it and is shown it as it is, read-only. Below ABI 3 mounts hold what Landlock alone cannot. */
	f->as_owner = true;
	f->layers = LAYER_LANDLOCK;
	assert_prints(f, "ls ..; (echo x >../y)" WHY "(echo x >TASKS.md)" WHY,
	              spawn_landlock_abi() >= 3 ? "private\nproj\nRead-only file system\n" DENIED
	                                        : "private\nproj\nRead-only file system\nRead-only file system\n");
	fx_close(f);
}

/* Listens on loopback and talks to itself; then tries an address that is nobody's. */
static int talk(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int server = socket(AF_INET, SOCK_STREAM, 0);
	int client = socket(AF_INET, SOCK_STREAM, 0);
	struct if_nameindex *names = if_nameindex();

	say("bind", bind(server, (struct sockaddr *)&a, sizeof(a)));
	say("listen", listen(server, 1));
	say("name", getsockname(server, (struct sockaddr *)&a, &n));
	say("connect", connect(client, (struct sockaddr *)&a, sizeof(a)));
	a.sin_addr.s_addr = inet_addr("192.0.2.1");
	a.sin_port = htons(9);
	client = socket(AF_INET, SOCK_DGRAM, 0);
	say("outside", connect(client, (struct sockaddr *)&a, sizeof(a)));
	for (struct if_nameindex *i = names; i != NULL && i->if_name != NULL; i++)
		(void)printf("%s\n", i->if_name);
	return 0;
}

static void test_network(void **state)
{
	struct fx *f = *state;
	char host[64] = "";

	fx_reset(f);
	assert_prints(f, "src/self talk", "bind 0\nlisten 0\nname 0\nconnect 0\noutside ENETUNREACH\nlo\n");
	assert_true(readlink("/proc/self/ns/net", host, sizeof(host) - 2) > 0);
	assert_int_equal(fx_run(f, "readlink /proc/self/ns/net"), 0);
	f->text[strcspn(f->text, "\n")] = '\0';
	assert_string_not_equal(f->text, host);
	f->n_ports = 1;
	f->port = 443;
	f->layers = LAYER_ACL; /* Landlock's part of it needs a newer kernel than this test */
	assert_int_equal(fx_run(f, "readlink /proc/self/ns/net; cat /etc/resolv.conf >/dev/null && echo resolv"), 0);
	assert_int_equal(strncmp(f->text, host, strlen(host)), 0);
	assert_has(f, "resolv\n");
}

static int command(int argc, char **argv)
{
	if (str_eq(argv[1], "namespace"))
		return inside_own_namespace();
	if (str_eq(argv[1], "pty"))
		return use_terminal();
	if (str_eq(argv[1], "talk"))
		return talk();
	if (str_eq(argv[1], "call") && argc == 3) {
		say("call", call(argv[2]));
		return 0;
	}
	return puts(argv[1]) < 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_covers), cmocka_unit_test(test_covers_stay), cmocka_unit_test(test_covers_are_locked),
		cmocka_unit_test(test_nothing_propagates), cmocka_unit_test(test_only_what_is_listed),
		cmocka_unit_test(test_devices), cmocka_unit_test(test_home), cmocka_unit_test(test_home_of_a_stranger),
		cmocka_unit_test(test_folders_cut_short), cmocka_unit_test(test_scratch),
		cmocka_unit_test(test_read_paths), cmocka_unit_test(test_refused_read_paths), cmocka_unit_test(test_network),
		cmocka_unit_test(test_below_tmp), cmocka_unit_test(test_below_system_folder),
	};

	return argc > 1 ? command(argc, argv) : cmocka_run_group_tests(tests, setup, teardown);
}
