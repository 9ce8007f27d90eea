#!/bin/bash
# Poorer kernels and stricter containers, faked (fake.c): without a call, a namespace or ACLs a turn either runs and holds the
# table, or nothing of it runs and words say why; and `stint doctor` says the same beforehand.
# shellcheck disable=SC2154 # OUT, ERR and RC are set by run()
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
FAKE=$TOP/${BUILD:-build}/tests/kernels/fake
project_new /srv

# findings: what doctor --json in OUT says has failed.
failed() { python3 -c 'import json, sys; print(*sorted({f["id"] for f in json.load(sys.stdin)["findings"] if f["status"] == "fail"}))' <<<"$OUT"; }
# The turn of every test: reads its own zone, then one that is closed to it.
developer() { run "$@" stint turn -C "$P" developer -- sh -c 'cat src/code.txt tests/test.txt'; }

# refused 'WHAT…' ID WORDS: doctor fails with ID (and perhaps with more, when ID has a +), a turn is refused in those words.
refused() {
    local what=$1 id=$2 words=$3 found
    local -a fakes
    read -ra fakes <<<"$what"
    run "$FAKE" "${fakes[@]}" -- stint doctor --json -C "$P"
    found=$(failed)
    [[ $id != *+ ]] || found=$(grep -ow "${id%+}" <<<"$found")+
    is "$RC $found" "3 $id" "without $what: doctor says that no run is possible"
    developer "$FAKE" "${fakes[@]}" --
    if [ "$RC" -ne 0 ] && [ -z "$OUT" ] && [[ $ERR =~ ^stint:\ .*$words ]]; then
        pass "without $what: the turn is refused in words"
    else
        fail "without $what: the turn is refused in words" "exit $RC" "$OUT" "$ERR" "wanted: $words"
    fi
}
# runs WHAT: it is not needed. The turn runs and holds.
runs() {
    run "$FAKE" "$1" -- stint doctor --json -C "$P"
    is "$RC $(failed)" "0 " "without $1: doctor finds a run possible"
    developer "$FAKE" "$1" --
    is "$RC $OUT $(grep -o 'tests/test.txt: .*' <<<"$ERR")" "1 source tests/test.txt: Permission denied" "without $1: the turn runs and holds the table"
}
# nothing left after all these refusals
put_back() { is "$(acl_count) $(find "$P" -user "$AGENT" | wc -l) $(agent_processes)" "0 0 0" "$1: nothing is left"; }

runs abi=99

# ---------------------------------------------------------------- needed: older kernels lack it, containers refuse it
no='(Function not implemented|Operation not permitted)'
refused abi=ENOSYS landlock 'proof of developer: Landlock is not in this kernel: Linux 5\.13 or newer is needed'
refused abi=EOPNOTSUPP landlock 'proof of developer: Landlock is switched off: add landlock to lsm='
refused abi=EPERM landlock 'proof of developer: Landlock is refused by a seccomp filter'
refused landlock_add_rule=EPERM landlock "proof of developer: cannot grant .*Landlock refuses the rule: $no"
refused landlock_restrict_self=EPERM landlock "proof of developer: cannot enter the Landlock domain: $no"
refused seccomp=EPERM seccomp "proof of developer: cannot install the seccomp filter: .*: $no"
for ns in mnt pid net ipc; do refused "ns=$ns:EPERM" namespaces "proof of developer: cannot make the command's namespaces: .*: $no"; done
refused clone3=ENOSYS namespaces "proof of developer: cannot make the command's namespaces: .*: $no"
refused mount=EPERM namespaces "proof of developer: cannot make the mounts private: $no"
refused open_tree=EPERM namespaces "proof of developer: cannot mount the project .*: $no"
refused mount_setattr=ENOSYS namespaces "proof of developer: cannot mount the project .*: $no"
for call in fsopen fsconfig fsmount move_mount; do refused "$call=ENOSYS" namespaces "proof of developer: cannot mount the view's root: $no"; done
for call in pivot_root umount2; do refused "$call=EPERM" namespaces "proof of developer: cannot enter the view: $no"; done
refused openat2=ENOSYS system-calls+ "cannot open stint.yaml: $no"
refused statx=ENOSYS system-calls "cannot walk .*: $no"
refused statx=EPERM system-calls "cannot walk .*: $no"
refused close_range=ENOSYS system-calls "cannot close the warden's descriptors .*: $no"
refused memfd_create=ENOSYS system-calls "cannot make the policy's memfd: $no"
refused execveat=EPERM system-calls "proof of developer: cannot start stint-guard: .*: $no"
refused capset=EPERM system-calls "proof of developer: .*cannot look at paths as uid .*: $no"
for call in setgroups setresgid setresuid; do refused "$call=EPERM" system-calls "cannot become user $OWNER: $no"; done
refused keyctl=EPERM system-calls "proof of developer: cannot leave the caller's session keyring: $no"
refused 'setxattr=EOPNOTSUPP setxattrat=EOPNOTSUPP' acl+ 'cannot set the ACL of the project.s folder: .*'
run "$FAKE" faccessat2=EPERM -- stint doctor -C "$P"
like "$RC $OUT $ERR" '^3  stint: .*seccomp filter that refuses faccessat2' "a filter that answers faccessat2 with EPERM: doctor does not start either, and says why"
developer "$FAKE" faccessat2=EPERM --
like "$RC $OUT $ERR" '^3  stint: .*seccomp filter that refuses faccessat2' "a filter that answers faccessat2 with EPERM: words of its own"
put_back "after the refusals"

# ---------------------------------------------------------------- not needed
for what in ns=user:EPERM unshare=EPERM setns=EPERM chroot=EPERM pidfd_open=EPERM pidfd_send_signal=EPERM io_uring_setup=EPERM \
    bpf=EPERM keyctl=ENOSYS faccessat2=ENOSYS getxattrat=ENOSYS getxattrat=EPERM listxattrat=ENOSYS listxattrat=EPERM setxattrat=ENOSYS \
    setxattrat=EPERM; do
    runs "$what"
done
put_back "after the turns"

# ---------------------------------------------------------------- a file system that keeps no ACLs
folder_new /srv
mount -t ramfs -o mode=755 none "$FOLDER" || bail "no ramfs"
cp -a "$P" "$FOLDER/project"
kept=$P P=$FOLDER/project
run stint doctor --json -C "$P"
is "$RC $(failed)" "3 acl trusted-xattr" "without ACLs: doctor says that no run is possible"
developer
like "$RC $OUT $ERR" '^125  stint: .*ACL' "without ACLs: the turn is refused in words"
run stint turn -C "$P" --layers landlock,seccomp developer -- sh -c 'cat src/code.txt tests/test.txt'
is "$RC $OUT $(grep -o 'tests/test.txt: .*' <<<"$ERR")" "1 source tests/test.txt: Permission denied" "without ACLs and without the acl layer: the view and Landlock hold the table"
like "$ERR" 'not every layer is in force \(acl OFF' "and that is said"
P=$kept
umount "$FOLDER"
done_testing
