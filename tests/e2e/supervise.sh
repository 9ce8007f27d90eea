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
done_testing
