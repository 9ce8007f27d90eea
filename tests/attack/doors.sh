#!/bin/bash
# Sockets and pipes in the project: each leads to a process outside, whoever made it. And channels of a turn that must be its own.
# shellcheck source=tests/attack/lib.sh
. "$(dirname "$0")/lib.sh"
arena
own mkdir docs
own sh -c 'echo x >docs/f'

serve() { # COMMAND…: starts it with a listener for each socket named in SOCKETS, mode 0777
    "$@" python3 -c 'import socket, os, sys, time
kept = []
for p in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    s.bind(p)
    os.chmod(p, 0o777)
    s.listen()
    kept.append(s)
time.sleep(120)' "${SOCKETS[@]}" &
    SERVER=$!
    for _ in $(seq 100); do [ -S "${SOCKETS[-1]}" ] && break; sleep 0.1; done
}
unserve() { kill "$SERVER"; wait "$SERVER" 2>/dev/null; rm -f "${SOCKETS[@]}"; }

attack_owners_socket() {
    SOCKETS=("$P/src/o.sock" "$P/docs/o.sock")
    serve setpriv --reuid "$OWNER" --regid "$OWNER" --clear-groups
    refused "a socket of the owner's in a zone that the role writes" 'unix: Permission denied' own bin/try unix src/o.sock -- turn developer bin/try unix src/o.sock
    unserve
}
attack_owners_socket_read() {
    SOCKETS=("$P/docs/o.sock")
    serve setpriv --reuid "$OWNER" --regid "$OWNER" --clear-groups
    refused "a socket of the owner's in a zone that the role reads" 'unix: Permission denied' own bin/try unix docs/o.sock -- turn developer bin/try unix docs/o.sock
    unserve
}
attack_owners_pipe() {
    own mkfifo -m 666 src/fifo
    refused "a pipe of the owner's in a zone" 'Permission denied' own python3 -c 'import os; os.open("src/fifo", os.O_RDWR)' -- \
        turn developer python3 -c 'import os; os.open("src/fifo", os.O_RDWR)'
    own rm src/fifo
}
attack_strangers_socket() { # its mode lets everybody connect, and no ACL of ours may be put on it: no turn starts
    SOCKETS=("$P/src/r.sock")
    serve env
    refused "a stranger's socket in an open zone" '^stint: src/r.sock is a socket or a pipe that cannot be closed' own bin/try unix src/r.sock -- \
        turn developer bin/try unix src/r.sock
    unserve
}
attack_strangers_pipe() {
    mkfifo -m 666 "$P/docs/fifo"
    chmod 666 "$P/docs/fifo"
    refused "a stranger's pipe in an open zone" '^stint: docs/fifo is a socket or a pipe that cannot be closed' own test -w docs/fifo -- turn developer test -w docs/fifo
    rm "$P/docs/fifo"
}
attack_socket_without_acls() {
    SOCKETS=("$P/docs/o.sock")
    serve setpriv --reuid "$OWNER" --regid "$OWNER" --clear-groups
    LAYERS=landlock
    refused "landlock alone: a socket in an open zone" '^stint: docs/o.sock is a socket or a pipe that cannot be closed' own bin/try unix docs/o.sock -- \
        turn developer bin/try unix docs/o.sock
    LAYERS=''
    unserve
}
attack_sealed_socket() {
    SOCKETS=("$P/tests/o.sock" "$P/o.sock")
    serve setpriv --reuid "$OWNER" --regid "$OWNER" --clear-groups
    refused "sockets in a sealed zone" 'unix: Permission denied' own bin/try unix tests/o.sock -- turn developer bin/try unix tests/o.sock
    unserve
}
attack_socket_in_root() {
    SOCKETS=("$P/o.sock")
    serve env
    refused "a stranger's socket in the root" 'unix: Permission denied' own bin/try unix o.sock -- turn developer bin/try unix o.sock
    unserve
}
attack_ports_abstract_socket() { # a role with ports is in the host's network namespace, where abstract names are everybody's
    sed -i 's|developer: {command: \[/bin/true\]}|developer: {command: [/bin/true], ports: [443]}|' "$P/stint.yaml"
    ports_refused developer "an abstract socket of the host, with ports" && return
    python3 -c 'import socket,time
s=socket.socket(socket.AF_UNIX); s.bind("\0stint-attack-ports"); s.listen(); time.sleep(60)' &
    local pid=$!
    sleep 0.7
    if [ "$ABI" -ge 6 ]; then
        refused "an abstract socket of the host, with ports" 'unix: Operation not permitted' "$TRY" unix @stint-attack-ports -- turn developer bin/try unix @stint-attack-ports
    else
        run turn developer bin/try unix @stint-attack-ports
        like "$ERR" 'developer: abstract UNIX sockets of this machine are in its reach \(needs Landlock ABI 6' "an abstract socket of the host, with ports: this kernel has no scopes, and that is said"
    fi
    kill "$pid"
    wait "$pid" 2>/dev/null
}
attack_ports_other_port() {
    ports_refused developer "a port that the role was not given" && return
    python3 -c 'import socket,time; s=socket.create_server(("127.0.0.1",38473)); time.sleep(60)' &
    local pid=$!
    sleep 0.7
    refused "a port that the role was not given" 'connect: Permission denied' "$TRY" connect 38473 -- turn developer bin/try connect 38473
    refused "the same by a fast-open send" 'fast-open: Operation not supported' "$TRY" connect 38473 -- turn developer bin/try fast-open 38473
    kill "$pid"
    wait "$pid" 2>/dev/null
}
attack_ports_listen() {
    ports_refused developer "listening on the host's network" || refused "listening on the host's network" 'bind: Permission denied' "$TRY" bind 38474 -- turn developer bin/try bind 38474
    sed -i 's|, ports: \[443\]||' "$P/stint.yaml"
}

# between NAME LEAVE TAKE WANT: what the developer's turn leaves (and finds itself) the tester's does not find.
between() {
    refused "$1 to the next role" "$4" turn developer sh -c "$2; $3" -- turn tester sh -c "$3"
}
attack_left_shared_memory() {
    between "System V shared memory" "python3 -c 'import ctypes; exit(ctypes.CDLL(None).shmget(0x5717, 4096, 0o1666) < 0)'" \
        "python3 -c 'import ctypes,os
l=ctypes.CDLL(None,use_errno=True)
if l.shmget(0x5717, 0, 0) < 0: exit(os.strerror(ctypes.get_errno()))'" 'No such file or directory'
}
attack_left_message_queue() {
    between "a System V message queue" "python3 -c 'import ctypes; exit(ctypes.CDLL(None).msgget(0x5717, 0o1666) < 0)'" \
        "python3 -c 'import ctypes,os
l=ctypes.CDLL(None,use_errno=True)
if l.msgget(0x5717, 0) < 0: exit(os.strerror(ctypes.get_errno()))'" 'No such file or directory'
}
attack_left_dev_shm() { between "/dev/shm" 'echo x >/dev/shm/drop' 'cat /dev/shm/drop' 'No such file'; }
attack_left_var_tmp() { between "/var/tmp" 'echo x >/var/tmp/drop' 'cat /var/tmp/drop' 'No such file'; }
# shellcheck disable=SC2016 # runs inside
attack_left_bashrc() { between "a start file of the shell" 'echo "export POISON=1" >"$HOME/.bashrc"' 'cat "$HOME/.bashrc"' 'No such file'; }
attack_left_gitconfig() {
    between "a hooksPath in HOME" 'git config --global core.hooksPath /tmp/h' 'git config --global core.hooksPath || { echo "hooksPath: unset" >&2; exit 1; }' 'unset'
}
# shellcheck disable=SC2016 # runs inside
attack_link_to_home() {
    refused "a link that keeps source in HOME" 'Invalid cross-device link' turn developer sh -c 'rm -f src/l; bin/try link src/code.txt src/l && rm src/l' -- \
        turn developer sh -c 'bin/try link src/code.txt "$HOME/kept"'
}
attacks "$@"
