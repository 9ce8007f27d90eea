#!/bin/bash
# stint setup: the account, its record and the state directory. Everything happens in a mount namespace of its own, on a
# copy of /etc: no account of this machine is touched.
if [ -z "${SETUP_INSIDE:-}" ]; then
    SETUP_INSIDE=1 exec unshare --mount --propagation private bash "$0" "$@"
fi
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" -eq 0 ] || bail "not root"

scratch=$(mktemp -d)
lib_folders+=("$scratch")
cp -a /etc "$scratch/etc" || bail "no copy of /etc"
mount --bind "$scratch/etc" /etc || bail "no private /etc"
# The folder leaves with the namespace's mounts still on it: other names for the same files, nothing else.
mount -t tmpfs -o mode=755 none /var/lib || bail "no private /var/lib"
mount -t tmpfs -o mode=755 none /run || bail "no private /run"
S=/var/lib/stint

as_user() { setpriv --reuid 65533 --regid 65533 --clear-groups -- "$@"; }
perms() { stat -c '%u:%g %a' "$@"; }
process_of() { # NAME: a sleeping process of that account; its pid in PID
    setpriv --reuid "$1" --regid "$1" --clear-groups sleep 300 &
    PID=$!
    while [ "$(ps -o user:32= -p "$PID" | tr -d ' ')" != "$1" ]; do sleep 0.05; done
}

# ---------------------------------------------------------------- making
exits 2 "an ordinary user cannot make an account" as_user stint setup --user st-one
like "$ERR" 'sudo stint setup' "and is told how"
ok "nothing was made" test ! -e $S

exits 0 "root can" stint setup --user st-one
like "$OUT" '^st-one: made \(uid [0-9]+, gid [0-9]+\)' "and is told the ids"
is "$(getent passwd st-one | cut -d: -f6,7)" "$S/home:/usr/sbin/nologin" "no login, the home is stint's empty folder"
is "$(id -Gn st-one)" st-one "one group of its own, no other"
is "$(getent group st-one | cut -d: -f4)" "" "nobody else is in that group"
like "$(getent shadow st-one | cut -d: -f2)" '^[!*]' "no password"
ok "a system account" test "$(id -u st-one)" -lt 1000
writers=stint-w-$(id -u st-one)
is "$(getent group "$writers" | cut -d: -f1,4)" "$writers:" "a second group, in which nobody is"
is "$(cat $S/users)" "st-one $(id -u st-one) $(id -g st-one) $(getent group "$writers" | cut -d: -f3)" "the record: name, uid, gid, gid of the writers"
is "$(perms $S $S/journal $S/home $S/users | tr '\n' ' ')" "0:0 711 0:0 700 0:0 755 0:0 644 " "root's own, with these modes"
is "$(find $S/home | wc -l)" 1 "the home is empty"

before=$(stat -c '%i %z' $S/users)
exits 0 "a second call does nothing" stint setup --user st-one
like "$OUT" 'already set up' "and says so"
is "$(stat -c '%i %z' $S/users)" "$before" "the record was not written again"

(umask 077 && stint setup --user st-two >/dev/null)
is "$(perms $S/users)" "0:0 644" "the caller's umask does not matter"
is "$(cut -d' ' -f1 $S/users | tr '\n' ' ')" "st-one st-two " "a second account beside the first"

# ---------------------------------------------------------------- what is refused
for name in '' Upper 1st -x 'a b' 'a:b' ../x $'a\nb' $'a\e[31m' "$(printf 'x%.0s' {1..32})"; do
    stint setup "--user=$name" >"$scratch/out" 2>"$scratch/err"
    is "$?:$(wc -l <"$scratch/err"):$(grep -c $'\e' "$scratch/err")" 2:1:0 "no name for an account: $(printf %q "$name")"
done
longest=$(printf 'x%.0s' {1..31})
exits 0 "31 characters are a name" stint setup --user "$longest"
exits 0 "and can be removed" stint setup --user "$longest" --remove

exits 2 "root is no agent" stint setup --user root
exits 2 "an account that is used for something else is none" stint setup --user daemon
like "$ERR" 'daemon.*--user' "the remedy: another name"
useradd --system --user-group -d $S/home -s /bin/bash st-shell
exits 2 "an account that can log in is none" stint setup --user st-shell
like "$ERR" 'can log in.*/bin/bash' "and it says why"
usermod -s /usr/sbin/nologin st-shell
exits 0 "the same account without a shell is taken over" stint setup --user st-shell
like "$OUT" 'st-shell: taken over' "and it says so"
useradd --system --user-group -d $S/home -s /usr/sbin/nologin -G daemon st-groups
exits 2 "an account with supplementary groups is none" stint setup --user st-groups
like "$ERR" 'supplementary groups' "and it says why"
useradd --system --user-group -d $S/home -s /usr/sbin/nologin st-pass
echo 'st-pass:secret' | chpasswd -c SHA512
exits 2 "an account with a password is none" stint setup --user st-pass
useradd --non-unique --uid "$(id -u st-one)" -g daemon -M st-twin 2>/dev/null
exits 2 "an account whose uid another one shares is none" stint setup --user st-one
like "$ERR" 'shares.*st-twin' "and it names the other"
userdel st-twin
exits 0 "without the twin it is one again" stint setup --user st-one
is "$(grep -cE '^(daemon|root|st-groups|st-pass) ' $S/users)" 0 "none of the refused is recorded"

gpasswd -a daemon "$writers" >/dev/null
exits 2 "an account whose writers have a member is none" stint setup --user st-one
like "$ERR" "group $writers .*has members" "and it names the group"
gpasswd -d daemon "$writers" >/dev/null
usermod -g "$writers" st-two
exits 2 "nor one whose writers are another account's own group" stint setup --user st-one
like "$ERR" 'shares.*st-two' "and it names the other"
usermod -g st-two st-two
sed -i "s/^\(st-one .*\) [0-9]*$/\1/" $S/users
exits 0 "a record that an older version wrote is completed" stint setup --user st-one
is "$(grep '^st-one ' $S/users)" "st-one $(id -u st-one) $(id -g st-one) $(getent group "$writers" | cut -d: -f3)" "with the writers"

exits 2 "no argument is taken" stint setup st-one
exits 2 "no unknown option" stint setup --frob
like "$ERR" '^stint: .*--frob' "which is named"

chmod 666 $S/users
exits 3 "a record that others can write is not believed" stint setup --user st-three
chmod 644 $S/users
echo 'st-one 0 0' >>$S/users
exits 3 "a record with root in it is not believed" stint setup --user st-three
like "$ERR" 'line 4' "and the line is named"
sed -i '$d' $S/users
ok "neither made an account" test -z "$(getent passwd st-three)"

# In a namespace without /usr/sbin: the same call as above, with the tools gone.
exits 3 "without useradd it cannot be done" unshare -m bash -c 'mount -t tmpfs none /usr/sbin && exec stint setup --user st-three'
like "$ERR" '/usr/sbin/useradd is missing: install' "and the missing package is named"

for _ in 1 2 3 4; do stint setup --user st-many >/dev/null 2>>"$scratch/many" & done
wait
is "$(grep -c '^st-many ' $S/users):$(getent passwd st-many | wc -l)" 1:1 "four calls at once make one account and one line"
is "$(cat "$scratch/many")" "" "and none of them fails"

# ---------------------------------------------------------------- removing
exits 2 "what was not recorded cannot be removed" stint setup --user daemon --remove
ok "and is still there" getent passwd daemon

process_of st-one
exits 3 "an account with a running process stays" stint setup --user st-one --remove
like "$ERR" "process $PID " "the process is named"
kill "$PID"
wait "$PID" 2>/dev/null
journal() { printf 'version=1\0agent=%s\0path=%s\0' "$1" "$2" >$S/journal/1-2.project; }
journal "$(id -u st-one)" $'/home/me/a\e[31mproject'
exits 3 "an account stays while a project is not restored" stint setup --user st-one --remove
like "$ERR" '/home/me/a.x1b.31mproject .*stint restore' "project and remedy are named"
: >$S/journal/1-2.project
exits 3 "also when the journal does not say whose it is" stint setup --user st-one --remove
journal "$(id -u st-two)" /home/me/project
stint setup --user st-else >/dev/null
exits 0 "another account's project does not matter" stint setup --user st-else --remove
rm $S/journal/1-2.project
(flock 9 && sleep 300 9>&-) 9>"/run/stint/uid-$(id -u st-one).lock" &
holder=$!
until ! flock -n "/run/stint/uid-$(id -u st-one).lock" true; do sleep 0.05; done
exits 3 "an account stays while a run holds it" stint setup --user st-one --remove
pkill -P "$holder"
wait "$holder" 2>/dev/null
is "$(getent passwd st-one | wc -l):$(grep -c '^st-one ' $S/users)" 1:1 "after all of these it is as it was"
exits 0 "then it goes" stint setup --user st-one --remove
is "$(getent passwd st-one; getent group st-one "$writers"; grep '^st-one ' $S/users)" "" "with its groups and its record"
is "$(cut -d' ' -f1 $S/users | sort | tr '\n' ' ')" "st-many st-shell st-two " "the others stay"

userdel st-two
exits 0 "a record whose account is gone already is removed" stint setup --user st-two --remove
usermod -s /bin/bash st-shell
exits 0 "a record whose account became another's is removed" stint setup --user st-shell --remove
like "$ERR" 'stays' "and it says that the account stays"
ok "as it does" getent passwd st-shell
exits 0 "the last one" stint setup --user st-many --remove
ok "leaves nothing behind" test ! -e $S
exits 2 "removing it again is an error" stint setup --user st-many --remove
ok "and leaves nothing either" test ! -e $S

install -d -o daemon $S
exits 3 "a state directory of somebody else is not used" stint setup --user st-one
like "$ERR" "$S belongs to" "and it says so"
ok "no account was made" test -z "$(getent passwd st-one)"
rmdir $S
ln -s /tmp $S
exits 3 "nor is a link" stint setup --user st-one
rm $S

umount -l /etc
done_testing
