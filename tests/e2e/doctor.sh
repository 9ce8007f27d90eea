#!/bin/bash
# stint doctor: what it finds on this machine, on lesser ones and on other file systems. In a mount namespace of its own, on
# a copy of /etc, like setup.sh.
if [ -z "${DOCTOR_INSIDE:-}" ]; then
    DOCTOR_INSIDE=1 exec unshare --mount --propagation private bash "$0" "$@"
fi
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" -eq 0 ] || bail "not root"

REFUSE=$TOP/${BUILD:-build}/tests/e2e/refuse
scratch=$(mktemp -d)
chmod 755 "$scratch"
lib_folders+=("$scratch")
cp -a /etc "$scratch/etc" || bail "no copy of /etc"
mount --bind "$scratch/etc" /etc || bail "no private /etc"
mount -t tmpfs -o mode=755 none /var/lib || bail "no private /var/lib"
S=/var/lib/stint
D=$scratch/project
mkdir "$D"
cd "$D" || bail "no project"

as_user() { setpriv --reuid 65533 --regid 65533 --clear-groups -- "$@"; }
number() { python3 -c 'import re, sys; print(re.search(rf"#define __NR_{sys.argv[1]}\s+(\d+)", open(sys.argv[2]).read()).group(1))' \
    "$1" "$(find /usr/include -name unistd_64.h -path '*asm*' | head -n 1)"; }
# status ID: the status of the worst finding with this id in OUT, a JSON object; "" when there is none.
status() {
    python3 -c '
import json, sys
found = [f["status"] for f in json.load(sys.stdin)["findings"] if f["id"] == sys.argv[1]]
print(max(found, key=["ok", "warn", "fail"].index) if found else "")' "$1" <<<"$OUT"
}
doctor() { run stint doctor --json "$@"; }
# fails ID NAME CMD…: the command, a doctor --json, exits 3, and nothing but this id has failed.
fails() {
    local id=$1 name=$2
    shift 2
    run "$@"
    is "$RC $(python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["possible"], *sorted({f["id"] for f in d["findings"] if f["status"] == "fail"}))' <<<"$OUT")" \
        "3 False $id" "$name"
}

# ---------------------------------------------------------------- before and after setup
fails agent-user "without setup no run is possible" stint doctor --json
run stint doctor
like "$OUT" $'\n''fail +agent-user +stint setup has not been run.*'$'\n'' +do: +run sudo stint setup' "and the lines for people say what to do"
like "$OUT" 'no run is possible here: ' "and what it comes to"

stint setup --user st-doc >/dev/null || bail "setup failed"
touch -d '2020-01-01' "$D"
exits 0 "after setup one is possible" stint doctor
like "$OUT" $'\n''a run is possible here: [0-9]+ ok, [0-9]+ warned, 0 failed$' "and it says so"
is "$ERR" "" "nothing on stderr"
is "$(grep -cvE '^(ok  |warn|fail)  [a-z0-9-]+ +[^ ]|^ +(why|do): |^$|^a run ' <<<"$OUT")" 0 "every line is a finding, its reason or its remedy"
is "$(grep -E '^(ok|warn|fail) ' <<<"$OUT" | sed -E 's/^(.{4}  [a-z0-9-]+ +).*/\1/' | awk '{print length}' | sort -u | wc -l)" 1 "they are aligned"
is "$(stat -c %y "$D" | cut -c1-10):$(find "$D" | wc -l)" 2020-01-01:1 "the project is as it was: no new file, not even a new mtime"
is "$(getfacl -Rsp "$D")" "" "and no ACL"

doctor
is "$(python3 -c '
import json, sys
d = json.load(sys.stdin)
assert sorted(d) == ["findings", "possible"] and d["possible"] is True
for f in d["findings"]:
    assert sorted(f) == ["do", "id", "status", "what", "why"], f
    assert f["status"] in ("ok", "warn", "fail") and f["what"], f
    assert f["status"] == "ok" or (f["why"] and f["do"]), f
print(*sorted({f["id"] for f in d["findings"]} & {"kernel", "landlock", "seccomp", "namespaces", "cgroup", "acl", "trusted-xattr",
    "system-calls", "state", "agent-user", "program", "libgit2", "libyaml", "jansson", "libpcre2", "libcmark", "libseccomp"}))' <<<"$OUT")" \
    "acl agent-user cgroup jansson kernel landlock libcmark libgit2 libpcre2 libseccomp libyaml namespaces program seccomp state system-calls trusted-xattr" \
    "--json is one object, every finding complete, nothing that was to be looked at missing"
is "$(python3 -c 'import json, sys; print([f["what"].split(";")[0] for f in json.load(sys.stdin)["findings"] if f["id"] == "landlock"])' <<<"$OUT")" \
    "['ABI $ABI']" "the Landlock ABI is the kernel's own answer"

run as_user stint doctor --json -C "$D"
is "$RC $(status namespaces) $(status acl)" "0 warn warn" "an ordinary user is told what was not tried"
exits 0 "and may ask too" as_user stint doctor -C /tmp
like "$OUT" 'namespaces +not tried: only root may' "in words"

# ---------------------------------------------------------------- lesser kernels
fails landlock "a kernel without Landlock" "$REFUSE" "$(number landlock_create_ruleset)=38" -- stint doctor --json
fails landlock "Landlock switched off at boot" "$REFUSE" "$(number landlock_create_ruleset)=95" -- stint doctor --json
like "$OUT" 'lsm=' "has a remedy of its own"
fails seccomp "no seccomp filter" "$REFUSE" "$(number seccomp)=1" -- stint doctor --json
fails namespaces "no new namespaces" "$REFUSE" "$(number clone3)=1" -- stint doctor --json
fails namespaces "no mounts" "$REFUSE" "$(number mount)=1" -- stint doctor --json
run "$REFUSE" "$(number setxattr)=95" -- stint doctor --json
is "$RC $(status acl) $(status trusted-xattr)" "3 fail fail" "no ACLs"
exits 0 "the same through the same helper, nothing that doctor calls refused" "$REFUSE" 9999=38 -- stint doctor

# ---------------------------------------------------------------- other file systems
mkdir "$scratch/fs"
mount -t tmpfs none "$scratch/fs"
exits 0 "tmpfs keeps ACLs" stint doctor -C "$scratch/fs"
mount -o remount,ro "$scratch/fs"
fails acl "a read-only project" stint doctor --json -C "$scratch/fs"
mount -o remount,rw,noexec "$scratch/fs"
doctor -C "$scratch/fs"
is "$RC $(status noexec)" "0 warn" "noexec is warned of"
umount "$scratch/fs"
mount -t ramfs none "$scratch/fs"
doctor -C "$scratch/fs"
is "$RC $(status acl) $(status trusted-xattr)" "3 fail fail" "ramfs keeps neither ACLs nor trusted.*"
umount "$scratch/fs"

doctor -C /
is "$(status place)" "" "a project outside /tmp has a good place"
doctor -C /tmp
is "$RC $(status place)" "0 warn" "one below /tmp is warned of"

# ---------------------------------------------------------------- what setup made, spoilt
usermod -aG daemon st-doc
doctor
is "$RC $(status agent-user)" "3 fail" "an account that got a group is useless"
like "$OUT" 'st-doc has supplementary groups' "and the reason is given"
stint setup --user st-fit >/dev/null
doctor
is "$RC $(status agent-user)" "0 warn" "with a second, fit one it is a warning"
gpasswd -d st-doc daemon >/dev/null
: >$S/journal/1-2.project
doctor
is "$RC $(status journal)" "0 warn" "a project that waits for stint restore is warned of"
rm $S/journal/1-2.project
: >$S/home/stray
doctor
is "$RC $(status home)" "0 warn" "so is a home that is not empty"
rm $S/home/stray
chmod 777 $S
fails state "a state directory that others can write" stint doctor --json
chmod 711 $S
chown daemon $S/journal
fails state "a journal that is not root's" stint doctor --json
chown root $S/journal
setpriv --reuid st-fit --regid st-fit --clear-groups sleep 300 &
for _ in $(seq 100); do [ "$(ps -o user:32= -p $! | tr -d " ")" = st-fit ] && break; sleep 0.05; done
doctor
is "$RC $(status agent-process)" "0 warn" "a process of the account is warned of"
kill $!
wait $! 2>/dev/null
doctor
is "$RC $(status agent-user) $(status agent-process) $(status journal) $(status home)" "0 ok   " "all mended, all well"
printf 'agent_user: stint-nobody-made-it\n' >"$D/stint.yaml"
run stint doctor --json -C "$D"
is "$RC $(status agent-user)" "3 fail" "a project that names an account that is not recorded"
printf 'agent_usr: x\n' >"$D/stint.yaml"
run stint doctor --json -C "$D"
is "$RC $(status config)" "3 fail" "a project whose configuration does not read"
rm "$D/stint.yaml"

# ---------------------------------------------------------------- the installation, the command line
cp -r "$STINT_BIN" "$scratch/bin"
rm "$scratch/bin/stint-guard"
fails program "a program is missing" "$scratch/bin/stint" doctor --json
cp "$STINT_BIN/stint-guard" "$scratch/bin/"
exits 0 "with it in place again" "$scratch/bin/stint" doctor
chmod 777 "$scratch/bin/stint-warden"
run "$scratch/bin/stint" doctor --json
is "$RC $(status program)" "0 warn" "a program that others can write is warned of"

exits 2 "a folder that is not there" stint doctor -C "$scratch/none"
exits 2 "an unknown option" stint doctor --frob
like "$ERR" '^stint: .*--frob' "which is named"
exits 2 "an argument" stint doctor here

cd /
umount -l /etc
done_testing
