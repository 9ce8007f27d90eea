#!/usr/bin/env python3
"""An adapter of `stint eval run`: one task of project/TASKS.md, done by the loop, with the developer that is named.

    adapter.py DEVELOPER.sh <TASK.json

The task's input is a line of TASKS.md. The loop runs in a copy of project/ where that line alone is open. The output is "done" or "not done", the
trace has an entry an iteration. The loop needs root and an ordinary user as the project's owner: whoever called sudo."""
import glob
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GIT = ["git", "-c", "user.name=Eval", "-c", "user.email=eval@localhost", "-c", "init.defaultBranch=main"]


def owner():
    """Who owns the copy: its name, and what makes a command run as it."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name, {}
    user = pwd.getpwnam(os.environ["SUDO_USER"])
    return user.pw_name, {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def prepare(folder, title, developer):
    """The project, with one task open and its first commit."""
    name, identity = owner()
    shutil.copytree(os.path.join(HERE, "project"), folder, dirs_exist_ok=True)
    shutil.copy(developer, os.path.join(folder, "agents/developer.sh"))
    tasks = os.path.join(folder, "TASKS.md")
    with open(tasks, encoding="utf-8") as f:
        lines = f.read().splitlines()
    if f"- [ ] {title}" not in lines:
        sys.exit(f"adapter: TASKS.md has no task {title!r}")
    with open(tasks, "w", encoding="utf-8") as f:
        f.writelines((line if line == f"- [ ] {title}" else line.replace("- [ ]", "- [x]")) + "\n" for line in lines)
    if identity:
        subprocess.run(["chown", "-R", "-h", f"{name}:", folder], check=True)
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "The project as it is given"]):
        subprocess.run(GIT + words, cwd=folder, env={**os.environ, "HOME": folder}, check=True, **identity)


def loop(folder):
    """Runs it; everything that it says goes to standard error. Returns its exit status and record."""
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    status = subprocess.run(sudo + ["stint", "run", "-C", folder, "--yes"], stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False).returncode
    records = sorted(glob.glob(os.path.join(folder, ".stint/runs/*/run.json")))
    if status not in (0, 1) or not records:
        sys.exit(f"adapter: stint run could not run the loop: exit {status}")
    with open(records[-1], encoding="utf-8") as f:
        return status, json.load(f)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    task = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="stint-loop-") as folder:
        os.chmod(folder, 0o755)
        prepare(folder, task["input"], sys.argv[1])
        status, record = loop(folder)
    iterations = [i for t in record["tasks"] for i in t["iterations"]]
    trace = [{"iteration": i["n"], "status": i["status"], "reason": i["reason"]} for i in iterations]
    print(json.dumps({"output": "done" if status == 0 else "not done", "trace": trace}))


main()
