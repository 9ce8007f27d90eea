#!/bin/bash
# Older and newer Landlock ABIs, faked (fake.c): whatever the kernel offers, each program either holds what it states, shown
# by a call that is denied where its twin is allowed, or refuses in words. Never silently less.
# shellcheck disable=SC2154 # OUT, ERR and RC are set by run()
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
project_new /srv
folder_new
D=$FOLDER
FAKE=$TOP/${BUILD:-build}/tests/kernels/fake
GUARD=$D/bin/stint-guard
mkdir "$D/bin" "$D/rw" "$D/rw/a" "$D/rw/b" "$D/ro" "$D/out"
install -m 755 "$STINT_BIN/stint-guard" "$TOP/${BUILD:-build}/tests/e2e/guard_try" "$D/bin/"
for f in rw/f ro/f out/f; do echo content >"$D/$f"; done
cp /bin/true "$D/rw/prog"
install -d -m 1777 "$D/tmp" # the guard makes the commands' TMPDIRs there
export TMPDIR=$D/tmp
chown -R 65534:65534 "$D/rw" "$D/ro" "$D/out"
as() { setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"; }
real=$ABI
min() { echo $(($1 < $2 ? $1 : $2)); }

# What every ABI handles: file system, network, scopes. By hand, from the kernel's documentation.
handled=([1]='0x1fff 0 0' [2]='0x3fff 0 0' [3]='0x7fff 0 0' [4]='0x7fff 0x3 0' [5]='0xffff 0x3 0' [6]='0xffff 0x3 0x3'
    [7]='0xffff 0x3 0x3' [8]='0xffff 0x3 0x3' [9]='0x1ffff 0x3 0x3' [10]='0x1ffff 0xf 0x3' [99]='0x1ffff 0xf 0x3')
# What the guard must say that this kernel cannot do, and the ABI that brings it.
said=('let files move between folders:2' 'truncate(2) of files:3' 'limit TCP:4' 'ioctl(2) on devices:5'
    'stop signals and abstract UNIX sockets:6' 'UNIX sockets by path:9' 'limit UDP:10')

# A process and an abstract socket outside, and two ports.
port=$((21000 + $$ % 9000))
as "$D/bin/guard_try" serve $port "stint-abi-$$" >"$D/ready" 2>/dev/null &
server=$!
for ((i = 0; i < 100; i++)); do grep -q ready "$D/ready" && break; sleep 0.1; done
pid=$(sed -n 's/^ready //p' "$D/ready")
[ -n "$pid" ] || bail "no server on port $port"

as "$D/bin/guard_try" serve-unix "$D/rw/sock" >"$D/ready-unix" 2>/dev/null &
unix_server=$!
for ((i = 0; i < 100; i++)); do grep -q ready "$D/ready-unix" && break; sleep 0.1; done
unix_pid=$(sed -n 's/^ready //p' "$D/ready-unix")
[ -n "$unix_pid" ] || bail "no server at a socket"

# What is tried, one word a line: the name, then what came of it.
cat >"$D/bin/tries" <<END
t=$D/bin/guard_try
mv -T $D/rw/b/m $D/rw/a/m 2>/dev/null
[ -e $D/rw/a/m ] || : >$D/rw/a/m
echo "read-granted \$(\$t read $D/ro/f)"
echo "read \$(\$t read $D/out/f)"
echo "write-granted \$(\$t write $D/rw/f)"
echo "write \$(\$t write $D/ro/f)"
echo "create \$(\$t create $D/out/new)"
echo "move \$(\$t rename $D/rw/a/m $D/rw/b/m)"
echo "truncate-granted \$(\$t truncate $D/rw/f)"
echo "truncate \$(\$t truncate $D/ro/f)"
echo "ioctl \$(\$t ioctl /dev/urandom)"
echo "signal \$(\$t kill $pid)"
echo "abstract \$(\$t abstract stint-abi-$$)"
END
chmod 755 "$D/bin/tries"
# expected ABI: the same, by hand.
expected() {
    local n=$1
    printf '%s\n' 'read-granted ok' 'read EACCES' 'write-granted ok' 'write EACCES' 'create EACCES'
    [ "$n" -ge 2 ] && echo 'move ok' || echo 'move EXDEV'
    echo 'truncate-granted ok'
    [ "$n" -ge 3 ] && echo 'truncate EACCES' || echo 'truncate ok'
    [ "$n" -ge 5 ] && echo 'ioctl EACCES' || echo 'ioctl ok'
    [ "$n" -ge 6 ] && printf '%s\n' 'signal EPERM' 'abstract EPERM' || printf '%s\n' 'signal ok' 'abstract ok'
}
grants=(--no-system --allow-read "$D/bin" --allow-read /usr --optional-read /bin --optional-read /lib --optional-read /lib64
    --allow-read /etc --allow-read /dev/urandom --allow-write /dev/null --allow-write "$D/rw" --allow-read "$D/ro")
fake() { # WORDS -- COMMAND…: on that kernel, as nobody
    local words=()
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    run "$FAKE" "${words[@]}" -- setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
}

# ---------------------------------------------------------------- the guard alone
run as sh "$D/bin/tries"
is "$(grep -vc ' ok$' <<<"$OUT")" 0 "outside the guard every one of these calls succeeds"
rm -f "$D/out/new"
for n in 1 2 3 4 5 6 7 8 9 10 99; do
    rm -f "$D/log"
    fake "abi=$n" "log=$D/log" -- "$GUARD" "${grants[@]}" -- sh "$D/bin/tries"
    is "$OUT" "$(expected "$(min "$n" "$real")")" "ABI $n: what is held"
    is "$(cat "$D/log")" "$(printf 'create fs=%s net=%s scoped=%s: ok\nrestrict' ${handled[n]})" "ABI $n: exactly its rights are asked for, once"
    missing=''
    for s in "${said[@]}"; do
        [ "$n" -ge "${s##*:}" ] || missing+="${s%:*}; "
        if grep -qF "${s%:*}" <<<"$(grep 'this kernel cannot' <<<"$ERR")"; then missing=${missing/"${s%:*}; "/}; [ "$n" -lt "${s##*:}" ] || missing+="not: $s; "; fi
    done
    is "$missing" "" "ABI $n: what is not held is stated, and nothing else is"
    like "$ERR" "Landlock: ABI $(min "$n" 10) enforced, ABI 10 requested" "ABI $n: and the numbers"

    fake "abi=$n" -- "$GUARD" --quiet --allow-read "$D/bin" --allow-connect "$port" -- \
        sh -c "$D/bin/guard_try connect $port; $D/bin/guard_try connect $((port + 1))"
    if [ "$n" -lt 4 ]; then
        like "$RC $OUT $ERR" "^125  .*cannot limit TCP ports \(Landlock ABI $n, 4 is needed\)" "ABI $n: a port that nothing would hold is refused"
    elif [ "$real" -ge 4 ]; then
        is "$RC $OUT" $'0 ok\nEACCES' "ABI $n: the granted port and no other"
    else
        skip "ABI $n: the granted port and no other" "the real kernel has ABI $real"
    fi
    # What was asked for by name and cannot be held is refused, or said where --best-effort was given.
    fake "abi=$n" -- "$GUARD" --best-effort --allow-read "$D/bin" --allow-connect "$port" -- \
        sh -c "$D/bin/guard_try connect $port; $D/bin/guard_try connect $((port + 1))"
    if [ "$n" -lt 4 ]; then
        like "$RC $OUT $ERR" $'^0 ok\nECONNREFUSED .*'"TCP to port $port; BUT NOT LIMITED TO THAT.*ABI $n enforced.*--best-effort" \
            "ABI $n: --best-effort: any port, and that is said"
    elif [ "$real" -ge 4 ]; then
        is "$RC $OUT" $'0 ok\nEACCES' "ABI $n: --best-effort: the granted port and no other all the same"
    else
        skip "ABI $n: --best-effort: the granted port and no other" "the real kernel has ABI $real"
    fi
    rm -f "$D/log"
    fake "abi=$n" "log=$D/log" -- "$GUARD" --allow-unix "$D/rw/sock" --allow-write "$D/rw" -- echo started
    if [ "$n" -lt 9 ]; then
        like "$RC $OUT $ERR" "^125  .*cannot limit UNIX sockets by path.*ABI $n, 9 is needed" "ABI $n: a socket that nothing would hold is refused"
        fake "abi=$n" "log=$D/log" -- "$GUARD" --best-effort --allow-unix "$D/rw/sock" --allow-read "$D/bin" -- "$D/bin/guard_try" unix "$D/rw/sock"
        like "$RC $OUT $ERR" "^0 ok .*may connect to, among all others:.*$D/rw/sock" "ABI $n: --best-effort: it is in reach with all others, and that is said"
        is "$(grep -c path "$D/log")" 0 "ABI $n: and the right is not asked for"
    else
        like "$RC $OUT $ERR" "^0 started .*blocked: everything else; signals, sockets by path and abstract" "ABI $n: sockets by path are blocked"
        like "$ERR" "may connect to: $D/rw/sock"$'\n' "ABI $n: but one"
        is "$(grep path "$D/log")" "path access=0x10000" "ABI $n: the right is granted for that one alone, and nothing else with it"
    fi
    fake "abi=$n" -- "$GUARD" --quiet --no-exec --allow-exec "$D/bin/guard_try" --allow-write "$D/rw" -- "$D/bin/guard_try" exec "$D/rw/prog"
    noexec=$OUT
    fake "abi=$n" -- "$GUARD" --quiet --allow-read "$D/bin" --allow-write "$D/rw" -- "$D/bin/guard_try" exec "$D/rw/prog"
    is "$OUT $noexec" "ok EACCES" "ABI $n: --no-exec"
    fake "abi=$n" -- "$GUARD" --quiet --min-abi "$(min "$n" 10)" -- true
    is "$RC $ERR" "0 " "ABI $n: a floor that is reached"
    [ "$n" -lt 10 ] || continue # no floor above what the guard knows can be asked for
    fake "abi=$n" -- "$GUARD" --quiet --min-abi $((n + 1)) -- echo started
    like "$RC $OUT $ERR" "^125  .*ABI $n, ABI $((n + 1)) was demanded" "ABI $n: and one that is not"
done
kill "$pid" "$unix_pid"
wait "$server" "$unix_server" 2>/dev/null
for e in ENOSYS:'not in this kernel' EOPNOTSUPP:'switched off' EPERM:'refused by a seccomp filter'; do
    fake "abi=${e%:*}" -- "$GUARD" --allow-read "$D/bin" -- echo started
    like "$RC $OUT $ERR" "^125  .*Landlock is ${e#*:}" "no Landlock (${e%:*}): nothing is started"
    fake "abi=${e%:*}" -- "$GUARD" --best-effort --allow-read "$D/bin" -- echo started
    like "$RC $OUT $ERR" "^125  .*Landlock is ${e#*:}" "no Landlock (${e%:*}): nor with --best-effort"
done

done_testing
