#!/bin/bash
# stint skill run: confirmed, confined, recorded, ended. As an ordinary account when the tests run as root.
# shellcheck disable=SC2154 # OUT, ERR and RC are set by run()
. "$(dirname "$0")/../lib.sh"

folder_new
D=$FOLDER
mkdir "$D/work" "$D/other" "$D/bin"
cp "$STINT_BIN"/stint* "$TOP/tests/e2e/skill_typed.py" "$D/bin/"
cd "$D/work" || bail "no folder"
as=(env)
if [ "$(id -u)" -eq 0 ]; then
    chown 65534:65534 "$D/work" "$D/other"
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups --)
fi
skill() { run "${as[@]}" setsid -w "$D/bin/stint" skill run "$@"; } # without a terminal
typed() { run "${as[@]}" python3 "$D/bin/skill_typed.py" "$1" "$D/bin/stint" skill run "${@:2}"; }
fresh() { rm -rf notes backup ./*.json ./*.part; "${as[@]}" sh -c 'mkdir notes backup; echo milk >notes/list'; }
steps() { python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(r["kind"], r["state"], r["stop"], *(t["id"] + "=" + t["status"] for t in r["tasks"]))' "$1"; }

cat >backup.yaml <<'Y'
name: backup
default_timeout_s: 20
vars:
  SRC: notes
  DST: backup
steps:
  - id: copy
    command: cp -R ${SRC}/. ${DST}/
    guard: {allow_read: ["${SRC}"], allow_write: ["${DST}"]}
  - id: verify
    command: diff -r ${SRC} ${DST}
    guard: {allow_read: ["${SRC}", "${DST}"]}
Y

# ---------------------------------------------------------------- confirming
fresh; skill backup.yaml --out r.json
is "$RC" 2 "without a terminal and without --yes: 2"
like "$ERR" 'there is no terminal' "... which is said"
is "$(ls)" "$(printf 'backup\nbackup.yaml\nnotes')" "... and nothing ran, nothing was written"
fresh; typed y,y backup.yaml --out r.json
is "$RC $(steps r.json) $(cat backup/list)" "0 skill ended 0 copy=pass verify=pass milk" "a typed y for each step: both ran"
like "$OUT" "cp -R 'notes'/\. 'backup'/.*allow-write +backup.*run it\?" "... after the resolved command and its grants"
fresh; skill backup.yaml --yes --out r.json
is "$RC $(steps r.json)" "0 skill ended 0 copy=pass verify=pass" "--yes: both ran"
like "$OUT" "allow-read +notes" "... and the same is shown"
fresh; typed y, backup.yaml --out r.json
is "$RC $(steps r.json)" "1 skill ended 1 copy=pass verify=declined" "Enter is no: the walk ends there"
for answer in '' n yes Y ' y'; do
    fresh; typed "$answer" backup.yaml --out r.json
    is "$RC $(steps r.json) $(ls backup)" "1 skill ended 1 " "'$answer' to the first step: an empty record, nothing ran"
done
fresh; skill backup.yaml --yes --from verify --out r.json
is "$RC $(steps r.json)" "1 skill ended 1 verify=fail" "--from: the steps before it neither run nor appear"
skill backup.yaml --yes --from verfy; is "$RC" 2 "--from a step that is not there: 2"
like "$ERR" 'did you mean verify' "... with the nearest"
fresh; skill backup.yaml --yes; like "$OUT" 'record: backup-[0-9]{8}-[0-9]{6}\.json' "without --out the record is named after the skill and the time"
is "$(ls backup-*.part 2>/dev/null)" "" "... and nothing else is left"
fresh; echo precious >r.json; skill backup.yaml --yes --out r.json
is "$RC $(cat r.json) $(ls backup)" "2 precious " "a file that is there already is not replaced, nothing runs"

# ---------------------------------------------------------------- the guard
cat >outside.yaml <<Y
name: outside
steps:
  - id: inside
    command: echo fine >out
    guard: {allow_write: [.]}
  - id: leak
    command: echo leaked >$D/other/leak
    guard: {allow_write: [.]}
Y
chmod 666 outside.yaml; rm -f r.json
skill outside.yaml --yes --out guarded.json
is "$RC $(steps guarded.json) $(ls "$D/other")" "1 skill ended 1 inside=pass leak=fail " "a write outside of its grant fails in the guard"
like "$(cat guarded.json)" '"refusals": \[[^]]*Permission denied' "... and the refusal is recorded"
skill outside.yaml --yes --unsafe-no-guard --out bare.json
is "$RC $(steps bare.json) $(cat "$D/other/leak")" "0 skill ended 0 inside=pass leak=pass leaked" "--unsafe-no-guard: the same write passes"
like "$OUT" 'guard: +none \(--unsafe-no-guard\)' "... which is shown"
like "$(tr -d ' \n' <bare.json)" '"layers":\[\]' "... and recorded"
is "$(python3 -c 'import hashlib, json
a = json.load(open("guarded.json")); print(a["suite"]["hash"] == "sha256:" + hashlib.sha256(open("outside.yaml", "rb").read()).hexdigest())')" True "the record has the file's hash"

# ---------------------------------------------------------------- words
cat >words.yaml <<'Y'
name: words
vars: {A: "it's $(touch pwned) `touch pwned`; touch pwned", B: "<${A}>", N: }
steps:
  - id: say
    command: printf '%s|' ${A} ${B} x${N}y "$WORD" '$HOME' \${A}
    env: {WORD: "w ${N}"}
  - id: right
    command: exit 3
    target: 3
  - id: where
    command: pwd; read -r x || echo no input; tty
    target: 1
Y
skill words.yaml --yes --out words.json --var 'N=*;"'
is "$RC $(steps words.json) $(ls pwned 2>/dev/null)" "0 skill ended 0 say=pass right=pass where=pass " "values are words, whatever is in them; targets other than 0"
is "$(python3 -c 'import json; print(json.load(open("words.json"))["tasks"][0]["output"]["text"])')" \
    "it's \$(touch pwned) \`touch pwned\`; touch pwned|<it's \$(touch pwned) \`touch pwned\`; touch pwned>|x*;\"y|w *;\"|\$HOME|\${A}|" "... each as it was given"
like "$OUT" "  \| $D/work" "a step runs in the working directory, its output stands behind a bar"
skill words.yaml --yes --var M=1; is "$RC" 2 "--var of no variable: 2"
skill words.yaml --yes; like "$RC $ERR" '^2 words.yaml:2:.*N has no value here' "a variable without a value: its place"
printf 'name: p\nsteps:\n  - {id: p, command: "printf \\"\\\\033[2Jrun it? y\\\\n\\""}\n' >print.yaml
skill print.yaml --yes --out print.json
unlike "$OUT" $'\033' "what a step prints cannot move the cursor"

bad() { # NAME REGEX: the file on standard input is refused there, nothing runs
    cat >bad.yaml; skill bad.yaml --yes --out bad.json
    like "$RC $ERR" "^2 bad.yaml:$2" "$1"
    [ ! -e bad.json ] || fail "... and writes nothing"
}
bad "an unknown key" '1:11: unknown key in a skill: stepz: did you mean steps' <<<'{name: a, stepz: []}'
bad "an unknown key in a guard" '.*unknown key in a guard: allow_raed: did you mean allow_read' <<<'{name: a, steps: [{id: a, command: x, guard: {allow_raed: [.]}}]}'
bad "an id twice" '1:4.*id: a is here twice' <<<'{name: a, steps: [{id: a, command: x}, {id: a, command: y}]}'
bad "a cycle" '1:.*a cycle' <<<'{name: a, vars: {A: "${B}", B: "x${C}", C: "${A}"}, steps: [{id: a, command: x}]}'
bad "a variable in double quotes" '.*stands in quotes' <<<$'name: a\nvars: {A: x}\nsteps:\n  - id: a\n    command: echo "${A}"'
bad "a variable in a comment" '.*a comment' <<<$'name: a\nvars: {A: x}\nsteps:\n  - id: a\n    command: "true # ${A}"'
bad "a variable in a here-document" '.*here-document' <<<$'name: a\nvars: {A: x}\nsteps:\n  - id: a\n    command: "cat <<E\\n${A}\\nE"'
bad "a variable in backquotes" '.*stands in quotes' <<<$'name: a\nvars: {A: x}\nsteps:\n  - id: a\n    command: echo `echo ${A}`'
bad "a terminal's escape in a command" '.*does not show as they are' <<<'{name: a, steps: [{id: a, command: "echo \e[8mhidden"}]}'
bad "text that changes direction" '.*does not show as they are' <<<$'{name: a, steps: [{id: a, command: "echo \\u202e"}]}'
bad "an unknown profile" '.*unknown profile: agnet: did you mean agent' <<<'{name: a, steps: [{id: a, command: x, guard: {profile: agnet}}]}'
bad "no steps" '.*without steps' <<<'{name: a}'
bad "no port" '.*from 1 to 65535' <<<'{name: a, steps: [{id: a, command: x, guard: {allow_connect: [0]}}]}'
head -c 2000000 /dev/zero | tr '\0' '#' >huge.yaml; skill huge.yaml --yes; like "$RC $ERR" '^2 huge.yaml:1:1: more than' "a huge file"

# ---------------------------------------------------------------- ends
mark=$((200000 + RANDOM % 50000 * 10))
left() { pgrep -cf "^sleep $mark"; }
gone() {
    local i
    for ((i = 0; i < 30; i++)); do [ "$(left)" -eq 0 ] && break; sleep 0.1; done
    is "$(left)" 0 "$1"
}
cat >tree.yaml <<Y
name: tree
steps:
  - id: tree
    timeout_s: 2
    command: >-
      trap "" TERM HUP INT; sleep ${mark}1 & setsid sh -c "trap '' TERM HUP INT; (sleep ${mark}2 & sleep ${mark}3) & sleep ${mark}4" & sleep ${mark}5
  - {id: after, command: touch after}
Y
sed 's/timeout_s: 2/timeout_s: 100/' tree.yaml >long.yaml
for how in '' --unsafe-no-guard; do
    skill tree.yaml --yes $how --out "tree$how.json"
    is "$RC $(steps "tree$how.json") $(ls after 2>/dev/null)" "1 skill ended 1 tree=timeout " "${how:-guarded}: a deadline ends the walk"
    gone "${how:-guarded}: nothing of its background children is left"
    for sig in TERM INT KILL; do
        "${as[@]}" "$D/bin/stint" skill run long.yaml --yes $how --out "$sig$how.json" >/dev/null 2>&1 & pid=$!
        for ((i = 0; i < 100; i++)); do [ "$(left)" -eq 5 ] && break; sleep 0.1; done
        is "$(left)" 5 "${how:-guarded}: the children stand"
        kill -$sig $pid; wait $pid 2>/dev/null; RC=$?
        gone "${how:-guarded}: SIG$sig to stint: nothing is left"
        if [ $sig = KILL ]; then
            is "$(steps "$sig$how.json")" "skill running None" "... and the record says that it is not complete"
            ok "... whose lock nobody holds" flock -n "$sig$how.json.part" true
        else
            is "$RC $(steps "$sig$how.json")" "130 skill ended 130 tree=error" "... 130, in the record as well"
        fi
    done
done
done_testing
