#!/bin/bash
# stint doctor --bundle: what a bug report needs, and nothing that is somebody's.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

part() { # EXPRESSION: of the bundle b
    python3 -c 'import json, sys; b = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$out/bundle" "$1"
}
bundle() {
    rm -f "$out/bundle"
    run own stint doctor --bundle "$out/bundle"
}

project_new /srv
folder_new
out=$FOLDER
chmod 777 "$out"
put stint.yaml <<END
agent_user: $AGENT
access:
  src/:   {developer: rw, tester: none, reviewer: r, runner: r}
  tests/: {developer: none, tester: rw, reviewer: r, runner: r}
  REVIEW.md: {reviewer: rw}
roles:
  developer:
    command: [sh, -c, "echo SECRET-source >src/SECRET-file; echo SECRET-said; echo SECRET-err >&2", SECRET-argument]
    env: [TOKEN=SECRET-value, SECRET-KEY=x]
    deadline: 90s
  tester: {command: [/bin/true]}
  reviewer: {command: [/bin/true]}
suite: {command: [sh, -c, "echo not ok 1 - SECRET-test; echo 1..1"], format: tap}
limits: {iterations: 1}
commit: {author: "SECRET-author <a@localhost>"}
END
sed -i s/SECRET-KEY/PLAIN_NAME/ "$P/stint.yaml"
put TASKS.md <<<'- [ ] SECRET-title'
commit_all start

bundle
is "$RC" 0 "before any run"
is "$(part 'b["last_run"], b["configuration"]["state"]')" "(None, 'ok')" "there is no run in it"
exits 1 "a run that fails" stint run -C "$P"
ok "its record holds what must not leave" grep -rqE 'SECRET-(title|test)' "$P/.stint/runs"
bundle
is "$RC" 0 "after it"
like "$OUT" 'bytes, text: look through it' "it says what to do with the file"
unlike "$(cat "$out/bundle")" SECRET "no title, test, file, argument, value, author or word of an agent is in it"
unlike "$(cat "$out/bundle")" "$(dirname "$P")" "nor where the project lies"
is "$(part '[(a["path"], a["developer"], a["tester"], a["reviewer"], a["runner"]) for a in b["configuration"]["access"]][:2]')" \
    "[('src', 'rw', 'none', 'r', 'r'), ('tests', 'none', 'rw', 'r', 'r')]" "the access table is"
is "$(part '[(r["name"], r["program"], r["env"], r["deadline_ms"]) for r in b["configuration"]["roles"]][0]')" \
    "('developer', {'name': 'sh', 'arguments': 3}, ['TOKEN', 'PLAIN_NAME'], 90000)" "a role's program and names of variables are"
is "$(part '[b["last_run"]["stop"], b["last_run"]["liveness"]] + [t["role"] for t in b["last_run"]["tasks"][0]["iterations"][0]["turns"]]')" \
    "[1, 'ended', 'developer', 'tester', 'runner', 'reviewer']" "the last run's turns are"
is "$(part 'b["last_run"]["tasks"][0]["iterations"][0]["turns"][0]["changes"]')" "{'total': 1}" "how many files changed, not which"
is "$(part 'b["machine"]["kernel"]')" "$(uname -r)" "the kernel is"
is "$(part 'sorted(f["id"] for f in b["doctor"]["findings"])')" \
    "$(own stint doctor --json | python3 -c 'import json, sys; print(sorted(f["id"] for f in json.load(sys.stdin)["findings"]))')" \
    "and all that doctor finds"
is "$(stat -c '%a %U' "$out/bundle")" "600 $OWNER" "the file is the caller's alone"

# ---- what is damaged is said, not quoted
sum=$(md5sum "$out/bundle")
exits 2 "a file that exists is refused" own stint doctor --bundle "$out/bundle"
is "$(md5sum "$out/bundle")" "$sum" "and kept"
exits 2 "root does not read the project" stint doctor -C "$P" --bundle "$out/other"
like "$ERR" 'without sudo' "and says what to do"
printf 'agent_user: %s\nSECRET-key: 1\n' "$AGENT" | put stint.yaml
last=$(find "$P/.stint/runs" -name run.json)
own sh -c 'echo "{SECRET" >"$1"' sh "$last"
bundle
is "$RC $(part 'b["configuration"]["state"], b["configuration"]["line"], b["last_run"]')" "0 ('invalid', 2, {'state': 'damaged'})" \
    "a broken configuration and record are named"
unlike "$(cat "$out/bundle")" SECRET "without their words"
own rm stint.yaml
bundle
is "$(part 'b["configuration"]')" "{'state': 'missing'}" "so is one that is not there"

mkdir "$out/full"
mount -t tmpfs -o size=4k,mode=777 none "$out/full"
own sh -c 'head -c 4096 /dev/zero >"$1"' sh "$out/full/rest"
exits 5 "a full disk" own stint doctor --bundle "$out/full/bundle"
is "$(ls "$out/full")" rest "leaves no half of it"
umount "$out/full"
done_testing
