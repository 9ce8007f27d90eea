#!/usr/bin/env python3
"""One fault or kill at a time in a whole run of the loop, and after each the same questions. run.sh makes the project and calls this.

A case is WHO.CLASS:N:HOW: at the N-th call of CLASS that WHO makes (see inject.c), HOW is an errno, an errno and `+` (all such calls
from there on), kill (before the call), after (once it is made) or kill-all (before it; warden and coordinator too).

Each case starts from a copy of the same project:
1. `stint run` with the fault: an exit status of the contract and a message; 0 only when the task is ticked and committed;
2. `stint restore`: nothing of the agent user is left, and owner, mode and raw xattrs of all that was there are as before;
3. `stint run` without a fault: the task is done, in one commit.
--in restore: the fault is in a restore, after a run that was killed in its last turn. --in resume: it is in a run that completes
one whose commit was cut.
"""
import argparse
import collections
import hashlib
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import time

# What each kind of call may fail with. A kill needs none.
ERRNOS = {
    "open": ["EMFILE", "EIO", "ENFILE", "EACCES", "ENOMEM"],
    "xattr": ["ENOSPC", "EIO", "EDQUOT", "EROFS"],
    "chown": ["EIO", "EDQUOT", "EROFS"],
    "chmod": ["EIO", "EROFS"],
    "rename": ["ENOSPC", "EIO", "EDQUOT", "EROFS"],
    "link": ["EIO", "ENOSPC", "EROFS"],
    "mkdir": ["ENOSPC", "EIO", "EDQUOT", "EROFS"],
    "write": ["ENOSPC", "EINTR", "EIO", "EDQUOT"],
    "sync": ["EIO", "ENOSPC", "EDQUOT"],
    "fork": ["EAGAIN", "ENOMEM"],
    "mount": ["ENOMEM", "EPERM"],
    "pipe": ["EINTR", "EPIPE"],
    "exec": ["ENOMEM", "EACCES"],
    "fd": ["EMFILE", "ENFILE"],
    "lock": ["ENOLCK", "EINTR"],
    "ident": ["EAGAIN", "EPERM"],
    "confine": ["ENOMEM", "EPERM"],
    "read": ["EIO", "EINTR"],
    "mem": ["ENOMEM"],
}
STICKY = {"write": ["ENOSPC+", "EROFS+"], "xattr": ["ENOSPC+", "EROFS+"], "rename": ["EROFS+"], "sync": ["EIO+"], "fork": ["EAGAIN+"],
          "fd": ["EMFILE+"], "open": ["EMFILE+"], "mem": ["ENOMEM+"]}
KILLS = {"kill": "-k", "after": "-a", "kill-all": "-K"}
WRITTEN = {"src/code.txt", "TASKS.md"}  # of the files that are there, those that a run writes
STOPS = {0, 1, 2, 3, 4, 5, 130}
KILLED = 128 + 9



class Fault(collections.namedtuple("Fault", "where n how")):
    def __str__(self):
        return f"{self.where}:{self.n}:{self.how}"

    def is_kill(self):
        return self.how in KILLS


def run(cmd, seconds=120, **kw):
    try:
        p = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds, **kw)
    except subprocess.TimeoutExpired:
        return 99, "", f"no end after {seconds} s"
    return p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")


def facts(root):
    """path -> what a run must give back, for everything but git's folder and stint's own."""
    found = {}

    def look(path, name):
        st = os.lstat(path)
        xattrs = tuple((x, os.getxattr(path, x, follow_symlinks=False))
                       for x in sorted(os.listxattr(path, follow_symlinks=False)))
        text = None
        if stat.S_ISREG(st.st_mode) and name not in WRITTEN:
            with open(path, "rb") as f:
                text = f.read()
        found[name] = (stat.S_IFMT(st.st_mode), st.st_uid, st.st_gid, oct(stat.S_IMODE(st.st_mode)), xattrs, text)

    look(root, ".")
    for folder, folders, files in os.walk(root):
        at = os.path.relpath(folder, root)
        if at == ".":
            for skip in (".git", ".stint"):
                if skip in folders:
                    folders.remove(skip)
                    look(os.path.join(root, skip), skip)
        for f in folders + files:
            look(os.path.join(folder, f), os.path.normpath(os.path.join(at, f)))
    return found


def owned_by(root, uid):
    names = []
    for folder, folders, files in os.walk(root):
        for f in folders + files:
            path = os.path.join(folder, f)
            if os.lstat(path).st_uid == uid:
                names.append(os.path.relpath(path, root))
    return names


def processes_of(uid):
    n = []
    for p in os.listdir("/proc"):
        if p.isdigit():
            try:
                if os.stat("/proc/" + p).st_uid == uid:
                    n.append(p)
            except OSError:
                pass
    return n


class Sweep:
    def __init__(self, a):
        self.a = a
        self.p = os.path.join(a.folder, "project")
        self.template = os.path.join(a.folder, "template")
        self.tmp = os.path.join(a.folder, "tmp")
        os.makedirs(self.tmp, exist_ok=True)
        shutil.rmtree(self.template, ignore_errors=True)
        subprocess.run(["cp", "-a", self.p, self.template], check=True)
        self.before = facts(self.p)
        self.tasks = open(os.path.join(self.p, "TASKS.md"), "rb").read()
        self.ticked = self.tasks.replace(b"[ ]", b"[x]")
        self.cut = None  # a kill in a run before
        self.command = "restore" if a.command == "restore" else "run"
        self.completed = set()  # states from which a run was seen to complete
        self.mounts = self.mounted()
        self.head = self.git("rev-parse", "HEAD")[1].strip()

    # ---- the pieces
    def own(self, cmd, **kw):
        env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1"}
        return run(cmd, cwd=self.p, user=self.a.owner, group=self.a.group, extra_groups=[], env=env, **kw)

    def git(self, *args):
        return self.own(["git", *args])

    def stint(self, *args):
        # `stint restore` of any project holds every account's lock for a moment: on a machine with other users, wait.
        for _ in range(20):
            got = run(["stint", args[0], "-C", self.p, *args[1:]])
            if got[0] != 3 or "is in use" not in got[2]:
                break
            time.sleep(0.5)
        return got

    def mounted(self):
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as f:
            return sorted(line.split()[4] for line in f if self.a.folder in line)

    def fresh(self):
        subprocess.run(["rm", "-rf", "--one-file-system", self.p], check=True)
        subprocess.run(["cp", "-a", self.template, self.p], check=True)

    def inject(self, fault, command):
        report = os.path.join(self.tmp, "report")
        how = [KILLS[fault.how]] if fault.is_kill() else ["-e", fault.how.rstrip("+")]
        at = f"{fault.where}:{fault.n}" + ("+" if fault.how.endswith("+") else "")
        for _ in range(20):
            got = run([self.a.inject, "-r", report, "-t", "60", "-w", at, *how, "--", "stint", command, "-C", self.p])
            if got[0] != 3 or "is in use" not in got[2]:
                break
            time.sleep(0.5)
        with open(report, encoding="utf-8", errors="replace") as f:
            return got, f.read()

    def count_of(self, command):
        file = os.path.join(self.tmp, "counts")
        rc, _, err = run([self.a.inject, "-c", file, "--", "stint", command, "-C", self.p])
        if rc != 0:
            sys.exit(f"Bail out! {command} without a fault ends with {rc}: {err}")
        with open(file, encoding="ascii") as f:
            return {k: int(v) for k, v in (line.split() for line in f)}

    def count(self):
        """The calls of each kind in the command that is to be faulted; says where the run before it is to be killed."""
        self.fresh()
        counts = self.count_of("run")
        if self.a.command == "run":
            return counts
        last = "helper.exec" if self.a.command == "restore" else "coordinator.lock"
        self.cut = Fault(last, counts[last], "kill-all")
        self.fresh()
        self.inject(self.cut, "run")
        return self.count_of(self.command)

    def state(self):
        """A name for all that the next run can see, without what is another in each run: times, ids, hashes of commits."""
        h = hashlib.sha256(repr(sorted(facts(self.p).items())).encode())
        for folder, folders, files in os.walk(self.p):
            folders.sort()
            at = re.sub(r"\d{8}-\d{6}-[0-9a-f]{4}", "RUN", os.path.relpath(folder, self.p))
            for f in sorted(files):
                path = os.path.join(folder, f)
                if at.startswith(".git/objects"):
                    h.update(b"" if re.fullmatch(r"[0-9a-f]{38}", f) else f.encode())
                    continue
                h.update(f"{at}/{f}\n".encode())
                if at.startswith(".stint") and f != "run.json" or f == "index" or at.startswith(".git/logs") or not os.path.isfile(path):
                    continue
                with open(path, "rb") as o:
                    text = o.read()
                text = text.replace(self.head.encode(), b"FIRST")
                text = re.sub(rb"[0-9a-f]{40}", b"OID", text)
                text = re.sub(rb"\d{4}-\d\d-\d\dT[0-9:.]+Z|\d{8}-\d{6}-[0-9a-f]{4}", b"TIME", text)
                text = re.sub(rb'("(\w+_ms|max_rss)": )[0-9]+', rb"\1N", text)
                h.update(text)
        for look in (["ls-files", "-s"], ["status", "--porcelain"]):
            h.update(repr(self.git(*look)).encode())
        return h.hexdigest()

    # ---- the questions
    def same(self, bad, when):
        now = facts(self.p)
        for name, was in self.before.items():
            if name not in now:
                bad.append(f"{when}: {name} is gone")
            elif now[name] != was:
                bad.append(f"{when}: {name} was {was}, is {now[name]}")
        for name, (_, uid, _, _, xattrs, _) in now.items():
            if name not in self.before and (uid != self.a.owner or any(x.startswith("trusted.") for x, _ in xattrs)):
                bad.append(f"{when}: {name} is new and not in order: {now[name]}")

    def nothing_left(self, bad, when):
        self.same(bad, when)
        agents = owned_by(self.p, self.a.agent)
        if agents:
            bad.append(f"{when}: the agent user owns {agents[:5]}")
        if processes_of(self.a.agent):
            bad.append(f"{when}: the agent user's processes {processes_of(self.a.agent)}")
        if self.mounted() != self.mounts:
            bad.append(f"{when}: mounts {self.mounted()}")
        st = os.stat(self.p)
        key = f"{st.st_dev:x}-{st.st_ino:x}."
        journal = [f for f in os.listdir("/var/lib/stint/journal") if key in f]
        if journal:
            bad.append(f"{when}: the journal has {journal}")
        for top in self.a.cgroups:
            if os.path.exists(os.path.join(top, f"stint-{self.a.agent}")):
                bad.append(f"{when}: a cgroup is left in {top}")

    def tidied(self, bad):
        """No lock, and no half-made file of stint, is left where git or the next run would find it."""
        for folder, _, files in os.walk(os.path.join(self.p, ".git")):
            bad += [f"next run: {os.path.join(folder, f)} is left" for f in files if f.endswith(".lock") or ".stint" in f]
        bad += [f"next run: .stint/runs/{f} is left" for f in os.listdir(os.path.join(self.p, ".stint/runs")) if f.startswith(".")]

    def committed(self):
        """How many commits of the task HEAD has, and whether its TASKS.md is ticked in HEAD."""
        rc, out, err = self.git("log", "--format=%s", f"{self.head}..HEAD")
        if rc != 0:
            return -1
        return len(out.splitlines())

    def is_message(self, err):
        return any(re.match(r"(stint: .+: .+)|(stint: out of memory$)|(\S+:\d+:\d+: .+)", line) for line in err.splitlines())

    def case(self, fault):
        bad = []
        self.fresh()
        if self.cut:
            _, report = self.inject(self.cut, "run")
            if "hit" not in report:
                return None, 0, report, ""
        (rc, out, err), report = self.inject(fault, self.command)
        if "hit" not in report:
            return None, rc, report, ""
        for line in report.splitlines():
            if not line.startswith("hit"):
                bad.append(line)
        if rc not in STOPS and not (fault.is_kill() and rc == KILLED):
            bad.append(f"{self.command}: exit {rc}: {err[-400:]}")
        # A fault in a pipe may be in the message's own.
        if rc not in (0, KILLED) and not fault.where.endswith(".pipe") and not self.is_message(err):
            bad.append(f"{self.command}: exit {rc} without a message: {err[-400:]!r} {out[-200:]!r}")
        tasks = open(os.path.join(self.p, "TASKS.md"), "rb").read()
        n = self.committed()
        if rc == 0 and self.command == "restore":
            self.nothing_left(bad, "restore with the fault")
        elif rc == 0 and (tasks != self.ticked or n != 1):
            bad.append(f"run: exit 0 with {n} commits, ticked: {tasks == self.ticked}: {err[-300:]}")
        if tasks not in (self.tasks, self.ticked):
            bad.append(f"run: TASKS.md is {tasks!r}")
        with open(os.path.join(self.p, "src/code.txt"), "rb") as f:
            code = f.read()
        if code not in (b"int main;\n", b"int x;\n"):
            bad.append(f"run: src/code.txt is {code!r}")
        if tasks == self.ticked and n != 1:
            bad.append("run: ticked without a commit")
        if ".o" in self.git("ls-tree", "-r", "--name-only", "HEAD")[1]:
            bad.append("run: what .gitignore names is committed")
        if processes_of(self.a.agent):
            bad.append(f"run: the agent user's processes {processes_of(self.a.agent)}")
        self.after(bad)
        return bad, rc, report, err

    def after(self, bad):
        rc, _, err = self.stint("restore")
        if rc != 0:
            bad.append(f"restore: exit {rc}: {err}")
        self.nothing_left(bad, "restore")
        rc, out, err = self.git("fsck", "--strict")
        if rc != 0:
            bad.append(f"git fsck: {rc} {out} {err}")
        rc, _, err = self.git("ls-files", "-s")
        if rc != 0:
            bad.append(f"git's index: {rc} {err}")
        runs = os.path.join(self.p, ".stint/runs")
        any_run = os.path.isdir(runs) and any(not name.startswith(".") for name in os.listdir(runs))
        for c in ("status", "log", "view") if any_run else ("status", "log"):
            rc, _, err = self.stint(c)
            if rc != 0:
                bad.append(f"{c}: exit {rc}: {err}")
        state = self.state()
        if state in self.completed and not self.a.every:
            return
        if not bad:
            self.completed.add(state)
        self.next_run(bad)
        if bad:
            self.completed.discard(state)

    def next_run(self, bad):
        rc, out, err = self.stint("run")
        if rc != 0:
            bad.append(f"next run: exit {rc}: {err} {out[-200:]}")
        n = self.committed()
        if n != 1:
            bad.append(f"next run: {n} commits")
        if open(os.path.join(self.p, "TASKS.md"), "rb").read() != self.ticked:
            bad.append("next run: TASKS.md is not ticked")
        rc, out, err = self.git("status", "--porcelain")
        if rc != 0 or out:
            bad.append(f"next run: git status: {rc} {out} {err}")
        self.nothing_left(bad, "next run")
        self.tidied(bad)


def is_named(fault, only):
    """only: WHO.CLASS, WHO.CLASS:N or WHO.CLASS:N:HOW; WHO.CLASS may be a regular expression."""
    parts = only.split(":")
    return all(want in ("", got) or (i == 0 and re.fullmatch(want, got))
               for i, (want, got) in enumerate(zip(parts, (fault.where, str(fault.n), fault.how))))


def cases_of(where, calls, a, rng):
    """The faults of one WHO.CLASS: all, or those named, or a sample in the order of N."""
    who, kind = where.split(".")
    hows = ERRNOS[kind] + STICKY.get(kind, []) + ["kill", "after"]
    if who in ("warden", "coordinator", "child"):
        hows.append("kill-all")
    faults = [Fault(where, n + 1, how) for n in range(calls) for how in hows]
    if a.only:
        faults = [f for f in faults if any(is_named(f, o) for o in a.only)]
    if a.how:
        faults = [f for f in faults if re.fullmatch(a.how, f.how)]
    if a.sample and len(faults) > a.sample:
        faults = sorted(rng.sample(faults, a.sample))
    shard, shards = map(int, a.shard.split("/"))
    return faults[shard::shards]


def one(s, fault, done, log):
    """Runs the case, tells and counts what came of it. True unless something was lost."""
    bad, rc, report, err = s.case(fault)
    hit = report.splitlines()[0] if report else "not reached"
    print(f"{fault} exit {rc}: {hit}: {'LOST' if bad else 'not reached' if bad is None else 'ok'}", file=log, flush=True)
    if bad is None:
        done["not reached"] += 1
        return True
    done["kills" if fault.is_kill() else "faults"] += 1
    done[fault.how] += 1
    done[f"exit {rc}"] += 1
    if bad:
        done["lost"] += 1
        text = "\n#   ".join([f"LOST {fault}: {hit}: exit {rc}", *bad, f"stderr: {err.strip()[-600:]}"])
        print(f"# {text}", flush=True)
    return not bad


def options():
    ap = argparse.ArgumentParser()
    ap.add_argument("--folder", required=True)
    ap.add_argument("--inject", required=True)
    ap.add_argument("--owner", type=int, required=True)
    ap.add_argument("--group", type=int, required=True)
    ap.add_argument("--agent", type=int, required=True)
    ap.add_argument("--in", dest="command", choices=["run", "restore", "resume"], default="run", help="where the faults are")
    ap.add_argument("--log", default="/dev/null", help="one line a case is added to it")
    ap.add_argument("--only", action="append", metavar="WHO.CLASS[:N[:HOW]]", help="may be given more than once")
    ap.add_argument("--how", help="a regular expression: only these")
    ap.add_argument("--sample", type=int, default=0, metavar="MOST", help="at most so many cases of each WHO.CLASS")
    ap.add_argument("--seed", type=int, default=0, help="of the sample")
    ap.add_argument("--shard", default="0/1", metavar="K/N", help="the K-th of N parts, for sweeps side by side with other accounts")
    ap.add_argument("--every", action="store_true", help="a next run after each case, also from a state that one was seen to complete")
    return ap.parse_args()


def main():
    a = options()
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as f:
        a.cgroups = [line.split()[4] for line in f if " - cgroup2 " in line]
    rng = random.Random(a.seed)
    s = Sweep(a)
    counts = s.count()
    print(f"# calls in {a.command}:", " ".join(f"{k} {v}" for k, v in counts.items()), flush=True)
    total = collections.Counter()
    n = 0
    start = time.monotonic()
    with open(a.log, "a", encoding="utf-8") as log:
        print(f"sweep: --in {a.command} seed {a.seed} sample {a.sample} shard {a.shard}", file=log, flush=True)
        counts.pop("front.mem", None)  # libc's own start, before main(): it ends by a signal, and nothing has been touched
        for where, calls in counts.items():
            faults = cases_of(where, calls, a, rng)
            if not faults:
                continue
            n += 1
            done = collections.Counter()
            good = sum(one(s, f, done, log) for f in faults)
            total += done
            skip = " # SKIP not reached this time" if done["faults"] + done["kills"] == 0 else ""  # N differs a little from run to run
            print(f"{'ok' if good == len(faults) else 'not ok'} {n} - {where}: {done['faults']} faults, {done['kills']} kills "
                  f"in {calls} calls{skip}", flush=True)
            print(f"# {dict(done)}, {len(s.completed)} states, {time.monotonic() - start:.0f} s", flush=True)
    print(f"# faults {total['faults']}, kills {total['kills']}, lost {total['lost']}, not reached {total['not reached']}, seed {a.seed}")
    print("# " + " ".join(f"{k} {v}" for k, v in sorted(total.items())))
    print(f"1..{n}", flush=True)
    sys.exit(1 if total["lost"] or not n else 0)


main()
