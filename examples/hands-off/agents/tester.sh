#!/bin/sh
# The scripted tester: all that it knows is SPEC.md. It turns the specification's table for the task's function into
# tests/test_FUNCTION.c, one test a row.
set -eu

function=${STINT_TASK##*: }
echo "tester: iteration $STINT_ITERATION, $function"

# An agent looks for the easy way; the sandbox says no.
echo "tester: what does the header say?"
cat src/roman.h || echo "tester: no matter, SPEC.md says what is promised"

rows=$(mktemp)
awk -F ' *[|] *' -v want_function="$function" '
    /^## / { here = ($0 ~ want_function "$") }
    here && $2 ~ /^`/ {
        call = substr($2, 2, length($2) - 2)
        want = substr($3, 2, length($3) - 2)
        name = call " gives " want ": " $4
        gsub(/"/, "\\\"", name)
        if (want == "-1" && call ~ /out/)
            printf "\tREFUSES(%s, \"%s\");\n", call, name
        else if (want ~ /^"/)
            printf "\tWRITES(%s, %s, \"%s\");\n", call, want, name
        else
            printf "\tGIVES(%s, %s, \"%s\");\n", call, want, name
    }' SPEC.md >"$rows"
[ -s "$rows" ] || { echo "tester: SPEC.md has no table for $function" >&2; exit 1; }

{
    printf '/* %s as SPEC.md promises it. */\n#include "check.h"\n#include "roman.h"\n\n' "$function"
    printf 'int main(void)\n{\n'
    grep -q ' out' "$rows" && printf '\tchar out[32];\n\n'
    printf '\tprintf("1..%%d\\n", %d);\n' "$(wc -l <"$rows")"
    cat "$rows"
    printf '\treturn 0;\n}\n'
} >"tests/test_$function.c"
echo "tester: wrote $(wc -l <"$rows") tests into tests/test_$function.c"
