#!/bin/bash
# README.md names every attempt of this folder, once, and nothing else.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
here=$TOP/tests/attack

made=$(cd "$here" && grep -oE '^attack_[a-z0-9_]+' ./*.sh | sed -E 's#^\./([a-z]+)\.sh:attack_#\1 #' | sort)
named=$(sed -nE 's/^\|.*\| ([a-z]+): ([a-z0-9_ ]+) \|$/\1 \2/p' "$here/README.md" | while read -r file names; do
    for n in $names; do echo "$file $n"; done
done | sort)
is "$(comm -23 <(echo "$made") <(echo "$named"))" "" "every attempt is in the index"
is "$(comm -13 <(echo "$made") <(echo "$named"))" "" "every name in the index is an attempt, named once"
if [ "$(wc -l <<<"$made")" -ge 80 ]; then pass "$(wc -l <<<"$made") attempts"; else fail "at least 80 attempts" "$(wc -l <<<"$made")"; fi
done_testing
