#!/bin/bash
# What README, INSTALL and docs/ tell people to type is known to tests/e2e/docs-commands and, where it says `run`, works. Links lead
# somewhere. Manuals are well-formed.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
lib_accounts
folder_new
work=$FOLDER
list=tests/e2e/docs-commands
sudo() { "$@"; }

# Accounts, folders and installation of the test in place of the reader's. stint init leaves a project without agents.
here() {
    sed -e "s,~/project,$work/project,g; s,~/backup,$work/backup,g; s,/tmp/stint-image,$work/image,g" \
        -e "s,stint setup\$,stint setup --user $AGENT," -e "s,stint setup --remove,stint setup --user $AGENT --remove," <<<"$1"
}

try() { # COMMAND
    local real
    real=$(here "$1")
    case $1 in
    *'--template skill') eval "$real" ;;
    'stint init '*)
        install -d -o "$OWNER" -g "$OWNER" "$work/project"
        # shellcheck disable=SC2086 # words of a command
        own $real || return
        printf 'agent_user: %s\n' "$AGENT" | cat - "$work/project/stint.yaml" | own tee "$work/project/stint.new" >/dev/null
        grep -q '^agent_user' "$work/project/stint.yaml" &&
            sed -i "1d; s/^agent_user:.*/agent_user: $AGENT/" "$work/project/stint.new"
        own mv "$work/project/stint.new" "$work/project/stint.yaml"
        ;;
    *) eval "$real" ;;
    esac
}

mapfile -t documents < <(printf '%s\n' README.md INSTALL.md docs/*.md)
declare -A seen=()
for d in "${documents[@]}"; do
    while IFS= read -r -d '' command; do
        [ -z "${seen[$command]:-}" ] || continue
        seen[$command]=$d
        how=$(awk -F '\t' -v c="$command" '!/^#/ && $1 == c { print $2; exit }' "$list")
        case $how in
        run) [ "$command" = "sudo stint setup --remove" ] || ok "$d: $command" try "$command" ;;
        test\ *) ok "$d: $command: ${how#test } is there" test -e "${how#test }" ;;
        not\ ?*) pass "$d: $command: not run: ${how#not }" ;;
        *) fail "$d: $command" "$list does not say how it is tested" ;;
        esac
    done < <(md_commands "$d")
done
while IFS=$'\t' read -r command _; do
    case $command in '#'* | '') continue ;; esac
    ok "$list: $command is in a document" test -n "${seen[$command]:-}"
done <"$list"

run try "sudo stint setup --remove"
is "$RC" 0 "sudo stint setup --remove"
getent passwd "$AGENT" >/dev/null && fail "the account is gone" || pass "the account is gone"

ok "make install" make -s install DESTDIR="$work/image2"
ok "an installed stint finds its programs" "$work/image2/usr/local/bin/stint" doctor --help
ok "make uninstall" make -s uninstall DESTDIR="$work/image2"
is "$(find "$work/image2" -type f | wc -l)" 0 "make uninstall leaves no file"

for d in "${documents[@]}" examples/*.md examples/*/README.md; do
    [ -e "$d" ] || continue
    while IFS= read -r link; do
        ok "$d: link $link" test -e "$(dirname "$d")/${link%%#*}"
    done < <(sed 's,`[^`]*`,,g' "$d" | grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//' | grep -v '^https\?:\|^#' | sort -u)
done
if command -v man >/dev/null; then
    for m in man/*.[1-9]; do
        is "$(man --warnings -E UTF-8 -l -Tutf8 -Z "$m" 2>&1 >/dev/null)" '' "$m is well-formed"
    done
fi
done_testing
