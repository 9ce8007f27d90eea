#!/bin/sh
# A scripted developer that writes the same at first, and reads what the review found.
set -eu
found() { grep -q "^- \[ \] src: $1" "$STINT_PROMPT_FILE"; }
case $STINT_TASK in
*src/sum)
    echo 'echo $(($1 + $2))' >src/sum
    if found 'sum: none'; then printf 's=0\nfor n in "$@"; do s=$((s + n)); done\necho "$s"\n' >src/sum; fi
    ;;
*src/count)
    echo 'head -n 1 | wc -w' >src/count
    if found 'count: words on two lines'; then echo 'wc -w' >src/count; fi
    ;;
*src/turn) echo 'echo "$1" | rev' >src/turn ;;
esac
