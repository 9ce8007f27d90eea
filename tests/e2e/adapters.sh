#!/bin/bash
# Adapters that ship: a Python function as one, and the loop on a task of a project. Each is given a task on standard input, as
# `stint eval run` gives it.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
lib_accounts
folder_new
work=$FOLDER
shim=$TOP/orchestrator/python/stint_adapter.py

# ---- a function
cat >"$work/functions.py" <<'END'
import subprocess
def upper(task):
    print("noise")
    subprocess.run(["echo", "noise of a child"], check=True)
    return task["input"].upper()
async def slow(task): return {"output": task["id"], "trace": [1], "more": 2}
def half(task): return "a\ud800"
def number(task): return 3
def infinite(task): return {"output": "", "trace": [float("inf")]}
def crash(task): raise KeyError("no such answer")
class Agent:
    @staticmethod
    def answer(task): return "from a class"
END
call() { run sh -c "cd '$work' && echo '{\"id\": \"t\", \"input\": \"h\\u00e9\"}' | python3 '$shim' $1"; }
call functions:upper
is "$OUT" '{"output": "HÉ"}' "what a function prints does not spoil its answer"
is "$(sort <<<"$ERR" | xargs)" 'noise noise of a child' "and is there to read"
call functions:slow
is "$OUT" '{"output": "t", "trace": [1]}' "a coroutine, and a trace"
call functions:half
is "$OUT" '{"output": "a?"}' "half a character"
call functions:Agent.answer
is "$OUT" '{"output": "from a class"}' "a method"
for f in number:TypeError infinite:ValueError crash:KeyError nothing:AttributeError; do
    call "functions:${f%:*}"
    like "$RC $OUT $ERR" "^1  .*${f#*:}" "functions:${f%:*} is an error"
done
call functions
like "$RC $ERR" '^1 .*is not MODULE:FUNCTION' "a module alone"
call nowhere:f
like "$RC $ERR" "^1 .*No module named 'nowhere'" "no such module"

# ---- the loop as a task
cp -R examples/evals/loop "$work/loop"
printf 'agent_user: %s\n' "$AGENT" >>"$work/loop/project/stint.yaml"
loop() { # DEVELOPER TITLE: as root for the owner, as sudo would
    run env -C "$work/loop" SUDO_USER="$OWNER" SUDO_UID="$(id -u "$OWNER")" SUDO_GID="$(id -g "$OWNER")" TMPDIR="$work" \
        sh -c "echo '{\"id\": \"t\", \"input\": \"$2\"}' | ./adapter.py agents/$1.sh"
}
# said PYTHON: of the answer, which is o
said() { python3 -c "import json,sys; o=json.load(sys.stdin); print($1)" <<<"$OUT"; }
for title in 'Add up numbers: src/sum' 'Count words: src/count'; do
    loop hasty "$title"
    is "$(said 'o["output"], len(o["trace"])')" 'not done 3' "hasty: $title: not done, three times"
    loop careful "$title"
    is "$(said 'o["output"], [i["status"] for i in o["trace"]]')" "done ['fail', 'pass']" "careful: $title: done, the second time"
    is "$(said 'o["trace"][0]["reason"]')" 'suite: 2 of 3 passed; 1 open finding' "and the trace says what was wrong"
done
loop hasty 'Turn a word round: src/turn'
is "$(said 'o["output"], len(o["trace"])')" 'done 1' "hasty: the third task is done at once"
loop careful 'Make coffee'
like "$RC $OUT $ERR" "^1  .*TASKS.md has no task 'Make coffee'" "a task that is not in TASKS.md"
is "$(agent_processes)" 0 "no process of the agent user is left"
is "$(find "$work" -maxdepth 1 -name 'stint-loop-*' | wc -l)" 0 "no copy of the project is left"
done_testing
