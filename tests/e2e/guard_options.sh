#!/bin/bash
# stint-guard's options, one by one, as an ordinary user. What is refused inside is first done outside, or with the option left out.
# shellcheck disable=SC2154 # OUT, ERR and RC are set by run()
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
lib_accounts
folder_new
D=$FOLDER
mkdir -m 755 "$D/bin" "$D/libexec"
install -m 755 "$STINT_BIN"/stint{,-coordinator,-guard} "$D/bin/"
install -m 755 "$STINT_BIN/../tests/e2e/guard_try" "$D/libexec/try"
T=$D/libexec/try
install -d -m 755 -o "$OWNER" -g "$OWNER" "$D/w" "$D/w/rw" "$D/w/ro" "$D/w/out" "$D/w/home" "$D/w/tmp"
W=$D/w
cd "$W" || bail "no folder"
as() { # WORD…: as the owner, with a shell's usual environment and one secret
    setpriv --reuid "$OWNER" --regid "$OWNER" --clear-groups --inh-caps=-all -- env -i HOME="$W/home" USER="$OWNER" \
        PATH="$D/bin:/usr/local/bin:/usr/bin:/bin" TMPDIR="$W/tmp" LANG=C.UTF-8 LC_MESSAGES=C TERM=dumb PWD="$W" SECRET=xyzzy OTHER=1 "$@"
}
guard() { run as stint guard "$@"; }
inside() { guard --quiet --allow-read "$D/libexec" "$@"; } # WORD…: options and the command
as sh -c 'for d in rw ro out; do echo content >$d/f; cp /bin/true $d/prog; done; mkfifo rw/fifo; ln -s ../out/f ro/link; ln -s out outlink'

# ---------------------------------------------------------------- executing
for d in ro rw; do
    grant=--allow-read; [ $d = ro ] || grant=--allow-write
    run as "$T" exec "$W/$d/prog"; outside=$OUT
    inside $grant "$W/$d" -- "$T" exec "$W/$d/prog"
    is "$outside $OUT" "ok ok" "$grant includes execute"
    inside $grant "$W/$d" --no-exec --allow-exec "$D/libexec" -- "$T" exec "$W/$d/prog"
    is "$OUT" EACCES "$grant with --no-exec: not"
    inside --no-exec $grant "$W/$d" --allow-exec "$D/libexec" -- "$T" exec "$W/$d/prog"
    is "$OUT" EACCES "... wherever it stands"
    inside --no-exec $grant "$W/$d" --allow-exec "$D/libexec" --allow-exec "$W/$d/prog" -- "$T" exec "$W/$d/prog"
    is "$OUT" ok "... --allow-exec gives it back for one file"
    inside --no-exec $grant "$W/$d" --allow-exec "$D/libexec" --allow-exec "$W/out" -- "$T" exec "$W/$d/prog"
    is "$OUT" EACCES "... and not for another folder"
    inside --no-exec $grant "$W/$d" --allow-exec "$D/libexec" -- "$T" read "$W/$d/f"
    is "$OUT" ok "... reading stays"
done
inside --no-exec --allow-exec "$D/libexec" --allow-write "$W/rw" -- "$T" create "$W/rw/made"; is "$OUT" ok "... writing stays"
guard --quiet --no-exec --allow-write "$W/rw" -- "$W/rw/prog"; is "$RC" 126 "a command that --no-exec forbids is 126"
like "$ERR" '--allow-exec' "... and the remedy is named"
guard --quiet --no-exec --allow-write "$W/rw" -- sh -c 'echo x'; is "$RC $OUT" "0 x" "the system's programs run all the same"
guard --quiet -- sh -c 'cp /bin/true "$TMPDIR/t" && "$TMPDIR/t" && echo ran'; is "$OUT" ran "TMPDIR is a place to build in"
guard --quiet --no-exec -- sh -c 'cp /bin/true "$TMPDIR/t" && "$TMPDIR/t"'
like "$RC $ERR" '^126 .*Permission denied' "... with --no-exec it is none to run from"

# ---------------------------------------------------------------- environment
guard --quiet -- env
is "$(cut -d= -f1 <<<"$OUT" | sort | xargs)" "HOME LANG LC_MESSAGES PATH PWD TERM TMPDIR USER" "a short list of variables is passed on"
run as env; like "$OUT" 'SECRET=xyzzy' "a secret is seen outside"
guard --quiet -- env; unlike "$OUT" 'SECRET' "... not inside"
guard --quiet --env SECRET -- env; like "$OUT" 'SECRET=xyzzy' "--env NAME passes it on"
guard --quiet --env SECRET=other --env NEW=1=2 --env LANG=C -- env
like "$OUT" 'SECRET=other' "--env NAME=VALUE sets it"; like "$OUT" 'NEW=1=2' "... a value may hold ="
is "$(grep -c ^LANG= <<<"$OUT") $(grep ^LANG= <<<"$OUT")" "1 LANG=C" "... and replaces one that is passed on"
guard --quiet --env MISSING -- env; is "$RC $OUT" "125 " "--env of what is not set is refused"; like "$ERR" 'MISSING' "... and named"
guard --quiet --env =x -- env; is "$RC" 125 "--env without a name is refused"
guard --quiet --env-all --env LANG=C -- env
is "$RC $(grep -xc 'SECRET=xyzzy\|LANG=C' <<<"$OUT")" "0 2" "--env-all passes everything on"
guard --quiet --env "PATH=$D/libexec:/usr/bin" --allow-read "$D/libexec" -- try read /etc/passwd
is "$RC $OUT" "0 ok" "the command is looked for in the PATH that it gets"
guard --env SECRET -- true; like "$ERR" 'environment: 9 variables passed on, [1-9][0-9]* dropped' "the summary counts them"
unlike "$ERR" xyzzy "... and shows no value"

# ---------------------------------------------------------------- TMPDIR
uid=$(id -u "$OWNER")
own_tmp=$W/tmp/stint-guard-$uid
guard --quiet -- sh -c 'stat -c "%a %u %F" "$TMPDIR"; mktemp >/dev/null && ls "$TMPDIR" | wc -l; echo "$TMPDIR"'
is "$(head -2 <<<"$OUT" | xargs)" "700 $uid directory 1" "TMPDIR is a fresh folder of the user's own"
first=$(tail -1 <<<"$OUT")
like "$first" "^$own_tmp/[0-9a-f.]+\$" "... below the caller's"
guard --quiet -- sh -c 'echo "$TMPDIR"'; like "$OUT" "^$own_tmp/" "the next command has one, too"
unlike "$OUT" "^$first\$" "... another"
run as "$T" list "$first"; outside=$OUT
inside -- "$T" list "$first"; is "$outside $OUT" "ok EACCES" "... and cannot see the first"
run as "$T" list "$own_tmp"; outside=$OUT
inside -- "$T" list "$own_tmp"; is "$outside $OUT" "ok EACCES" "... nor that there was one"
is "$(stat -c '%a %u' "$own_tmp")" "700 $uid" "nobody else can see either"
inside --allow-read "$D/bin" -- stint guard --quiet -- sh -c 'echo "$TMPDIR"'
like "$RC $OUT" "^0 $own_tmp/[^/]+/stint-guard-$uid/" "a guard in a guard makes its own inside"
guard --quiet --no-tmp -- sh -c 'echo "$TMPDIR"'; is "$OUT" "$W/tmp" "--no-tmp leaves the variable alone"
inside --no-tmp -- "$T" create "$W/tmp/x"; is "$OUT" EACCES "... and grants nothing there"
run as "$T" create "$W/tmp/x"; is "$OUT" ok "... where the user could write"
guard --quiet --env TMPDIR=/elsewhere -- sh -c 'echo "$TMPDIR"'; is "$OUT" /elsewhere "--env TMPDIR=DIR is obeyed"
guard --quiet --no-system --allow-read /usr --allow-read /bin --allow-read /lib --optional-read /lib64 -- sh -c 'echo "$TMPDIR"'
is "$RC $OUT" "0 $W/tmp" "--no-system makes none"
made() { find "$own_tmp" -mindepth 1 -maxdepth 1 -type d | wc -l; }
before=$(made)
guard --quiet --allow-read /nowhere -- true; is "$RC $(made)" "125 $before" "nothing is made when a grant cannot be had"
guard --quiet --min-abi 10 --print-policy json -- true; is "$(made)" "$before" "--print-policy makes nothing"
for how in "mkdir -m 777 $own_tmp" "ln -s $W/out $own_tmp" "touch $own_tmp"; do
    as sh -c "mv $own_tmp $own_tmp.kept && $how"
    run as env TMPDIR="$W/tmp" stint guard -- sh -c 'echo "$TMPDIR"'
    like "$RC $OUT $ERR" "^0 /tmp/stint-guard-$uid/" "a place that is not the user's alone is not used: $how"
    rm -rf "/tmp/stint-guard-$uid" "$own_tmp"
    mv "$own_tmp.kept" "$own_tmp"
done
is "$(ls out)" $'f\nprog' "... and no link was followed"
as sh -c "mv $own_tmp $own_tmp.kept"
install -d -m 700 "$own_tmp"; run as install -d -m 777 "/tmp/stint-guard-$uid"; chmod 777 "/tmp/stint-guard-$uid"
guard -- sh -c 'echo "$TMPDIR"'
like "$RC $ERR" "^0 .*no TMPDIR: /tmp/stint-guard-$uid is not this user's alone" "no place at all: said, and the command runs"
rm -rf "/tmp/stint-guard-$uid" "$own_tmp"; mv "$own_tmp.kept" "$own_tmp"

# ---------------------------------------------------------------- what ended commands left
sleep 60 & alive=$!
ns=$(printf %x "$(stat -Lc %i /proc/self/ns/pid)")
start=$(printf %x "$(awk '{ print $22 }' /proc/$alive/stat)")
as bash -c "
cd '$own_tmp' || exit
rm -rf ./*
deep() { local i here=\$PWD; mkdir \"\$1\" && cd \"\$1\"; for ((i = 0; i < 300; i++)); do mkdir d && touch f && cd d; done; cd \"\$here\"; }
mkdir $ns.3ffffff.1 && touch $ns.3ffffff.1/f && deep $ns.3ffffff.1/deep
mkdir -p $ns.3fffffe.2/ro/sub && touch $ns.3fffffe.2/ro/sub/f && chmod 500 $ns.3fffffe.2/ro/sub $ns.3fffffe.2/ro
mkdir $ns.3fffffd.3 && ln -s '$W/out' $ns.3fffffd.3/link && ln '$W/ro/f' $ns.3fffffd.3/hard
mkdir $ns.3fffffc.4 && touch $ns.3fffffc.4/young
mkdir $ns.$(printf %x $alive).$start && touch $ns.$(printf %x $alive).$start/f
mkdir 1.2.3 stranger 'old.1.2.3' && touch 1.2.3/f stranger/f file && ln -s '$W/out' $ns.3fffffb.5
touch -d '2 days ago' $ns.3ffffff.1 $ns.3fffffe.2 $ns.3fffffd.3 $ns.$(printf %x $alive).$start 1.2.3 stranger file
touch -hd '2 days ago' $ns.3fffffb.5
mkdir $ns.3fffffa.6 $ns.3fffff9.7 && touch -d '2 hours ago' $ns.3fffffa.6
"
mapfile -t had < <(ls "$own_tmp")
is "${#had[@]}" 12 "twelve entries lie there"
as touch "$own_tmp/swept"
guard --quiet -- true
is "$(ls "$own_tmp" | wc -l)" "$((${#had[@]} + 2))" "swept a moment ago: nothing is removed"
as touch -d '2 minutes ago' "$own_tmp/swept"
guard --quiet --no-tmp -- true
is "$(ls "$own_tmp" | wc -l)" "$((${#had[@]} + 2))" "without a TMPDIR nothing is looked at"
guard --quiet -- true
left=$(for f in "${had[@]}"; do [ ! -e "$own_tmp/$f" ] && [ ! -L "$own_tmp/$f" ] || echo "$f"; done)
is "$left" "$(printf '%s\n' "$ns.3fffffc.4" "$ns.$(printf %x $alive).$start" 1.2.3 stranger file "$ns.3fffffb.5" "$ns.3fffff9.7" | sort)" \
    "gone: those of ended processes, a day after, empty ones an hour after; living, young, foreign and unknown ones stay"
is "$(cat out/f ro/f)" $'content\ncontent' "what links led to stays"
as sh -c "touch -d '8 days ago' '$own_tmp/1.2.3'; touch -d '2 minutes ago' '$own_tmp/swept'"
guard --quiet -- true
ok "one of another PID namespace goes after a week" test ! -e "$own_tmp/1.2.3"
kill "$alive"; wait "$alive" 2>/dev/null
as mkdir "$own_tmp/$ns.3fffff8.8"
as sh -c "cd '$own_tmp/$ns.3fffff8.8' && i=0; while [ \$i -lt 21000 ]; do echo \$i; i=\$((i + 1)); done | xargs touch; touch -d '2 days ago' . ../swept"
guard --quiet -- true
n=$(ls "$own_tmp/old.$ns.3fffff8.8" | wc -l)
ok "one start does a bounded amount of work: $n left" test "$n" -gt 500 -a "$n" -lt 1500
as touch -d '2 minutes ago' "$own_tmp/swept"
guard --quiet -- true
ok "... and the next goes on" test ! -e "$own_tmp/old.$ns.3fffff8.8"

# ---------------------------------------------------------------- links, types of files
guard --allow-read ro/link --allow-write outlink --allow-read rw -- true
like "$ERR" "may read and run: ro/link -> $W/out/f, rw"$'\n' "the target of a link is printed"
like "$ERR" "may write: outlink -> $W/out"$'\n' "... of a link on the way, too"
guard --allow-read "$W//./ro/" --allow-read . -- true; like "$ERR" "may read and run: $W//./ro/, \."$'\n' "what is no link is printed as it was given"
guard --allow-read ro/../rw -- true; like "$ERR" "ro/../rw -> $W/rw" "... and .. is resolved"
inside --allow-read ro/link -- "$T" read "$W/out/f"; is "$OUT" ok "the rule is the target's"
inside --allow-read ro/link -- "$T" read "$W/out/prog"; is "$OUT" EACCES "... and of nothing beside it"
run as "$T" read "$W/out/prog"; is "$OUT" ok "... which may be read outside"
as "$T" serve-unix "$W/rw/sock" >"$D/ready" & server=$!
for ((i = 0; i < 50; i++)); do grep -q ready "$D/ready" && break; sleep 0.1; done
grep -q ready "$D/ready" || bail "no server at a socket"
for type in f fifo sock prog; do
    for grant in read write exec; do
        guard --quiet --allow-$grant "$W/rw/$type" -- true
        is "$RC" 0 "--allow-$grant of a $(stat -c %F "rw/$type")"
    done
done
for dev in /dev/null /dev/tty /dev/ptmx /dev/pts; do
    for grant in read write exec; do guard --quiet --no-system --allow-read / --allow-$grant $dev -- true; is "$RC" 0 "--allow-$grant of $dev"; done
done
inside --allow-write rw/fifo -- sh -c 'echo through >rw/fifo & read -r x <rw/fifo; echo "$x"'; is "$OUT" through "a FIFO works"
guard --quiet -- python3 -c 'import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(["sh", "-c", "stty size <&1 >/dev/null && echo on >/dev/tty && tty"])))'
like "$RC $OUT" '^0 on.*/dev/pts/' "terminals can be made and used: pty, /dev/tty"
guard --quiet -- sh -c 'date +%Z; TZ=Asia/Tokyo date +%Z; ls /etc/ssl/certs | head -1 | wc -l; head -c1 /proc/self/status; nproc >/dev/null'
is "$RC $(sed -n '2,4p' <<<"$OUT" | xargs)" "0 JST 1 N" "time zones, certificates, /proc"

# ---------------------------------------------------------------- sockets by path
if [ "$ABI" -lt 9 ]; then
    guard --allow-unix rw/sock -- echo started
    like "$RC $OUT $ERR" "^125  .*cannot limit UNIX sockets by path.*ABI $ABI, 9 is needed.*--best-effort" "--allow-unix: what this kernel cannot hold is refused"
    guard --allow-unix rw/sock --best-effort -- "$T" unix "$W/rw/sock"; is "$RC" 126 "... (the command is not granted)"
    guard --allow-unix rw/sock --best-effort --allow-read "$D/libexec" -- "$T" unix "$W/rw/sock"
    is "$RC $OUT" "0 ok" "... with --best-effort the command runs"
    like "$ERR" 'may connect to, among all others: this kernel cannot limit UNIX sockets by path \(Landlock ABI 9\): rw/sock' "... and that is said"
else
    run as "$T" unix "$W/rw/sock"; outside=$OUT
    inside --allow-write rw -- "$T" unix "$W/rw/sock"; is "$outside $OUT" "ok EACCES" "a socket of a process outside is out of reach"
    for at in rw/sock rw; do inside --allow-unix $at -- "$T" unix "$W/rw/sock"; is "$OUT" ok "--allow-unix $at"; done
    guard --allow-unix rw/sock -- true; like "$ERR" 'may connect to: rw/sock' "... and that is said"
fi
guard --quiet --best-effort --allow-unix rw/f -- true; like "$RC $ERR" '^125 .*neither a socket nor a folder' "--allow-unix of a file is a mistake"
kill "$(sed -n "s/^ready //p" "$D/ready")"; wait "$server" 2>/dev/null

# ---------------------------------------------------------------- best effort, layers
guard --best-effort -- true; like "$RC $ERR" '^0 .*Landlock: ABI [0-9]+ enforced.*--best-effort' "--best-effort is printed"
guard --best-effort --min-abi 10 -- true
if [ "$ABI" -lt 10 ]; then is "$RC" 125 "--best-effort does not lower --min-abi"; else is "$RC" 0 "--min-abi 10"; fi
guard --no-scope -- true; like "$ERR" 'by request not: signals and abstract sockets' "--no-scope is said"
guard --quiet --print-policy yaml -- true; is "$RC" 125 "--print-policy knows json"

# ---------------------------------------------------------------- the policy as JSON
name=$'rw/"quo\nte\\\t\xff'
as touch "$name"
json() { python3 -c 'import json, sys
d = json.loads(sys.stdin.buffer.read().decode("utf-8"))
print(eval(sys.argv[1]))' "$1" <<<"$OUT"; }
guard --allow-read ro/link --allow-write "$name" --no-exec --allow-exec out --optional-read nowhere --allow-connect 443 --allow-connect 80 --allow-bind 0 \
    --env SECRET --min-abi 2 --print-policy json -- touch "$W/rw/started" 'a "b"'
is "$RC $ERR" "0 " "--print-policy json: exit 0, nothing on stderr"
is "$(wc -l <<<"$OUT")" 1 "one object on one line"
ok "... and nothing was started" test ! -e rw/started
is "$(json '[(p["path"], p.get("target"), p["from"], p.get("type"), " ".join(p.get("rights", []))) for p in d["paths"] if p["from"] == "option"]')" \
    "[('ro/link', '$W/out/f', 'option', 'file', 'fs.read_file'), ('rw/\"quo\\\\x0ate\\\\x5c\\\\x09\\\\xff', None, 'option', 'file', 'fs.write_file fs.read_file fs.truncate'), ('out', None, 'option', 'folder', 'fs.execute fs.read_file fs.read_dir'), ('nowhere', None, 'option', None, '')]" \
    "paths: targets, types, rights; bytes that are not UTF-8 are escaped"
is "$(json '(d["connect"], d["bind"], d["network"], d["inet_sockets"])')" "([443, 80], [0], 'ports', True)" "ports"
is "$(json '(d["abi_requested"], d["abi_minimum"], d["abi_kernel"], d["abi_enforced"], d["best_effort"], d["landlock"])')" \
    "(10, 2, $ABI, $((ABI < 10 ? ABI : 10)), False, True)" "ABIs"
is "$(json '(sorted(d["environment"]), d["tmpdir_below"], d["command"], d["profile"], d["instructions"] > 100)')" \
    "(['HOME', 'LANG', 'LC_MESSAGES', 'PATH', 'PWD', 'SECRET', 'TERM', 'TMPDIR', 'USER'], '$own_tmp', ['touch', '$W/rw/started', 'a \"b\"'], 'agent', True)" \
    "environment by name, TMPDIR, command, profile"
unlike "$OUT" xyzzy "no value of a variable"
is "$(json 'len([p for p in d["paths"] if p["from"] == "system" and p["path"] in ("/usr", "/dev/null", "/proc")])')" 3 "the system's rows"
[ "$ABI" -ge 10 ] || like "$(json 'd["not_enforced"]')" 'limit UDP' "what this kernel cannot hold"
guard --no-system --no-landlock --filter none --print-policy json
is "$RC $(json '(d["paths"], d["landlock"], d["profile"], d["network"], d["handled"], d["tmpdir_below"], d["command"])')" \
    "0 ([], False, None, 'unrestricted', [], None, [])" "without layers, without a command"
guard --allow-read nowhere --print-policy json; like "$RC $OUT$ERR" '^125 .*nowhere' "a path that is missing is fatal here, too"
as sh -c 'printf "extends: agent\nname: mine\n" >mine.yaml'
guard --profile ./mine.yaml --print-policy json -- true; is "$RC $(json 'd["profile"]')" "0 mine" "with a profile from a file"

# ---------------------------------------------------------------- the summary
many=(); for i in {1..40}; do as mkdir -p "many/$i"; many+=(--allow-read "many/$i" --allow-write "many/$i" --allow-list "many/$i" --allow-exec "many/$i" --optional-read "none/$i"); done
unix=(); [ "$ABI" -lt 9 ] || unix=(--allow-unix many)
guard "${many[@]}" "${unix[@]}" --best-effort --no-exec --allow-connect 443 --allow-bind 80 -- true
is "$RC" 0 "all kinds of grants at once"
n=$(wc -l <<<"$ERR")
[ "$n" -le 12 ] && pass "the summary has at most 12 lines: $n" || fail "the summary has at most 12 lines" "$ERR"
for what in 'system folders' 'may read and run: .* and 34 more' 'may read, not run' 'may write, not run' 'may list' 'optional and not there' 'blocked: ' 'network: ' \
    'environment: ' 'ABI [0-9]+ enforced, ABI 10 requested'; do like "$ERR" "$what" "... with: $what"; done
[ "$ABI" -ge 10 ] || like "$ERR" 'this kernel cannot' "... and what this kernel cannot"
guard --quiet --allow-write rw -- sh -c 'echo out; echo err >&2'; is "$OUT $ERR" "out err" "--quiet: the command's output alone"
guard --allow-write . -- python3 -c 'import tempfile
tempfile.NamedTemporaryFile().write(b"x"); open("made", "w").write("x"); print("worked")'
is "$RC $OUT" "0 worked" "stint guard --allow-write . -- python3 just works"
done_testing
