#!/bin/bash
# Found by attack: a change list that was cut, a restore beside a stranger's run, what cannot be listed, what git cannot hold.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
BUSY=stint-busy

# ---- more changes than the list may hold: the commit has all of the work
project_new /srv
put src/.gitignore <<<'pad*/'
put dev.py <<'PY'
import os
for i in range(10):
    os.makedirs(f"src/w{i}")
    open(f"src/w{i}/f", "w").write("x")
for p in range(6):
    os.mkdir(f"src/pad{p}")
    fd = os.open(f"src/pad{p}", os.O_RDONLY)
    for k in range(14):
        os.mkdir("n" * 200, dir_fd=fd)
        fd = os.open("n" * 200, os.O_RDONLY, dir_fd=fd)
    for k in range(2500):
        os.close(os.open("%04d" % k + "z" * 200, os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=fd))
PY
sed -i 's|developer: {command: .*|developer: {command: [python3, dev.py]}|' "$P/stint.yaml"
commit_all long
run stint run -C "$P"
like "$RC $OUT" '^0 .*list of changes is cut' "the list was cut, the task is done"
ok "git fsck --strict is content" own git fsck --strict
is "$(own git ls-tree -r --name-only HEAD src | grep -c '^src/w')" 10 "every file of the work is in the commit"
is "$(own git status --porcelain)" "" "and none is left beside it"

# ---- restore asks for this project's agent only
project_new /srv
cut=$P
stint setup --user $BUSY >/dev/null
project_new /srv
busy=$P
sed -i "s/^agent_user: .*/agent_user: $BUSY/" "$busy/stint.yaml"
commit_all busy
stint turn -C "$busy" developer -- sleep 8 >/dev/null 2>&1 &
other=$!
stint turn -C "$cut" developer -- sleep 60 >/dev/null 2>&1 &
pid=$!
for _ in $(seq 50); do
    [ "$(agent_processes)" -gt 0 ] && [ "$(find /proc -maxdepth 1 -user $BUSY 2>/dev/null | wc -l)" -gt 0 ] && break
    sleep 0.1
done
pkill -KILL -P "$pid"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
sleep 0.5
P=$cut
[ "$(acl_count)" -gt 0 ] && pass "the cut turn left ACLs" || fail "the cut turn left ACLs"
exits 0 "restored beside another agent's run" stint restore -C "$cut"
is "$(acl_count)" 0 "and no ACL is left"
exits 3 "a project whose own agent runs is not restored" stint restore -C "$busy"
P=$cut
exits 0 "one of which nothing is open is" stint restore -C "$cut"
wait "$other"
ok "once it has ended, it is" stint restore -C "$busy"
stint setup --user $BUSY --remove >/dev/null

# ---- more user.* attributes than the kernel lists (tmpfs takes them, listxattr says E2BIG)
project_new /dev/shm
many='import os, sys
for i in range(400): os.setxattr(sys.argv[1], "user." + str(i).zfill(240), b"")
try: os.listxattr(sys.argv[1])
except OSError as e: print(e.strerror)'
run own python3 -c "$many" src/code.txt
if [ "$OUT" != 'Argument list too long' ]; then
    skip "attributes that cannot be listed" "this kernel's tmpfs keeps or lists them otherwise: $OUT $ERR"
else
    printf '%s\n' "$many" | put src/many.py
    exits 0 "a turn that leaves them" stint turn -C "$P" developer -- sh -c 'echo x >src/new && python3 src/many.py src/new && mkdir src/dir && python3 src/many.py src/dir'
    like "$ERR" 'src/new: has more user.\* attributes than the kernel can list' "is told of"
    is "$(stat -c %U "$P/src/new" "$P/src/dir" | sort -u) $(acl_count)" "$OWNER 0" "owner and ACLs are as before"
    exits 0 "the next turn runs" stint turn -C "$P" developer -- cat src/new
    exits 0 "and restore has nothing to say" stint restore -C "$P"
fi

# ---- the coordinator's own finding says what failed last
project_new
put suite.sh <<'END'
wc -l <src/n | sed 's/^/not ok 1 - seen /'
echo 1..1
END
sed -i 's|developer: {command: .*|developer: {command: [sh, -c, "echo x >>src/n"]}|; s|^suite: .*|suite: {command: [sh, suite.sh], format: tap}\nlimits: {iterations: 2}|' "$P/stint.yaml"
commit_all twice
exits 1 "a suite that fails twice" stint run -C "$P"
like "$(cat "$P/REVIEW.md")" '  seen 2' "the finding names the second failure"
unlike "$(cat "$P/REVIEW.md")" 'seen 1' "and not the first"

# ---- what git cannot hold is left out and said; the rest is committed
project_new /srv
put dev.py <<'PY'
import os
open("src/good", "w").write("work")
for name in "git~1", ".git ", ".GIT", ".g\u200cit":
    os.mkdir("src/" + name)
    open("src/" + name + "/f", "w").write("x")
os.mkdir("src/in")
os.symlink("../good", "src/in/.gitattributes")
open("src/in/.gitmodules", "w").write('[submodule "x"]\npath = x\nurl = -u./p\n')
os.symlink("../good", "src/in/.gitignore")
open("src/in/f", "w").write("work")
os.mkdir("src/dir")
os.mkdir("src/dir/.gitignore")
open("src/dir/f", "w").write("work")
os.makedirs("src/deep")
fd = os.open("src/deep", os.O_RDONLY)
for k in range(25):
    os.mkdir("n" * 200, dir_fd=fd)
    fd = os.open("n" * 200, os.O_RDONLY, dir_fd=fd)
os.close(os.open("end", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=fd))
PY
printf -- '- [ ] one\n- [ ] two\n' | put TASKS.md
sed -i 's|developer: {command: .*|developer: {command: [sh, -c, "[ -e src/good ] \|\| python3 dev.py; echo $STINT_TASK >src/task"]}|' "$P/stint.yaml"
commit_all odd
exits 0 "odd names do not stop a run" stint run -C "$P"
# Three a turn are printed: those that the folder lists first, which depends on the file system.
is "$(grep -cE 'anomaly: src/(.*: (no regular file|git refuses|longer than a path)|\.GIT: a repository that appeared)' <<<"$OUT")" 3 "three of them are said"
for name in 'src/in/.gitattributes: no regular' 'src/in/.gitmodules: git refuses' 'it/f: git refuses' 'git~1/f: git refuses' '\.git /f: git refuses' 'src/in/.gitignore' 'longer than a path'; do
    like "$(stint log -C "$P" 2>/dev/null; cat "$P"/.stint/runs/*/events.jsonl)" "left-out.*$name" "and recorded: $name"
done
is "$(own git ls-tree -r --name-only HEAD src | tr '\n' ' ')" "src/code.txt src/dir/f src/good src/in/f src/task " "the rest is committed"
put TASKS.md <<<'- [ ] three'
exits 0 "the next run starts beside them" stint run -C "$P"

# ---- patterns that libgit2 takes for ever over
project_new /srv
put dev.py <<'PY'
import os
os.makedirs("src/" + "a/" * 60, exist_ok=True)
open("src/" + "a/" * 60 + "f", "w").write("x")
open("src/.gitignore", "w").write("*/**/" * 20 + "b\n")
PY
sed -i 's|developer: {command: .*|developer: {command: [python3, dev.py]}|' "$P/stint.yaml"
commit_all slow
run timeout -k 5 120 stint run -C "$P"
like "$RC $ERR" '^5 .*a .gitignore on the way to src/a/a.* keeps git busy without end' "a .gitignore that never ends ends the run, by name"
is "$(acl_count) $(find "$P" -user "$AGENT" | wc -l) $(agent_processes)" "0 0 0" "and everything is put back"
own rm src/.gitignore
sed -i 's|developer: {command: .*|developer: {command: [/bin/true]}|' "$P/stint.yaml"
exits 0 "without it the run goes on" stint run -C "$P"
done_testing
