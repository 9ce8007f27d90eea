/* Landlock: the rights of each ABI, their masking by file type, and one live domain. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/landlock.h"

/* By hand, from the kernel's documentation: the masks of handled rights, ABI by ABI. */
static void rights_of_every_abi(void **state)
{
	static const struct landlock_rights want[LANDLOCK_ABI_KNOWN + 1] = {
		{0, 0, 0},       {0x1fff, 0, 0},  {0x3fff, 0, 0},  {0x7fff, 0, 0},  {0x7fff, 3, 0},    {0xffff, 3, 0},
		{0xffff, 3, 3},  {0xffff, 3, 3},  {0xffff, 3, 3},  {0x1ffff, 3, 3}, {0x1ffff, 0xf, 3},
	};

	(void)state;
	for (int abi = 0; abi <= LANDLOCK_ABI_KNOWN; abi++) {
		struct landlock_rights r = landlock_rights_for(abi);

		assert_int_equal(r.fs, want[abi].fs);
		assert_int_equal(r.net, want[abi].net);
		assert_int_equal(r.scoped, want[abi].scoped);
	}
}

static void rights_outside_the_known_range(void **state)
{
	(void)state;
	assert_int_equal(landlock_rights_for(-38).fs, 0);
	assert_int_equal(landlock_rights_for(1000).fs, landlock_rights_for(LANDLOCK_ABI_KNOWN).fs);
	assert_int_equal(landlock_rights_for(1000).net, landlock_rights_for(LANDLOCK_ABI_KNOWN).net);
}

/* Every type of file that a path can lead to. */
static const mode_t types[] = {S_IFREG, S_IFDIR, S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK, S_IFLNK};
#define N_TYPES (sizeof(types) / sizeof(types[0]))
#define DIR_ONLY                                                                                               \
	(LL_FS_READ_DIR | LL_FS_REMOVE_DIR | LL_FS_REMOVE_FILE | LL_FS_MAKE_CHAR | LL_FS_MAKE_DIR |             \
	 LL_FS_MAKE_REG | LL_FS_MAKE_SOCK | LL_FS_MAKE_FIFO | LL_FS_MAKE_BLOCK | LL_FS_MAKE_SYM | LL_FS_REFER)

static void directory_rights_only_on_directories(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_TYPES; i++)
		for (int grant = GRANT_LIST; grant < GRANT_COUNT; grant++)
			for (int abi = 0; abi <= LANDLOCK_ABI_KNOWN; abi++) {
				uint64_t a = landlock_access_for((enum landlock_grant)grant, types[i] | 0644, abi);

				assert_int_equal(a & ~landlock_rights_for(abi).fs, 0);
				if (types[i] != S_IFDIR)
					assert_int_equal(a & DIR_ONLY, 0);
			}
}

static void grants_by_hand(void **state)
{
	const int abi = 7;

	(void)state;
	assert_int_equal(landlock_access_for(GRANT_LIST, S_IFDIR, abi), LL_FS_READ_DIR);
	assert_int_equal(landlock_access_for(GRANT_LIST, S_IFREG, abi), 0);
	assert_int_equal(landlock_access_for(GRANT_READ, S_IFDIR, abi), 0xd);
	assert_int_equal(landlock_access_for(GRANT_READ, S_IFREG, abi), 0x5);
	assert_int_equal(landlock_access_for(GRANT_READ, S_IFCHR, abi), 0x5);
	assert_int_equal(landlock_access_for(GRANT_WRITE, S_IFDIR, abi), 0x77bf);
	assert_int_equal(landlock_access_for(GRANT_WRITE, S_IFREG, abi), 0x4007);
	assert_int_equal(landlock_access_for(GRANT_WRITE, S_IFCHR, abi), 0xc007);
	assert_int_equal(landlock_access_for(GRANT_SHARED, S_IFDIR, abi), 0x4126);
	assert_int_equal(landlock_access_for(GRANT_DEVICE, S_IFCHR, abi), 0xc006);
	assert_int_equal(landlock_access_for(GRANT_WRITE, S_IFBLK, abi), 0xc007);
	assert_int_equal(landlock_access_for(GRANT_WRITE, S_IFIFO, abi), 0x4007);
	assert_int_equal(landlock_access_for(GRANT_WRITE, S_IFSOCK, abi), 0x4007);
	assert_int_equal(landlock_access_for(GRANT_READ_DATA, S_IFDIR, abi), 0xc);
	assert_int_equal(landlock_access_for(GRANT_READ_DATA, S_IFREG, abi), 0x4);
	assert_int_equal(landlock_access_for(GRANT_WRITE_DATA, S_IFDIR, abi), 0x77be);
	assert_int_equal(landlock_access_for(GRANT_WRITE_DATA, S_IFREG, abi), 0x4006);
	assert_int_equal(landlock_access_for(GRANT_WRITE_DATA, S_IFCHR, abi), 0xc006);
	for (size_t i = 0; i < N_TYPES; i++) {
		assert_int_equal(landlock_access_for(GRANT_UNIX, types[i], 8), 0);
		assert_int_equal(landlock_access_for(GRANT_UNIX, types[i], 9), 0x10000);
	}
	assert_int_equal(landlock_access_for(GRANT_WRITE, S_IFDIR, 1), 0x17bf);
	assert_int_equal(landlock_access_for(GRANT_WRITE, S_IFDIR, LANDLOCK_ABI_KNOWN), 0x77bf);
}

static void features_are_complete_and_ascending(void **state)
{
	int n = 0;

	(void)state;
	for (const struct landlock_feature *f = landlock_features; f->abi != 0; f++) {
		assert_int_equal(f->abi, ++n);
		assert_non_null(f->name);
		assert_non_null(f->lost);
	}
	assert_int_equal(n, LANDLOCK_ABI_KNOWN);
}

/* The kernel's audit names, by hand for the bits at either end. */
static void names_of_rights(void **state)
{
	(void)state;
	assert_string_equal(landlock_fs_name(0), "fs.execute");
	assert_string_equal(landlock_fs_name(3), "fs.read_dir");
	assert_string_equal(landlock_fs_name(13), "fs.refer");
	assert_string_equal(landlock_fs_name(16), "fs.resolve_unix");
	assert_null(landlock_fs_name(17));
	assert_string_equal(landlock_net_name(1), "net.connect_tcp");
	assert_string_equal(landlock_net_name(3), "net.connect_send_udp");
	assert_null(landlock_net_name(4));
	assert_string_equal(landlock_scope_name(1), "scope.signal");
	assert_null(landlock_scope_name(2));
}

/* ---- a live domain, in a child */

struct place {
	char dir[64];
	char file[80];
	char other[64]; /* not granted */
	char other_file[80];
};

static void make_file(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(close(fd), 0);
}

static void make_place(struct place *p)
{
	(void)snprintf(p->dir, sizeof(p->dir), "/tmp/test_landlock_XXXXXX");
	(void)snprintf(p->other, sizeof(p->other), "/tmp/test_landlock_XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	assert_non_null(mkdtemp(p->other));
	(void)snprintf(p->file, sizeof(p->file), "%s/f", p->dir);
	(void)snprintf(p->other_file, sizeof(p->other_file), "%s/f", p->other);
	make_file(p->file);
	make_file(p->other_file);
}

static void remove_place(const struct place *p)
{
	(void)unlink(p->file);
	(void)unlink(p->other_file);
	assert_int_equal(rmdir(p->dir), 0);
	assert_int_equal(rmdir(p->other), 0);
}

static int open_errno(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

static int truncate_errno(const char *path)
{
	return truncate(path, 1) == 0 ? 0 : errno;
}

/* Runs f in a child that entered a domain granting `grant` on p->dir; f's result is its exit status. */
static int in_domain(const struct place *p, enum landlock_grant grant, int (*f)(const struct place *))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct landlock l = {.fd = -1};
		int abi = landlock_abi();

		if (abi < 1 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    landlock_begin(&l, abi, landlock_rights_for(abi), NULL) != 0 ||
		    landlock_add_path(&l, p->dir, grant, false, NULL) != 0 ||
		    landlock_add_path(&l, "/dev/null", GRANT_DEVICE, false, NULL) != 0 || landlock_enforce(&l, NULL) != 0)
			_exit(99);
		landlock_done(&l);
		_exit(f(p));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* What truncate(2) of a file for reading gets: ABI 3 brought the right. */
static int truncate_refused(void)
{
	return landlock_abi() >= 3 ? EACCES : 0;
}

static int check_read(const struct place *p)
{
	return open_errno(p->file, O_RDONLY) != 0                     ? 1
	       : open_errno(p->file, O_WRONLY) != EACCES              ? 2
	       : truncate_errno(p->file) != truncate_refused()        ? 3
	       : unlink(p->file) == 0 || errno != EACCES              ? 4
	       : open_errno(p->other_file, O_RDONLY) != EACCES        ? 5
	       : open_errno(p->other, O_RDONLY | O_DIRECTORY) != EACCES ? 6
	       : open_errno("/dev/null", O_RDWR) != 0                 ? 7
	                                                              : 0;
}

static int rename_errno(const char *from, const char *to)
{
	return rename(from, to) == 0 ? 0 : errno;
}

/* What a rename to another folder gets where both may be written: ABI 2 brought the right. */
static int refer_refused(void)
{
	return landlock_abi() >= 2 ? 0 : EXDEV;
}

/* To a folder that may not be written. An ABI 1 kernel refuses all moves between folders with EXDEV. */
static bool move_is_refused(const char *from, const char *to)
{
	int seen = rename_errno(from, to);

	return seen == EACCES || (seen == EXDEV && refer_refused() != 0);
}

static int check_write(const struct place *p)
{
	char moved[96];
	char sub[96];

	(void)snprintf(moved, sizeof(moved), "%s/d/f", p->dir);
	(void)snprintf(sub, sizeof(sub), "%s/d", p->dir);
	return open_errno(p->file, O_RDWR | O_TRUNC) != 0      ? 1
	       : truncate_errno(p->file) != 0                  ? 2
	       : mkdir(sub, 0700) != 0                         ? 3
	       : rename_errno(p->file, moved) != refer_refused() ? 4 /* REFER: another folder, same file system */
	       : refer_refused() == 0 && rename_errno(moved, p->file) != 0 ? 5
	       : rmdir(sub) != 0                               ? 6
	       : open_errno(p->other_file, O_WRONLY) != EACCES ? 7
	       : !move_is_refused(p->file, p->other_file)      ? 8
	                                                       : 0;
}

/* Without execute: the same, and a program there is not started. */
static int exec_errno(const char *path)
{
	char *const argv[] = {(char *)(uintptr_t)path, NULL};

	(void)execv(path, argv);
	return errno;
}

static int check_read_data(const struct place *p)
{
	return check_read(p) != 0 ? check_read(p) : exec_errno(p->file) != EACCES ? 10 : 0;
}

static int check_write_data(const struct place *p)
{
	return check_write(p) != 0 ? check_write(p) : exec_errno(p->file) != EACCES ? 10 : 0;
}

/* The file's content is no program. */
static int check_exec(const struct place *p)
{
	return exec_errno(p->file) == ENOEXEC ? 0 : 10;
}

static int check_list(const struct place *p)
{
	return open_errno(p->dir, O_RDONLY | O_DIRECTORY) != 0          ? 1
	       : open_errno(p->file, O_RDONLY) != EACCES                ? 2
	       : open_errno(p->other, O_RDONLY | O_DIRECTORY) != EACCES ? 3
	                                                                : 0;
}

static void a_domain_holds(void **state)
{
	struct place p;

	(void)state;
	make_place(&p);
	/* Outside the domain all of it works. */
	assert_int_equal(open_errno(p.other_file, O_RDWR), 0);
	assert_int_equal(truncate_errno(p.other_file), 0);
	assert_int_equal(open_errno(p.other, O_RDONLY | O_DIRECTORY), 0);
	assert_int_equal(in_domain(&p, GRANT_READ, check_read), 0);
	assert_int_equal(in_domain(&p, GRANT_WRITE, check_write), 0);
	assert_int_equal(in_domain(&p, GRANT_LIST, check_list), 0);
	assert_int_equal(chmod(p.file, 0700), 0);
	assert_int_equal(in_domain(&p, GRANT_READ, check_exec), 0);
	assert_int_equal(in_domain(&p, GRANT_WRITE, check_exec), 0);
	assert_int_equal(in_domain(&p, GRANT_READ_DATA, check_read_data), 0);
	assert_int_equal(in_domain(&p, GRANT_WRITE_DATA, check_write_data), 0);
	remove_place(&p);
}

/* A rule on each type of file that a person may name is accepted by the kernel, never EINVAL. */
static void every_type_can_be_granted(void **state)
{
	struct landlock l = {.fd = -1};
	struct place p;
	char fifo[80];
	int abi = landlock_abi();

	(void)state;
	assert_true(abi >= 1);
	make_place(&p);
	(void)snprintf(fifo, sizeof(fifo), "%s/fifo", p.dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(landlock_begin(&l, abi, landlock_rights_for(abi), NULL), 0);
	for (int grant = GRANT_READ; grant < GRANT_UNIX; grant++) {
		enum landlock_grant g = (enum landlock_grant)grant;

		assert_int_equal(landlock_add_path(&l, p.file, g, false, NULL), 0);
		assert_int_equal(landlock_add_path(&l, p.dir, g, false, NULL), 0);
		assert_int_equal(landlock_add_path(&l, fifo, g, false, NULL), 0);
		assert_int_equal(landlock_add_path(&l, "/dev/null", g, false, NULL), 0);
		assert_int_equal(landlock_add_path(&l, "/dev/pts", g, true, NULL), 0);
	}
	landlock_done(&l);
	assert_int_equal(unlink(fifo), 0);
	remove_place(&p);
}

static void missing_and_unfit_paths(void **state)
{
	struct landlock l = {.fd = -1};
	struct err e = {0};
	int abi = landlock_abi();

	(void)state;
	assert_int_equal(landlock_begin(&l, abi, landlock_rights_for(abi), &e), 0);
	assert_int_equal(landlock_add_path(&l, "/nonexistent/x", GRANT_READ, false, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "/nonexistent/x"));
	assert_int_equal(landlock_add_path(&l, "/nonexistent/x", GRANT_READ, true, &e), 1);
	assert_int_equal(landlock_add_path(&l, "/dev/null", GRANT_LIST, false, &e), -ENOTDIR);
	assert_int_equal(landlock_add_path(&l, "/dev/null", GRANT_UNIX, false, &e), -ENOTSOCK);
	assert_int_equal(landlock_add_path(&l, "/dev", GRANT_UNIX, false, &e), 0);
	assert_int_equal(landlock_add_port(&l, LL_NET_CONNECT_TCP, 443, &e), 0);
	landlock_done(&l);
	assert_int_equal(l.fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rights_of_every_abi),
		cmocka_unit_test(rights_outside_the_known_range),
		cmocka_unit_test(directory_rights_only_on_directories),
		cmocka_unit_test(grants_by_hand),
		cmocka_unit_test(features_are_complete_and_ascending),
		cmocka_unit_test(names_of_rights),
		cmocka_unit_test(a_domain_holds),
		cmocka_unit_test(every_type_can_be_granted),
		cmocka_unit_test(missing_and_unfit_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
