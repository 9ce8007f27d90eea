#!/bin/bash
# stint score: a record's outputs scored again. The scorers against others' answers (score_cases.py), what a cut output can tell,
# no command, and never a change to the record that is read.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
folder_new
D=$FOLDER

# record FILE: a record of an eval run whose tasks are the JSON lines on standard input; what they leave out is filled in.
record() { python3 tests/e2e/score_record.py >"$1" || bail "no record"; }
# task FILE ID: what the record says of it: status score reason
task() {
    python3 -c 'import json,sys
for t in json.load(open(sys.argv[1]))["tasks"]:
    if t["id"] == sys.argv[2]: print(t["status"], t["score"], t["reason"])' "$1" "$2"
}

# ---- the differential test
python3 tests/e2e/score_cases.py write >"$D/cases" || bail "no cases"
record "$D/cases.json" <"$D/cases"
run stint score "$D/cases.json" --out "$D/scored.json"
is "$RC" 1 "400 cases are scored; not all pass"
run python3 tests/e2e/score_cases.py check "$D/cases" "$D/scored.json"
like "$OUT" 'exact_match 100 .*, contains 100 .*, json 100 .*, regex 100 .*: 0 differ$' "as Python and Perl score them"

# ---- one by one
record "$D/a.json" <<'END'
{"id": "right", "input": "1 + 1", "target": "2", "output": "2\n", "status": "pass"}
{"id": "close", "target": "2", "output": "2.0", "status": "fail"}
{"id": "code", "scorer": "exit_status", "target": "3", "output": "", "exit": 3, "status": "pass"}
{"id": "slow", "target": "2", "output": "2", "status": "timeout", "scored": false}
{"id": "crash", "target": "2", "output": "2", "exit": 139, "status": "error", "scored": false}
{"id": "declined", "target": null, "output": null, "status": "declined", "scored": false}
END
before=$(sha256sum <"$D/a.json")
exits 1 "not every task passes" stint score "$D/a.json"
is "$OUT" 'task      status            score
right     pass                  1
close     fail                  0  goes on after the target, at byte 2
code      pass                  1
slow      timeout               -
crash     error                 -
declined  declined              -
6 tasks: 2 pass, 1 fail, 1 error, 2 that did not end by themselves; 0 changed' "the table"
like "$ERR" '3 not scored again: no scorer decided them' "and what was left as it is"
exits 0 "tasks by name" stint score "$D/a.json" --task right --task code
is "$(tail -n 1 <<<"$OUT")" '2 tasks: 2 pass, 0 fail, 0 error; 0 changed' "only those"
exits 0 "another scorer" stint score "$D/a.json" --scorer json --task right --task close --out "$D/b.json"
like "$OUT" 'close +fail -> pass +1' "changes what it changes"
is "$(task "$D/b.json" close)" 'pass 1.0 None' "and --out has it"
is "$(task "$D/b.json" slow)" 'timeout None None' "beside what stays"
is "$(python3 -c 'import json,sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
print(*sorted(k for k in a.keys() | b.keys() if b.get(k) != a.get(k)))
print(*sorted(s["id"] + "." + k for s, t in zip(a["tasks"], b["tasks"]) for k in s.keys() | t.keys() if s.get(k) != t.get(k)))' "$D/a.json" "$D/b.json")" \
    'rescored tasks
close.score close.scorer close.status right.scorer' "nothing else of the record differs"
is "$(stint score "$D/a.json" --json --task close | python3 -c 'import json,sys; d=json.load(sys.stdin); print(d["fail"], d["tasks"][0]["before"])')" \
    '1 fail' "--json"
is "$(sha256sum <"$D/a.json")" "$before" "the record that was read is as it was"

# ---- a command is not run
record "$D/c.json" <<END
{"id": "own", "input": "i", "target": "t", "scorer": {"command": "tee $D/seen | python3 -c 'import json,sys; t=json.load(sys.stdin); print(json.dumps({\"pass\": t[\"output\"] == \"yes\", \"score\": 0.75, \"reason\": \"read \" + t[\"id\"]}))'", "timeout_s": 20}, "output": "yes", "status": "fail"}
END
exits 1 "a command is not run" stint score "$D/c.json"
like "$ERR" 'the scorer is a command' "which is said"
[ ! -e "$D/seen" ] && pass "nothing has run" || fail "nothing has run"
# ---- an output that was cut
record "$D/cut.json" <<'END'
{"id": "differs", "target": "yes", "output": "no", "cut": true, "status": "error"}
{"id": "agrees", "target": "yes, it is", "output": "yes", "cut": true, "status": "error"}
{"id": "contains", "scorer": "contains", "target": "b", "output": "abc", "cut": true, "status": "error"}
{"id": "contains-not-yet", "scorer": "contains", "target": "d", "output": "abc", "cut": true, "status": "error"}
{"id": "matches", "scorer": "regex", "target": "b", "output": "abc", "cut": true, "status": "error"}
{"id": "matches-the-end", "scorer": "regex", "target": "c$", "output": "abc", "cut": true, "status": "error"}
{"id": "json", "scorer": "json", "target": "{}", "output": "{}", "cut": true, "status": "error"}
{"id": "exit", "scorer": "exit_status", "output": "abc", "cut": true, "status": "error"}
END
run stint score "$D/cut.json"
is "$(awk 'NR > 1 && $2 ~ /error|pass|fail/ { print $1, $3 == "->" ? $4 : $2 }' <<<"$OUT" | xargs)" \
    'differs fail agrees error contains pass contains-not-yet error matches pass matches-the-end error json error exit pass' \
    "a cut output is scored where the rest cannot matter"
like "$OUT" 'agrees +error .*it cannot be told' "and says so where it can"

# ---- usage and damage: 2, and nothing is written
bad() { # PATTERN NAME OPTION…
    local pattern=$1 name=$2
    shift 2
    run stint score "$@" --out "$D/none.json"
    if [ "$RC" -eq 2 ] && [[ $ERR =~ $pattern ]] && [ "$(wc -l <<<"$ERR")" -eq 1 ] && [ -z "$OUT" ] && [ ! -e "$D/none.json" ]; then
        pass "$name"
    else
        fail "$name" "exit $RC" "$OUT" "$ERR"
    fi
}
bad 'its file is missing' "no record"
bad 'more than one record: .*b.json' "two records" "$D/a.json" "$D/b.json"
bad 'unknown scorer: regx: did you mean regex\?' "a scorer that there is not" "$D/a.json" --scorer regx
bad 'a command is not run here' "--scorer command" "$D/a.json" --scorer command
bad 'has no task rihgt' "a task that there is not" "$D/a.json" --task rihgt
bad 'unknown option --loud' "an unknown option" "$D/a.json" --loud
bad 'No such file' "a record that there is not" "$D/nothing.json"
printf '{"schema": 1' >"$D/half.json"
bad 'half.json' "half a record" "$D/half.json"
record "$D/e.json" <<<'{"id": "bad", "scorer": "regex", "target": "a(", "output": "", "status": "fail"}'
bad 'task bad: target: no regular expression: missing closing parenthesis' "a bad pattern in a record" "$D/e.json"
bad 'task bad: target: an exit status is a number' "a target that the scorer cannot use" "$D/e.json" --scorer exit_status
run stint score "$D/a.json" --out "$D/a.json"
like "$RC $ERR" '^2 .*is the record that is being read' "--out is another file"
is "$(sha256sum <"$D/a.json")" "$before" "and the record is as it was"
done_testing
