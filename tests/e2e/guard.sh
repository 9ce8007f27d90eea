#!/bin/bash
# stint-guard alone: no warden, no root. Every refusal is first shown to be possible outside.
# shellcheck disable=SC2154 # OUT, ERR and RC are set by run()
. "$(dirname "$0")/../lib.sh"

folder_new
D=$FOLDER
install -m 755 "$STINT_BIN/stint-guard" "$D/stint-guard"
if [ -x "$STINT_BIN/../tests/e2e/guard_try" ]; then
    install -m 755 "$STINT_BIN/../tests/e2e/guard_try" "$D/try"
else
    cc -D_GNU_SOURCE -o "$D/try" "$TOP/tests/e2e/guard_try.c" || bail "cannot compile guard_try.c"
fi
mkdir "$D/bin" "$D/rw" "$D/ro" "$D/out"
install -d -m 1777 "$D/tmp" # the guard makes the commands' TMPDIRs there
export TMPDIR=$D/tmp
mv "$D/try" "$D/bin/try"
for f in rw/f ro/f out/f; do echo content >"$D/$f"; done
if [ "$(id -u)" -eq 0 ]; then
    chown -R 65534:65534 "$D/rw" "$D/ro" "$D/out"
    as() { setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"; }
else
    as() { "$@"; }
fi

T=$D/bin/try
try() { run as "$T" "$@"; }                                                         # outside
guard() { run as "$D/stint-guard" --quiet --allow-read "$D/bin" "$@"; }             # stint-guard itself
opts=(--allow-write "$D/rw" --allow-read "$D/ro")
inside() { guard "${opts[@]}" -- "$T" "$@"; }

# both NAME WORD…: "ok" outside and inside
both() {
    local name=$1 outside
    shift
    try "$@"
    outside=$OUT
    inside "$@"
    is "$outside $OUT" "ok ok" "$name"
}

# only_outside NAME OUTSIDE INSIDE WORD…: what the call gives outside, and in the guard
only_outside() {
    local name=$1 want="$2 $3" outside
    shift 3
    try "$@"
    outside=$OUT
    inside "$@"
    is "$outside $OUT" "$want" "$name"
}

# ---------------------------------------------------------------- files
both "read below --allow-write" read "$D/rw/f"
both "write below --allow-write" write "$D/rw/f"
both "truncate below --allow-write" truncate "$D/rw/f"
inside create "$D/rw/new"; is "$OUT" ok "create below --allow-write"
inside mkdir "$D/rw/d"; is "$OUT" ok "mkdir below --allow-write"
inside rename "$D/rw/new" "$D/rw/d/new"; is "$OUT" ok "rename to another folder of the same file system"
inside unlink "$D/rw/d/new"; is "$OUT" ok "delete below --allow-write"
inside mkfifo "$D/rw/fifo"; is "$OUT" ok "a FIFO below --allow-write"
both "read below --allow-read" read "$D/ro/f"
both "list below --allow-read" list "$D/ro"
only_outside "write below --allow-read" ok EACCES write "$D/ro/f"
if [ "$ABI" -ge 3 ]; then
    only_outside "truncate below --allow-read" ok EACCES truncate "$D/ro/f"
else
    run as "$D/stint-guard" -- true; like "$ERR" 'this kernel cannot .*truncate\(2\)' "truncate below --allow-read: this kernel cannot stop it, and that is said"
    echo content >"$D/ro/f"
fi
inside create "$D/ro/x"; inner=$OUT; try create "$D/ro/x"
is "$OUT $inner" "ok EACCES" "create below --allow-read"
inside unlink "$D/ro/x"; inner=$OUT; try unlink "$D/ro/x"
is "$OUT $inner" "ok EACCES" "delete below --allow-read"
only_outside "read outside" ok EACCES read "$D/out/f"
only_outside "list outside" ok EACCES list "$D/out"
only_outside "write outside" ok EACCES write "$D/out/f"
inside rename "$D/rw/f" "$D/out/moved"; is "$OUT" EACCES "rename out of a grant"
ln -s "$D/out/f" "$D/rw/link"
only_outside "through a symlink in a grant" ok EACCES read "$D/rw/link"
guard --allow-list "$D/out" -- "$T" list "$D/out"; is "$OUT" ok "--allow-list: names"
guard --allow-list "$D/out" -- "$T" read "$D/out/f"; is "$OUT" EACCES "--allow-list: no content"
guard --allow-read "$D/out/f" -- "$T" read "$D/out/f"; is "$OUT" ok "a single file can be granted"
guard --allow-write "$D/out/f" -- "$T" truncate "$D/out/f"; is "$OUT" ok "a single file can be granted for writing"
guard --allow-write "$D/rw/fifo" --allow-write /dev/null --allow-read /dev/zero -- "$T" write /dev/null
is "$RC $OUT" "0 ok" "devices and FIFOs can be granted"
for dev in null zero full random urandom ptmx; do
    [ -e /dev/$dev ] && { try write /dev/$dev; [ "$OUT" = ok ]; } || continue
    inside write /dev/$dev; is "$OUT" ok "/dev/$dev works without asking"
done
shm=/dev/shm/stint-guard-$$
inside create "$shm"; is "$OUT" ok "/dev/shm: a segment can be made"
both "/dev/shm: and opened by its name" write "$shm"
only_outside "/dev/shm: whose there are is not seen" ok EACCES list /dev/shm
inside mkdir "$shm.d"; inner=$OUT; try mkdir "$shm.d"; rmdir "$shm.d"; is "$OUT $inner" "ok EACCES" "/dev/shm: no folders"
inside unlink "$shm"; is "$OUT" ok "/dev/shm: and deleted"
guard --no-system --allow-read /usr --allow-read /lib --allow-read /lib64 --allow-read /etc -- "$T" write /dev/null
is "$OUT" EACCES "--no-system grants no device"

# ---------------------------------------------------------------- missing, unexecutable, misspelt
guard --allow-read "$D/nowhere" -- "$T" read /etc/passwd
is "$RC" 125 "a missing explicit path is fatal"; like "$ERR" "$D/nowhere" "... and named"
guard --optional-read "$D/nowhere" -- "$T" read /etc/passwd; is "$RC $OUT" "0 ok" "--optional-read may be missing"
guard --allow-list "$D/rw/f" -- "$T" read /etc/passwd; is "$RC" 125 "--allow-list of a file is an error"
guard -- no-such-command; is "$RC" 127 "127 for a command that is not there"
guard --allow-read "$D/ro" -- "$D/ro/f"; is "$RC" 126 "126 for a file that is not executable"
cp "$T" "$D/out/try"; chmod 755 "$D/out/try"
run as "$D/out/try" read /etc/passwd; is "$OUT" ok "a command outside the grants runs outside"
guard -- "$D/out/try" read /etc/passwd; is "$RC" 126 "... and is 126 inside"
guard -- sh -c 'exit 7'; is "$RC" 7 "the command's own status"
guard -- sh -c 'kill -TERM $$'; is "$RC" 143 "the command's own signal"
guard --alow-read / -- true; is "$RC" 125 "an unknown option is fatal"; like "$ERR" 'allow-read' "... and the nearest is named"
guard --allow-connect 0 -- true; is "$RC" 125 "port 0 cannot be connected to"
guard --allow-connect 70000 -- true; is "$RC" 125 "ports end at 65535"
guard --filter agnet -- true; is "$RC" 125 "an unknown filter is fatal"
guard --min-abi 1 -- true; is "$RC" 0 "a floor that is met"
run as "$D/stint-guard" -- true; abi=$(sed -n 's/.*ABI \([0-9]*\) enforced.*/\1/p' <<<"$ERR")
is "$RC $OUT" "0 " "the summary goes to stderr only"; like "$abi" '^[0-9]+$' "the summary says what is enforced"
[ "$(wc -l <<<"$ERR")" -le 12 ] && pass "the summary has at most 12 lines" || fail "the summary has at most 12 lines" "$ERR"
if [ "$abi" -lt 10 ]; then
    guard --min-abi $((abi + 1)) -- true; is "$RC" 125 "a floor that is not met"; like "$ERR" "ABI $abi" "... says what there is"
else
    skip "a floor that is not met" "this kernel has all"; skip "... says what there is" "this kernel has all"
fi
run as "$D/stint-guard" --allow-read "$(printf '/etc/\033[31m')" -- true; unlike "$ERR" $'\033' "escape sequences in a missing path"
esc=$D/rw/$'\033[31m'; mkdir "$esc"; run as "$D/stint-guard" --allow-read "$esc" -- true; rmdir "$esc"
is "$RC" 0 "a path with an escape sequence can be granted"; unlike "$ERR" $'\033' "... and is escaped in the summary"

# ---------------------------------------------------------------- error descriptor
exec 9>>"$D/why"
as "$D/stint-guard" --error-fd 9 --allow-read "$D/nowhere" -- true 2>"$D/err"; is "$?" 125 "--error-fd: status"
like "$(cat "$D/why")" "^cannot grant $D/nowhere" "--error-fd gets the sentence"; is "$(cat "$D/err")" "" "... stderr does not"
: >"$D/why"; as "$D/stint-guard" --error-fd 9 -- no-such-command 2>"$D/err"; is "$?" 127 "--error-fd: not found"
like "$(cat "$D/why")" 'no-such-command' "... is told too"
: >"$D/why"; as "$D/stint-guard" --error-fd 9 -- sh -c 'echo leak >&9' 2>/dev/null
is "$(cat "$D/why")" "" "nothing on success, and the command does not inherit it"
exec 9>&-

# ---------------------------------------------------------------- prompt
prompt() { # TEXT WORD…: the command's output with this prompt
    local text=$1
    shift
    OUT=$(printf '%s' "$text" | as "$D/stint-guard" --quiet --prompt-fd 0 --prompt-file /run/p -- "$@" 2>"$D/err") && RC=0 || RC=$?
    ERR=$(cat "$D/err")
}
prompt 'do it; $(x) "y"' printf '<%s>' -p '{prompt}' '{prompt_file}' 'a{prompt}b{prompt}c'
is "$OUT" '<-p><do it; $(x) "y"></run/p><ado it; $(x) "y"bdo it; $(x) "y"c>' "the prompt is put into every word"
prompt 'see {prompt_file} and {prompt}' printf '<%s>' '{prompt}'
is "$OUT" '<see {prompt_file} and {prompt}>' "what the prompt holds is not replaced again"
prompt '' printf '<%s>' '{prompt}'; is "$OUT" '<>' "an empty prompt"
guard -- printf '<%s>' '{prompt}' '{prompt_file}'; is "$OUT" '<{prompt}><{prompt_file}>' "without a prompt the words stay"
head -c 102400 /dev/zero | tr '\0' x >"$D/just"; head -c 102401 /dev/zero | tr '\0' x >"$D/long"; printf 'a\0b' >"$D/nul"
chmod 644 "$D/just" "$D/long" "$D/nul"
count() { OUT=$(as "$D/stint-guard" --quiet --prompt-fd 5 -- sh -c 'printf %s "$1" | wc -c' sh "$2" 5<"$1" 2>"$D/err") && RC=0 || RC=$?; ERR=$(cat "$D/err"); }
count "$D/just" '{prompt}'; is "$RC $OUT" "0 102400" "a prompt of 100 KiB fits"
count "$D/long" '{prompt}'; is "$RC" 125 "a longer one is refused"; like "$ERR" 'use stdin or \{prompt_file\}' "... with the remedy"
count "$D/nul" '{prompt}'; is "$RC" 125 "a NUL is refused"; like "$ERR" 'use stdin or \{prompt_file\}' "... with the remedy"
count "$D/long" 'no placeholder'; is "$RC $OUT" "0 14" "a long prompt that no word wants does not matter"
count "$D/just" '{prompt}{prompt}'; is "$RC" 125 "a word that grows too long is refused"; like "$ERR" 'use stdin' "... with the remedy"
run as "$D/stint-guard" --quiet --prompt-fd 77 -- true; is "$RC" 125 "a descriptor that is not there"

# ---------------------------------------------------------------- system calls
only_outside "clone3 is ENOSYS" EINVAL ENOSYS clone3
only_outside "an unknown number is ENOSYS, as without" ENOSYS ENOSYS number 999
# ustat; elsewhere memfd_secret, which Linux before 6.5 has switched off.
only_outside "a system call that is not in the table is ENOSYS" EINVAL ENOSYS number "$([ "$(uname -m)" = x86_64 ] && echo 136 || echo 447)"
only_outside "ptrace" ok EPERM ptrace
inside keyctl; is "$OUT" EPERM "keyctl"; try keyctl; unlike "$OUT" EPERM "... which is not refused outside"
only_outside "io_uring is an errno" "$(try io_uring; echo "$OUT")" EPERM io_uring
inside unshare 0x200; is "$OUT" ok "unshare of descriptors"; inside unshare 0x10000000; is "$OUT" EPERM "unshare of a user namespace"
inside unshare 0x10000200; is "$OUT" EPERM "... among other flags"
both "chmod" chmod "$D/rw/f" 0640
only_outside "chmod u+s" ok EPERM chmod "$D/rw/f" 04755
only_outside "chmod g+s" ok EPERM chmod "$D/rw/f" 02755
inside create "$D/rw/setid" 04755; is "$OUT" EPERM "creating a set-id file"
try create "$D/rw/setid" 04755; is "$OUT" ok "... which works outside"
inside mknod "$D/rw/node"; is "$OUT" EPERM "a device node"
both "personality of the default" personality 0
only_outside "personality READ_IMPLIES_EXEC" ok EPERM personality 0x400000
try tiocsti 0; outside=$OUT; inside tiocsti 0; like "$outside $OUT" '^(ok|EIO) EPERM$' "TIOCSTI"
try tiocsti 0x7fff; outside=$OUT; inside tiocsti 0x7fff; like "$outside $OUT" '^(ok|EIO) EPERM$' "TIOCSTI with bits set above 32"
if [ "$(uname -m)" = x86_64 ]; then
    inside x32; is "$RC" 159 "an x32 number ends the process (SIGSYS)"
    try int80
    if [ "$RC" -eq 139 ]; then skip "int 0x80 ends the process" "this kernel has no 32-bit entry"; else
        inside int80; is "$RC" 159 "int 0x80 ends the process (SIGSYS)"; fi
else
    skip "an x32 number ends the process" "x86-64 only"; skip "int 0x80 ends the process" "x86-64 only"
fi
opts+=(--filter owner)
both "owner: write" write "$D/rw/f"
only_outside "owner: chmod" ok EPERM chmod "$D/rw/f" 0644
only_outside "owner: chown" ok EPERM chown "$D/rw/f"
only_outside "owner: utime" ok EPERM utime "$D/rw/f"
inside setxattr "$D/rw/f"; inner=$OUT; try setxattr "$D/rw/f"; like "$OUT $inner" '^(ok|EOPNOTSUPP) EPERM$' "owner: setxattr"
opts=(--allow-write "$D/rw" --filter none)
if [ "$ABI" -lt 4 ]; then
    run as "$D/stint-guard" "${opts[@]}" -- echo started
    like "$RC $OUT $ERR" "^125  .*cannot limit TCP ports \(Landlock ABI $ABI, 4 is needed\): keep the filter" "--filter none: nothing would hold TCP, and that is refused"
    opts+=(--net-unrestricted)
fi
both "--filter none: chmod u+s works again" chmod "$D/rw/f" 04755
opts=(--no-landlock)
both "--no-landlock: reads outside work again" read "$D/out/f"
inside clone3; is "$OUT" ENOSYS "... and the filter is still there"
guard --filter none --no-landlock -- grep -h NoNewPrivs /proc/self/status; like "$OUT" '1$' "no_new_privs is always on"

# ---------------------------------------------------------------- network
opts=()
only_outside "no ports: no inet socket" ok EAFNOSUPPORT socket 2 1 0
only_outside "no ports: no inet6 datagram" ok EAFNOSUPPORT socket 10 2 0
only_outside "no ports: no netlink" ok EAFNOSUPPORT socket 16 3 0
both "no ports: local sockets" socket 1 1 0
port=$((20000 + $$ % 10000)) name=stint-guard-$$
as "$T" serve $port $name >"$D/ready" 2>/dev/null & server=$!
for ((i = 0; i < 50; i++)); do grep -q ready "$D/ready" && break; sleep 0.1; done
pid=$(sed -n 's/^ready //p' "$D/ready")
[ -n "$pid" ] || bail "no server on port $port"
if [ "$ABI" -ge 4 ]; then
    opts=(--allow-connect "$port")
    both "a granted port" connect $port
    opts=(--allow-connect "$((port + 1))")
    only_outside "another port" ok EACCES connect $port
    # Landlock alone lets this one through (Linux 6.18); a kernel that learns to refuse it answers EACCES.
    guard --filter none "${opts[@]}" -- "$T" fastopen $port; like "$OUT" '^(ok|EACCES)$' "a fast-open send with Landlock alone"
    inside fastopen $port; is "$OUT" EOPNOTSUPP "... is refused by the filter"
    try bind $((port + 2)); is "$OUT" ok "a server outside"; inside bind $((port + 2)); is "$OUT" EACCES "no server without --allow-bind"
    opts+=(--allow-bind "$((port + 2))"); inside bind $((port + 2)); is "$OUT" ok "a server on a granted port"
    both "ports: netlink route" socket 16 3 0
    only_outside "ports: other netlink" ok EPERM socket 16 3 15
    both "ports: UDP" socket 2 2 17
    inside socket 2 3 1; is "$OUT" EPERM "ports: no raw socket"
    inside socket 17 3 0; is "$OUT" EAFNOSUPPORT "ports: no packet socket"
    inside socket 40 1 0; is "$OUT" EAFNOSUPPORT "ports: no vsock"
    inside socket 2 1 262; is "$OUT" EPROTONOSUPPORT "ports: no MPTCP, which Landlock does not see"
else
    run as "$D/stint-guard" --allow-connect "$port" -- echo started
    like "$RC $OUT $ERR" "^125  .*cannot limit TCP ports \(Landlock ABI $ABI, 4 is needed\): give no ports" "ports: this kernel cannot limit TCP, and that is refused"
fi
opts=(--net-unrestricted)
both "--net-unrestricted: any port" connect $port
if [ "$ABI" -ge 6 ]; then
    only_outside "an abstract socket outside" ok EPERM abstract $name
    only_outside "a signal to a process outside" ok EPERM kill "$pid"
    opts=(--no-scope)
    both "--no-scope: an abstract socket outside" abstract $name
    both "--no-scope: a signal to a process outside" kill "$pid"
else
    both "an abstract socket outside is in reach" abstract $name
    both "and so is a process outside" kill "$pid"
    run as "$D/stint-guard" -- true
    like "$ERR" 'this kernel cannot .*stop signals and abstract UNIX sockets to processes outside' "which is said"
fi
kill "$pid"; wait "$server" 2>/dev/null

# ---------------------------------------------------------------- what people run in it
guard --allow-write "$D/rw" -- sh -c 'echo a | cat > '"$D"'/rw/sh && cat < '"$D"'/rw/sh'; is "$RC $OUT" "0 a" "a shell with pipes"
if command -v python3 >/dev/null; then
    guard -- python3 -c 'import threading,subprocess,tempfile as t,os
r=[]; th=threading.Thread(target=lambda: r.append(1)); th.start(); th.join()
print(r, subprocess.run(["/bin/echo","x"],capture_output=True).stdout)'
    is "$RC $OUT" "0 [1] b'x\\n'" "python: threads and children"
fi
if command -v git >/dev/null; then
    guard --allow-write "$D/rw" -- env HOME="$D/rw" sh -c "cd $D/rw && git init -q g && cd g && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --format=%s"
    is "$RC $OUT" "0 x" "git: init, commit, log"
fi
guard --probe-fd 0 --result-fd 1; is "$RC" 125 "--probe-fd of something else is refused"
guard --probe-fd 0 -- true; is "$RC" 125 "--probe-fd needs --result-fd"
run as "$D/stint-guard" --keeper-fd 77 -- true; is "$RC" 125 "--keeper-fd of nothing"; like "$ERR" '--keeper-fd 77: an open descriptor' "... is said"
guard --keeper-fd 9 -- true; is "$RC" 125 "--keeper-fd elsewhere than in front"
guard --print-profile; is "$RC" 125 "--print-profile needs a file"; like "$ERR" 'a profile in a file' "... which is said"
done_testing
