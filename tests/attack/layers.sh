#!/bin/bash
# Each layer alone holds the table: the attempts of table.sh with ACLs alone, then with covers and Landlock alone.
# shellcheck source=tests/attack/lib.sh
. "$(dirname "$0")/lib.sh"
arena

for LAYERS in acl landlock; do
    refused "$LAYERS alone: tester reads source" 'Permission denied' turn reviewer cat src/code.txt -- turn tester cat src/code.txt
    refused "$LAYERS alone: tester lists source" 'Permission denied' turn developer ls src -- turn tester ls src
    refused "$LAYERS alone: developer writes tests" 'Permission denied' turn tester bin/try open-write tests/test.txt -- turn developer bin/try open-write tests/test.txt
    refused "$LAYERS alone: developer creates a test" 'Permission denied' turn tester bin/try create "tests/new-$LAYERS" -- turn developer bin/try create tests/new2
    refused "$LAYERS alone: reviewer writes source" "$(ro)" turn developer bin/try open-write src/code.txt -- turn reviewer bin/try open-write src/code.txt
    refused "$LAYERS alone: reviewer deletes a test" "$(ro)" turn tester sh -c 'echo x >tests/v && bin/try unlink tests/v' -- turn reviewer bin/try unlink tests/test.txt
    refused "$LAYERS alone: suite writes tests" "$(ro)" turn tester bin/try open-write tests/test.txt -- turn runner bin/try open-write tests/test.txt
    refused "$LAYERS alone: developer ticks its box" "$(ro)" turn reviewer bin/try open-write TASKS.md -- turn developer bin/try open-write TASKS.md
    refused "$LAYERS alone: developer creates in the root" "$(ro)" turn developer bin/try create "src/new-$LAYERS" -- turn developer bin/try create new3
    refused "$LAYERS alone: reviewer reads .git" 'Permission denied' own cat .git/HEAD -- turn reviewer cat .git/HEAD
done

# A second name of what the table hides, in an open folder: with the acl layer that file is closed, without it no turn starts.
own sh -c 'ln tests/test.txt src/link && ln src/code.txt src/second'
LAYERS=acl
refused "acl alone: a link to a test in src" 'Permission denied' turn developer cat src/second -- turn developer cat src/link
LAYERS=landlock
run turn developer cat src/code.txt
like "$RC $OUT $ERR" '^125 .*src/link has other names outside its zone' "landlock alone: a link to a test in src: the turn is refused"
own rm src/link
run turn developer cat src/second
is "$RC" 0 "landlock alone: with both names in one zone it runs"
own rm src/second
done_testing
