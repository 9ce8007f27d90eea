#!/bin/bash
# A run that goes on where another stopped: no task is ticked without its commit, none is committed twice, no work stays behind.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

agents() { # DEVELOPER TESTER REVIEWER SUITE: shell commands; the configuration of the project
    put stint.yaml <<END
agent_user: $AGENT
roles:
  developer: {command: [sh, src/developer.sh]}
  tester: {command: [/bin/true]}
  reviewer: {command: [sh, src/reviewer.sh]}
suite: {command: [sh, src/suite.sh], format: tap}
limits: {iterations: ${ITERATIONS:-5}}
END
    put src/developer.sh <<<"$1"
    put src/reviewer.sh <<<"$2"
    put src/suite.sh <<<"$3"
    own git add -A -- . ':!REVIEW.md' # a cut reviewer's turn leaves an empty one
    own git commit -q -m agents
}
good='echo ok 1; echo 1..1'
work='echo "$STINT_TASK" >>src/work'
until_true() { for _ in $(seq 100); do "$@" && return 0; sleep 0.1; done; return 1; }
begin() { # starts a run in the background: pid
    stint run -C "$P" >"$FOLDER/run" 2>&1 &
    pid=$!
}
cut() { # SIGKILL to both
    pkill -KILL -P "$pid" -x stint-coordinat
    kill -KILL "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    sleep 0.3
}
subjects() { own git log --format=%s | grep -vE '^(start|agents|tasks)$' | sort | tr '\n' ' '; }
sound() { # NAME: nothing open, nothing left beside a commit
    is "$(own git status --porcelain) $(grep -c '\[ \]' "$P/TASKS.md")" " 0" "$1: all ticked, git status clean"
}

# ---- a run that was to complete a cut commit, and was cut itself
project_new
printf -- '- [ ] one\n- [ ] two\n' | put TASKS.md
commit_all start
exits 0 "a task is committed" stint run -C "$P" --once
first=$(find "$P/.stint/runs" -mindepth 1 -maxdepth 1 -printf '%f\n')
own git show HEAD~:TASKS.md | put TASKS.md          # as if killed after HEAD moved: neither tick nor index
own git read-tree HEAD~
own sed -i 's/"status": "pass"/"status": "open"/; s/"commit_step": "done"/"commit_step": "head"/; s/"state": "ended"/"state": "running"/' \
    ".stint/runs/$first/run.json"
second=${first%-*}-$(printf '%04x' $((0x${first##*-} + 1)))
own cp -r ".stint/runs/$first" ".stint/runs/$second" # the next run had only begun the task when it was killed
own sed -i "s/$first/$second/; s/\"commit_step\": \"head\"/\"commit_step\": \"none\"/; s/\"commit\": \"[0-9a-f]*\"/\"commit\": null/" \
    ".stint/runs/$second/run.json"
exits 0 "the run after both completes it" stint run -C "$P"
like "$OUT" 'completing it' "and says so"
is "$(own git log --format=%s | grep -cE '^(one|two)$')" 2 "one commit a task"
is "$(own git status --porcelain) $(grep -c '\[x\]' "$P/TASKS.md")" " 2" "status is clean, both are ticked"

# ---- a cut commit that was reverted meanwhile
project_new
put TASKS.md <<<'- [ ] one'
commit_all start
exits 0 "a task is committed" stint run -C "$P"
own sed -i 's/"status": "pass"/"status": "open"/; s/"commit_step": "done"/"commit_step": "head"/; s/"state": "ended"/"state": "running"/' \
    "$(cd "$P" && ls .stint/runs/*/run.json)"
own git revert --no-edit HEAD >/dev/null
exits 0 "reverted, it is open again" stint run -C "$P"
is "$(own git log --format=%s | grep -c '^one$') $(grep -c '\[x\]' "$P/TASKS.md")" "2 1" "and is done again"

# ---- a reviewer ticks a box and the turn is cut
tick='sed "s/\[ \] second/[x] second/" TASKS.md >/tmp/t; cat /tmp/t >TASKS.md; sleep 60'
project_new
printf -- '- [ ] first\n- [ ] second\n' | put TASKS.md
agents "$work" "$tick" "$good"
begin
ok "a reviewer ticks the next task's box" until_true grep -q '\[x\] second' "$P/TASKS.md"
kill -TERM "$pid" # a background shell ignores INT
wait "$pid"
is "$? $(grep -c '\[x\]' "$P/TASKS.md")" "130 0" "interrupted: exit 130, and the box is open again"
begin
until_true grep -q '\[x\] second' "$P/TASKS.md"
cut
like "$(cat "$P/TASKS.md")" '\[x\] second' "killed: the box stays ticked"
agents "$work" true "$good"
exits 0 "the next run" stint run -C "$P"
like "$ERR" 'a turn of run .* was cut: TASKS.md:2: a box that was open' "opens it again and says so"
is "$(subjects)" "first second " "and does the task"
sound "ticked by a reviewer"

# ---- a task is taken away by a turn that is cut
printf -- '- [ ] third\n- [ ] fourth\n' | put TASKS.md
agents "$work" 'echo "- [ ] third" >TASKS.md; sleep 60' "$good"
begin
until_true sh -c "! grep -q fourth '$P/TASKS.md'"
cut
exits 2 "the next run refuses" stint run -C "$P"
like "$ERR" 'lost a task.*as it was then it is in .stint/runs/.*/turn-[0-9]*/tasks.md' "and says where the file is as it was"
copy=$(find "$P"/.stint/runs/*/turn-* -name tasks.md -newer "$P/src/suite.sh" | tail -1)
own chmod 0 "$copy"
exits 2 "a copy that cannot be read is not taken for none" stint run -C "$P"
like "$ERR" 'runs/.*/turn-[0-9]*/tasks.md: Permission denied: make it readable' "and is named"
own chmod 600 "$copy"
own cp "$copy" TASKS.md
own rm "$copy"
agents "$work" true "$good"
exits 0 "put right, it goes on" stint run -C "$P"
sound "taken away by a reviewer"

# ---- two tasks of one title in one run, the second cut
project_new
put TASKS.md <<<'- [ ] same'
agents '[ ! -e src/work ] || [ -e src/fast ] || { touch src/slow; sleep 60; }; '"$work" 'grep -q x TASKS.md || [ "$(grep -c same TASKS.md)" = 2 ] || echo "- [ ] same" >>TASKS.md' "$good"
begin
ok "the second of them is begun" until_true test -e "$P/src/slow"
cut
own touch src/fast
exits 0 "the next run" stint run -C "$P"
is "$(subjects)" "same same " "commits each of them"
sound "two of one title"

# ---- the task is renamed after a cut
project_new
put TASKS.md <<<'- [ ] old name'
agents 'touch src/half; [ -e src/fast ] || sleep 60' true "$good"
begin
ok "half of the work is there" until_true test -e "$P/src/half"
cut
put TASKS.md <<<'- [ ] new name'
own touch src/fast
exits 0 "the next run" stint run -C "$P"
is "$(own git ls-tree --name-only HEAD src/half)" "src/half" "commits what the earlier one left"
sound "renamed"

# ---- a push that fails is made up for
project_new
own git init -q --bare ../push.git 2>/dev/null || { install -d -o "$OWNER" -g "$OWNER" "$FOLDER/push.git"; own git init -q --bare "$FOLDER/push.git"; }
own git remote add origin "$FOLDER/push.git"
agents "$work" true "$good"
printf 'commit: {push: origin}\n' | own sh -c 'cat >>stint.yaml'
commit_all tasks
chmod 000 "$FOLDER/push.git"
exits 5 "a push that cannot be" stint run -C "$P"
like "$ERR" 'committed, but not pushed' "is said"
chmod 755 "$FOLDER/push.git"
exits 0 "the next run" stint run -C "$P"
is "$(own git --git-dir="$FOLDER/push.git" rev-parse main)" "$(own git rev-parse main)" "pushes it"

# ---- the coordinator's finding falls in a later run
project_new
ITERATIONS=1 agents "$work" true 'echo not ok 1 - broken; echo 1..1'
exits 1 "a suite that fails" stint run -C "$P"
like "$(cat "$P/REVIEW.md")" broken "leaves a finding"
is "$(grep -c '"broken"' "$P"/.stint/runs/*/run.json)" 1 "and the failing test's name in the record"
agents "$work" true "$good"
exits 0 "passing in the next run" stint run -C "$P"
is "$([ -e "$P/REVIEW.md" ] && echo there)" "" "it is withdrawn"

# ---- interrupted in the suite
project_new
agents "$work" true 'sleep 60'
begin
until_true sh -c "ls '$P'/.stint/runs/*/turn-3/stdout >/dev/null 2>&1"
sleep 0.3
kill -TERM "$pid"
wait "$pid"
is "$? $(grep -c '"status": "running"' "$P"/.stint/runs/*/run.json)" "130 0" "no turn is recorded as still running"


# ---- what would stop a run only at its commit stops it before it begins
project_new
agents "$work" true "$good"
own touch .git/index.lock
exits 2 "a locked index" stint run -C "$P"
like "$ERR" 'remove .git/index.lock' "is named"
own rm .git/index.lock
own touch .git/refs/heads/main.lock
exits 2 "a locked branch" stint run -C "$P"
like "$ERR" 'remove .git/refs/heads/main.lock' "is named"
own rm .git/refs/heads/main.lock
own chmod 444 TASKS.md
exits 2 "a TASKS.md that cannot be ticked" stint run -C "$P"
like "$ERR" 'chmod u\+w' "is named"
own chmod 644 TASKS.md
put REVIEW.md <<<'- [x] an old finding'
own git add REVIEW.md
commit_all tasks
exits 0 "with a REVIEW.md that git has" stint run -C "$P"
sound "a REVIEW.md that git has"
done_testing
