#!/bin/bash
# SIGKILL to the coordinator, the warden, or both, at spread moments of a run: the next `stint run` or `stint restore` puts
# back ownership and ACLs, finds no process, and no task is ticked without its commit.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
KILLS=${KILLS:-20}

project_new
printf -- '- [ ] task %d\n' 1 2 3 4 5 6 7 8 9 10 | put TASKS.md
own sh -c 'for i in $(seq 40); do mkdir -p src/d$i && echo x >src/d$i/f; done; chmod 600 src/d1/f; chmod 2755 src/d2'
own setfacl -m u:nobody:r src/d3/f
own setfacl -d -m g:nogroup:rx src/d4
# shellcheck disable=SC2016 # runs inside
scripted 'echo "$STINT_TASK" >src/work; mv src/work src/done; rm -f src/d3/g; cp src/d3/f src/d3/g; mv src/d3/g src/d3/f; sleep 0.1' \
    'echo "$STINT_TASK" >tests/daily; (setsid sleep 600 &)' 'true' 'cmp src/done tests/daily && echo "ok 1"; echo 1..1'
commit_all start
# Half a turn's work may stay after a kill: src/done, src/work, tests/daily, src/d3/g. The developer removes an old src/d3/g first:
# mv of a file that is the owner's by then would rightly keep that file's own ACL.
facts() { # owner, mode, ACL of what was there before; -L never
    (cd "$P" && find src tests README TASKS.md stint.yaml \( -path src/done -o -path src/work -o -path tests/daily -o -path src/d3/g \) -prune -o -printf '%p %U %G %m %y\n' | sort
        getfacl -Rnp src tests README TASKS.md stint.yaml 2>/dev/null | grep -v '^# file: \(src/done\|src/work\|tests/daily\|src/d3/g\)' | awk '/^# file: /{f=$0} /nobody|65534|default|mask/{print f, $0}' | sort)
}
before=$(facts)

ticked_without_commit() {
    local subjects t n=0
    subjects=$(own git log --format=%s)
    while read -r t; do
        grep -qxF "$t" <<<"$subjects" || n=$((n + 1))
    done < <(own sed -n 's/^- \[x\] //p' TASKS.md)
    echo "$n"
}

bad=''
for k in $(seq "$KILLS"); do
    stint run -C "$P" >"$FOLDER/out" 2>&1 &
    pid=$!
    sleep "$(awk -v k="$k" 'BEGIN {printf "%.2f", 0.05 + (k * 0.137) % 1.9}')"
    case $((k % 3)) in
    0) pkill -KILL -P "$pid" -x stint-coordinat ;;
    1) kill -KILL "$pid" 2>/dev/null ;;
    2)
        pkill -KILL -P "$pid" -x stint-coordinat
        kill -KILL "$pid" 2>/dev/null
        ;;
    esac
    wait "$pid" 2>/dev/null
    sleep 0.3
    [ "$(agent_processes)" = 0 ] || bad+="kill $k: $(agent_processes) processes left; "
    n=$(ticked_without_commit)
    [ "$n" = 0 ] || { # HEAD moves before the tick; the other way round must never be seen
        bad+="kill $k: $n tasks ticked without commit; "
    }
    if [ $((k % 2)) = 0 ]; then
        stint restore -C "$P" >"$FOLDER/restore" 2>&1 || bad+="kill $k: restore failed: $(cat "$FOLDER/restore"); "
        [ "$(find "$P" -user "$AGENT" | wc -l)" = 0 ] || bad+="kill $k: files of the agent user left; "
        [ "$(facts)" = "$before" ] || { bad+="kill $k: tree differs; "; diff <(echo "$before") <(facts) | head -5 | sed 's/^/# /'; }
    fi
    own git fsck --strict >/dev/null 2>&1 || bad+="kill $k: git fsck; "
done
is "$bad" "" "$KILLS kills: no process, no owner, no ACL, no tick lost"
if ! grep -q '\[ \]' "$P/TASKS.md"; then
    printf -- '- [ ] one more\n' | own sh -c 'cat >>TASKS.md'
fi
exits 0 "the next run completes every task" stint run -C "$P"
is "$(own sed -n 's/^- \[x\] //p' TASKS.md | sort)" "$(own git log --format=%s | grep -E '^(task|one more)' | sort)" "one commit a task, one task a commit"
is "$(own git status --porcelain)" "" "git status is clean"
is "$(find "$P" -user "$AGENT" | wc -l) $(agent_processes)" "0 0" "nothing of the agent user is left"
is "$(diff <(echo "$before") <(facts))" "" "owner, mode and ACLs are as before the first run"
done_testing
