#!/bin/bash
# Every row of docs/guard.md's tables, as an ordinary user in a fresh folder: the exit status, and a piece of the output. A row that ends
# in a refusal by the kernel is first run without the guard (what stands after --), and must succeed.
# shellcheck disable=SC2154 # OUT, ERR and RC are set by run()
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
DOC=$TOP/docs/guard.md
lib_accounts
folder_new
D=$FOLDER
mkdir "$D/bin" "$D/rows"
install -m 755 "$STINT_BIN"/stint{,-coordinator,-guard} "$STINT_BIN/../tests/e2e/guard_try" "$D/bin/"
install -d -o "$OWNER" -g "$OWNER" "$D/home" "$D/tmp" "$D/sockets"
as() { # WORD…
    setpriv --reuid "$OWNER" --regid "$OWNER" --clear-groups --inh-caps=-all -- env -i HOME="$D/home" USER="$OWNER" TERM=dumb \
        PATH="$D/bin:/usr/local/bin:/usr/bin:/bin" TMPDIR="$D/tmp" LC_ALL=C.UTF-8 SECRET=xyzzy PORT="$PORT" FREE="$FREE" SOCKET="$SOCKET" \
        OUTSIDE="$OUTSIDE" "$@"
}
within() { as timeout -k 5 $((60 * ${STINT_TEST_SLOW:-1})) "$@"; }

# What the rows may count on: two ports, a socket, a process.
PORT=$((23000 + $$ % 9000)) FREE=$((PORT + 1)) SOCKET=$D/sockets/one OUTSIDE=''
as guard_try serve $PORT "stint-table-$$" >"$D/tcp" & servers=$!
as guard_try serve-unix "$SOCKET" >"$D/unix" & servers+=" $!"
for ((i = 0; i < 100; i++)); do grep -q ready "$D/tcp" && grep -q ready "$D/unix" && break; sleep 0.1; done
OUTSIDE=$(sed -n 's/^ready //p' "$D/tcp")
at_socket=$(sed -n 's/^ready //p' "$D/unix")
[ -n "$OUTSIDE" ] && [ -n "$at_socket" ] || bail "no servers"

setup=$(awk '/^```bash$/ { on = 1; next } /^```$/ { on = 0 } on' "$DOC")
[ -n "$setup" ] || bail "$DOC does not say what the folder holds"
row_n=0
fresh() { # a new folder, and into it
    row_n=$((row_n + 1))
    install -d -o "$OWNER" -g "$OWNER" "$D/rows/$row_n"
    cd "$D/rows/$row_n" || bail "no folder"
    within bash -ec "$setup" || bail "the folder cannot be set up"
}

# met NEEDS: does this kernel have what the row needs?
met() {
    case $1 in
    '') true ;;
    'below ABI '*) [ "$ABI" -lt "${1##* }" ] ;;
    'ABI '*) [ "$ABI" -ge "${1##* }" ] ;;
    *) bail "a row needs what is not known here: $1" ;;
    esac
}

refusal='^(Permission denied|Operation not permitted|Address family not supported|Function not implemented|Invalid cross-device link)'
row() { # COMMAND EXIT TEXT NEEDS
    local command=$1 want=$2 text=$3 control=''
    if ! met "$4"; then
        skip "$command" "needs $4; this kernel has ABI $ABI"
        return
    fi
    if [[ $text =~ $refusal ]]; then
        fresh
        run within bash -c "${command#* -- }"
        [ "$RC" -eq 0 ] || control="without the guard: exit $RC: $ERR"
    fi
    fresh
    run within bash -c "$command"
    if [ -z "$control" ] && [ "$RC" -eq "$want" ] && [[ $OUT$'\n'$ERR == *"$text"* ]]; then
        pass "$command"
    else
        fail "$command" "exit $RC, not $want, or without: $text" "$OUT" "$ERR" "$control"
    fi
}

# The cells of a line, without the quotes of code; a bar inside one is written \|.
cell() { local c=$1; c=${c#"${c%%[! ]*}"}; c=${c%"${c##*[! ]}"}; c=${c#\`}; c=${c%\`}; printf '%s' "${c//$'\001'/|}"; }
rows=0 words=''
while IFS= read -r line; do
    line=${line//\\|/$'\001'}
    IFS='|' read -r _ command status text needs _ <<<"$line"
    command=$(cell "$command") status=$(cell "$status") text=$(cell "$text") needs=$(cell "$needs")
    case $command in command | ---) continue ;; esac
    [[ $status =~ ^[0-9]+$ ]] || { fail "a row of the table" "no exit status: $line"; continue; }
    rows=$((rows + 1)) words+=" $command"
    row "$command" "$status" "$text" "$needs"
done < <(grep '^|' "$DOC")
[ "$rows" -ge 50 ] && pass "$rows rows were run" || fail "the table is read" "$rows rows"

# Options that callers give, not people, have their tests in guard.sh.
callers=' --prompt-fd --prompt-file --error-fd --probe-fd --result-fd --keep-fd --keeper-fd '
run as stint guard --help
for option in $(grep -oE -- '--[a-z][a-z-]+' <<<"$OUT" | sort -u) --help; do
    [[ $callers == *" $option "* ]] || ok "$option is in the table" grep -qE -- "$option( |\$)" <<<"$words"
done
kill "$OUTSIDE" "$at_socket"
# shellcheck disable=SC2086 # numbers
wait $servers 2>/dev/null
done_testing
