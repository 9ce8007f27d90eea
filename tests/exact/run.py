#!/usr/bin/env python3
"""Random trees, random turns, and after each the whole tree compared with what it was: one file system's part of the test.

    run.py --base DIR --owner NAME --agent NAME [--trees N] [--turns N] [--seed S] [--tree K]
    run.py --base DIR --owner NAME --agent NAME --self-test

Prints one line a difference and a last line of figures. Exit 0 when there is no difference. A seed and a tree's number bring the same
tree and the same operations again; when a kill hits is up to the clock."""
import argparse
import collections
import json
import os
import pwd
import random
import signal
import stat
import subprocess
import sys
import time

import acl
import build
import model
import snap

HERE = os.path.dirname(os.path.abspath(__file__))
REFUSED = (2, 3, 125)
LAYERS = ("acl", "acl,landlock", "acl,seccomp", "landlock,seccomp", "landlock")
AGENT_SCRIPT = open(os.path.join(HERE, "agent.py"), encoding="utf-8").read()
LEFT_OUT = (b".stint",)


class Counts:
    def __init__(self):
        self.trees = self.ran = self.turns = self.refused = self.kills = self.inodes = self.ops = self.done = self.differences = 0


Agent = collections.namedtuple("Agent", "uid groups")


def recorded(name):
    """The account's ids as `stint setup` wrote them down."""
    with open("/var/lib/stint/users", encoding="ascii") as f:
        uid, *groups = next([int(n) for n in line.split()[1:]] for line in f if line.split()[0] == name)
    return Agent(uid, groups)


class Tree:
    """One random project and its turns."""

    def __init__(self, args, number, counts):
        self.args, self.number, self.counts = args, number, counts
        self.rng = random.Random(f"{args.seed}:{number}")
        self.top = os.path.join(args.base, f"tree{number}").encode()
        self.project = self.top + b"/project"
        self.owner, self.agent = pwd.getpwnam(args.owner), recorded(args.agent)
        self.umask = self.rng.choice((0o22, 0o22, 0o02, 0o77, 0o27))
        self.lines = []

    def stint(self, *words):
        return subprocess.run([self.args.stint, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              preexec_fn=lambda: os.umask(self.umask))

    def make(self):
        os.mkdir(self.top)
        os.chmod(self.top, 0o755)
        self.builder = build.Builder(self.rng, self.project, self.top + b"/outside", self.owner.pw_uid, self.owner.pw_gid,
                                     self.agent)
        self.rows = self.builder.build(deep=self.number % 50 == 7, wide=self.number % 25 == 3)
        files = {"TASKS.md": {"developer": "r", "tester": "r", "reviewer": "rw"},
                 "REVIEW.md": {"developer": "r", "tester": "none", "reviewer": "rw"}}
        rows = [f"  {name}: {json.dumps(row)}\n" for name, row in files.items()]
        rows += [f"  {name}/: {json.dumps(row)}\n" for name, row in self.rows.items()]
        text = f"agent_user: {self.args.agent}\naccess:\n" + "".join(rows).replace('"', "")
        text += '  "*": {developer: r, tester: r, reviewer: r, runner: r}\nroles:\n'
        text += "".join(f"  {r}: {{command: [/bin/true]}}\n" for r in build.ROLES[:3])
        text += 'suite: {command: [/bin/true], format: exit}\n'
        path = self.project + b"/stint.yaml"
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chown(path, self.owner.pw_uid, self.owner.pw_gid)
        if acl.ACCESS in os.listxattr(path):
            os.removexattr(path, acl.ACCESS)
        os.chmod(path, 0o644)

    def remove(self):
        self.stint("restore", "-C", os.fsdecode(self.project))
        self.builder.unflag()
        subprocess.run(["rm", "-rf", "--one-file-system", self.top], check=False)

    def picture(self):
        """The project and what lies outside as one tree, whose root is no inode of either."""
        nodes, root = snap.take(self.project, LEFT_OUT)
        outside, _ = snap.take(self.top + b"/outside")
        self.counts.inodes += len(nodes)
        return nodes, root, outside

    def agents_left(self):
        found = subprocess.run(["find", self.project, "-user", self.args.agent, "-print0"], capture_output=True, check=False)
        for path in found.stdout.split(b"\0"):
            if path:
                yield f"{snap.escaped(path)}: still the agent's"
        st = os.stat(self.project)
        start = f"{st.st_dev:x}-{st.st_ino:x}."
        for name in os.listdir("/var/lib/stint/journal"):
            if name.startswith((start, "." + start)):
                yield f"the journal still has {name}"

    # ------------------------------------------------------------ turns
    def log_path(self, role):
        return self.project + b"/.stint/home/" + role.encode() + b"/ops.log"

    def outcomes(self, role):
        try:
            with open(self.log_path(role), encoding="ascii") as f:
                return [int(x) for x in f.read().splitlines()]
        except FileNotFoundError:
            return []

    def command(self, role, layers, ops):
        words = ["turn", "-C", os.fsdecode(self.project)]
        if layers:
            words += ["--layers", layers]
        return words + [role, "--", "python3", "-ISc", AGENT_SCRIPT, json.dumps(ops)]

    def killed(self, words, when):
        """A turn that is cut after a random time: its warden, its coordinator, or both."""
        p = subprocess.Popen([self.args.stint, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, preexec_fn=lambda: os.umask(self.umask))
        time.sleep(when)
        whom = self.rng.choice(("warden", "coordinator", "both"))
        if whom != "warden":
            try:
                with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
                    for child in f.read().split():
                        with open(f"/proc/{child}/comm", encoding="ascii") as c:
                            if c.read().startswith("stint-coord"):
                                os.kill(int(child), signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                pass
        if whom != "coordinator":
            p.kill()
        p.wait()
        self.counts.kills += 1
        return f"killed {whom} after {when:.3f} s"

    def restored(self):
        """Runs stint restore; the turn's init may need a moment to follow its warden."""
        for _ in range(50):
            r = self.stint("restore", "-C", os.fsdecode(self.project))
            if r.returncode == 0:
                return
            time.sleep(0.1)
        self.lines.append(f"stint restore: exit {r.returncode}: {r.stderr.decode(errors='replace')}")

    def quiet(self, nodes, role):
        """Inodes that a turn need not write: strangers', links, and what lies in zones that the role does not enter; not what names
        the agent already, which is saved first."""
        found = {ino for ino, n in nodes.items() if n.uid != self.owner.pw_uid or stat.S_ISLNK(n.mode)}
        for path, ino in self.plan.paths.items():
            for zone, row in self.rows.items():
                if row[role] == "none" and path.startswith(zone.encode() + b"/") and nodes[ino].nlink == 1:
                    found.add(ino)
        return {ino for ino in found if not any(self.names_agent(v) for k, v in nodes[ino].xattrs.items() if "posix_acl" in k)}

    def names_agent(self, raw):
        return any(acl.names(e, self.agent) for e in acl.unpack(raw))

    def turn(self, number):
        """One turn and its comparison. True when it ran."""
        rng = self.rng
        role = rng.choice(build.ROLES)
        layers = rng.choice(LAYERS) if rng.random() < 0.15 else ""
        with_acl = not layers or "acl" in layers
        nodes, root, outside = self.picture()
        kill = rng.random() < 0.12
        self.plan = build.Plan(rng, nodes, root, self.rows, role, with_acl)
        ops = self.plan.build(rng.randrange(1, 9), kill)
        had_stint = os.path.lexists(self.project + b"/.stint")
        if os.path.lexists(self.log_path(role)):
            os.unlink(self.log_path(role))
        words = self.command(role, layers, ops)
        what = f"tree {self.number} turn {number} {role} {layers or 'all layers'}"
        refused = False
        if kill:
            what += " " + self.killed(words, rng.uniform(0.02, self.args.kill_within))
            self.restored()
        else:
            r = self.stint(*words)
            refused = r.returncode in REFUSED
            what += f" exit {r.returncode} {r.stderr.decode(errors='replace').strip().splitlines()[-1:]}"
            if r.returncode != 0 and not refused:
                self.lines.append(f"unexpected exit {r.returncode}: {r.stderr.decode(errors='replace')}")
        outcomes = self.outcomes(role)
        if not kill and not refused and len(outcomes) != len(ops):
            self.lines.append(f"the command did {len(outcomes)} of {len(ops)} operations: {r.stderr.decode(errors='replace')}")
        if refused and outcomes:
            self.lines.append("a refused turn ran its command")
        self.counts.refused += refused
        self.counts.turns += not refused
        if refused and self.args.verbose:
            print(f"# {what}")
        rules = model.Rules(self.owner.pw_uid, self.owner.pw_gid, self.agent, self.umask, with_acl,
                            self.quiet(nodes, role) if not kill else set())
        self.check(nodes, root, outside, role, rules, ops, outcomes, had_stint)
        if not self.lines and rng.random() < 0.1:
            before = self.picture()
            self.restored()
            rules.quiet = set(nodes)
            what += ", then stint restore"
            self.check(*before, "", rules, [], [], True)
        self.counts.ops += len(outcomes)
        self.counts.done += outcomes.count(0)
        if self.lines:
            self.report(what, ops, outcomes)
        return not refused

    def check(self, nodes, root, outside, role, rules, ops, outcomes, had_stint):
        after, after_root, after_outside = self.picture()
        for ino in outside:  # links to and from the project change more than ctime only through these
            if ino not in nodes:
                nodes[ino], after[ino] = outside[ino], after_outside.get(ino, outside[ino])
        ops, outcomes = list(ops), list(outcomes)
        if b"REVIEW.md" not in nodes[root].names and any(
                error == 0 and op["path"] == "REVIEW.md" for op, error in zip(ops, outcomes)):
            ops.insert(0, {"op": "create", "path": "REVIEW.md", "mode": 0o666})
            outcomes.insert(0, 0)
        pairs = [(op, error) for op, error in zip(ops, outcomes + [None] * (len(ops) - len(outcomes))) if op["op"] != "sleep"]
        ops, outcomes = [op for op, _ in pairs], [error for _, error in pairs if error is not None]
        loose = set() if had_stint else {root}
        self.lines += model.best(nodes, root, after, after_root, ops, outcomes, rules, loose)
        for ino, node in outside.items():
            if node.names is not None:
                for d in snap.differences(node, after_outside[ino], ("ctime",)):
                    self.lines.append(snap.line(b"outside", *d))
            elif ino not in after_outside:
                self.lines.append(f"outside: inode {ino} is gone")
        self.lines += self.agents_left()

    def report(self, what, ops, outcomes):
        self.counts.differences += len(self.lines)
        print(f"# {what}, umask {self.umask:03o}: SEED={self.args.seed} TREE={self.number}")
        for text in self.lines[:self.args.show]:
            print(f"difference: {text}")
        for op, error in list(zip(ops, outcomes + ["?"] * len(ops)))[:40]:
            print(f"#   {op} -> {error}")
        sys.stdout.flush()

    def run(self):
        self.counts.trees += 1
        try:
            self.make()
            for number in range(self.args.turns):
                ran = self.turn(number)
                if number == 0:
                    self.counts.ran += ran
                if self.lines:
                    break
                if self.rng.random() < 0.4:
                    self.builder.edit([p for p in sorted(self.plan.paths) if b"/" in p and not p.startswith(b".git/")])
        finally:
            self.remove()


# ------------------------------------------------------------ the comparison itself
def self_test(args):
    """Each deliberate change must be told, by the right name, and nothing be told when there is none."""
    tree = Tree(args, 0, Counts())
    tree.make()
    path = tree.project + b"/src/probe\n"
    with open(path, "wb") as f:
        f.write(b"12345")
    os.mkdir(tree.project + b"/src/folder")
    os.symlink(b"there", tree.project + b"/src/link")
    os.mkfifo(tree.project + b"/src/pipe")
    link, folder = tree.project + b"/src/link", tree.project + b"/src/folder"

    def rewrite():
        st = os.stat(path)
        with open(path, "r+b") as f:
            f.write(b"54321")
        os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))

    def relink():
        os.unlink(link)
        os.symlink(b"elsewhere", link)

    entries = [(1, 6, acl.NO_ID), (2, 4, 65534), (4, 4, acl.NO_ID), (16, 4, acl.NO_ID), (32, 0, acl.NO_ID)]
    changes = (
        ("nothing", lambda: None, None),
        ("an access ACL", lambda: os.setxattr(path, acl.ACCESS, acl.pack(entries)), "probe\\x0a: xattr system.posix_acl_access"),
        ("the order of an ACL's entries", lambda: os.setxattr(path, acl.ACCESS, acl.pack(entries[:2] + [(2, 4, 8)] + entries[2:])),
         "probe\\x0a: xattr system.posix_acl_access before 02"),
        ("a default ACL", lambda: os.setxattr(folder, acl.DEFAULT, acl.pack(entries)), "folder: xattr system.posix_acl_default"),
        ("a user attribute", lambda: os.setxattr(path, "user.x", b"1"), "probe\\x0a: xattr user.x"),
        ("a trusted attribute", lambda: os.setxattr(path, "trusted.stint.access", b"1"), "probe\\x0a: xattr trusted.stint.access"),
        ("a set-id bit", lambda: os.chmod(path, 0o4755), "probe\\x0a: mode"),
        ("an owner", lambda: os.chown(path, 4242, -1), "probe\\x0a: uid"),
        ("a group", lambda: os.chown(path, -1, 4242), "probe\\x0a: gid"),
        ("a hard link", lambda: os.link(path, folder + b"/second"), "folder/second: appeared"),
        ("content of the same size and time", rewrite, "probe\\x0a: data"),
        ("a time", lambda: os.utime(path, ns=(1, 1)), "probe\\x0a: mtime"),
        ("a link's target", relink, "src/link: data"),
        ("a rename", lambda: os.rename(path, path + b"2"), "probe\\x0a: is gone"),
        ("a removal", lambda: os.unlink(tree.project + b"/src/pipe"), "src/pipe: is gone"),
    )
    rules = model.Rules(tree.owner.pw_uid, tree.owner.pw_gid, tree.agent, 0o22, True, set())
    failed = 0
    for name, change, want in changes:
        nodes, root, _ = tree.picture()
        change()
        after, after_root, _ = tree.picture()
        lines = model.best(nodes, root, after, after_root, [], [], rules, set())
        good = not lines if want is None else any(want in text for text in lines)
        failed += not good
        print(f"{'told' if good else 'NOT told'}: {name}: {lines[:1]}")
    tree.remove()
    return failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--base", required=True)
    p.add_argument("--owner", required=True)
    p.add_argument("--agent", required=True)
    p.add_argument("--stint", default="stint")
    p.add_argument("--trees", type=int, default=100)
    p.add_argument("--turns", type=int, default=10)
    p.add_argument("--seed", default="1")
    p.add_argument("--tree", type=int)
    p.add_argument("--seconds", type=float, default=0, help="begin no tree after this time")
    p.add_argument("--kill-within", type=float, default=0.4)
    p.add_argument("--self-test", action="store_true")
    p.add_argument("--show", type=int, default=12, help="differences of a turn that are printed")
    p.add_argument("--verbose", action="store_true")
    args = p.parse_args()
    if args.self_test:
        return 1 if self_test(args) else 0
    counts, start = Counts(), time.monotonic()
    for number in range(args.trees) if args.tree is None else (args.tree,):
        if args.seconds and time.monotonic() - start > args.seconds:
            break
        Tree(args, number, counts).run()
    print(" ".join(f"{k}={v}" for k, v in vars(counts).items()))
    return 1 if counts.differences else 0


sys.exit(main())
