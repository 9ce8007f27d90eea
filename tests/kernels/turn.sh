#!/bin/bash
# Whole turns on older kernels, faked (fake.c): the table holds under every Landlock ABI, with both layers and with each alone;
# what an ABI cannot hold is refused or said, and `stint doctor` has said it before.
# shellcheck disable=SC2154 # OUT, ERR and RC are set by run()
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
FAKE=$TOP/${BUILD:-build}/tests/kernels/fake
port=$((30000 + $$ % 9000))
project_new /srv
own mkdir bin src/a src/b
install -m 755 -o "$OWNER" -g "$OWNER" "$TOP/${BUILD:-build}/tests/e2e/guard_try" "$P/bin/try"
put src/a/m <<<'moved'
sed -i "s/^  tester: .*/  tester: {command: [\/bin\/true], ports: [$port]}/" "$P/stint.yaml"
commit_all 'a role with ports'
real=$ABI
effective() { echo $(($1 < real ? $1 : real)); } # what is really held when that ABI is faked
fake() { # ABI CMD…
    local abi=$1
    shift
    run "$FAKE" "abi=$abi" -- "$@"
}

# What a developer tries, one word a line: src/ is its own, tests/ is closed, TASKS.md is for reading.
tries='t=bin/try
echo "read $($t read src/code.txt), closed $($t read tests/test.txt)"
echo "write $($t write src/code.txt), read-only $($t write TASKS.md), closed $($t write tests/test.txt)"
echo "truncate $($t truncate src/code.txt), read-only $($t truncate TASKS.md), closed $($t truncate tests/test.txt)"
echo "create $($t create src/new), root $($t create new)"
echo "move $($t rename src/a/m src/b/m)"
echo "signal $($t kill '$$'), abstract $($t abstract stint-turn-'$$')"'
# held LAYERS ABI: the same, by hand. Alone and below ABI 3 Landlock has the mounts' help, hence EROFS.
held() {
    local no=EACCES move=ok
    [ "$1" != landlock ] || [ "$2" -ge 3 ] || no=EROFS
    [ "$1" = acl ] || [ "$2" -ge 2 ] || move=EXDEV
    cat <<END
read ok, closed EACCES
write ok, read-only $no, closed EACCES
truncate ok, read-only $no, closed EACCES
create ok, root $no
move $move
signal ESRCH, abstract ECONNREFUSED
END
}
put_back() {
    own rm -f src/new
    [ ! -e "$P/src/b/m" ] || own mv src/b/m src/a/m
    own sh -c 'echo source >src/code.txt'
}

# Outside: a process, an abstract name, a TCP port.
"$P/bin/try" serve "$port" "stint-turn-$$" >"$FOLDER/ready" 2>/dev/null &
server=$!
for ((i = 0; i < 100; i++)); do grep -q ready "$FOLDER/ready" && break; sleep 0.1; done
grep -q ready "$FOLDER/ready" || bail "no server on port $port"
is "$("$P/bin/try" kill $$) $("$P/bin/try" abstract "stint-turn-$$") $("$P/bin/try" connect "$port")" "ok ok ok" "outside a turn all three are reached"

# ids ABI: what doctor has to say about it: warned of where a turn has less, "ok" where something else holds.
ids() {
    [ "$1" -ge 2 ] || echo warn landlock-refer
    [ "$1" -ge 3 ] || echo ok landlock-truncate
    [ "$1" -ge 4 ] || echo warn landlock-tcp
    [ "$1" -ge 5 ] || echo ok landlock-ioctl
    [ "$1" -ge 6 ] || echo warn landlock-scopes
    [ "$1" -ge 7 ] || echo ok landlock-audit
    [ "$1" -ge 9 ] || echo ok landlock-unix
    [ "$1" -ge 10 ] || echo warn landlock-udp
}

for n in 1 2 3 4 5 6 7 8 9 10; do
    for layers in acl,landlock acl landlock; do
        fake "$n" stint turn -C "$P" --layers "$layers,seccomp" developer -- sh -c "$tries"
        if [ "$layers" = landlock ] && [ "$n" -ge 3 ] && [ "$real" -lt 3 ]; then
            like "$RC $OUT $ERR" '^125  .*proof differs: developer may write' "ABI $n, $layers: a kernel that holds less than it says is found out by the proof"
        else
            is "$OUT" "$(held "$layers" "$(effective "$n")")" "ABI $n, $layers: what is held in a turn"
        fi
        put_back
    done
    fake "$n" stint matrix -C "$P" --prove
    is "$RC" "$([ "$n" -ge 4 ] && [ "$real" -ge 3 ] && echo 0 || echo 3)" "ABI $n: the proof of the whole table, where the role with ports may start and the ABI is no lie"
    fake "$n" stint turn -C "$P" tester -- sh -c "cd bin; ./try connect $port; ./try connect $((port + 1)); ./try abstract stint-turn-$$"
    if [ "$n" -lt 4 ]; then
        like "$RC $OUT $ERR" "^125  .*cannot limit TCP ports \(Landlock ABI $n, 4 is needed\)" "ABI $n: a role with ports is refused"
    elif [ "$real" -lt 4 ]; then
        skip "ABI $n: a role with ports" "the real kernel has ABI $real, TCP rules came with 4"
    else
        is "$RC $OUT" "0 ok"$'\n'"EACCES"$'\n'"$([ "$n" -ge 6 ] && echo EPERM || echo ok)" "ABI $n: a role with ports has its port"
        said=$(grep -oE 'UDP is not \(needs Landlock ABI 10|abstract UNIX sockets .* \(needs Landlock ABI 6' <<<"$ERR" | grep -oE '[0-9]+$' | sort -n | xargs)
        is "$said" "$([ "$n" -ge 6 ] || echo -n '6 ')$([ "$n" -ge 10 ] || echo 10)" "ABI $n: and what it has beside is said"
    fi
    fake "$n" stint doctor --json -C "$P"
    is "$RC $(python3 -c '
import json, sys
f = json.load(sys.stdin)["findings"]
print(*[x["status"] + " " + x["id"] for x in f if x["id"].startswith("landlock-")], sep="\n")' <<<"$OUT")" "0 $(ids "$n")" "ABI $n: doctor says so beforehand"
done
kill "$server"
wait "$server" 2>/dev/null
done_testing
