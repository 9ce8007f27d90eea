#!/bin/bash
# `make demo` in a private copy: one commit a task with its trailers, the wrong first implementation caught by a test from the
# specification, refusals on the way, nothing left behind.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
folder_new
dir=$FOLDER/demo
had_agent=$(getent passwd stint-agent)
had_owner=$(getent passwd stint-demo)

run examples/hands-off/demo "$STINT_BIN" "$dir"
is "$RC" 0 "the demo ends with 0"
[ "$RC" -eq 0 ] || diag "$OUT" "$ERR"
demo=$OUT
git() { command git --no-optional-locks -c safe.directory='*' -C "$dir" "$@"; }
runs=$(find "$dir/.stint/runs" -mindepth 1 -maxdepth 1 -type d)

is "$(grep -c '^- \[x\]' "$dir/TASKS.md")" 3 "every task is ticked"
is "$(grep -c '^- \[ \]' "$dir/TASKS.md")" 0 "no task is open"
is "$(git rev-list --count HEAD)" 4 "one commit a task, on top of the first"
for t in roman_format:1 roman_parse:2 roman_add:1; do
    commit=$(git log --format=%H --grep="${t%:*}\$" --all | head -n 1)
    like "$(git log -1 --format=%s "$commit")" "${t%:*}\$" "${t%:*}: the subject is the task's title"
    keys=$(git log -1 --format='%(trailers:keyonly)' "$commit" | sort | tr '\n' ' ')
    is "${keys## }" "Stint-Iterations Stint-Run Stint-Suite Stint-Task " "${t%:*}: four trailers"
    is "$(git log -1 --format='%(trailers:key=Stint-Iterations,valueonly)' "$commit")" "${t#*:}" "${t%:*}: iterations"
    is "$(git diff-tree --no-commit-id --name-only -r "$commit" | grep -vE '^(src|tests)/|^TASKS\.md$')" '' \
        "${t%:*}: only what roles may write, and TASKS.md"
done
ok "git fsck" git fsck --strict --no-dangling
is "$(git fsck --strict 2>&1 | grep -vc '^dangling\|^notice\|^Checking')" 0 "git fsck has nothing to say"
is "$(git status --porcelain)" '' "git status is clean"
ok "REVIEW.md is gone" test ! -e "$dir/REVIEW.md"

caught=$(find "$runs" -type f -exec grep -ahl '^not ok .*roman_parse("IIII")' {} + | wc -l)
like "$caught" '^[1-9]' "a test from the specification caught the first roman_parse"
like "$demo" 'roman_parse\("IIII"\)' "and the demo shows it"
first=$(find "$runs" -type f -path '*/turn-*/*' -exec grep -ahl 'ls: cannot open directory .tests.: Permission denied' {} + | wc -l)
like "$first" '^[1-9]' "the developer was refused the tests"
second=$(find "$runs" -type f -path '*/turn-*/*' -exec grep -ahl 'src/roman.h: Permission denied' {} + | wc -l)
like "$second" '^[1-9]' "the tester was refused the source"
like "$demo" 'Permission denied' "and the demo shows it"
unlike "$(find "$runs" -name 'prompt*' -path '*/turn-*' -exec cat {} + | grep -a 'GIVES(\|WRITES(\|REFUSES(')" . \
    "no prompt quotes a test's source"

# The tree is what it claims to be: built outside, it passes the same suite.
ok "the suite passes outside too" sh -c "cp -R '$dir' '$FOLDER/outside' && rm -rf '$FOLDER/outside/build' && sh '$FOLDER/outside/tests/run'"

like "$demo" 'Left over: 0 processes of stint-agent, 0 files with an ACL, 0 uncommitted' "the demo says that nothing is left over"
is "$(acl_count "$dir")" 0 "no file has an ACL"
is "$(find "$dir" ! -user root -printf '%u %P\n')" '' "everything belongs to root, as the demo's own owner was removed"
saved=$(python3 - "$dir" <<'END'
import os, sys
for top, folders, files in os.walk(sys.argv[1]):
    for name in [top] + [os.path.join(top, f) for f in files]:
        for x in os.listxattr(name, follow_symlinks=False):
            if x.startswith("trusted.stint") or x.startswith("system.posix_acl"):
                print(x, name)
END
) || saved="python3 failed"
is "$saved" '' "no saved ACL is left"
is "$(getent passwd stint-agent)" "$had_agent" "the agent user is as before"
is "$(getent passwd stint-demo)" "$had_owner" "the demo's owner is as before"
is "$(grep -rals -- "$dir" /var/lib/stint/journal | wc -l)" 0 "the journal does not name the project"

# The same for a person who called sudo: the folder stays theirs. From a checkout that this person cannot enter.
lib_accounts
private=$FOLDER/private
mkdir -m 700 "$private"
cp -R "$STINT_BIN" "$private/bin"
cp -R examples/hands-off "$private/hands-off"
mkdir -m 755 "$FOLDER/theirs"
run env SUDO_USER="$OWNER" SUDO_UID="$(id -u "$OWNER")" SUDO_GID="$(id -g "$OWNER")" \
    "$private/hands-off/demo" "$private/bin" "$FOLDER/theirs/demo"
is "$RC" 0 "called through sudo, from a 0700 checkout, the demo ends with 0"
[ "$RC" -eq 0 ] || diag "$OUT" "$ERR"
is "$(find "$FOLDER/theirs/demo" ! -user "$OWNER" -printf '%u %P\n')" '' "everything belongs to the one who called sudo"
is "$(acl_count "$FOLDER/theirs/demo")" 0 "no file has an ACL"
done_testing
