#!/bin/sh
# A scripted developer that writes what first comes to mind, each time again.
set -eu
case $STINT_TASK in
*src/sum) echo 'echo $(($1 + $2))' >src/sum ;;
*src/count) echo 'head -n 1 | wc -w' >src/count ;;
*src/turn) echo 'echo "$1" | rev' >src/turn ;;
esac
