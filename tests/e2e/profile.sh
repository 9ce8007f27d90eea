#!/bin/bash
# Syscall profiles at a terminal: listed, shown, compiled, run; mistakes are one line with their place.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
D=$(mktemp -d)
lib_folders+=("$D")
cd "$D" || bail "no folder"
export TMPDIR=$D # the guard makes the commands' TMPDIRs there
guard() { stint guard --quiet --allow-write . "$@"; }
py() { guard --profile "$1" -- python3 -c "$2"; } # PROFILE CODE
# stopped PROFILE NAME ERRNO CODE: python code that works under agent and fails with this errno under the profile
stopped() {
    run py agent "$4"
    if [ "$RC" -ne 0 ]; then
        fail "$1: $2" "the control failed: exit $RC" "$ERR"
        return
    fi
    run py "$1" "$4"
    if [ "$RC" -eq 1 ] && grep -q "\[Errno $3\]" <<<"$ERR"; then pass "$1: $2"; else fail "$1: $2" "exit $RC" "$ERR"; fi
}

# ---------------------------------------------------------------- the built-in ones
run stint profile list
is "$RC $(awk '{print $1}' <<<"$OUT" | xargs)" "0 agent build node python-stdlib-read-only numeric-compute pure-parse strict" "they are listed"
for p in agent build node python-stdlib-read-only numeric-compute pure-parse strict; do
    exits 0 "$p: a program starts and ends" guard --profile "$p" -- /bin/echo started
    is "$OUT" started "$p: and prints"
    exits 0 "$p: is shown" stint profile show "$p"
    exits 0 "$p: compiles" stint profile compile "$p"
    like "$OUT" "^$p: [0-9]+ instructions"$'\n''    0  load arch' "$p: and can be read"
done
exits 0 "build: a compiler works" guard --profile build -- env TMPDIR=. sh -c 'echo "int main(void) { return 0; }" >a.c && gcc a.c -o a && ./a'
stopped build "no shared memory segments" 38 'import ctypes, os
l = ctypes.CDLL(None, use_errno=True)
if l.shmget(0, 4096, 0o600) < 0: raise OSError(ctypes.get_errno(), "shmget")'
exits 0 "python-stdlib-read-only: threads, json, reading" py python-stdlib-read-only '
import threading, json, os
t = threading.Thread(target=lambda: json.dumps(os.listdir("/etc"))); t.start(); t.join(); open("/etc/passwd").read()'
for p in python-stdlib-read-only numeric-compute pure-parse; do
    stopped "$p" "makes no file" 38 'open("new", "w")'
    stopped "$p" "starts no process" 38 'import os
if os.fork() == 0: os._exit(0)
os.wait()'
done
stopped python-stdlib-read-only "has no socket, not even a local one" 38 'import ctypes
l = ctypes.CDLL(None, use_errno=True)
if l.socket(1, 1, 0) < 0: raise OSError(ctypes.get_errno(), "socket")'
stopped pure-parse "has no second thread" 38 'import ctypes
l = ctypes.CDLL(None, use_errno=True)
if l.sched_yield() < 0: raise OSError(ctypes.get_errno(), "sched_yield")'

# ---------------------------------------------------------------- one in a file
cat >mine.yaml <<'END'
name: mine
extends: [agent]
deny:
  - "@aio"
  - {call: sched_yield, errno: EACCES}
  - {call: kill, if: [{arg: 1, is: 10}], errno: EPERM}
END
stopped ./mine.yaml "its refusal is seen with its errno" 13 'import ctypes
l = ctypes.CDLL(None, use_errno=True)
if l.sched_yield() < 0: raise OSError(ctypes.get_errno(), "sched_yield")'
stopped ./mine.yaml "also one that looks at an argument" 1 'import os, signal
signal.signal(signal.SIGUSR1, signal.SIG_IGN); os.kill(os.getpid(), signal.SIGUSR1)'
exits 0 "another argument passes" py ./mine.yaml 'import os, signal
signal.signal(signal.SIGUSR2, signal.SIG_IGN); os.kill(os.getpid(), signal.SIGUSR2)'
run stint guard --profile ./mine.yaml -- /bin/true
like "$ERR" 'profile mine' "the summary names it"
run stint profile show ./mine.yaml
like "$OUT" $'\n''sched_yield +EACCES +./mine.yaml:5' "show says where a line comes from"
like "$OUT" $'\n''read +allow +agent @io' "also what was inherited"
exits 0 "show as JSON" stint profile show ./mine.yaml --json
is "$(python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["name"], d["default"], [r["if"] for r in d["rows"] if r["call"] == "kill" and r["action"] == "EPERM"])' <<<"$OUT")" \
    "mine ENOSYS [[{'arg': 1, 'bits': 32, 'mask': '0xffffffff', 'is': '0xa'}]]" "is one object"
exits 0 "compile to a file" stint profile compile ./mine.yaml --out bpf
is "$(($(stat -c %s bpf) % 8)) $(awk '/instructions/ {n += $2} END {print n}' <<<"$OUT")" "0 $(($(stat -c %s bpf) / 8))" "whole instructions of 8 bytes"
native=$(uname -m) other=arm64 load=0xc00000b7
[ "$native" = x86_64 ] || other=x86-64 load=0xc000003e
exits 0 "compile for the other architecture" stint profile compile ./mine.yaml --arch "$other"
like "$OUT" "^mine: [0-9]+ instructions for $other"$'\n' "says so"
is "$(grep -c "== $load:" <<<"$OUT") $(grep -cE '== 0x(c000003e|c00000b7):' <<<"$OUT")" "2 2" "its two halves ask for that one only"
stint profile compile ./mine.yaml >native.txt
exits 0 "this architecture by its name" stint profile compile ./mine.yaml --arch "$native"
is "$OUT" "$(cat native.txt)" "is what is compiled unless told"
exits 2 "an architecture that is none" stint profile compile ./mine.yaml --arch vax
like "$ERR" 'x86-64 or arm64, not vax' "is named"
printf 'extends: strict\nallow: [socket]\n' >ports.yaml
exits 0 "a profile and a port go together" stint guard --quiet --allow-connect 443 --profile ./mine.yaml -- python3 -c 'import socket; socket.socket()'
run stint guard --quiet --profile ./mine.yaml -- python3 -c 'import socket; socket.socket()'
like "$RC $ERR" '^1 .*Errno 97' "without one there are no inet sockets"

# ---------------------------------------------------------------- mistakes
mistake() { # TEXT NAME YAML
    printf '%b' "$3" >bad.yaml
    run stint guard --profile ./bad.yaml -- touch started
    if [ "$RC" -eq 125 ] && [ "$(wc -l <<<"$ERR")" -eq 1 ] && [[ $ERR =~ ^$1 ]] && [ ! -e started ]; then
        run stint profile compile ./bad.yaml
        is "$RC" 2 "$2"
    else
        fail "$2" "exit $RC" "$ERR"
    fi
}
mistake '\./bad\.yaml:2:9: unknown system call: raed: did you mean read\?' "a misspelt call" 'extends: agent\nallow: [raed]\n'
mistake '\./bad\.yaml:1:10: unknown profile: agnt: did you mean agent\?' "a misspelt profile" 'extends: agnt\n'
mistake '\./bad\.yaml:1:1: execve is not allowed' "one that could start nothing" 'allow: [read]\n'
mistake '\./bad\.yaml:1:1: an empty profile' "an empty one" '# nothing\n'
exits 125 "a name that is none" stint guard --profile agnt -- touch started
like "$ERR" 'did you mean agent\?' "names the nearest"
exits 125 "a file that is not there" stint guard --profile ./none.yaml -- touch started
like "$ERR" './none.yaml: No such file' "is named"
exits 2 "a verb that is none" stint profile lst
exits 2 "a word too many" stint profile list agent
ok "nothing was started" test ! -e started
echo damaged >bpf
exits 125 "a compiled profile that is damaged" bash -c 'stint guard --profile-fd 7 -- touch started 7<bpf'
like "$ERR" 'damaged' "is refused in words"
ok "and nothing was started" test ! -e started
done_testing
