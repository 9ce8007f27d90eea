#!/bin/bash
# docs/works.md and the tests of this folder say the same: each row names the test that runs it, each test has a row.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
here=$TOP/tests/daily

run=$(cd "$here" && grep -oE '^(works|refused) [a-z0-9-]+' ./*.sh | grep -v '^./lib.sh' | sed -E 's#^\./([a-z]+\.sh):(works|refused) #\1 #' | sort)
said=$(awk -F ' *[|] *' '$6 ~ /^[a-z]+\.sh [a-z0-9-]+$/ { print $6 }' "$TOP/docs/works.md" | sort)
is "$(comm -23 <(echo "$run") <(echo "$said"))" "" "every test has a row"
is "$(comm -13 <(echo "$run") <(echo "$said"))" "" "every row is run by a test, once"
is "$(grep -c '^| ' "$TOP/docs/works.md")" "$(($(grep -c . <<<"$said") + 2))" "every line of the table is such a row"
done_testing
