"""What a tree must look like after a turn: the picture from before, with the operations that went through done to it.

An inode from before is known by its number (numbers are used again at once, so a number alone says nothing), what the agent made by
a negative one."""
import errno
import stat

import acl
import snap

MADE = {"create": stat.S_IFREG, "mkdir": stat.S_IFDIR, "symlink": stat.S_IFLNK, "fifo": stat.S_IFIFO, "socket": stat.S_IFSOCK}


class New:
    """What the agent made: its type, and the permission bits that it has by the agent's last word."""

    def __init__(self, kind, mode, target):
        self.kind, self.mode, self.target, self.size = kind, mode, target, 0


class Rules:
    """Who is who, and what the turn's layers promise. umask: of who called stint. quiet: inodes that must not even be written."""

    def __init__(self, owner, group, agent, umask, acl_layer, quiet):
        self.owner, self.group, self.agent, self.umask, self.acl_layer, self.quiet = owner, group, agent, umask, acl_layer, quiet


class Model:
    def __init__(self, before, root):
        self.before, self.root = before, root
        self.names = {ino: dict(node.names) for ino, node in before.items() if node.names is not None}
        self.new = {}
        self.links = {}      # change of the number of names
        self.written = {}    # bytes appended
        self.xattrs = {}     # user.* set on what is not the agent's
        self.touched = set()  # folders whose entries changed
        self.moved = set()
        self.wrong = []      # what should have been refused

    def find(self, path):
        """The folder that holds path, the last name, and what stands there (None: nothing)."""
        at = self.root
        *way, name = path.split(b"/")
        for part in way:
            at = self.names.get(at, {}).get(part)
        return at, name, self.names.get(at, {}).get(name)

    def count(self, ino, by):
        self.links[ino] = self.links.get(ino, 0) + by

    def apply(self, op, rules):
        """One operation that went through."""
        kind, path = op["op"], op["path"].encode("latin-1")
        folder, name, ino = self.find(path)
        if folder not in self.names or (ino is None) != (kind in MADE):
            self.wrong.append(f"{kind} {snap.escaped(path)} went through against what stood there")
            return
        if kind in MADE:
            ino = -1 - len(self.new)
            self.new[ino] = New(MADE[kind], op.get("mode", 0), op.get("to", "").encode("latin-1"))
            self.names[folder][name] = ino
            if kind == "mkdir":
                self.names[ino] = {}
            self.touched.add(folder)
        elif kind in ("unlink", "rmdir"):
            self.drop(folder, name)
        elif kind in ("rename", "link"):
            self.second_name(kind, folder, name, ino, op["to"].encode("latin-1"))
        else:
            self.change(op, ino, path, rules)

    def drop(self, folder, name):
        self.count(self.names[folder].pop(name), -1)
        self.touched.add(folder)

    def second_name(self, kind, folder, name, ino, to):
        to_folder, to_name, there = self.find(to)
        if kind == "rename":
            if there == ino:
                return  # two names of one inode: rename(2) does nothing
            if there is not None:
                self.drop(to_folder, to_name)
            del self.names[folder][name]
            self.moved.add(ino)
        else:
            self.count(ino, 1)
        self.names[to_folder][to_name] = ino
        self.touched |= {folder, to_folder}

    def change(self, op, ino, path, rules):
        kind, new = op["op"], self.new.get(ino)
        if kind == "append":
            self.written[ino] = self.written.get(ino, 0) + len(op["data"])
            if new is not None:
                new.size += len(op["data"])
        elif new is not None:
            if kind == "chmod":
                new.mode = op["mode"]
            elif kind == "acl":
                new.mode = acl.mode_of(acl.unpack(op["data"].encode("latin-1")))
        elif kind == "xattr":
            self.xattrs.setdefault(ino, {})[op["data"]] = b"by the agent"
        else:
            self.wrong.append(f"{kind} of {snap.escaped(path)}, which is not the agent's, went through")

    # ------------------------------------------------------------ the picture after the turn
    def compare(self, after, root, rules):
        """Lines about everything that is not as it must be."""
        yield from self.wrong
        done = set()
        named = any(acl.without(v, rules.agent) != v for n in self.before.values() for k, v in n.xattrs.items()
                    if k in (acl.ACCESS, acl.DEFAULT))  # a person's entries for the agent may be inherited
        stack = [(b"", self.root, root)]
        while stack:
            path, ino, there = stack.pop()
            if (ino, there) in done:
                continue
            done.add((ino, there))
            node = after[there]
            if ino >= 0:
                yield from self.compare_old(path, ino, node, rules)
            if ino not in self.names or node.names is None:
                continue
            for name in sorted(self.names[ino].keys() | node.names.keys()):
                below = path + b"/" + name if path else name
                want, got = self.names[ino].get(name), node.names.get(name)
                if want is None or got is None:
                    yield f"{snap.escaped(below)}: " + ("is gone" if got is None else "appeared")
                    continue
                if want < 0:
                    yield from self.compare_new(below, self.new[want], named, after[got], rules)
                stack.append((below, want, got))

    def compare_old(self, path, ino, node, rules):
        was = self.before[ino]
        free = set() if self.is_quiet(ino, rules) else {"ctime"}
        if ino in self.touched:
            free |= {"mtime", "nlink"}
        if ino in self.written:
            free |= {"mtime", "size", "data", "mode", "xattr security.capability"}
            if node.size != was.size + self.written[ino]:
                yield snap.line(path, "size", was.size + self.written[ino], node.size)
            if was.mode & ~node.mode & 0o7777 & ~0o6000 or node.mode & ~was.mode:
                yield snap.line(path, "mode", oct(was.mode), oct(node.mode))
        for what, before, got in snap.differences(was, node, free):
            if what == "nlink" and int(before) + self.links.get(ino, 0) == int(got):
                continue
            if what.startswith("xattr ") and got is not None and self.xattrs.get(ino, {}).get(what[6:]) == got:
                continue
            yield snap.line(path, what, before, got)
        if was.names is None and was.nlink + self.links.get(ino, 0) != node.nlink:
            yield snap.line(path, "nlink", was.nlink + self.links.get(ino, 0), node.nlink)

    def is_quiet(self, ino, rules):
        return ino in rules.quiet and not (ino in self.touched or ino in self.moved or ino in self.written or
                                           ino in self.xattrs or self.links.get(ino))

    def compare_new(self, path, new, inherited, node, rules):
        """What the agent made: the owner's, of the type and size that the agent gave it, without set-id bits and without anything of
        ours. Which ACL and mode it gets are tests/unit/test_reclaim.c's business."""
        facts = [("type", new.kind, stat.S_IFMT(node.mode)), ("uid", rules.owner, node.uid)]
        if stat.S_ISREG(new.kind):
            facts.append(("size", new.size, node.size))
        if stat.S_ISLNK(new.kind):
            facts.append(("data", new.target, node.data))
        else:
            facts.append(("set-id bits", 0, node.mode & (stat.S_ISUID if stat.S_ISDIR(new.kind) else stat.S_ISUID | stat.S_ISGID)))
        for name, raw in sorted(node.xattrs.items()):
            if name.startswith("trusted.stint."):
                facts.append((f"xattr {name}", None, raw))
            elif name in (acl.ACCESS, acl.DEFAULT) and not inherited and rules.acl_layer:
                facts.append((f"xattr {name}", acl.without(raw, rules.agent), raw))
        for what, want, got in facts:
            if want != got:
                yield "made by the agent: " + snap.line(path, what, want, got).replace(" before ", " should be ").replace(
                    " after ", " and is ")

def best(before, root, after, after_root, ops, outcomes, rules, loose):
    """Lines about what differs. loose: folders in which stint itself makes and removes entries. A killed turn's log may end one operation early: of the two ways it can have been, the nearer."""
    candidates = []
    for last in ((None,) if len(outcomes) >= len(ops) else (None, 0)):
        m = Model(before, root)
        m.touched |= loose
        for op, error in zip(ops, outcomes + ([] if last is None else [last])):
            if error == 0:
                m.apply(op, rules)
        candidates.append(list(m.compare(after, after_root, rules)))
    return min(candidates, key=len)


def refused_wrongly(ops, outcomes):
    """Kinds that always have to go through where the agent may write would tell of a test that tries nothing."""
    return sum(1 for error in outcomes if error == 0), sum(1 for error in outcomes if error in (errno.EACCES, errno.EROFS, errno.EPERM))
