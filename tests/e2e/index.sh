#!/bin/bash
# README.md names a test for each hazard from 12 to 32, and each of these is there under that name.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
readme=$TOP/tests/e2e/README.md

rows=$(grep -E '^\| [0-9]+ \|' "$readme")
is "$(sed -E 's/^\| ([0-9]+) .*/\1/' <<<"$rows" | sort -nu | xargs)" "$(seq -s ' ' 12 32)" "each hazard has a test"
is "$(grep -c '^| ' "$readme")" "$(($(wc -l <<<"$rows") + 2))" "each line of the table names a hazard"
while IFS='|' read -r _ number _ file name _; do
    file=${file// /} name=${name# } name=${name% }
    case $file in
    work/*) pattern="^${name}( |$)" ;; # works NAME
    *_*.c) pattern="\\b$name\\b" ;;
    attack/*) pattern="^$name\\(\\)" ;;
    *) pattern='' ;;
    esac
    if [ -n "$pattern" ]; then
        ok "${number// /}: $file: $name" grep -qE -e "$pattern" "$TOP/tests/$file"
    else
        ok "${number// /}: $file: $name" grep -qF -e "$name" "$TOP/tests/$file"
    fi
done <<<"$rows"
done_testing
