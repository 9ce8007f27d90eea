#!/bin/bash
# Faults at every step of one run of the loop: a system call of stint fails, or its caller is killed there; then nothing may be
# lost. See sweep.py for the questions and what can be asked for, inject.c for the faults. Without arguments: a small sample.
# One case again, as a log or a failure names it:
#
#   tests/faults/run.sh --only coordinator.write:47:ENOSPC
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

project_new
own mkdir src/team src/lib
put src/code.txt <<<'int main;'
put src/private.txt <<<'mine'
put src/lib/a.txt <<<'a'
own chmod 600 src/private.txt
own chmod 2755 src/lib
own setfacl -m u:nobody:r src/code.txt
own setfacl -d -m g:nogroup:rx src/team
own setfacl -m u:nobody:rwx,d:u:nobody:rwx src/team
put src/team/b.txt <<<'b'
put src/.gitignore <<<'*.o'
scripted 'rm -f src/n; echo done >src/work; echo "int x;" >src/n; mv src/n src/code.txt; echo c >src/team/c.txt; echo o >src/team/x.o' \
    'echo done >tests/daily' 'true' 'cmp src/work tests/daily && echo "ok 1"; echo 1..1'
commit_all start
rm -rf "$P/.git/hooks"
[ $# -gt 0 ] || set -- --sample 1 --seed 1
python3 "$TOP/tests/faults/sweep.py" --folder "$FOLDER" --inject "$TOP/${BUILD:-build}/tests/faults/inject" --owner "$(id -u "$OWNER")" \
    --group "$(id -g "$OWNER")" --agent "$(id -u "$AGENT")" "$@"
