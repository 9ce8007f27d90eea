#!/bin/bash
# stint tasks, status, log and view, as a person meets them: what they print, their --json, their refusals.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
folder_new
cd "$FOLDER" || bail "no folder"

json() { python3 -c "import json, sys; d = json.load(sys.stdin); print(($1))" <<<"$OUT" 2>&1; } # EXPRESSION over d

# ---- tasks
exits 2 "tasks: TASKS.md is missing" stint tasks
like "$ERR" '^stint: TASKS.md is missing.*stint init' "... and says what to do"
is "$OUT" "" "... with nothing on stdout"

printf '# Plan\r\n\r\n- [x] one \033[31mred\r\n  - [ ] nested\r\n* [ ] `two`\r\n3) [ ] three\r\n- []\r\n' >TASKS.md
exits 0 "tasks" stint tasks
is "$OUT" $'3  [x] one \\x1b[31mred\n4    [ ] nested\n5  [ ] two\n6  [ ] three\n3 tasks, 1 done' "tasks: an aligned list, escaped"
like "$ERR" 'TASKS.md:7: \[\] is no box' "tasks: a warning with its line"

exits 0 "tasks --json" stint tasks --json
is "$(json 'sorted(d)')" "['tasks', 'warnings']" "tasks --json: two keys"
is "$(json '[list(t) for t in d["tasks"]][0]')" "['line', 'done', 'depth', 'title']" "tasks --json: a task's keys"
is "$(json '[(t["line"], t["done"], t["depth"]) for t in d["tasks"]]')" \
    "[(3, True, 0), (4, False, 1), (5, False, 0), (6, False, 0)]" "tasks --json: lines, boxes, depths"
is "$(json 'd["tasks"][2]["title"]')" two "tasks --json: the title as plain text"
is "$(json '[list(w) for w in d["warnings"]]')" "[['line', 'message']]" "tasks --json: a warning's keys"
is "$ERR" "" "tasks --json: nothing on stderr"
is "$(wc -l <<<"$OUT")" 1 "tasks --json: one line"

echo 'no box' >plain.md
exits 0 "a file without tasks is no error" stint tasks plain.md
is "$OUT" "[]" "... and prints []"
exits 0 "... nor with --json" stint tasks --json plain.md
is "$OUT" '{"tasks":[],"warnings":[]}' "... which prints empty lists"
exits 0 "a file that is named may be a pipe" stint tasks --json <(echo '- [ ] from a pipe')
is "$(json 'd["tasks"][0]["title"]')" "from a pipe" "... and is read"
printf -- '- [ ] caf\303\251 \302\23331m\177.\n' >c1.md
exits 0 "control characters that JSON lets stand" stint tasks --json c1.md
like "$OUT" $'caf\303\251 \\\\u009b31m\\\\u007f\\.' "... are escaped in it, letters are not"
is "$(json 'd["tasks"][0]["title"] == "caf\u00e9 \u009b31m\u007f."')" True "... and read back as they were"

printf -- '- [ ] seen\n\n```\n- [ ] lost\n' >fence.md
exits 0 "an unclosed fence is shown" stint tasks --json fence.md
is "$(json 'len(d["tasks"]), d["warnings"][0]["line"]')" "(1, 3)" "... with the fence's line"
printf -- '- [ ] one\n- [ ] caf\351\n' >latin1.md
exits 2 "not UTF-8" stint tasks latin1.md
like "$ERR" '^stint: latin1.md:2: .*0xe9.*UTF-8' "... with the line"
yes "$(printf '%063d' 0)" | head -c $((4 * 1024 * 1024)) >big.md
exits 0 "4 MiB are read" stint tasks big.md
echo >>big.md
exits 2 "one byte more is refused" stint tasks big.md
head -c 100000 /dev/zero | tr '\0' '\n' >lines.md
exits 2 "more than 100,000 lines are refused" stint tasks lines.md
like "$ERR" '^stint: lines.md has more than 100000 lines: split the file' "... in one sentence"
exits 2 "a missing file" stint tasks missing.md
exits 2 "a folder" stint tasks .
exits 2 "two files" stint tasks plain.md fence.md
exits 2 "an unknown option" stint tasks --nonsense
like "$ERR" '^stint: tasks: --nonsense is no option' "... is named"

# ---- no run yet
exits 0 "status: no run yet" stint status
like "$OUT" 'none yet.*TASKS.md   1 of 3 done' "... and how many tasks are done"
exits 0 "status --json: no run yet" stint status --json
is "$(json 'd["run"], d["state"], d["tasks"]')" "(None, 'none', {'total': 3, 'done': 1})" "... is no run, and the tasks"
exits 0 "log: no run yet" stint log
exits 0 "log --json: no run yet" stint log --json
is "$OUT" '{"runs":[]}' "... is an empty list"
exits 2 "view: no run yet" stint view

# ---- a run
run_dir() { mkdir -p ".stint/runs/$1/turn-1" && : >".stint/runs/$1/events.jsonl"; } # ID
turn='"role":"developer","status":"ok","started":"2026-01-02T03:04:05Z"'
list='{"total":0,"list":[]}'
full=$turn',"ended":"2026-01-02T03:05:06Z","exit":0,"wall_ms":61500,"user_ms":1000,"sys_ms":50,"max_rss":1048576,
  "stdout_bytes":9,"stderr_bytes":0,"changes":{"total":2,"list":[{"op":"A","path":"src/a.c"}]},"anomalies":'$list',
  "denials":{"total":1,"list":["openat tests"]},"notes":'$list',"verdict":null,"suite":null'
record() { # ID STATE STOP REASON
    run_dir "$1"
    cat >".stint/runs/$1/run.json" <<END
{"schema":1,"tool":"stint","kind":"loop","id":"$1","state":"$2","started":"2026-01-02T03:04:05Z","ended":"2026-01-02T03:14:06Z",
"stop":$3,"reason":$4,"project":"/p","agent_user":"stint-agent","layers":["acl","landlock"],"kernel":"6.18","landlock_abi":7,
"suite":{"command":["make","test"],"format":"tap"},"turns":[],"tasks":[{"title":"the \u001b[2Jtask","line":3,"status":"open",
"commit":null,"commit_step":"none","iterations":[{"n":1,"status":"fail","reason":"1 test failed","turns":[{"n":1,$full},{"n":2,$turn}]}]}]}
END
}
old=20260102-030405-0001 new=20260103-000000-00ff
record "$old" ended 1 '"iterations used up"'
printf 'hi \033[2J\377\n' >".stint/runs/$old/turn-1/stdout"
printf 'a\0b\n' >".stint/runs/$old/turn-1/stderr"
echo 'the prompt' >".stint/runs/$old/turn-1/prompt"

exits 0 "status: a run that ended" stint status
like "$OUT" "run +$old, ended with exit 1 after 10:01"$'\n'"reason +iterations used up" "... when and why"
like "$OUT" 'task +the \\x1b\[2Jtask' "... and at which task, escaped"
exits 0 "log" stint log
like "$OUT" "$old +loop +ended +1 +0 of 1 +2 +10:01 +iterations used up" "log: one line a run"
exits 0 "view" stint view
like "$OUT" '1 +1 +developer +ok +1:01 +2 +1 ' "view: a turn's row"
like "$OUT" '1 test failed' "view: an iteration's reason"
exits 0 "view --turn" stint view "$old" --turn 1
like "$OUT" 'A src/a.c' "view --turn: what changed"
like "$OUT" 'hi \\x1b\[2J\\xff' "view --turn: output, escaped"
like "$OUT" 'the prompt' "view --turn: the prompt"
exits 0 "view --turn --json" stint view --turn 1 --json
is "$(json 'd["turn"]["n"], d["prompt"], d["stdout"]')" "(1, 'the prompt\\n', 'hi \\\\x1b[2J\\\\xff\\n')" "... is one object"
is "$(json 'd["stderr"]')" 'a\x00b' "... without a NUL in it"
exits 0 "view --json" stint view --json
is "$(json 'd["id"], d["tasks"][0]["iterations"][0]["turns"][0]["wall_ms"]')" "('$old', 61500)" "... is the record"
exits 2 "view: a turn that there is not" stint view --turn 3
exits 2 "view: a run that there is not" stint view 1999
exits 2 "view: a turn that is no number" stint view --turn x

# ---- running and interrupted: the lock on events.jsonl is what tells them apart
record "$new" running null null
exits 0 "status: an interrupted run" stint status --json
is "$(json 'd["run"], d["state"], d["role"], d["iteration"]')" "('$new', 'interrupted', 'developer', 1)" "... nobody holds its lock"
exec 9<".stint/runs/$new/events.jsonl"
flock -x 9
exits 0 "status: a running run" stint status --json
is "$(json 'd["state"]')" running "... somebody holds its lock"
exec 9<&-
exits 0 "view: the start of an id" stint view "${old%-*}" --json
is "$(json 'd["id"]')" "$old" "... finds the run"
exits 2 "view: an ambiguous start" stint view 2026010

# ---- damage
echo '{"schema":1,' >".stint/runs/$new/run.json"
exits 0 "log: a damaged record does not hide the others" stint log
like "$OUT" "$new .*damaged.*$old" "... and has a line"
exits 2 "view: a damaged record" stint view
like "$ERR" 'run.json:[0-9]+: the record is damaged' "... says where"
printf '{"schema":\033[2J' >".stint/runs/$new/run.json"
exits 2 "view: a record damaged by control characters" stint view
like "$ERR" 'damaged \(.*\\x1b' "... quotes them escaped"
exits 2 "a word that is too much, with control characters" stint log $'\e[2J'
like "$ERR" '"\\x1b\[2J" is too much' "... is quoted escaped"
echo '{"schema":2}' >".stint/runs/$new/run.json"
exits 2 "view: a newer record" stint view
like "$ERR" 'newer stint' "... says so"

done_testing
