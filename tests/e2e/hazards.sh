#!/bin/bash
# What breaks sandboxes of this kind, tried on stint guard: those of README.md's hazards that no other test shows. Run by an ordinary
# user; what is refused inside is first shown to be possible outside.
# shellcheck disable=SC2016 # shell texts that run inside
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
lib_owner
folder_new
D=$FOLDER
P=$D/work
GUARD=$D/bin/stint-guard
install -d -o "$OWNER" -g "$OWNER" "$P" "$D/out" "$D/bin"
install -m 755 "$STINT_BIN/stint-guard" "$GUARD"
user() { run own timeout -k 5 60 "$@"; }
guard() { user "$GUARD" --quiet "$@"; }
owned() { chown -hR "$OWNER:$OWNER" "$D/out" "$P"; }
echo content >"$D/out/f"
echo content >"$D/out/g"
owned
await() { # FILE: until it is there
    for ((i = 0; i < 200; i++)); do [ ! -e "$1" ] || return 0; sleep 0.05; done
    return 1
}

# ---------------------------------------------------------------- 12: every type of file
mkdir "$D/out/folder" && mkfifo "$D/out/fifo" && echo x >"$D/out/file"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$D/out/socket"
mknod "$D/out/char" c 1 3 && mknod "$D/out/block" b 7 255 || diag "no device nodes can be made here"
for t in file folder fifo socket char block; do
    [ -e "$D/out/$t" ] || { skip "a $t can be granted" "mknod is refused here"; continue; }
    ln -s "$t" "$D/out/to-$t"
done
owned
for t in file folder fifo socket char block; do
    [ -e "$D/out/$t" ] || continue
    guard --allow-read "$D/out/$t" -- true; for_read=$RC
    guard --allow-write "$D/out/$t" -- true; for_write=$RC
    guard --allow-write "$D/out/to-$t" -- true
    is "$for_read $for_write $RC" "0 0 0" "a $t can be granted"
done
terminal='stty size </dev/tty >/dev/null && tty && : >/dev/tty && stty -echo && stty echo'
user script -qec "sh -c '$terminal'" /dev/null; outside=$OUT
user script -qec "$GUARD --quiet -- sh -c '$terminal'" /dev/null
like "$outside / $OUT" '^/dev/pts/[0-9]+.* / /dev/pts/[0-9]+' "the terminal is there, by both names"

# ---------------------------------------------------------------- 13: moves
mkdir "$P/a" "$P/b" "$P/a/folder" && echo x >"$P/a/file" && owned
inodes() { stat -c %i "$@" | xargs; }
before=$(inodes "$P/a/file" "$P/a/folder")
if [ "$ABI" -ge 2 ]; then
    guard --allow-write a --allow-write b -- mv a/file a/folder b/
    is "$RC $(inodes "$P/b/file" "$P/b/folder")" "0 $before" "mv from one grant to another moves, it does not copy"
    guard --allow-write . --allow-read "$D/bin" -- "$GUARD" --quiet --allow-write . --allow-read "$D/bin" -- mv b/file b/folder a/
    is "$RC $(inodes "$P/a/file" "$P/a/folder")" "0 $before" "also with a guard inside a guard"
else
    guard --allow-write a --allow-write b -- mv -T a/folder b/folder
    like "$RC $ERR" '^1 ' "mv of a folder from one grant to another: not below ABI 2"
fi

# ---------------------------------------------------------------- 14: what is missing
ln -s nowhere "$D/out/dangling"
for path in "$D/nowhere" "$D/out/dangling" "$D/out/f/below" "$D/out/folder/no/where"; do
    for option in --allow-read --allow-write --allow-list; do
        guard "$option" "$path" -- touch started
        like "$RC $ERR" "^125 .*$path" "$option ${path#"$D/"}: is missing, which is fatal and named"
    done
done
ok "and nothing was started" test ! -e "$P/started"
user "$GUARD" -- true
for path in /nix /libx32 /lib32; do
    if [ -e "$path" ]; then unlike "$ERR" "not here:.* $path" "$path is here"; else like "$ERR" "not here:.* $path" "a preset that is missing is reported: $path"; fi
done

# ---------------------------------------------------------------- 16: a rule binds the inode
replaced() { # GRANT: reads config, has it replaced from outside, reads it again
    echo old >"$D/out/config"
    rm -f "$P/started" "$P/go"
    (await "$P/started" && echo new >"$D/out/config.new" && mv "$D/out/config.new" "$D/out/config" && touch "$P/go") &
    guard --allow-write . --allow-read "$1" -- sh -c 'cat "$1"; touch started; until [ -e go ]; do sleep 0.05; done; cat "$1"' sh "$D/out/config"
    wait $!
}
replaced "$D/out/config"
like "$OUT $RC $ERR" '^old 1 .*Permission denied' "a granted file that is replaced is gone"
replaced "$D/out"
is "$OUT $RC" $'old\nnew 0' "a granted folder has the new one"

# ---------------------------------------------------------------- 17: /proc
guard -- sh -c 'cat /proc/self/comm; (sh -c "cat /proc/self/comm; test -r /proc/\$PPID/stat && echo parent")'
is "$OUT" $'cat\ncat\nparent' "/proc serves children, too"
own sh -c 'echo $$ >pid; exec env SECRET=hunter2 sh -c "touch running; exec sleep 600"' &
job=$!
await "$P/running" || bail "no process outside"
PID=$(cat "$P/pid")
user grep -cz hunter2 "/proc/$PID/environ"; outside=$OUT
guard -- cat "/proc/$PID/environ"
like "$outside $RC $ERR" '^1 1 .*Permission denied' "/proc does not show the environment of processes outside"
guard -- ls "/proc/$PID/cwd/"
like "$RC $ERR" '^2 .*Permission denied' "nor leads into their folders"

# ---------------------------------------------------------------- 31: signals to strangers
if [ "$ABI" -ge 6 ]; then
    user kill -0 "$PID"; outside=$RC
    guard -- sh -c 'kill -9 -1; echo alive'
    is "$outside $OUT $(kill -0 "$PID" && echo there)" "0 alive there" "kill -9 -1 ends nobody outside, whose uid is the same"
else
    user "$GUARD" -- true
    like "$ERR" 'stop signals' "kill -1: this kernel stops no signals, and that is said"
fi
kill "$PID"
wait "$job" 2>/dev/null

# ---------------------------------------------------------------- 18: metadata
guard -- chmod 0640 "$D/out/f"
is "$RC $(stat -c %a "$D/out/f")" "0 640" "chmod is not Landlock's business: an own file outside the grants"
guard --filter owner -- chmod 0600 "$D/out/f"
like "$RC $(stat -c %a "$D/out/f") $ERR" '^1 640 .*Operation not permitted' "--filter owner refuses it"

# ---------------------------------------------------------------- 19: symlinks
mkdir "$D/shims" && ln -s "$(command -v python3)" "$D/shims/py" && ln -s "$D/out/f" "$D/shims/f" && ln -s ../out "$D/shims/out"
printf '#!%s\nprint("ran")\n' "$D/shims/py" >"$P/script" && chmod 755 "$P/script" && owned
guard --allow-write . --allow-read "$D/shims" -- ./script
is "$RC $OUT" "0 ran" "an interpreter that is a symlink into the system runs"
guard --allow-read "$D/shims" -- cat "$D/shims/f"
like "$RC $ERR" '^1 .*Permission denied' "a granted folder's symlink leads nowhere new"
guard --allow-read "$D/shims/f" -- cat "$D/out/f"
is "$RC $OUT" "0 content" "a granted symlink grants its target"
guard --allow-read "$D/shims/f" -- cat "$D/out/g"
like "$RC $ERR" '^1 .*Permission denied' "and nothing beside it"
guard --allow-write "$D/shims/out" -- sh -c 'echo x >"$1/new" && cat "$1/new"' sh "$D/out"
is "$RC $OUT" "0 x" "so does one of a folder"
# A machine whose resolv.conf leads to /run, made of mounts that end with the command.
mkdir "$D/etc" && cp -a /etc/passwd /etc/group /etc/ld.so.cache "$D/etc/" && ln -s /run/resolve/resolv.conf "$D/etc/resolv.conf"
resolv() { # PATH
    run unshare --mount --propagation private sh -ec 'etc=$1 uid=$2; shift 2
        mount -t tmpfs none /run && mkdir /run/resolve && echo nameserver >/run/resolve/resolv.conf && echo other >/run/resolve/other
        mount --bind "$etc" /etc && exec setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"' \
        sh "$D/etc" "$(id -u "$OWNER")" "$@"
}
resolv cat /run/resolve/other; outside=$OUT
resolv "$GUARD" --quiet -- cat /etc/resolv.conf
is "$RC $OUT" "0 nameserver" "resolv.conf that is a symlink into /run can be read"
resolv "$GUARD" --quiet -- cat /run/resolve/other
like "$outside $RC $ERR" '^other 1 .*Permission denied' "what lies beside its target cannot"

# ---------------------------------------------------------------- 23, 26: terminals, refused calls
cat >"$P/ioctl.py" <<'END'
import ctypes, errno, os, platform, sys
call = ctypes.CDLL(None, use_errno=True).syscall
number = {"x86_64": 16, "aarch64": 29}[platform.machine()]
slave = os.openpty()[1]
rc = call(ctypes.c_long(number), ctypes.c_long(slave), ctypes.c_ulong(int(sys.argv[1], 16)), b"\2\0\0\0")
print("ok" if rc >= 0 else errno.errorcode[ctypes.get_errno()])
END
for request in 541c 7fff0000541c; do
    user python3 ioctl.py $request; outside=$OUT
    guard --allow-read . -- python3 ioctl.py $request
    like "$outside $OUT" '^(ENOTTY|EINVAL) EPERM$' "TIOCLINUX ($request)"
done
cat >"$P/handler.py" <<'END'
import ctypes, errno, signal
signal.signal(signal.SIGSYS, lambda *_: print("SIGSYS"))
libc = ctypes.CDLL(None, use_errno=True)
print("ok" if libc.ptrace(0, 0, 0, 0) == 0 else errno.errorcode[ctypes.get_errno()], "and on")
END
user python3 handler.py; outside=$OUT
guard --allow-read . -- python3 handler.py
is "$outside / $OUT" "ok and on / EPERM and on" "a refused call is an errno that the command sees, no signal"

# ---------------------------------------------------------------- 25: filters are compiled ahead
ok "who compiles filters holds the compiler" grep -q seccomp_rule_add "$STINT_BIN/stint-coordinator"
ok "the guard does not" sh -c '! grep -q seccomp_rule_add "$1"' sh "$GUARD"

# ---------------------------------------------------------------- 27: what outlives the command
later='(setsid sh -c "sleep 0.5; cat \"$1\" >left 2>error; touch done" >/dev/null 2>&1 &) ; exit 0'
rm -f "$P/done"
user sh -c "$later" sh "$D/out/g"
await "$P/done"; outside=$(cat "$P/left")
rm -f "$P/done"
guard --allow-write . -- sh -c "$later" sh "$D/out/g"
await "$P/done" || diag "the process that stays did not end"
like "$RC $outside $(cat "$P/error")" '^0 content .*Permission denied' "a process that outlives the command stays confined"

# ---------------------------------------------------------------- 28: what is inherited
exec 7<"$D/out/g" 8<"$D/out/f"
user sh -c 'cat <&7'; outside=$OUT
guard -- sh -c 'cat <&7'
like "$outside $RC $ERR" '^content 2 .*Bad file descriptor' "an open descriptor is not handed on"
guard --keep-fd 8 -- sh -c 'cat <&8; exec 2>&1; cat <&7'
like "$OUT" '^content'$'\n''.*Bad file descriptor' "--keep-fd hands on the one that it names"
exec 7<&- 8<&-
guard --keep-fd 7 -- true
like "$RC $ERR" '^125 .*--keep-fd 7: Bad file descriptor' "one that is not open is an error"
groups='id -G | tr " " "\n" | grep -cx 4'
like "$(setpriv --reuid "$OWNER" --regid "$OWNER" --groups 4 "$GUARD" --quiet -- sh -c "$groups; grep NoNewPrivs /proc/self/status")" \
    '^1.*NoNewPrivs:.1$' "groups stay the caller's, and none can be added"
user sh -c 'id -G'; outside=$OUT
guard -- sh -c 'id -G'
is "$OUT" "$outside" "the guard adds no group"

# ---------------------------------------------------------------- 29, 30: standard input, output
guard -- sh -c 'cat; echo end'
is "$RC $OUT" "0 end" "an empty standard input ends"
is "$(echo words | own "$GUARD" --quiet -- cat)" words "standard input is the command's, the guard takes nothing of it"
guard --allow-write . -- sh -c 'ulimit -f 8; exec dd if=/dev/zero of=big bs=1024 count=64 status=none'
is "$RC $(stat -c %s "$P/big")" "153 4096" "the caller's limits hold inside"
done_testing
