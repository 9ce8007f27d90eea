# shellcheck shell=bash
# For attack tests. Each attack is a function attack_NAME that prints exactly one TAP line through the helpers below; a file
# runs all of its attacks, or those named as arguments: `bash tests/attack/tree.sh rename_over`.
# LAYERS=acl (or landlock) in the environment runs turns with that layer alone. Which attack shows what is in README.md.
# shellcheck source=tests/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

TRY=$TOP/${BUILD:-build}/tests/attack/try
LAYERS=${LAYERS:-}
MODES=("$LAYERS") # a file may name several: its attacks run once in each

turn() { # ROLE CMD…
    local role=$1
    shift
    if [ -n "$LAYERS" ]; then
        stint turn -C "$P" --layers "$LAYERS" "$role" -- "$@"
    else
        stint turn -C "$P" "$role" -- "$@"
    fi
}

# The project of this file's attacks, with the C helper where every role may run it.
arena() {
    project_new /srv
    own mkdir bin
    install -m 755 -o "$OWNER" -g "$OWNER" "$TRY" "$P/bin/try"
    commit_all arena
}

# Which layers are switched on, for names.
how() { [ -z "$LAYERS" ] || echo "$LAYERS alone: "; }

# What a write gets where the role may read. Below ABI 3 the mounts answer for Landlock alone (sandbox/view.c).
ro() { if [ "$LAYERS" = landlock ] && [ "$ABI" -lt 3 ]; then echo 'Read-only file system'; else echo 'Permission denied'; fi; }

# What a move out of a zone gets. Where the mounts answer, each zone is one of its own.
across() { if [ "$LAYERS" = landlock ] && [ "$ABI" -lt 3 ]; then echo 'Invalid cross-device link'; else echo 'Permission denied'; fi; }

# held NAME CONTROL-STATUS CONTROL-OUTPUT ATTACK-STATUS ATTACK-OUTPUT WANT: control succeeded and the attack failed with WANT (regex)
held() {
    if [ "$2" -ne 0 ]; then
        fail "$1" "the control failed: exit $2" "$3"
    elif [ "$4" -eq 0 ]; then
        fail "$1" "the attack went through" "$5"
    elif ! grep -qE "$6" <<<"$5"; then
        fail "$1" "refused otherwise than expected ($6): exit $4" "$5"
    else
        pass "$1"
    fi
}

# refused NAME WANT CONTROL… -- ATTACK…: both are commands of this shell; control first.
refused() {
    local name=$1 want=$2 control=() crc arc cout aout
    shift 2
    while [ "$1" != -- ]; do
        control+=("$1")
        shift
    done
    shift
    crc=0 arc=0
    cout=$("${control[@]}" 2>&1 </dev/null) || crc=$?
    aout=$("$@" 2>&1 </dev/null) || arc=$?
    held "$name" "$crc" "$cout" "$arc" "$aout" "$want"
}

# answers COMMAND… <<< LINES: COMMAND is started once and runs a shell script that makes each attempt of LINES, which are
# "NAME | COMMAND". ANSWER[NAME] is then "STATUS LAST-LINE" of what it printed. Starting a turn costs more than most attempts.
declare -A ANSWER=()
answers() {
    local name command line script='' out
    ANSWER=()
    while IFS='|' read -r name command; do
        [ -n "${command// /}" ] || continue
        script+="o=\$( ( $command ) 2>&1 </dev/null); printf '%s|%s %s\n' ${name// /} \"\$?\" \"\$(printf '%s' \"\$o\" | tail -n 1)\""$'\n'
    done
    out=$("$@" sh -c "$script" </dev/null 2>&1)
    while IFS='|' read -r name line; do
        ANSWER[$name]=$line
    done <<<"$out"
    [ ${#ANSWER[@]} -gt 0 ] || diag "$out"
}

attacks() { # ARGS…: runs those named, or all of the file, in their order
    local all
    if [ $# -eq 0 ]; then
        # shellcheck disable=SC2207 # names without blanks
        all=($(grep -oE '^attack_[a-z0-9_]+' "$0"))
    else
        all=("${@/#/attack_}")
    fi
    for LAYERS in "${MODES[@]}"; do
        for a in "${all[@]}"; do
            declare -F "$a" >/dev/null || bail "no attack ${a#attack_} in $0"
            "$a"
        done
    done
    done_testing
}
