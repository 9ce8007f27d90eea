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
    refused "$LAYERS alone: reviewer writes source" 'Permission denied' turn developer bin/try open-write src/code.txt -- turn reviewer bin/try open-write src/code.txt
    refused "$LAYERS alone: reviewer deletes a test" 'Permission denied' turn tester sh -c 'echo x >tests/v && bin/try unlink tests/v' -- turn reviewer bin/try unlink tests/test.txt
    refused "$LAYERS alone: suite writes tests" 'Permission denied' turn tester bin/try open-write tests/test.txt -- turn runner bin/try open-write tests/test.txt
    refused "$LAYERS alone: developer ticks its box" 'Permission denied' turn reviewer bin/try open-write TASKS.md -- turn developer bin/try open-write TASKS.md
    refused "$LAYERS alone: developer creates in the root" 'Permission denied' turn developer bin/try create "src/new-$LAYERS" -- turn developer bin/try create new3
    refused "$LAYERS alone: reviewer reads .git" 'Permission denied' own cat .git/HEAD -- turn reviewer cat .git/HEAD
done
done_testing
