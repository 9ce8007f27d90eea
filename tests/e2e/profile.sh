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
for p in python-stdlib-read-only numeric-compute; do
    stopped "$p" "makes no file" 38 'open("new", "w")'
    stopped "$p" "starts no process" 38 'import os
if os.fork() == 0: os._exit(0)
os.wait()'
done
stopped python-stdlib-read-only "has no socket, not even a local one" 38 'import ctypes
l = ctypes.CDLL(None, use_errno=True)
if l.socket(1, 1, 0) < 0: raise OSError(ctypes.get_errno(), "socket")'

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
run stint guard --profile ./nosuch.yaml --filter agent -- /bin/true
like "$RC $ERR" '^0 .*profile agent;' "of --profile and --filter the last one holds"
run stint profile show ./mine.yaml
like "$OUT" $'\n''sched_yield +EACCES +./mine.yaml:5'$'\n' "show says where a line comes from"
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

# ---------------------------------------------------------------- tried before they are trusted
export XDG_STATE_HOME=$D/state
run stint guard --profile build -- /bin/true
like "$RC $ERR" '^0 .*profile build was never checked with this libc and kernel: `stint profile check build`' "a profile that nobody tried is warned of"
run stint guard -- /bin/true
unlike "$RC $ERR" '^[1-9]|checked' "the default is not"
exits 125 "--checked refuses it" stint guard --checked --profile build -- touch started
like "$ERR" 'run `stint profile check build`' "and says what to do"
for p in agent build node python-stdlib-read-only numeric-compute pure-parse strict; do
    exits 0 "$p: the corpus passes and stops as it must" stint profile check "$p"
    like "$OUT" ": ([1-9][0-9]+) ok, 0 wrong, .*; kept in $D/state/stint/checked/$p-" "$p: with more than a few cases; the result is kept"
    grep '^skipped' <<<"$OUT" | sed "s/^/# $p: /"
    exits 0 "$p: and may be used now" stint guard --checked --profile "$p" -- /bin/true
    unlike "$ERR" 'checked' "$p: without a warning"
done
exits 0 "with ports, too" stint guard --checked --allow-connect 1 --profile agent -- /bin/true
exits 0 "--checked without a profile means the default one" stint guard --checked -- /bin/true
exits 125 "and needs one" stint guard --checked --filter none -- touch started
kept=$(echo "$D"/state/stint/checked/strict-*)
cp "$kept" line
sed -E 's/^(passed [^ ]+ )[0-9]+/\11/' line >"$kept"
exits 125 "another libc is unknown" stint guard --checked --profile strict -- touch started
stint profile check strict >/dev/null
is "$(wc -l <"$kept") $(cut -d ' ' -f 1 "$kept" | xargs)" "2 passed passed" "a line is kept for each"
mv "$kept" "${kept%-*}-4.0.0"
exits 125 "so is another kernel" stint guard --checked --profile strict -- touch started
for damage in 'printf passed' 'printf "passed \n"' 'printf "passed 2 1 /"' 'head -c 100000 /dev/zero'; do
    bash -c "$damage" >"$kept"
    exits 125 "a damaged result is none: $damage" stint guard --checked --profile strict -- touch started
done
rm "$kept" && mkfifo "$kept"
exits 125 "a FIFO in its place does not hang" timeout 20 stint guard --checked --profile strict -- touch started
rm "$kept" && ln -s "$D/line" "$kept"
exits 125 "a link is not followed" stint guard --checked --profile strict -- touch started
exits 0 "a check puts it right" stint profile check strict
ok "in a file of its own" test ! -L "$kept"
exits 5 "a result that cannot be kept is said" env -u HOME -u XDG_STATE_HOME stint profile check strict
like "$ERR" 'set HOME or XDG_STATE_HOME' "with what to do"
exits 0 "an installed stint" make -s -C "$TOP" install DESTDIR="$D/image" BUILD="${BUILD:-build}"
exits 0 "finds its corpus" "$D/image/usr/local/bin/stint" profile check strict
install -d -o 65534 "$D/ordinary"
chmod 711 "$D"
exits 0 "an ordinary user checks as well" setpriv --reuid 65534 --regid 65534 --clear-groups \
    env XDG_STATE_HOME="$D/ordinary" TMPDIR="$D/ordinary" "$D/image/usr/local/bin/stint" profile check pure-parse
like "$OUT" ', 0 wrong, ' "with the same result"
ok "no folder is left behind" test -z "$(find "$D" -maxdepth 2 -name 'stint-check.*')"

# ---------------------------------------------------------------- one's own corpus
mkdir c
corpus() { cat >c/own.yaml; } # standard input becomes the corpus
checks() { # STATUS REGEX NAME [PROFILE]
    run stint profile check "${4:-./mine.yaml}" --corpus c
    if [ "$RC" -eq "$1" ] && grep -qE "$2" <<<"$OUT$ERR"; then pass "$3"; else fail "$3" "exit $RC" "$OUT" "$ERR"; fi
}
corpus <<<'a: {run: [sh, -c, "cat; echo more"], input: text, prints: "textmore"}'
checks 0 '^ok +own/a$' "input and output"
corpus <<<'a: {run: [sh, -c, "echo x"], prints: y}'
checks 1 'skipped .*does not work here without a profile either: prints something else: x' "a case that is wrong itself says nothing"
corpus <<<'a: {run: [sh, -c, "echo first; echo second >&2; exit 3"]}'
checks 1 'skipped .*: exit 3: second$' "its last words are shown"
corpus <<<'a: {run: [no-such-program]}'
checks 1 'skipped .*no-such-program is not on this machine' "a program that is not there"
like "$ERR" 'no case of the corpus could be tried' "is said, and nothing is known then"
corpus <<<'a: {run: ["true"], needs: [no-such-program]}'
checks 1 'skipped .*no-such-program is not on this machine' "also one that is needed"
corpus <<'END'
yield: {run: [python3, -c, "import os; os.sched_yield()"], passes: [mine]}
END
checks 1 '^WRONG +own/yield: must pass, is stopped at sched_yield: exit 1: PermissionError' "what breaks a program is named"
like "$OUT" 'refused, in this order:.* sched_yield \(24\)|sched_yield \(124\)' "and what else was refused"
exits 125 "a failed check is no check" stint guard --checked --profile ./mine.yaml -- touch started
like "$ERR" 'failed its check' "which is said"
run stint guard --profile ./mine.yaml -- /bin/true
like "$ERR" 'profile mine failed its check' "the summary says it, too"
corpus <<'END'
yield: {run: [python3, -c, "import os; os.sched_yield()"], stopped: {mine: sched_yield}}
other: {run: [python3, -c, "import os; os.sched_yield()"], stopped: {agent: sched_yield}}
none: {run: ["false"], passes: [build]}
END
checks 1 '^WRONG +own/other: must be stopped at sched_yield, passes' "what must be stopped and passes is named" agent
unlike "$OUT" 'own/(yield|none)' "what is not meant for a profile is not run"
checks 0 '^ok +own/yield: stopped at sched_yield$' "a profile's own word goes before that of what it extends"
corpus <<'END'
both:
  run:
    - python3
    - -c
    - |
      import os, signal
      signal.signal(signal.SIGUSR1, signal.SIG_IGN)
      try: os.kill(os.getpid(), signal.SIGUSR1)
      except PermissionError: pass
      os.sched_yield()
  passes: [mine]
END
checks 1 'own/both: must pass, is stopped at sched_yield' "a refusal that does no harm is not blamed"
like "$OUT" 'in this order:.* kill \([0-9]+\), sched_yield' "but listed"
mkdir shim
# shellcheck disable=SC2016 # the script's own
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v python3)" >shim/python3 && chmod 755 shim/python3
corpus <<<'a: {run: [python3, -c, ""], passes: [strict]}'
PATH=$D/shim:$PATH checks 1 'is stopped at .*/shim/python3, a script\)$' "a program that is a script is called one" strict
printf 'extends: python-stdlib-read-only\ndefault: kill\n' >kill.yaml
corpus <<<'a: {run: [python3, -c, "import os; os.mkdir(\"d\")"], stopped: {kill.yaml: mkdir}}'
checks 0 'stopped at mkdir' "a profile that kills" ./kill.yaml
printf 'extends: python-stdlib-read-only\nallow: [mkdir]\n' >more.yaml
run stint profile check ./more.yaml
unlike "$OUT" 'python/make-a-folder' "what a file allows is not held against it"
like "$OUT" 'ok +python/remove-a-file: stopped at unlink.*, 0 wrong' "the rest of what it extends is"
if [ "$(uname -m)" = x86_64 ]; then
    corpus <<'END'
foreign:
  before: |
    echo 'int main(void) { long r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory"); return r <= 0; }' >a.c
    cc -o a a.c
  run: [./a]
END
    checks 1 'is stopped at call 20 of another architecture \(0x40000003\)|without a profile either' "another table's calls are told apart"
fi
run stint profile check ./more.yaml --corpus c --json
is "$(python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["profile"], d["ok"], d["passed"] + d["wrong"] + d["skipped"], [c["case"] for c in d["cases"]])' <<<"$OUT")" \
    "more.yaml False 1 ['foreign']" "as JSON"
corpus_mistake() { # TEXT NAME YAML
    corpus <<<"$3"
    run stint profile check agent --corpus c
    like "$RC $ERR" "^2 c/own.yaml:$1" "$2"
}
corpus_mistake '1:5: unknown key in a case: runs: did you mean run\?' "a misspelt key" 'a: {runs: [x]}'
corpus_mistake '1:4: a case without run' "nothing to run" 'a: {passes: all}'
corpus_mistake '1:32: unknown system call: raed: did you mean read\?' "a misspelt call" 'a: {run: [x], stopped: {agent: raed}}'
corpus_mistake '1:24: unknown system call: raed' "the same for all" 'a: {run: [x], stopped: raed}'
corpus_mistake '1:21: unknown answer to inet: maybe' "no answer" 'a: {run: [x], inet: maybe}'
corpus_mistake '1:4: passes: all and stopped' "a contradiction" 'a: {run: [x], passes: all, stopped: read}'
corpus_mistake '1:4: a case must be a map' "no map" 'a: [x]'
rm c/own.yaml
exits 2 "an empty corpus" stint profile check agent --corpus c
exits 2 "one that is not there" stint profile check agent --corpus none
like "$ERR" 'cannot read the corpus none' "is named"
exits 2 "no profile" stint profile check
exits 2 "a profile that is none" stint profile check agnt
like "$ERR" 'did you mean agent\?' "names the nearest"
ok "nothing was started" test ! -e started

# ---------------------------------------------------------------- the table in docs/
T=$D/table
mkdir -p "$T/corpus" "$T/wrong"
awk -v dir="$T" '/^`[a-z\/]+\.yaml`:$/ { gsub(/[`:]/, ""); file = dir "/" $0 } /^```$/ { inside = 0 } inside { print >file }
    /^```yaml$/ { inside = 1 }' \
    "$TOP/docs/guard_profiles.md"
rm -r "$XDG_STATE_HOME"
rows=0
while IFS='|' read -r _ command status text _; do
    [[ $command =~ ^\ \`(stint\ .*)\`\ $ ]] || continue
    command=${BASH_REMATCH[1]} rows=$((rows + 1))
    text=${text# \`} text=${text%\` }
    run bash -c "cd '$T' && $command"
    if [ "$RC" -eq "$status" ] && grep -qE -- "$text" <<<"$OUT"$'\n'"$ERR"; then
        pass "table: $command"
    else
        fail "table: $command" "exit $RC, not$status; no line matches $text" "$OUT" "$ERR"
    fi
done <"$TOP/docs/guard_profiles.md"
is "$rows" "$(grep -c '^| `stint ' "$TOP/docs/guard_profiles.md")" "every row was run"

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
mistake '\./bad\.yaml:1:1: more than 1048576 bytes' "a huge file" "$(head -c 1100000 /dev/zero | tr '\0' '#')"
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
