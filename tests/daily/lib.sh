# shellcheck shell=bash
# Real tools in the guard, as an ordinary user works: no root, a HOME with dotfiles that is not granted, a fresh folder that is.
# The commands stand in docs/works.md, a row each. A test runs its row twice, each time in a folder of its own: first without
# the guard, so that a tool that fails by itself is told from one that is refused; then as it stands.
# shellcheck source=tests/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

ROWS=$TOP/docs/works.md
SELF=$(basename "$0")
LIMIT=$((120 * ${STINT_TEST_SLOW:-1})) # seconds; what takes longer hangs
ONLY=("$@")                            # rows named as arguments: these alone
lib_owner
folder_new
BASE=$FOLDER
H=$BASE/home
W=$BASE

# user CMD…: as the user, in the folder W
user() {
    (cd "$W" && exec setpriv --reuid "$OWNER" --regid "$OWNER" --clear-groups --inh-caps=-all -- \
        env -i HOME="$H" PATH="$PATH" LANG=C.UTF-8 SHELL=/bin/sh TERM=xterm USER="$OWNER" LOGNAME="$OWNER" \
        timeout -k 5 "$LIMIT" "$@")
}

install -d -m 700 -o "$OWNER" -g "$OWNER" "$H"
user sh -s <<'END' || bail "no home"
echo 'fund=false' >"$HOME/.npmrc"
echo 'set -g status off' >"$HOME/.tmux.conf"
git config --global user.name 'A User'
git config --global user.email user@localhost
git config --global init.defaultBranch main
END

# row NAME: COMMAND and ANSWER of this file's row in the table
row() {
    IFS=$'\t' read -r COMMAND ANSWER < <(
        awk -F ' *[|] *' -v t="$SELF $1" '$6 == t { gsub(/^`|`$/, "", $3); print $3 "\t" $4 }' "$ROWS")
}

# attempt WHERE NAME PREPARE: the row's command after PREPARE, a shell text; OUT, ERR and RC are its own
attempt() {
    local command=$COMMAND
    [ "$1" = inside ] || command=${COMMAND#*' -- '}
    W=$BASE/$2-$1
    install -d -o "$OWNER" -g "$OWNER" "$W"
    run user sh -e -c "$3"
    [ "$RC" -eq 0 ] || { ERR="preparing failed: $ERR"; return; }
    run user sh -c "$command"
}

wanted() {
    [ ${#ONLY[@]} -eq 0 ] || [[ " ${ONLY[*]} " == *" $1 "* ]] || return 1
    COMMAND='' ANSWER=''
    row "$1"
    [[ $COMMAND == 'stint guard '*' -- '* && $ANSWER == "$2" ]] && return
    fail "$1" "docs/works.md has no row \"$SELF $1\" with a guard's command that says $2"
    return 1
}

# works NAME CHECK <<< PREPARE: the row's command ends with 0 and then so does CHECK (a shell text, run outside the guard)
works() {
    local where prepare
    prepare=$(cat)
    wanted "$1" yes || return 0
    for where in outside inside; do
        attempt "$where" "$1" "$prepare"
        if [ "$where" = inside ] && [ "$ABI" -lt 4 ] && [[ $COMMAND == *' --allow-connect '* ]]; then
            like "$RC $ERR" '^125 .*cannot limit TCP ports' "$1: this kernel limits no TCP, and that is refused"
            return
        fi
        if [ "$RC" -eq 0 ]; then
            local out="$OUT"$'\n'"$ERR"
            run user sh -e -c "$2"
            [ "$RC" -eq 0 ] || { fail "$1" "$where: the command ended with 0, but not so: $2" "$OUT" "$ERR" "$out"; return; }
        else
            fail "$1" "$where: exit $RC: $COMMAND" "$OUT" "$ERR"
            return
        fi
    done
    pass "$1: $COMMAND"
}

# refused NAME CONTROL WANT <<< PREPARE: outside the row's command prints CONTROL (regex), inside WANT, and soon
refused() {
    local prepare start
    prepare=$(cat)
    wanted "$1" no || return 0
    attempt outside "$1" "$prepare"
    [[ "$OUT$ERR" =~ $2 ]] || { fail "$1" "the control failed: exit $RC" "$OUT" "$ERR"; return; }
    start=$SECONDS
    attempt inside "$1" "$prepare"
    if [ "$RC" -eq 124 ] || [ $((SECONDS - start)) -gt $((LIMIT / 4)) ]; then
        fail "$1" "hangs: exit $RC after $((SECONDS - start)) s" "$OUT" "$ERR"
    elif [[ "$OUT$ERR" =~ $3 ]] && ! [[ "$OUT$ERR" =~ $2 ]]; then
        pass "$1: $COMMAND"
    else
        fail "$1" "exit $RC, wanted: $3" "$OUT" "$ERR"
    fi
}
