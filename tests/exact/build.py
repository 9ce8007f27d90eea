"""Random project trees, random edits of a person, and random plans for an agent's command. All from one random.Random."""
import errno
import fcntl
import os
import socket
import stat
import struct

import acl

ROLES = ("developer", "tester", "reviewer", "runner")
ZONES = ("src", "tests", "docs", "data", "lib/core/src", "secret")
MODES = (0o644, 0o644, 0o600, 0o755, 0o640, 0o664, 0o444, 0o000, 0o4755, 0o2755, 0o6711, 0o1644, 0o777)
FOLDER_MODES = (0o755, 0o755, 0o750, 0o700, 0o2775, 0o2755, 0o1777, 0o3770, 0o000, 0o555, 0o711, 0o777)
TOP_MODES = (0o755, 0o755, 0o750, 0o700, 0o2775, 0o777, 0o711, 0o2770)
STICKY_MODES = (0o1777, 0o3770)  # the agent cannot delete there, and the proof says so
NAMES = (b"new\nline", b"\x1b[31mred\x1b[0m", b"\xff\xfe\x80", b"-rf", b"x" * 255, b"blank ", b" ", b"back\\slash", b"*", b"$(id)\"'`",
         "\u00e9t\u00e9".encode(), b"~", b"...", b".hidden", b"%s%n", b"\x7f\x01", b"TASKS.md", b"stint.yaml")
GETFLAGS, SETFLAGS = 0x80086601, 0x40086602
IMMUTABLE, APPEND = 0x10, 0x20
CAPABILITY = struct.pack("<5I", 0x02000001, 0x400, 0, 0, 0)  # cap_net_bind_service+ep
OLD = 1_500_000_000


def set_flag(path, flag, on):
    """False where the file system has no such flags."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        (flags,) = struct.unpack("l", fcntl.ioctl(fd, GETFLAGS, struct.pack("l", 0)))
        fcntl.ioctl(fd, SETFLAGS, struct.pack("l", flags | flag if on else flags & ~flag))
        return True
    except OSError as e:
        if e.errno in (errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL):
            return False
        raise
    finally:
        os.close(fd)


class Builder:
    """root: the project's folder, made here; outside: a folder beside it, which it has links to."""

    def __init__(self, rng, root, outside, owner, group, agent):
        self.rng, self.root, self.outside, self.owner, self.group, self.agent = rng, root, outside, owner, group, agent
        self.uids = [owner, 0, 1, 8, 65534, 4242, 100000, 3000000000, agent.uid]
        self.gids = [group, 0, 1, 8, 65534, 4242, 3000000000, *agent.groups]
        self.folders, self.files, self.all, self.flagged = [], [], [], []
        self.features = set()
        self.serial = 0
        self.sticky = rng.random() < 0.06
        self.closed = rng.random() < 0.06  # folders that the owner cannot read: stint refuses such a zone

    def name(self):
        self.serial += 1
        return self.rng.choice(NAMES) if self.rng.random() < 0.12 else b"n%d" % self.serial

    def set_acl(self, path, name, entries):
        """True unless the file system has no room for it or no ACLs for this type."""
        try:
            os.setxattr(path, name, acl.pack(entries), follow_symlinks=False)
            return True
        except OSError as e:
            if e.errno in (errno.ENOSPC, errno.EOPNOTSUPP, errno.EINVAL, errno.ERANGE, errno.E2BIG, errno.EPERM, errno.EACCES):
                return False
            raise

    def set_xattr(self, path, name, value):
        try:
            os.setxattr(path, name, value, follow_symlinks=False)
        except OSError as e:
            if e.errno not in (errno.ENOSPC, errno.EOPNOTSUPP, errno.EPERM, errno.EINVAL):
                raise

    def dress(self, path, is_dir=False, owner=None, mode=None, usable=False):
        """Owner, mode, ACLs, other attributes: in this order, because chown and chmod change what comes after. usable: the owner's
        class keeps all rights that mode gives it, or stint itself cannot read its zones."""
        rng = self.rng
        link = stat.S_ISLNK(os.lstat(path).st_mode)
        if owner is None:
            owner = rng.choice((0, 65534, 4242)) if rng.random() < 0.08 else self.owner
        gid = rng.choice(self.gids) if rng.random() < 0.15 else self.group
        os.chown(path, owner, gid, follow_symlinks=False)
        if not link:
            if mode is None:
                mode = rng.randrange(0o10000) if rng.random() < 0.2 else rng.choice(FOLDER_MODES if is_dir else MODES)
            readable = is_dir and not self.closed
            os.chmod(path, mode | 0o505 if readable else mode)
            if rng.random() < 0.3 and not (readable and owner != self.owner):
                entries = acl.random_entries(rng, self.uids, self.gids)
                self.set_acl(path, acl.ACCESS, [(1, 7, acl.NO_ID)] + entries[1:] if usable or readable else entries)
            if is_dir and rng.random() < 0.3:
                entries = acl.random_entries(rng, self.uids, self.gids)
                self.set_acl(path, acl.DEFAULT, entries)
        if rng.random() < 0.12:
            self.set_xattr(path, "user.note", rng.randbytes(rng.choice((0, 3, 40))))
        if rng.random() < 0.06:
            self.set_xattr(path, "trusted.other", b"\x00raw")
        if rng.random() < 0.04 and not is_dir and not link:
            self.set_xattr(path, "security.capability", CAPABILITY)

    def folder(self, path, **how):
        os.mkdir(path)
        self.dress(path, is_dir=True, **how)
        self.folders.append(path)
        self.all.append(path)

    def file(self, path, **how):
        with open(path, "wb") as f:
            f.write(self.rng.randbytes(self.rng.choice((0, 5, 5, 700, 9000))))
        self.dress(path, **how)
        self.files.append(path)
        self.all.append(path)

    def special(self, path):
        what = self.rng.choice(("fifo", "socket", "device"))
        if what == "fifo":
            os.mkfifo(path)
        elif what == "socket":
            if len(path) > 100:
                return
            socket.socket(socket.AF_UNIX).bind(path)
        else:
            os.mknod(path, self.rng.choice((stat.S_IFCHR, stat.S_IFBLK)) | 0o600, os.makedev(1, 7))
        self.dress(path, owner=0 if what == "device" else None)
        self.all.append(path)

    def link(self, path):
        target = self.rng.choice((b"nowhere", b".", b"..", b"/etc/passwd", self.outside + b"/file0", path, b"/", b"a/b/c",
                                  os.path.basename(self.rng.choice(self.all))))
        os.symlink(target, path)
        self.dress(path)
        self.all.append(path)

    def hard_link(self, path):
        others = [self.outside + b"/file%d" % i for i in range(3)]
        near = [f for f in self.files if os.path.dirname(f) == os.path.dirname(path)]
        pool = self.rng.choice((self.files, near or self.files, others))
        os.link(self.rng.choice(pool), path, follow_symlinks=False)

    def entry(self):
        path = self.rng.choice(self.folders) + b"/" + self.name()
        if os.path.lexists(path) or len(path) > 3500:
            return
        kind = self.rng.choices(("file", "folder", "link", "special", "hard"), (50, 26, 9, 6, 7))[0]
        if kind == "file":
            self.file(path)
        elif kind == "folder":
            self.folder(path)
        elif kind == "link":
            self.link(path)
        elif kind == "special":
            self.special(path)
        else:
            self.hard_link(path)

    def deep(self, levels):
        """A chain of folders, some with an ACL: its path is longer than a path may be."""
        at = os.open(self.rng.choice(self.zone_tops), os.O_RDONLY)
        for i in range(levels):
            os.mkdir(b"d", dir_fd=at)
            below = os.open(b"d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = below
            os.fchown(at, self.owner, self.group)
            if i % 700 == 3:
                self.set_acl(f"/proc/self/fd/{at}/.", acl.DEFAULT, acl.random_entries(self.rng, self.uids, self.gids))
        os.close(os.open(b"end", os.O_CREAT | os.O_WRONLY, 0o640, dir_fd=at))
        os.chown(b"end", self.owner, self.group, dir_fd=at)
        os.close(at)

    def wide(self, entries):
        top = self.rng.choice(self.zone_tops) + b"/wide"
        self.folder(top, owner=self.owner)
        for i in range(entries):
            path = top + b"/%d" % i
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            os.chown(path, self.owner, self.group)
            if i % 50 == 0:
                self.set_acl(path, acl.ACCESS, acl.random_entries(self.rng, self.uids, self.gids))

    def large_acl(self, share):
        """An ACL of so many entries as the file system takes, or of a share of them."""
        path = self.rng.choice(self.zone_tops) + b"/large"
        self.file(path, owner=self.owner)
        named = [(acl.USER, 4, 200000 + i) for i in range(8180)]
        low, high = 0, len(named)

        def with_named(n):
            return [(1, 6, acl.NO_ID)] + named[:n] + [(4, 4, acl.NO_ID), (16, 6, acl.NO_ID), (32, 0, acl.NO_ID)]

        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.set_acl(path, acl.ACCESS, with_named(middle)) else (low, middle - 1)
        self.set_acl(path, acl.ACCESS, with_named(int(low * share)))

    def flag(self, flag, name):
        inside = [p for p in self.files if any(p.startswith(t + b"/") for t in self.zone_tops) and os.lstat(p).st_nlink == 1]
        path = self.rng.choice(inside) if inside else None
        if path is not None and set_flag(path, flag, True):
            self.flagged.append((path, flag))
            self.features.add(name)

    def table(self):
        rng = self.rng
        rows = {}
        for zone in ZONES:
            if zone in ("src", "tests") or rng.random() < 0.6:
                rows[zone] = {r: rng.choice(("none", "r", "rw", "rw")) for r in ROLES[:3]}
                rows[zone]["runner"] = rng.choice(("none", "r"))
        rows["src"]["developer"] = rows["tests"]["tester"] = "rw"
        return rows

    def build(self, deep=False, wide=False):
        """The table. Everything is the owner's unless chance says otherwise."""
        rng = self.rng
        os.mkdir(self.outside)
        for i in range(3):
            self.file(self.outside + b"/file%d" % i, owner=self.owner)
        os.mkdir(self.root)
        self.folders.clear()
        self.dress(self.root, is_dir=True, owner=self.owner, mode=0o755, usable=True)
        rows = self.table()
        made = {b""}
        self.zone_tops = []
        for zone in [z for z in ZONES if z in rows] + ["other", "more"]:
            parts = zone.encode().split(b"/")
            for i in range(len(parts)):
                path = b"/".join(parts[:i + 1])
                if path not in made:
                    usable = rng.random() < 0.99
                    self.folder(self.root + b"/" + path, owner=self.owner, usable=usable,
                                mode=rng.choice(STICKY_MODES if self.sticky else TOP_MODES) if usable else None)
                    made.add(path)
            if zone in rows:
                self.zone_tops.append(self.root + b"/" + b"/".join(parts))
        for name in (b"TASKS.md", b"README", b".gitignore", b".env"):
            self.file(self.root + b"/" + name, owner=self.owner, mode=rng.choice((0o644, 0o600)), usable=True)
        for _ in range(rng.randrange(30, 110)):
            self.entry()
        if deep:
            self.deep(5000)
        if wide:
            self.wide(2000)
        if rng.random() < 0.1:
            self.large_acl(rng.choice((1, 0.45, 0.3)))
        if rng.random() < 0.05:
            self.flag(IMMUTABLE, "immutable")
        if rng.random() < 0.04:
            self.flag(APPEND, "append-only")
        if rng.random() < 0.03:
            self.folder(rng.choice(self.zone_tops) + b"/.git", owner=self.owner)
        self.age()
        return rows

    def age(self):
        """Times of long ago, so that a write shows."""
        for path in self.all + self.folders + [self.root]:
            t = OLD + self.rng.randrange(100_000_000)
            try:
                os.utime(path, ns=(t * 10**9, t * 10**9 + self.rng.randrange(10**9)), follow_symlinks=False)
            except PermissionError:
                pass  # immutable

    def unflag(self):
        for path, flag in self.flagged:
            set_flag(path, flag, False)

    # ------------------------------------------------------------ a person between two turns
    def edit(self, paths):
        """paths: the project's entries below zones, by path."""
        rng = self.rng
        for _ in range(rng.randrange(1, 5)):
            path = self.root + b"/" + rng.choice(paths)
            try:
                self.one_edit(path, os.lstat(path))
            except OSError as e:
                # Among them a new name that a folder or a file of the other type has already.
                if e.errno not in (errno.ENOENT, errno.EPERM, errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR, errno.ENOTDIR,
                                   errno.ENOSPC, errno.ENAMETOOLONG):
                    raise

    def one_edit(self, path, st):
        rng = self.rng
        kind = rng.choice(("chmod", "acl", "default", "rename", "new", "xattr", "unacl", "utime", "remove"))
        is_dir, link = stat.S_ISDIR(st.st_mode), stat.S_ISLNK(st.st_mode)
        readable = is_dir and not self.closed
        if kind == "chmod" and not link:
            os.chmod(path, rng.randrange(0o10000) | (0o505 if readable else 0))
        elif kind == "acl" and not link and not (readable and st.st_uid != self.owner):
            entries = acl.random_entries(rng, self.uids, self.gids)
            self.set_acl(path, acl.ACCESS, [(1, 7, acl.NO_ID)] + entries[1:] if readable else entries)
        elif kind == "default" and is_dir:
            self.set_acl(path, acl.DEFAULT, acl.random_entries(rng, self.uids, self.gids))
        elif kind == "unacl" and acl.ACCESS in os.listxattr(path, follow_symlinks=False):
            os.removexattr(path, acl.ACCESS, follow_symlinks=False)
        elif kind == "rename" and path.count(b"/") > self.root.count(b"/") + 1:
            os.rename(path, os.path.dirname(path) + b"/" + self.name())
        elif kind == "new" and is_dir:
            self.entry_in(path)
        elif kind == "xattr":
            self.set_xattr(path, "user.edit", b"1")
        elif kind == "utime":
            os.utime(path, ns=(OLD * 10**9, OLD * 10**9), follow_symlinks=False)
        elif kind == "remove" and not is_dir:
            os.unlink(path)

    def entry_in(self, folder):
        path = folder + b"/" + self.name()
        if not os.path.lexists(path) and len(path) < 3500:
            self.rng.choice((self.file, self.folder))(path)


class Plan:
    """An agent's operations, mostly where it may write."""

    def __init__(self, rng, nodes, root, rows, role, with_acl):
        self.rng, self.role, self.with_acl = rng, role, with_acl
        self.paths = {b"": root}
        stack = [(b"", root)]
        while stack:
            path, ino = stack.pop()
            for name, sub in (nodes[ino].names or {}).items():
                below = path + b"/" + name if path else name
                if len(below) > 900:
                    continue
                self.paths[below] = sub
                stack.append((below, sub))
        writable = [z.encode() for z, row in rows.items() if row[role] == "rw"]
        self.inside = [p for p in sorted(self.paths) if any(p.startswith(z + b"/") for z in writable)]
        self.folders = [p for p in self.inside if nodes[self.paths[p]].names is not None] + [w for w in writable if w in self.paths]
        self.others = [p for p in sorted(self.paths) if p and p not in self.inside]
        self.made, self.ops, self.serial = [], [], 0
        self.nodes = nodes

    def add(self, op, path, **more):
        text = {k: v.decode("latin-1") if isinstance(v, bytes) else v for k, v in more.items()}
        self.ops.append({"op": op, "path": path.decode("latin-1"), **text})

    def fresh(self):
        self.serial += 1
        name = self.rng.choice(NAMES) if self.rng.random() < 0.1 else b"a%d-%d" % (self.serial, self.rng.randrange(10**6))
        return self.rng.choice(self.folders) + b"/" + name

    def make(self, path):
        rng = self.rng
        mode = rng.choice((0o666, 0o666, 0o600, 0o777, 0o000, 0o640, 0o070, 0o755))
        if rng.random() < 0.3:
            self.add("mkdir", path, mode=mode)
            self.folders.append(path)
        else:
            self.add("create", path, mode=mode)
            if mode & 0o200:
                self.add("append", path, data=b"by the agent")
        self.made.append(path)
        if self.with_acl and rng.random() < 0.3:
            self.add("chmod", path, mode=rng.choice((0o644, 0o600, 0o777, 0o111, 0o4755, 0o2775)))
        if self.with_acl and rng.random() < 0.2:
            self.add("xattr", path, data=b"user.agent")
        if self.with_acl and rng.random() < 0.1:
            self.add("acl", path, data=acl.pack([(1, 7, acl.NO_ID), (2, 7, 65534), (4, 5, acl.NO_ID), (16, 7, acl.NO_ID),
                                                 (32, 4, acl.NO_ID)]))

    def one(self):
        rng = self.rng
        kind = rng.choice(("make", "make", "make", "append", "append", "unlink", "rename", "replace", "replace", "renew", "symlink",
                           "fifo", "socket", "link", "xattr", "rmdir", "chmod", "denied"))
        old = rng.choice(self.inside or self.folders)
        if kind == "make":
            self.make(self.fresh())
        elif kind in ("append", "unlink", "rmdir"):
            self.add(kind, old, data=b"more")
        elif kind == "rename":
            self.add("rename", old, to=self.fresh())
        elif kind == "replace":
            new = self.fresh()
            self.make(new)
            self.add("rename", new, to=old)
        elif kind == "renew":
            self.add("rmdir" if self.nodes[self.paths[old]].names is not None else "unlink", old)
            self.make(old)
        elif kind == "symlink":
            self.add("symlink", self.fresh(), to=rng.choice((b"/etc/shadow", b"nowhere", b"..")))
        elif kind in ("fifo", "socket") and self.with_acl:
            self.add(kind, self.fresh(), mode=0o666)
        elif kind == "link" and self.with_acl:
            self.add("link", old, to=self.fresh())
        elif kind == "xattr" and self.with_acl:
            self.add("xattr", old, data=b"user.agent")
        elif kind == "chmod" and self.with_acl:
            self.add("chmod", old, mode=0o777)
        elif kind == "denied" and self.others:
            self.add(rng.choice(("append", "unlink", "rename")), rng.choice(self.others), data=b"x", to=b"moved")

    def build(self, steps, slow):
        if self.role == "reviewer" and self.rng.random() < 0.4:
            self.add("append", self.rng.choice((b"REVIEW.md", b"TASKS.md")), data=b"- [ ] finding\n")
        for _ in range(steps if self.folders else 0):
            self.one()
            if slow:
                self.add("sleep", b"", mode=self.rng.randrange(60))
        if not self.folders and self.others:
            self.add("append", self.rng.choice(self.others), data=b"x")
        return self.ops
