/* Mounts by descriptor: see mnt.h. */
#include "sandbox/mnt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

static uint64_t kernel_attrs(unsigned int attrs)
{
	return ((attrs & MNT_RO) != 0 ? MOUNT_ATTR_RDONLY : 0u) | ((attrs & MNT_NOSUID) != 0 ? MOUNT_ATTR_NOSUID : 0u) |
	       ((attrs & MNT_NODEV) != 0 ? MOUNT_ATTR_NODEV : 0u) | ((attrs & MNT_NOEXEC) != 0 ? MOUNT_ATTR_NOEXEC : 0u);
}

int mnt_clone(int dir_fd, const char *path, bool recursive, unsigned int attrs)
{
	unsigned int depth = recursive ? (unsigned int)AT_RECURSIVE : 0;
	struct mount_attr set = {.attr_set = kernel_attrs(attrs), .propagation = MS_PRIVATE};
	AUTO_FD fd = open_tree(dir_fd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | depth);

	if (fd < 0 || mount_setattr(fd, "", AT_EMPTY_PATH | depth, &set, sizeof(set)) != 0)
		return -errno;
	return fd_take(&fd);
}

int mnt_tmpfs(uint64_t size, unsigned int attrs)
{
	AUTO_FD fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	char bytes[32];
	int fd;

	if (fs < 0)
		return -errno;
	(void)snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)size);
	if ((size > 0 && fsconfig(fs, FSCONFIG_SET_STRING, "size", bytes, 0) != 0) ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755", 0) != 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", "1048576", 0) != 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		return -errno;
	fd = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned int)kernel_attrs(attrs));
	return fd < 0 ? -errno : fd;
}

int mnt_restrict(int mnt_fd, unsigned int attrs)
{
	struct mount_attr set = {.attr_set = kernel_attrs(attrs)};

	return mount_setattr(mnt_fd, "", AT_EMPTY_PATH, &set, sizeof(set)) == 0 ? 0 : -errno;
}

int mnt_attach(int mnt_fd, int target_fd)
{
	return move_mount(mnt_fd, "", target_fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0 ? 0 : -errno;
}

/* An initramfs's root cannot be pivoted away from; there the new root is moved on top of it, out of reach without
 * CAP_SYS_CHROOT, which the command never has. */
int mnt_become_root(void)
{
	if (syscall(SYS_pivot_root, ".", ".") == 0)
		return umount2(".", MNT_DETACH) == 0 && chdir("/") == 0 ? 0 : -errno;
	if (errno != EINVAL || mount(".", "/", NULL, MS_MOVE, NULL) != 0 || chroot(".") != 0 || chdir("/") != 0)
		return -errno;
	return 0;
}
