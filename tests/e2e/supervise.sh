#!/bin/bash
# stint guard, supervised: deadlines, limits, reports. Every end is shown on processes that would rather stay.
# shellcheck disable=SC2154 # OUT, ERR and RC are set by run()
. "$(dirname "$0")/../lib.sh"

folder_new
D=$FOLDER
mkdir "$D/project" "$D/other"
cp "$STINT_BIN"/stint* "$D/"
cd "$D/project" || bail "no folder"
if [ "$(id -u)" -eq 0 ]; then
    chown 65534:65534 "$D/project" "$D/other"
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

# ---------------------------------------------------------------- the report
# found EXPRESSION: python over the report R and its violations V, each also an attribute: "[v.call for v in V if v.kind == 'syscall']"
found() {
    python3 -c 'import json, sys
class Row(dict):
    __getattr__ = lambda self, name: self.get(name)
R = json.load(open(sys.argv[1]), object_hook=Row)
V = R.violations
r = eval(sys.argv[2])
print(r if isinstance(r, str) else json.dumps(r))' "$D/project/report" "$1"
}
ready() { for ((i = 0; i < 50; i++)); do grep -q ready "$D/ready" 2>/dev/null && return 0; sleep 0.1; done; return 1; }
cat >"$D/wants.py" <<'END'
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
other, port = sys.argv[1], int(sys.argv[2])
def say(what, f):
    try: f(); print(what, "ok")
    except OSError as e: print(what, errno.errorcode[e.errno])
def c(*args):
    if libc.syscall(*args) < 0: raise OSError(ctypes.get_errno(), "")
def connect(p):
    s = socket.socket(); s.connect(("127.0.0.1", p))
say("keyctl", lambda: c(250, 0, -3, 0))
say("unshare", lambda: c(272, 0x10000000))
say("read", lambda: open(other + "/secret").read())
say("write", lambda: open(other + "/secret", "w"))
say("create", lambda: open(other + "/new", "w"))
say("list", lambda: os.listdir(other))
say("delete", lambda: os.unlink(other + "/victim"))
say("mkdir", lambda: os.mkdir(other + "/folder"))
say("run", lambda: os.posix_spawn(other + "/tool", ["tool"], {}))
say("granted", lambda: connect(port))
say("connect", lambda: connect(port + 1))
say("bind", lambda: socket.socket().bind(("127.0.0.1", port + 2)))
for i in range(3): say("again", lambda: open(other + "/again"))
say("absent", lambda: open(other + "/nowhere"))
say("mode", lambda: open(other + "/closed"))
END
fill() { for f in secret victim again closed; do echo content >"$D/other/$f"; done; printf '#!/bin/sh\n' >"$D/other/tool"; chmod 755 "$D/other/tool"; rm -rf "$D/other/new" "$D/other/folder"; chown -R 65534 "$D/other" 2>/dev/null; chmod 000 "$D/other/closed"; }
chmod 644 "$D/wants.py"
port=$((20000 + $$ % 10000))
[ -x "$STINT_BIN/../tests/e2e/guard_try" ] && cp "$STINT_BIN/../tests/e2e/guard_try" "$D/try" || cc -D_GNU_SOURCE -o "$D/try" "$TOP/tests/e2e/guard_try.c"
"${as[@]}" "$D/try" serve $port stint-supervise-$$ >"$D/ready" 2>/dev/null & one=$!
ready || bail "no server on port $port"
: >"$D/ready"; "${as[@]}" "$D/try" serve $((port + 1)) stint-supervise-other-$$ >"$D/ready" 2>/dev/null & two=$!
ready || bail "no server on port $((port + 1))"
fill
run "${as[@]}" python3 "$D/wants.py" "$D/other" $port
is "$(grep -vc ' ok$' <<<"$OUT")" 2 "outside all of it works but for a file that is not there and one that is closed"
fill
opts=(--report report --allow-read "$D/wants.py")
if [ "$ABI" -ge 4 ]; then opts+=(--allow-connect "$port"); else opts+=(--net-unrestricted); fi
run "${as[@]}" "$D/stint-guard" "${opts[@]}" -- python3 "$D/wants.py" "$D/other" $port
is "$RC" 0 "--report: the command runs"
report=$ERR
want="keyctl EPERM unshare EPERM read EACCES write EACCES create EACCES list EACCES delete EACCES mkdir EACCES run EACCES"
is "$(head -n 9 <<<"$OUT" | xargs)" "$want" "... and sees the errors that it would see without"
is "$(found 'R.end.reason') $(found 'R.end.status') $(found 'R.profile')" "exit 0 agent" "... how it ended"
like "$(found 'R.kernel_records')" '^\{"read": false, "why": "[^"]+' "... and why the kernel's own records are not in it"
is "$(found 'R.command[0]') $(found 'R.landlock_abi')" "python3 $ABI" "... what it was, and what was enforced"
like "$(found 'R.usage.wall_ms') $(found 'R.usage.max_rss')" '^[1-9][0-9]* [1-9][0-9]+$' "... what it used"
is "$(found '[[v.syscall, v.number, v.architecture, v.action, v.rule, v.call] for v in V if v.kind == "syscall" and v.syscall == "keyctl"]')" \
    "[[\"keyctl\", 250, \"$(uname -m)\", \"EPERM\", \"agent\", \"keyctl(0, 0xfffffffffffffffd, 0x0, $(found '[v.arguments[3] for v in V if v.syscall == "keyctl"][0]'), $(found '[v.arguments[4] for v in V if v.syscall == "keyctl"][0]'))\"]]" "a refused system call: name, number, architecture, action, rule"
is "$(found '[v.call for v in V if v.syscall == "unshare"]')" '["unshare(CLONE_NEWUSER)"]' "... its arguments in words"
like "$(found '[v for v in V if v.syscall == "unshare"][0].program')" '^/.*python3' "... by which program"
path() { found "[v.right for v in V if v.kind == 'path' and v.path == '$D/other$1' and v.syscall in ('$2', '$2at')]"; }
is "$(path /secret open)" '["fs.read_file", "fs.write_file"'"$([ "$ABI" -ge 3 ] && echo ', "fs.truncate"')]" "a refused path: reading, then writing"
is "$(path /new open)" '["fs.write_file", "fs.make_reg"]' "... creating"
is "$(path '' open)" '["fs.read_dir"]' "... listing"
is "$(path /victim unlink)" '["fs.remove_file"]' "... deleting"
is "$(path /folder mkdir)" '["fs.make_dir"]' "... a folder"
is "$(found "[v.right for v in V if v.path == '$D/other/tool']")" '["fs.execute", "fs.read_file"]' "... running"
is "$(path /nowhere open)$(path /closed open)" '[][]' "what is not there, or closed by its mode, was not refused by a grant"
is "$(found "[v.count for v in V if v.path == '$D/other/again']")" '[3]' "a refusal that comes again is counted"
is "$(grep -c "refused: $D/other/again: fs.read_file not granted" <<<"$report")" 2 "... for people: once when it comes, once with the count"
like "$report" "$D/other/again: fs.read_file not granted .*: 3 times" "... of which this is one"
if [ "$ABI" -ge 4 ]; then
    is "$(found '[[v.port, v.right] for v in V if v.kind == "port"]')" "[[$((port + 1)), \"net.connect_tcp\"], [$((port + 2)), \"net.bind_tcp\"]]" "refused ports: each with its right"
    like "$report" "refused: port $((port + 1)): net.connect_tcp not granted" "... for people"
else
    is "$(found '[v.port for v in V if v.kind == "port"]')" "[]" "ports: this kernel limits none, none is refused"
    unlike "$report" "refused: port" "... and none is said"
fi
kill $one $two; wait $one $two 2>/dev/null
unlike "$report" 'refused: clone3' "what programs do without as on an older kernel is not said"
guard --report report -- python3 -c 'import threading; t = threading.Thread(target=print); t.start(); t.join()'
is "$(found '[[v.action, v.usual] for v in V if v.syscall == "clone3"]')" '[["ENOSYS", true]]' "... but reported"
cat >"$D/kills.yaml" <<'END'
extends: [agent]
deny: [{call: getpriority, errno: kill}, {call: sched_yield, errno: notify}]
END
chmod 644 "$D/kills.yaml"
guard --report report --profile "$D/kills.yaml" -- python3 -u -c 'import os
try: os.sched_yield()
except OSError as e: print(e.errno)
os.getpriority(0, 0)
print("still here")'
is "$RC $OUT" "159 38" "a profile's kill and notify: the command dies of it as without a supervisor"
is "$(found '[[v.syscall, v.action, v.rule] for v in V]')" '[["sched_yield", "notify", "'"$D"'/kills.yaml:2"], ["getpriority", "kill", "'"$D"'/kills.yaml:2"]]' "... and the report says of which line"
guard --report report --timeout 1s -- sleep 60; is "$RC $(found 'R.end.reason') $(found 'R.end.status')" "124 deadline 124" "a deadline in the report"
guard --report report -- sh -c 'kill -SEGV $$'; is "$RC $(found '[R.end.reason, R.end.signal]')" '139 ["signal", 11]' "a signal in the report"
guard --report report --filter none -- sh -c 'exit 5'; is "$RC $(found '[R.end.code, R.profile]')" '5 [5, "none"]' "a report without a profile"
"${as[@]}" "$D/stint-guard" --quiet --report report --timeout 60s -- sleep ${mark}9 & supervisor=$!
for ((i = 0; i < 50; i++)); do [ "$(left)" -eq 1 ] && break; sleep 0.1; done
kill -TERM $supervisor; wait $supervisor; is "$? $(found '[R.end.reason, R.end.signal, R.end.left]')" '143 ["told", 15, 1]' "the report of what was ended by SIGTERM"
guard --report "$D/nowhere/report" -- true; is "$RC" 125 "a report that cannot be written: nothing is started"
if [ "$(uname -m)" = x86_64 ]; then
    cp "$D/try" "$D/project/"
    guard --report report --allow-read . -- ./try x32; is "$RC $(found '[[v.syscall, v.action, v.rule] for v in V]')" '159 [["getpid_x32", "kill", "agent, foreign entry"]]' "an x32 number, by name"
fi
# Many threads, signals and children under a listener: nothing is lost or held up.
guard --report report -- python3 -c 'import concurrent.futures as f, subprocess, signal, os
signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
with f.ThreadPoolExecutor(8) as p: print(sum(p.map(lambda i: len(open("/etc/passwd").read()) > 0, range(400))))
print(sum(subprocess.run(["true"]).returncode == 0 for i in range(20)))
signal.setitimer(signal.ITIMER_REAL, 0)'
is "$RC $(xargs <<<"$OUT")" "0 400 20" "threads, signals and children with a listener"
done_testing
