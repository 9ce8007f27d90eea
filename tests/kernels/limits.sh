#!/bin/bash
# limits: {memory, processes} of a whole turn, by the turn's cgroup where cgroup v2 hands on its controllers, said to be
# less where it does not. The control is a limit that the same command fits in.
# shellcheck disable=SC2154 # OUT, ERR and RC are set by run()
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
project_new /srv
limits() { # TEXT: the project's limits
    own sed -i '/^limits:/d' stint.yaml
    own sh -c 'echo "limits: {$1}" >>stint.yaml' sh "$1"
}
# controllers: those that doctor says a turn gets.
controllers() {
    stint doctor --json -C "$P" | python3 -c '
import json, sys
f = [x for x in json.load(sys.stdin)["findings"] if x["id"] == "cgroup"][0]
print("memory pids" if f["status"] == "ok" else "")'
}
have=$(controllers)
need="cgroup v2 hands on no memory and pids controllers here"
own_group() { find /sys/fs/cgroup -maxdepth 2 -name "stint-$(id -u "$AGENT")" | wc -l; }

# Three processes of 40 MB at the same time. tail keeps its last line, which is all of it.
# shellcheck disable=SC2016 # runs inside
three='for i in 1 2 3; do head -c 40000000 /dev/zero | (tail -n 1 | wc -c) & done; wait'
# The same in files: they are memory too.
files='for i in 1 2 3; do head -c 40000000 /dev/zero >/tmp/$i || exit; done; ls -l /tmp | wc -l'
one='head -c 200000000 /dev/zero | tail -n 1 | wc -c'
# shellcheck disable=SC2016 # runs inside
forks='i=0; while [ $i -lt 40 ]; do sleep 300 & i=$((i + 1)); done; echo all'

limits 'memory: 400MiB, processes: 100'
run turn developer sh -c "$three; $files; $forks"
is "$RC $(sort -u <<<"$OUT" | xargs)" "0 4 40000000 all" "what fits in the limits runs"
if [ -n "$have" ]; then
    unlike "$ERR" 'memory is limited|processes are counted' "and nothing is said to be less"
else
    like "$ERR" 'memory is limited for each process, not in total' "and that memory is limited for each process only is said"
fi

limits 'memory: 1GiB, processes: 100'
run turn developer sh -c "$one"
is "$RC $OUT" "0 200000000" "one process that fits in the limit runs"

# The first word shows that the turn began.
limits 'memory: 100MiB, processes: 100'
run turn developer sh -c "echo begun; $three"
if [ -n "$have" ]; then
    like "$(head -n 1 <<<"$OUT") $(grep -c 40000000 <<<"$OUT")" '^begun [012]$' "memory: three processes that fit alone, together over the limit, are not all finished"
    run turn developer sh -c "echo begun; $files"
    like "$RC $OUT" '^[1-9][0-9]* begun$' "memory: nor do files in memory escape it"
else
    is "$(grep -c 40000000 <<<"$OUT")" 3 "memory: without the controller each process has the limit, as was said"
    skip "memory: files in memory" "$need"
fi
run turn developer sh -c 'cat /sys/fs/cgroup/memory.max; echo 999999999999 >/sys/fs/cgroup/memory.max'
like "$RC $OUT $ERR" '^2  .*memory.max: No such file' "memory: the turn sees no cgroup"
run turn developer sh -c "echo begun; $one"
is "$(head -n 1 <<<"$OUT") $(grep -c 200000000 <<<"$OUT")" "begun 0" "memory: one process over the limit, with or without controllers"

limits 'memory: 400MiB, processes: 20'
for layers in acl,landlock landlock; do
    run stint turn -C "$P" --layers "$layers,seccomp" developer -- sh -c "$forks"
    like "$RC $OUT $ERR" '^2 .*Cannot fork' "processes, $layers: no more than the limit, with or without controllers"
done
# Without the controller the owner's other processes count too, and with it they do not.
# shellcheck disable=SC2016 # runs inside
own sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 300 & p="$p $!"; done; trap "kill $p; wait" TERM; wait' &
others=$!
for ((i = 0; i < 100; i++)); do [ "$(pgrep -cu "$OWNER" sleep)" -lt 15 ] || break; sleep 0.1; done
run stint turn -C "$P" --layers landlock,seccomp developer -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 300 & done; echo all'
is "$RC $OUT" "0 all" "processes, landlock: what the owner runs outside is not counted against the turn"
pkill -P "$others"
wait "$others" 2>/dev/null

if [ -n "$have" ]; then
    is "$(own_group) $(agent_processes)" "0 0" "no cgroup and no process is left"
    # A hierarchy that cannot be written, as containers have it.
    inside=$(unshare --mount --propagation private sh -c '
        mount --bind /sys/fs/cgroup /sys/fs/cgroup && mount -o remount,bind,ro /sys/fs/cgroup || exit
        stint turn -C "$1" developer -- echo ran 2>&1; stint doctor -C "$1"' sh "$P")
    like "$inside" 'memory is limited for each process, not in total.*ran|ran.*memory is limited for each process, not in total' "a read-only hierarchy: the turn says that memory is limited for each process"
    like "$inside" 'warn +cgroup +v2 at .* hands on no memory and no pids to a turn' "and so does doctor"
else
    skip "no cgroup is left" "$need"
    skip "a read-only hierarchy" "$need"
    skip "a read-only hierarchy: doctor" "$need"
fi
done_testing
