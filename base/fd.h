/* Descriptors: release by scope, bounded reading and writing, opening beneath a root.
 * All functions: libc and the kernel only; O_CLOEXEC on everything that is opened. */
#ifndef STINT_BASE_FD_H
#define STINT_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Closes *fd if it is >= 0 and sets it to -1; errno is kept. */
void fd_close(int *fd);

/* An owned descriptor that is closed when it leaves scope. Never for a borrowed one. */
#define AUTO_FD __attribute__((cleanup(fd_close))) int

/* Hands an owned descriptor on: returns *fd and leaves -1 behind. */
int fd_take(int *fd);

/* Opens path beneath dir_fd by openat2 with RESOLVE_BENEATH|NO_SYMLINKS|NO_MAGICLINKS:
 * no component may be a symlink, nothing leaves dir_fd. flags as open(2), O_CLOEXEC is added;
 * mode only with O_CREAT. no_xdev: also refuse to cross a mount point (-EXDEV).
 * Returns a descriptor or a negative errno. */
int fd_open_beneath(int dir_fd, const char *path, int flags, mode_t mode, bool no_xdev) MUST_CHECK;

/* mkdir -p of a relative path beneath dir_fd with the given mode; returns a directory
 * descriptor (O_RDONLY|O_DIRECTORY) of the last component, or a negative errno. */
int fd_mkdirs_beneath(int dir_fd, const char *path, mode_t mode) MUST_CHECK;

/* Reads until end of file from the current offset, at most max bytes. *ret_buf is malloc'ed
 * and has a NUL after *ret_len bytes (not counted). -EFBIG when there is more. */
int fd_read_all(int fd, size_t max, char **ret_buf, size_t *ret_len) MUST_CHECK;

/* Writes all n bytes or fails with a negative errno. */
int fd_write_all(int fd, const void *buf, size_t n) MUST_CHECK;

/* Writes a file beneath dir_fd as one step: temporary name in the same folder, fsync, rename,
 * fsync of the folder. path is relative; mode is exact apart from the umask. */
int fd_replace_file(int dir_fd, const char *path, const void *buf, size_t n, mode_t mode, struct err *e) MUST_CHECK;

/* A memfd holding exactly these bytes, sealed against every change, at offset 0. */
int fd_sealed_memfd(const char *name, const void *buf, size_t n) MUST_CHECK;

/* True when fd is a memfd with all four of seal, shrink, grow and write sealed. */
bool fd_is_sealed(int fd);

/* Closes every descriptor >= from except those listed (n may be 0; the list need not be sorted). */
int fd_close_from_except(int from, const int *keep, size_t n) MUST_CHECK;

/* Path of NAME, one of stint's own programs: beside the running program, or in ../libexec/stint/ seen
 * from it. Source: /proc/self/exe. */
int fd_sibling_path(const char *name, char *ret, size_t size, struct err *e) MUST_CHECK;

/* The same, opened O_PATH for execveat. */
int fd_open_sibling(const char *name, struct err *e) MUST_CHECK;

#endif
