#!/bin/bash
# stint guard, supervised: deadlines, limits, reports, learning. Every end is shown on processes that would rather stay.
# shellcheck disable=SC2154 # OUT, ERR and RC are set by run()
. "$(dirname "$0")/../lib.sh"

folder_new
D=$FOLDER
mkdir "$D/work" "$D/other"
cp "$STINT_BIN"/stint* "$D/"
cd "$D/work" || bail "no folder"
if [ "$(id -u)" -eq 0 ]; then
    chown 65534:65534 "$D/work" "$D/other"
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups --)
else
    as=(env)
fi
guard() { run "${as[@]}" "$D/stint-guard" --quiet "$@"; }

# ---------------------------------------------------------------- the tree
# Sleeps for so many seconds that no other program here does: a tree that leaves its session and its parent, ignores signals, and
# holds the pipe that standard output is.
mark=$((100000 + RANDOM % 50000 * 10))
tree='trap "" TERM HUP INT; sleep '$mark'1 & setsid sh -c "trap \"\" TERM HUP INT; (sleep '$mark'2 & sleep '$mark'3) & sleep '$mark'4" & sleep '$mark'5'
left() { pgrep -cf "^sleep $mark"; }
# gone NAME: within three seconds none is left
gone() {
    local i
    for ((i = 0; i < 30; i++)); do [ "$(left)" -eq 0 ] && break; sleep 0.1; done
    is "$(left)" 0 "$1"
}
grown() { # the tree stands
    local i
    for ((i = 0; i < 100; i++)); do [ "$(left)" -eq 5 ] && return 0; sleep 0.1; done
    return 1
}
"${as[@]}" sh -c "$tree" >/dev/null 2>&1 & outside=$!
grown && pass "the tree stands" || fail "the tree stands" "$(pgrep -af "^sleep $mark")"
kill -TERM $outside; sleep 0.2; is "$(left)" 5 "SIGTERM to its first process ends none of it"
pkill -KILL -f "^sleep $mark"; wait $outside 2>/dev/null

start=$SECONDS
run "${as[@]}" "$D/stint-guard" --timeout 2s -- sh -c "$tree"
is "$RC" 124 "--timeout: 124"
[ $((SECONDS - start)) -le 5 ] && pass "... and in time" || fail "... and in time" "$((SECONDS - start)) s"
gone "... and nothing of the tree is left"
like "$ERR" 'guard: not done after 2s: [0-9]+ processes ended' "... which is said"
guard --timeout 60s -- sh -c "echo out; echo err >&2; exit 7"
is "$RC $OUT $ERR" "7 out err" "a command that is done in time: its status and output"
guard --timeout 60s -- sh -c 'kill -KILL $$'; is "$RC" 137 "a command that a signal ends: 128 + its number"
guard --timeout 60s -- no-such-command; is "$RC" 127 "127 for a command that is not there"
guard --timeout 60s --allow-read "$D/nowhere" -- true; is "$RC" 125 "125 for a grant that is not there"
run "${as[@]}" "$D/stint-guard" --timeout 60s -- sh -c "sleep ${mark}6 & setsid sleep ${mark}7 & echo done"
is "$RC $OUT" "0 done" "a command that ends and leaves processes"
gone "... which are ended"; like "$ERR" 'the command left 2 processes behind' "... which is said"
for sig in KILL TERM INT HUP; do
    "${as[@]}" "$D/stint-guard" --quiet --timeout 60s -- sh -c "$tree" >/dev/null 2>&1 & supervisor=$!
    grown || fail "SIG$sig: the tree stands"
    kill -$sig $supervisor; wait $supervisor 2>/dev/null
    is "$?" $((128 + $(kill -l $sig))) "SIG$sig to stint: it ends so"
    gone "SIG$sig to stint: nothing of the tree is left"
done
# The keeper is the parent of the command.
"${as[@]}" "$D/stint-guard" --no-scope --timeout 60s -- sh -c "$tree" >/dev/null 2>"$D/err" & supervisor=$!
grown || fail "the keeper: the tree stands"
kill -KILL "$(pgrep -P $supervisor)"; wait $supervisor; is "$?" 125 "the keeper killed: 125"
gone "... and nothing of the tree is left"; like "$(cat "$D/err")" 'the keeper was killed' "... which is said"
for word in 0s 5 5x 31d -1s ''; do
    guard --timeout "$word" -- true; is "$RC" 125 "--timeout '$word' is refused"
done
like "$ERR" 'as 500ms, 90s, 5m' "... with examples"
guard --timeout 60s printf '<%s>' --help -- x; is "$OUT" '<--help><--><x>' "the command's words stay its own"
OUT=$(printf 'a prompt' | "${as[@]}" "$D/stint-guard" --quiet --timeout 60s --prompt-fd 7 -- printf '<%s>' '{prompt}' 7<&0); is "$OUT" '<a prompt>' "a prompt in a descriptor"
cat >"$D/mine.yaml" <<'END'
extends: [agent]
deny: [{call: getpriority, errno: EXFULL}]
END
chmod 644 "$D/mine.yaml"
OUT=$(printf 'a prompt' | "${as[@]}" "$D/stint-guard" --quiet --profile "$D/mine.yaml" --prompt-fd 7 -- printf '<%s>' '{prompt}' 7<&0)
is "$OUT" '<a prompt>' "... and with a profile in a file, unsupervised"
guard --timeout 60s --profile "$D/mine.yaml" -- python3 -c 'import os
try: os.getpriority(0, 0)
except OSError as e: print(e.errno)'
is "$RC $OUT" "0 54" "a profile in a file"

# ---------------------------------------------------------------- limits
guard --max-output 4KiB -- sh -c 'seq 1 900; seq 1 5 >&2'
is "$RC $(md5sum <<<"$OUT") $ERR" "0 $(seq 1 900 | md5sum) $(seq 1 5)" "--max-output: what is within it is passed on whole"
run "${as[@]}" "$D/stint-guard" --max-output 4KiB -- sh -c 'seq 1 100000; exit 3'
is "$RC" 3 "... more does not end the command"
is "$(sed -n '/left out/q;p' <<<"$OUT" | head -n 400 | md5sum)" "$(seq 1 400 | md5sum)" "... the head is passed on"
is "$(tail -n 300 <<<"$OUT" | md5sum)" "$(seq 1 100000 | tail -n 300 | md5sum)" "... and the end"
is "$(sed -n 's/^\[... \([0-9]*\) bytes left out ...\]$/\1/p' <<<"$OUT")" $(($(seq 1 100000 | wc -c) - 4096)) "... and the count of what is missing"
like "$ERR" 'stdout is over its limit' "... which is said"
start=$SECONDS
guard --max-output 64KiB --timeout 2s -- yes; is "$RC" 124 "output without end, with a deadline"
[ ${#OUT} -lt 70000 ] && pass "... is held" || fail "... is held" "${#OUT} bytes"
"${as[@]}" "$D/stint-guard" --quiet --max-output 64KiB -- yes 2>/dev/null | head -n 1 >/dev/null
is "${PIPESTATUS[0]}" 141 "a reader that leaves ends the command as it would without"
guard --max-output 1MiB --timeout 60s -- sh -c "sleep ${mark}8 & echo done"; is "$RC $OUT" "0 done" "a process that holds the pipe does not hold the end up"

# The control first: without the limit it works.
big='x = bytearray(600 << 20); print(len(x))'
run "${as[@]}" "$D/stint-guard" -- python3 -c "$big"; is "$RC $OUT" "0 629145600" "600 MiB without a limit"
run "${as[@]}" "$D/stint-guard" --max-memory 256MiB -- python3 -c "$big"; like "$RC $ERR" '^(1|137) ' "--max-memory: not with 256 MiB"
like "$ERR" 'memory 256 MiB (for each process \(RLIMIT_DATA|for all processes together \(cgroup v2)' "... what holds it is said"
like "$ERR" 'MemoryError|Killed|signal' "... and the command sees it"
guard --max-memory 256MiB -- python3 -c 'x = bytearray(100 << 20); print(len(x))'; is "$RC $OUT" "0 104857600" "100 MiB fit"

many='import os, time
n = 0
for i in range(60):
    try: pid = os.fork()
    except BlockingIOError: break
    if pid == 0: time.sleep(50); os._exit(0)
    n += 1
print(n)'
guard --timeout 60s -- python3 -c "$many"; is "$RC $OUT" "0 60" "60 children without a limit"
run "${as[@]}" "$D/stint-guard" --max-procs 20 --timeout 60s -- python3 -c "$many"; is "$RC $OUT" "0 19" "--max-procs 20: 19 children and their parent"
like "$ERR" '20 processes and threads .*(cgroup v2|RLIMIT_NPROC)' "... what holds it is said"
cat >bomb.py <<'END'
import os
while True:
    try: os.fork()
    except OSError: pass
END
start=$SECONDS
guard --max-procs 60 --timeout 3s --allow-read . -- python3 bomb.py; is "$RC" 124 "a fork bomb, with a deadline"
[ $((SECONDS - start)) -le 8 ] && pass "... ends in time" || fail "... ends in time" "$((SECONDS - start)) s"
is "$(pgrep -cf '^python3 bomb.py')" 0 "... and nothing of it is left"
for word in 0 -1 x 1000001; do guard --max-procs "$word" -- true; is "$RC" 125 "--max-procs '$word' is refused"; done
for word in 0 1GB 512K 1; do guard --max-memory "$word" -- true; is "$RC" 125 "--max-memory '$word' is refused"; done
guard --max-output 1 -- true; is "$RC" 125 "--max-output '1' is refused"; like "$ERR" 'as 64KiB, 512MiB' "... with examples"
# ---------------------------------------------------------------- TMPDIR
guard --timeout 60s -- sh -c 'mkdir -p "$TMPDIR/a/b" && chmod 0 "$TMPDIR/a" && echo "$TMPDIR"'
like "$OUT" '/stint-guard-[0-9]+/' "the command has a TMPDIR of its own"
[ -n "$OUT" ] && [ ! -e "$OUT" ] && pass "... which is gone when it has ended" || fail "... which is gone when it has ended" "$OUT"
done_testing
