#!/bin/bash
# Processes, descriptors, identity, kernel interfaces, sockets.
# shellcheck source=tests/attack/lib.sh
. "$(dirname "$0")/lib.sh"
arena

in_turn() { turn developer "$@"; }
# A foreign entry to the kernel: refused by an errno, or the process is killed by the filter (SIGSYS) or by a kernel without it (SIGSEGV).
door_is_shut() { # NAME CALL
    run in_turn bin/try native
    [ "$RC" -eq 0 ] || { fail "$1" "the control failed" "$OUT $ERR"; return; }
    run in_turn bin/try "$2"
    case $RC in
    159 | 139) pass "$1 is shut: killed by signal $((RC - 128))" ;;
    1) like "$ERR" 'Function not implemented' "$1 is shut: ENOSYS" ;;
    *) fail "$1" "exit $RC" "$OUT $ERR" ;;
    esac
}
control_and() { refused "$1" "$2" in_turn bin/try native -- in_turn bin/try "${@:3}"; }

attack_leftover_process() {
    # shellcheck disable=SC2016 # runs inside
    run turn developer sh -c '(setsid sh -c "sleep 1; while :; do echo alive >>src/alive; sleep 0.1; done" &) ; sleep 1.5; wc -l <src/alive'
    [ "${OUT:-0}" -gt 0 ] || { fail "a process that left its session outlives the turn" "the control failed: it never ran" "$OUT $ERR"; return; }
    local n
    n=$(wc -l <"$P/src/alive") && sleep 1
    is "$(wc -l <"$P/src/alive") $(agent_processes)" "$n 0" "a process that left its session ends with the turn"
    rm -f "$P/src/alive"
}
attack_open_descriptor() {
    run turn developer sh -c '(setsid sh -c "exec 3<src/code.txt && echo held; sleep 600" &); sleep 0.3'
    is "$OUT $(agent_processes)" "held 0" "an open descriptor does not outlive the turn"
}
attack_double_fork_holds_pipe() {
    local start=$SECONDS
    run turn developer sh -c '(setsid sleep 600 &) ; echo done'
    if [ "$OUT" = "done" ] && [ $((SECONDS - start)) -lt 30 ]; then pass "a child that holds the pipe does not keep the turn open"; else fail "a child that holds the pipe" "$OUT $ERR"; fi
}
attack_ignores_signals() {
    run turn developer sh -c 'trap "" TERM INT HUP; (trap "" TERM INT HUP; setsid sleep 600 &); exit 0'
    is "$RC $(agent_processes)" "0 0" "ignored signals keep nobody alive"
}
attack_descriptors() {
    exec 9</etc/hostname
    # shellcheck disable=SC2016 # runs inside
    run turn developer sh -c 'for f in /proc/self/fd/*; do n=${f##*/}; [ -e "$f" ] && echo "$n"; done | sort -n | tr "\n" " "'
    exec 9<&-
    like "$OUT" '^0 1 2 ([0-9]+ )?$' "no descriptor of ours reaches the command"
}
writers() { awk -v name="$AGENT" '$1 == name {print $4}' /var/lib/stint/users; } # the group of turns that may write
attack_groups() {
    run turn reviewer id -G
    is "$OUT" "$(id -g "$AGENT")" "no supplementary group"
    run turn developer id -G
    is "$OUT" "$(id -g "$AGENT") $(writers)" "who writes a folder that others read is among its writers, and in no other group"
}
attack_writers_group() {
    # shellcheck disable=SC2016 # runs inside
    refused "a file given to the writers, with a mode that lets them" 'Permission denied' \
        turn developer sh -c 'echo x >src/w && chgrp "$1" src/w && chmod 664 src/w && bin/try open-write src/w' sh "$(writers)" -- \
        turn reviewer bin/try open-write src/w
    is "$(stat -c %U:%G "$P/src/w")" "$OWNER:$OWNER" "it is the owner's, and of the owner's group"
}
attack_secret_environment() {
    export SECRET_OF_CALLER=hunter2
    run turn developer env
    unset SECRET_OF_CALLER
    if [[ $OUT != *STINT_ROLE=developer* ]]; then fail "the caller's environment" "the control failed" "$OUT"; else unlike "$OUT" 'hunter2' "the caller's environment stays outside"; fi
}
attack_controlling_terminal() { refused "no controlling terminal" 'No such device or address' in_turn sh -c ': </dev/null' -- in_turn sh -c ': </dev/tty'; }
attack_stdin() {
    run turn developer sh -c 'cat; echo end'
    is "$OUT" "end" "standard input is empty, nothing waits"
}
attack_root_again() { control_and "root comes back" 'Operation not permitted' setuid0; }
attack_capabilities() {
    run turn developer grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status
    is "$(awk '{print $2}' <<<"$OUT" | sort -u)" 0000000000000000 "every capability set is empty"
}
attack_no_new_privs() {
    run turn developer grep NoNewPrivs /proc/self/status
    is "$(awk '{print $2}' <<<"$OUT")" 1 "no_new_privs is set"
}
attack_pid_namespace() {
    # shellcheck disable=SC2016 # runs inside
    run turn developer sh -c 'ls -d /proc/[0-9]* | wc -l'
    if [ "$RC" -eq 0 ] && [ "$OUT" -gt 0 ] && [ "$OUT" -lt 12 ]; then pass "it sees its own processes only"; else fail "it sees its own processes only" "$OUT"; fi
}
attack_kill_outside() {
    sleep 600 &
    local pid=$!
    # shellcheck disable=SC2016 # runs inside
    refused "a process outside cannot be signalled" 'No such process' in_turn sh -c 'bin/try kill $$ 0' -- in_turn bin/try kill "$pid" 9
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
}
attack_kill_init() { refused "init cannot be signalled" 'Operation not permitted' in_turn bin/try native -- in_turn bin/try kill 1 9; }
attack_init_environment() { refused "init's environment" 'Permission denied' in_turn cat /proc/self/environ -- in_turn cat /proc/1/environ; }
attack_init_memory() { refused "init's memory" 'Permission denied' in_turn sh -c 'head -c1 /proc/self/maps' -- in_turn cat /proc/1/maps; }
attack_ptrace() { control_and "ptrace" 'Operation not permitted' ptrace; }
attack_userns() { control_and "a user namespace" 'Operation not permitted' userns; }
attack_mount() { control_and "mount" 'Operation not permitted' mount src; }
attack_umount_cover() { control_and "lifting a cover" 'Operation not permitted' umount tests; }
attack_userns_umount_cover() {
    LAYERS=acl,landlock
    refused "lifting a cover from a user namespace, without seccomp" 'Invalid argument' \
        in_turn bin/try native -- in_turn bin/try userns-umount tests
    LAYERS=''
}
attack_chroot() { control_and "chroot" 'Operation not permitted' chroot; }
attack_iouring() { control_and "io_uring" 'Operation not permitted' iouring; }
attack_bpf() { control_and "bpf" 'Operation not permitted' bpf; }
attack_keyring() { control_and "the kernel's keyring" 'Operation not permitted' keyctl; }
attack_userfaultfd() { control_and "userfaultfd" 'Operation not permitted' userfaultfd; }
attack_perf() { control_and "perf events" 'Operation not permitted' perf; }
attack_clone3() { refused "clone3 is not there, threads are" 'Function not implemented' in_turn bin/try thread -- in_turn bin/try clone3; }
attack_tiocsti() { refused "typing into a terminal" 'Operation not permitted' in_turn bin/try winsize -- in_turn bin/try tiocsti; }
attack_tiocsti_high_bits() { refused "typing into a terminal with high bits set" 'Operation not permitted' in_turn bin/try winsize -- in_turn bin/try tiocsti-high; }
attack_x32() { door_is_shut "the x32 door" x32; }
attack_int80() { door_is_shut "the i386 door" int80; }
attack_raw_socket() { refused "a raw socket" 'Operation not permitted' in_turn bin/try socket 2 1 0 -- in_turn bin/try socket 2 3 1; }
attack_packet_socket() { refused "a packet socket" 'Address family not supported' in_turn bin/try socket 1 1 0 -- in_turn bin/try socket 17 3 0; }
attack_vsock() { refused "a vsock" 'Address family not supported' in_turn bin/try socket 1 1 0 -- in_turn bin/try socket 40 1 0; }
attack_netlink_audit() { refused "a netlink socket other than route" 'Operation not permitted' in_turn bin/try socket 16 3 0 -- in_turn bin/try socket 16 3 9; }
attack_loopback_of_host() {
    python3 -c 'import socket,time; s=socket.create_server(("127.0.0.1",38471)); time.sleep(600)' &
    local pid=$!
    sleep 0.7
    refused "a server on the host's loopback" 'Connection refused' "$TRY" connect 38471 -- in_turn bin/try connect 38471
    kill "$pid"
    wait "$pid" 2>/dev/null
}
attack_host_socket() {
    python3 -c 'import socket,time,os
s=socket.socket(socket.AF_UNIX); s.bind("/run/stint-attack.sock"); os.chmod("/run/stint-attack.sock",0o777); s.listen(); time.sleep(600)' &
    local pid=$!
    sleep 0.7
    refused "a socket of the host's /run" 'No such file or directory' "$TRY" unix /run/stint-attack.sock -- in_turn bin/try unix /run/stint-attack.sock
    kill "$pid"
    wait "$pid" 2>/dev/null
    rm -f /run/stint-attack.sock
}
attack_abstract_socket() {
    python3 -c 'import socket,time
s=socket.socket(socket.AF_UNIX); s.bind("\0stint-attack"); s.listen(); time.sleep(600)' &
    local pid=$!
    sleep 0.7
    refused "an abstract socket of the host" 'Connection refused' "$TRY" unix @stint-attack -- in_turn bin/try unix @stint-attack
    kill "$pid"
    wait "$pid" 2>/dev/null
}
attack_other_home() {
    # shellcheck disable=SC2016 # runs inside
    turn developer sh -c 'echo secret >"$HOME/note"' >/dev/null
    # shellcheck disable=SC2016 # runs inside
    refused "another role's HOME" 'No such file' turn developer sh -c 'cat "$HOME/note"' -- turn tester sh -c 'cat "$HOME/note"'
}
attack_runner_home_is_fresh() {
    # shellcheck disable=SC2016 # runs inside
    refused "the suite's HOME of an earlier run" 'No such file' turn runner sh -c 'echo x >"$HOME/poison" && cat "$HOME/poison"' -- turn runner sh -c 'cat "$HOME/poison"'
}
attack_tmp_of_other_turn() {
    refused "/tmp of an earlier turn" 'No such file' turn developer sh -c 'echo x >/tmp/drop && cat /tmp/drop' -- turn tester cat /tmp/drop
}
attack_tmp_of_host() {
    echo secret >/tmp/stint-attack-note && chmod 644 /tmp/stint-attack-note
    refused "/tmp of the host" 'No such file' cat /tmp/stint-attack-note -- turn developer cat /tmp/stint-attack-note
    rm -f /tmp/stint-attack-note
}
attack_fork_bomb() {
    sed -i 's/^suite:/limits: {processes: 64}\nsuite:/' "$P/stint.yaml"
    # shellcheck disable=SC2016 # runs inside
    run turn developer sh -c 'i=0; while [ $i -lt 200 ]; do sleep 30 & i=$((i+1)); done; echo started'
    like "$ERR" '[Ff]ork|Resource temporarily unavailable' "processes are bounded"
    sed -i '/^limits:/d' "$P/stint.yaml"
}
attack_endless_output() {
    run turn developer sh -c 'head -c 50000000 /dev/zero | tr "\0" x; echo end'
    if [ "$RC" -eq 0 ] && [ "${OUT: -3}" = end ]; then pass "endless output blocks nobody"; else fail "endless output blocks nobody" "exit $RC, ${#OUT} bytes"; fi
}
# More of the kernel, in two starts: the helper outside as root (control), then the same calls in a developer's turn.
declare -A KERNEL_OUT=() KERNEL_IN=()
kernel_calls='
vm_read | bin/try vm-read
vm_write | bin/try vm-write
kcmp | bin/try kcmp
seize | bin/try seize
traceme | bin/try traceme
pidfd_getfd | bin/try pidfd-getfd
setns | bin/try setns /proc/self/ns/net
unshare_mount | bin/try unshare 0x20000
unshare_pid | bin/try unshare 0x20000000
unshare_net | bin/try unshare 0x40000000
unshare_ipc | bin/try unshare 0x08000000
unshare_uts | bin/try unshare 0x04000000
clone_user | bin/try clone-into 0x10000000
clone_mount | bin/try clone-into 0x20000
hostname | bin/try hostname
clock | bin/try clock
fsopen | bin/try fsopen
open_tree | bin/try open-tree src
fanotify | bin/try fanotify
add_key | bin/try add-key
move_pages | bin/try move-pages
tiocsetd | bin/try tiocsetd
personality | bin/try personality
setgroups | bin/try setgroups
setid_su | su -c id root
proc_core_pattern | python3 -c "open(\"/proc/sys/kernel/core_pattern\", \"w\")"
init_descriptors | ls /proc/1/fd/
'
kernel() { # NAME WHAT WANT: the control succeeded, in the turn it failed with WANT
    local out in
    if [ ${#KERNEL_IN[@]} -eq 0 ]; then
        cd "$P" || bail "no project"
        answers env <<<"$kernel_calls"
        for k in "${!ANSWER[@]}"; do KERNEL_OUT[$k]=${ANSWER[$k]}; done
        cd / || bail "no /"
        answers turn developer <<<"$kernel_calls"
        for k in "${!ANSWER[@]}"; do KERNEL_IN[$k]=${ANSWER[$k]}; done
    fi
    out=${KERNEL_OUT[$1]:-1 none} in=${KERNEL_IN[$1]:-0 none}
    held "$2" "${out%% *}" "$out" "${in%% *}" "$in" "$3"
}
attack_vm_read() { kernel vm_read "reading a sibling's memory" 'Operation not permitted'; }
attack_vm_write() { kernel vm_write "writing a sibling's memory" 'Operation not permitted'; }
attack_kcmp() { kernel kcmp "comparing descriptors with a sibling's" 'Operation not permitted'; }
attack_seize() { kernel seize "seizing a sibling" 'Operation not permitted'; }
attack_traceme() { kernel traceme "asking to be traced" 'Operation not permitted'; }
attack_pidfd_getfd() { kernel pidfd_getfd "taking a sibling's descriptor" 'Operation not permitted'; }
attack_setns() { kernel setns "entering a namespace" 'Operation not permitted'; }
attack_unshare_mount() { kernel unshare_mount "a mount namespace" 'Operation not permitted'; }
attack_unshare_pid() { kernel unshare_pid "a pid namespace" 'Operation not permitted'; }
attack_unshare_net() { kernel unshare_net "a network namespace" 'Operation not permitted'; }
attack_unshare_ipc() { kernel unshare_ipc "an IPC namespace" 'Operation not permitted'; }
attack_unshare_uts() { kernel unshare_uts "a UTS namespace" 'Operation not permitted'; }
attack_clone_user() { kernel clone_user "a user namespace by clone" 'Operation not permitted'; }
attack_clone_mount() { kernel clone_mount "a mount namespace by clone" 'Operation not permitted'; }
attack_hostname() { kernel hostname "the host's name" 'Operation not permitted'; }
attack_clock() { kernel clock "the clock's calls" 'Operation not permitted'; }
attack_fsopen() { kernel fsopen "a file system of its own" 'Operation not permitted'; }
attack_open_tree() { kernel open_tree "a clone of a mount" 'Operation not permitted'; }
attack_fanotify() { kernel fanotify "fanotify" 'Operation not permitted'; }
attack_add_key() { kernel add_key "a key that stays with the user" 'Operation not permitted'; }
attack_move_pages() { kernel move_pages "placing memory" 'Operation not permitted'; }
attack_tiocsetd() { kernel tiocsetd "a line discipline" 'Operation not permitted'; }
attack_personality() { kernel personality "executable data" 'Operation not permitted'; }
attack_setgroups() { kernel setgroups "root's group" 'Operation not permitted'; }
attack_setid_program() { kernel setid_su "a set-id program of the system" 'Authentication failure|Permission denied|must be suid|Operation not permitted|System error'; }
attack_proc_core_pattern() { kernel proc_core_pattern "where core files go" 'Read-only file system'; }
attack_proc_fds_of_init() { kernel init_descriptors "init's descriptors" 'Permission denied'; }
attack_core_limit() {
    run turn developer sh -c 'ulimit -c; ulimit -c unlimited'
    like "$OUT $ERR" '^0 .*(Operation not permitted|cannot modify|bad)' "no core file is written, and the limit stays"
}
attack_kill_everybody() {
    sleep 600 &
    local pid=$!
    # shellcheck disable=SC2016 # runs inside
    run turn developer sh -c 'sleep 600 & kill -9 -1; wait $!; echo $?'
    is "$OUT $(kill -0 "$pid" && echo alive)" "137 alive" "killing everybody ends its own turn only"
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
}
attacks "$@"
