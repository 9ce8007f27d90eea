#!/bin/bash
# Exactness: random trees, random turns and kills, and everything that a turn's command did not touch as it was, byte for byte: raw
# xattrs, mode, owner, type, links, times, contents. TAP. Without arguments a few trees on each file system; `make exact` for many.
#
#   tests/exact/run.sh [TREES [TURNS [SECONDS]]]     SEED=… brings the same trees again
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
trees=${1:-12} turns=${2:-5} seconds=${3:-14}
seed=${SEED:-$RANDOM$RANDOM}
EXACT=$TOP/tests/exact/run.py
lib_accounts
folder_new /srv
base=$FOLDER
mounted=()

# on NAME: the folder $base/NAME, which lies on that file system; the trees there and one TAP line
trees_on() {
    local out rc=0
    chmod 755 "$base/$1"
    out=$(python3 -B "$EXACT" --base "$base/$1" --owner "$OWNER" --agent "$AGENT" --stint "$STINT_BIN/stint" --trees "$trees" \
        --turns "$turns" --seconds "$seconds" --seed "$seed-$1" 2>&1) || rc=$?
    if [ "$rc" -eq 0 ] && [[ $(tail -n 1 <<<"$out") =~ ran=[1-9] ]]; then
        pass "$1, seed $seed: $(tail -n 1 <<<"$out")"
    else
        fail "$1, seed $seed" "$out"
    fi
}
image() { # NAME MKFS…: a file system in a file
    local name=$1
    shift
    mkdir "$base/$name"
    truncate -s 512M "$base/$name.img"
    if "$@" "$base/$name.img" >/dev/null 2>&1 && mount -o loop "$base/$name.img" "$base/$name" 2>/dev/null; then
        mounted+=("$base/$name")
        trees_on "$name"
    else
        skip "$name" "no such file system here"
    fi
}

ok "every kind of change is told by its name" python3 -B "$EXACT" --base "$base" --owner "$OWNER" --agent "$AGENT" \
    --stint "$STINT_BIN/stint" --self-test
mkdir "$base/here"
trees_on here
mkdir "$base/tmpfs"
mount -t tmpfs -o mode=755 none "$base/tmpfs" || bail "no tmpfs"
mounted+=("$base/tmpfs")
trees_on tmpfs
image ext4-small-inodes mke2fs -q -F -t ext4 -I 128
for m in "${mounted[@]}"; do umount "$m"; done
done_testing
