#!/bin/bash
# The loop with small scripted agents: passes, failures, stops, findings, resume, push, interruption.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# A project whose agents are inline scripts: developer writes src/N from the task's number, tests check it.
# agents DEVELOPER TESTER REVIEWER SUITE: shell texts
agents() {
    scripted "$@" "limits: {iterations: ${ITERATIONS:-5}}
${EXTRA:-}"
    own git add -A
    own git -c user.name=Owner -c user.email=owner@localhost commit -q -m agents
}
tasks() { printf '%s\n' "$@" | put TASKS.md; commit_all tasks; }
loop() { run stint run -C "$P" "$@"; }
log_subjects() { own git log --format=%s; }
good_suite='if [ "$(cat src/answer)" = 42 ]; then echo "ok 1 - answer"; else echo "not ok 1 - answer"; fi; echo 1..1'
clean() { # NAME: nothing of the run is left but its work
    is "$(agent_processes) $(acl_count) $(find "$P" -user "$AGENT" | wc -l)" "0 0 0" "$1: no process, no ACL, no file of the agent user left"
}

# ---- straight through
project_new
tasks '- [ ] write the answer' '- [x] done before'
agents 'echo 42 >src/answer' 'echo t >tests/answer' 'true' "$good_suite"
loop
is "$RC" 0 "one task, one iteration: exit 0"
like "$(own cat TASKS.md)" '^- \[x\] write the answer' "the task is ticked"
is "$(log_subjects | head -1)" "write the answer" "the commit's subject is the task's title"
for t in Stint-Task Stint-Run Stint-Iterations Stint-Suite; do
    like "$(own git log -1 --format=%B)" "$t: " "trailer $t"
done
is "$(own git status --porcelain)" "" "git status is clean"
ok "git fsck is clean" own git fsck --strict
like "$OUT" 'developer .*changed' "one line a turn"
like "$OUT" '2 of 2 tasks done' "the last lines count the tasks"
like "$(own sh -c 'cat .stint/runs/*/turn-1/diff')" '\+42' "the record holds each turn's diff"
clean "straight through"
loop
is "$RC" 0 "all tasks done: exit 0 and no turn"
unlike "$OUT" 'developer' "nothing runs when nothing is open"

# ---- the suite finds it, the coordinator writes the finding, the developer reads it
project_new
tasks '- [ ] write the answer'
agents 'if grep -q "not ok\|answer" "$STINT_PROMPT_FILE" && grep -q "failed" "$STINT_PROMPT_FILE" && [ "$STINT_ITERATION" = 2 ]; then echo 42 >src/answer; else echo 41 >src/answer; fi' \
    'echo t >tests/answer' 'true' "$good_suite"
loop
is "$RC" 0 "wrong first, right second: exit 0"
like "$(own git log -1 --format=%B)" 'Stint-Iterations: 2' "two iterations are recorded"
[ ! -e "$P/REVIEW.md" ] && pass "REVIEW.md is gone after the pass" || fail "REVIEW.md is gone after the pass" "$(cat "$P/REVIEW.md")"
is "$(own git status --porcelain)" "" "git status is clean after a second iteration"

# ---- the reviewer's finding overrides a passing suite
project_new
tasks '- [ ] write the answer'
agents 'echo 42 >src/answer; grep -q "be polite" "$STINT_PROMPT_FILE" && echo please >src/polite; true' 'echo "$STINT_ITERATION" >tests/answer' \
    'if [ -e src/polite ]; then : >REVIEW.md; else echo "- [ ] be polite" >REVIEW.md; fi' "$good_suite"
loop
is "$RC" 0 "a finding sends it back, its fix passes: exit 0"
is "$(own cat src/polite 2>&1)" "please" "the developer acted on the finding"
like "$OUT" '1 open finding' "the finding is shown"

# ---- findings for the tester only
project_new
tasks '- [ ] write the answer'
agents 'grep -q "wrong test" "$STINT_PROMPT_FILE" && echo leak >src/leak; echo 42 >src/answer' \
    'grep -q "wrong test" "$STINT_PROMPT_FILE" && echo fixed >tests/fixed; echo "$STINT_ITERATION" >tests/answer' \
    'if [ -e tests/fixed ]; then : >REVIEW.md; else printf "# Tester\n\n- [ ] wrong test\n" >REVIEW.md; fi' "$good_suite"
loop
is "$RC $(ls "$P/src" | tr '\n' ' ')" "0 answer code.txt " "a Tester finding reaches the tester, not the developer"

# ---- stops
project_new
tasks '- [ ] write the answer'
ITERATIONS=2 agents 'echo "$STINT_ITERATION" >src/answer' 'echo "$STINT_ITERATION" >tests/answer' 'true' "$good_suite"
loop
is "$RC" 1 "iterations used up: exit 1"
like "$ERR" '2 iterations were not enough' "and says so"
like "$(own cat REVIEW.md)" '- \[ \]' "the finding stays in REVIEW.md"
like "$(own cat TASKS.md)" '- \[ \] write' "nothing is ticked"
clean "iterations used up"
agents 'echo 42 >src/answer' 'echo t >tests/answer' ': >REVIEW.md' "$good_suite"
loop
is "$RC" 0 "the next run takes the dirty tree up and passes"
like "$OUT" 'goes on where run' "and says whose work it takes up"
like "$(own git log -1 --format=%B)" 'Stint-Iterations: 3' "iteration numbers go on"

project_new
tasks '- [ ] write the answer'
agents 'echo 41 >src/answer' 'echo "$STINT_ITERATION" >tests/answer' 'true' "$good_suite"
loop
is "$RC" 1 "the same tests fail three times: exit 1"
like "$ERR" 'stuck' "stuck is named"
is "$(grep -c '^ *[0-9]  suite ' <<<"$OUT")" 3 "after three iterations, not five"

project_new
tasks '- [ ] write the answer'
agents 'echo 42 >src/answer' 'echo t >tests/answer' 'true' 'echo 1..0'
loop
is "$RC" 1 "a suite that runs no test has not passed"
agents 'echo 42 >src/answer' 'echo t >tests/answer' 'true' 'echo all tests pass; exit 0'
loop
is "$RC" 1 "words are no result"

project_new
tasks '- [ ] write the answer'
agents 'exit 3' 'true' 'true' "$good_suite"
loop
is "$RC" 4 "an agent that fails: exit 4"
agents 'kill -9 $$' 'true' 'true' "$good_suite"
loop
is "$RC" 4 "an agent that crashes: exit 4"
sed -i 's|developer: {command: .*|developer: {command: [sh, -c, "sleep 60"], deadline: 1s}|' "$P/stint.yaml"
loop
is "$RC" 4 "an agent over its deadline: exit 4"
clean "deadline"
sed -i 's|developer: {command: .*|developer: {command: [sh, -c, "echo begun; sleep 60"], idle: 1s}|' "$P/stint.yaml"
loop
is "$RC" 4 "an agent that prints nothing any more: exit 4"
like "$ERR" 'printed nothing for its idle time' "and says so"
put src/final.json <<<'{"type":"result","subtype":"success","is_error":false,"result":"done"}'
sed -i 's|developer: {command: .*|developer: {command: [sh, -c, "echo 42 >src/answer; cat src/final.json; sleep 60"], idle: 1s}|' "$P/stint.yaml"
loop
is "$RC" 0 "one that hangs after its final answer has done its turn"
clean "idle"
put TASKS.md <<<'- [ ] write the answer again'
sed -i 's|developer: {command: .*|developer: {command: [/no/such/agent]}|' "$P/stint.yaml"
loop
is "$RC" 4 "an agent that is not there: exit 4"

# ---- who ticks
project_new
tasks '- [ ] write the answer' '- [ ] second'
agents 'echo 42 >src/answer; echo "$STINT_TASK" >src/task' 'echo t >tests/answer' \
    'sed "s/\[ \] second/[x] second/" TASKS.md >/tmp/t; echo "- [ ] third, from the review" >>/tmp/t; cat /tmp/t >TASKS.md' "$good_suite"
loop --once
is "$RC" 0 "--once: exit 0 after one task"
like "$(own cat TASKS.md)" '\[ \] second' "a box that the reviewer ticked is put back"
like "$(own cat TASKS.md)" '\[ \] third' "a task that the reviewer added stays"
is "$(log_subjects | grep -c second)" 0 "and is not committed as done"

# ---- commit takes only what roles may write
project_new
tasks '- [ ] write the answer'
agents 'echo 42 >src/answer; echo junk >/tmp/junk' 'echo t >tests/answer' 'true' "$good_suite"
own sh -c 'echo mine >>README && git add README && echo notes >notes.txt'
loop
is "$RC" 0 "a dirty file outside the zones is no obstacle"
is "$(own git status --porcelain)" "M  README
?? notes.txt" "what the user had staged stays staged, nothing else is swept up"
like "$(own git show --stat --format= HEAD)" 'src/answer' "the work is in the commit"

# ---- push
project_new
tasks '- [ ] write the answer'
own git init -q --bare "$FOLDER/remote.git" 2>/dev/null || { install -d -o "$OWNER" -g "$OWNER" "$FOLDER/remote.git"; own git init -q --bare "$FOLDER/remote.git"; }
own git remote add there "$FOLDER/remote.git"
EXTRA='commit: {push: there}' agents 'echo 42 >src/answer' 'echo t >tests/answer' 'true' "$good_suite"
loop
is "$RC $(own git --git-dir "$FOLDER/remote.git" rev-parse main)" "0 $(own git rev-parse HEAD)" "the branch is pushed to a bare repository"

# ---- asked first
project_new
tasks '- [ ] write the answer'
agents 'echo 42 >src/answer' 'echo t >tests/answer' 'true' "$good_suite"
run stint run -C "$P" --confirm
is "$RC" 2 "--confirm without a terminal refuses"
like "$ERR" 'terminal.*--yes' "and names --yes"
run stint run -C "$P" --dry-run
like "$RC $OUT" '^0 .*developer.*src/' "--dry-run shows commands and table"
is "$(log_subjects | head -1)" "agents" "and starts nothing"
run stint run -C "$P" --confirm --yes
is "$RC" 0 "--confirm --yes prints the same and goes on"
like "$OUT" 'src/.*rw' "the table is shown"

# ---- interrupted
project_new
tasks '- [ ] write the answer'
agents 'echo 1 >src/part; sleep 60; echo 42 >src/answer' 'true' 'true' "$good_suite"
stint run -C "$P" >/dev/null 2>"$FOLDER/err" &
pid=$!
for _ in $(seq 100); do
    [ "$(agent_processes)" -gt 0 ] && break
    sleep 0.1
done
sleep 0.5
pkill -INT -P "$pid" -x stint-coordinat
wait "$pid"
is "$?" 130 "Ctrl-C: exit 130"
is "$(own cat src/part 2>&1)" 1 "the work so far is kept"
clean "Ctrl-C"
stint run -C "$P" >/dev/null 2>&1 &
pid=$!
for _ in $(seq 100); do
    [ "$(agent_processes)" -gt 0 ] && break
    sleep 0.1
done
run stint run -C "$P"
is "$RC" 3 "a second run with the same agent user is refused: exit 3"
like "$ERR" 'in use|still running' "and says why"
kill -TERM "$pid"
wait "$pid"
clean "SIGTERM to the warden"
flock "/run/stint/uid-$(id -u "$AGENT").lock" sleep 1 &
sleep 0.2
exits 0 "an account that is held for a moment only, as by a restore elsewhere, is waited for" stint turn -C "$P" developer -- /bin/true
wait $!
ok "status works" stint status -C "$P"
ok "log works" stint log -C "$P"
ok "view works" stint view -C "$P"
done_testing
