"""Everything a file system knows about each inode of a tree, and where two such pictures differ."""
import hashlib
import os
import resource
import stat

# A descriptor for each folder still to be entered: no path is ever too long.
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


class Node:
    """One inode. mtime is in ns; data is a file's hash, a link's target, or None; names maps a folder's entries to inodes."""

    __slots__ = ("ino", "mode", "uid", "gid", "nlink", "rdev", "size", "mtime", "ctime", "xattrs", "data", "names")

    def __init__(self, st, xattrs, data):
        self.ino, self.mode, self.uid, self.gid, self.nlink, self.rdev = (
            st.st_ino, st.st_mode, st.st_uid, st.st_gid, st.st_nlink, st.st_rdev)
        self.size, self.mtime, self.ctime, self.xattrs, self.data = st.st_size, st.st_mtime_ns, st.st_ctime_ns, xattrs, data
        self.names = {} if stat.S_ISDIR(st.st_mode) else None


def read_xattrs(path):
    try:
        return {name: os.getxattr(path, name, follow_symlinks=False) for name in os.listxattr(path, follow_symlinks=False)}
    except OSError as e:
        if e.errno == 95:  # EOPNOTSUPP: none here
            return {}
        raise


def read_data(fd, name, st):
    if stat.S_ISLNK(st.st_mode):
        return os.readlink(name, dir_fd=fd)
    if not stat.S_ISREG(st.st_mode):
        return None
    with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NOATIME, dir_fd=fd), "rb") as f:
        return hashlib.blake2b(f.read(), digest_size=16).digest()


def take(root, leave_out=()):
    """The tree at root: {inode: Node}, and the root's inode. leave_out: names in the root that are not looked at."""
    nodes = {}
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    node = Node(os.fstat(top), read_xattrs(f"/proc/self/fd/{top}/."), None)
    nodes[node.ino] = node
    stack = [(top, node)]
    try:
        while stack:
            fd, folder = stack.pop()
            for name in os.listdir(f"/proc/self/fd/{fd}".encode()):
                if folder is node and name in leave_out:
                    continue
                st = os.stat(name, dir_fd=fd, follow_symlinks=False)
                folder.names[name] = st.st_ino
                if st.st_ino not in nodes:
                    nodes[st.st_ino] = Node(st, read_xattrs(b"/proc/self/fd/%d/%s" % (fd, name)), read_data(fd, name, st))
                    if stat.S_ISDIR(st.st_mode):
                        sub = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
                        stack.append((sub, nodes[st.st_ino]))
            os.close(fd)
    finally:
        for fd, _ in stack:
            os.close(fd)
    return nodes, node.ino


def escaped(path):
    return "".join(chr(c) if 0x21 <= c < 0x7F and c != 0x5C else f"\\x{c:02x}" for c in path) or "."


def shown(value):
    if value is None:
        return "none"
    if isinstance(value, bytes):
        return value.hex() if len(value) <= 512 else f"{value[:512].hex()}... ({len(value)} bytes)"
    return str(value)


def xattr_differences(before, after):
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield f"xattr {name}", before.get(name), after.get(name)


def differences(before, after, but=()):
    """(what, before, after) of every fact of an inode that changed. but: names of facts that may."""
    facts = [("type", stat.S_IFMT(before.mode), stat.S_IFMT(after.mode), oct),
             ("mode", before.mode & 0o7777, after.mode & 0o7777, oct)]
    facts += [(f, getattr(before, f), getattr(after, f), str) for f in ("ino", "uid", "gid", "nlink", "rdev", "mtime", "ctime")]
    if before.names is None:
        facts += [("size", before.size, after.size, str), ("data", before.data, after.data, shown)]
    for what, b, a, show in facts:
        if b != a and what not in but:
            yield what, show(b), show(a)
    for what, b, a in xattr_differences(before.xattrs, after.xattrs):
        if what not in but:
            yield what, b, a


def line(path, what, before, after):
    return f"{escaped(path)}: {what} before {shown(before)} after {shown(after)}"
