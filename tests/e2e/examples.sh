#!/bin/bash
# The examples do what their READMEs say, command by command; the agents' blocks are valid configuration.
# shellcheck disable=SC2088 # commands as the READMEs print them
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
lib_accounts
folder_new /srv
work=$FOLDER
sudo() { "$@"; }

# walk EXAMPLE SHOWN-FOLDER: runs every command of its README in a copy owned by the tests' owner; results in
# RCS[command], OUTS[command], ERRS[command], keyed by the command as it is printed there.
declare -A RCS=() OUTS=() ERRS=()
walk() {
    local example=$1 shown=$2 command real
    P=''
    while IFS= read -r -d '' command; do
        real=${command//"$shown"/$work/$example}
        case $command in
        'cp -R '*)
            cp -R "examples/$example" "$work/$example"
            printf 'agent_user: %s\n' "$AGENT" >>"$work/$example/stint.yaml"
            chown -Rh "$OWNER:$OWNER" "$work/$example"
            continue
            ;;
        'sudo stint setup') continue ;;
        'sudo make '*) continue ;;                       # tests/e2e/demo.sh
        'sudo stint run -C ~/slug') continue ;;       # its roles have no commands until the reader adds them
        'git '* | 'stint view '*) real="own bash -c ${real@Q}" ;; # as the reader, who owns the copy
        esac
        run eval "$real"
        RCS[$command]=$RC OUTS[$command]=$OUT ERRS[$command]=$ERR
    done < <(md_commands "examples/$example/README.md")
}

# ends STATUS PATTERN COMMAND: that command of the README ended with STATUS and said PATTERN.
ends() {
    if [ -z "${RCS[$3]+set}" ]; then
        fail "$3" "it is not in the README"
    elif [ "${RCS[$3]}" -eq "$1" ] && [[ ${OUTS[$3]}$'\n'${ERRS[$3]} =~ $2 ]]; then
        pass "$3: $1"
    else
        fail "$3" "exit ${RCS[$3]}, wanted $1 and: $2" "${OUTS[$3]}" "${ERRS[$3]}"
    fi
}

# ---- spec-only-tester
walk spec-only-tester '~/slug'
d=$work/spec-only-tester
ends 0 'src' "sudo stint matrix -C ~/slug"
ends 0 'src/slug/__init__.py: Permission denied' "sudo stint turn -C ~/slug tester"
is "$(stat -c %U "$d/tests/test_slug.py" 2>&1)" "$OWNER" "the tests belong to the owner"
ends 1 'FAILED \(failures=2\)' "sudo stint turn -C ~/slug runner"
like "${ERRS["sudo stint turn -C ~/slug runner"]}" 'Ran 12 tests' "twelve tests ran"
ends 0 'none' "sudo stint matrix -C ~/slug --explain tester src/slug/__init__.py"
ends 0 '' "sudo stint matrix -C ~/slug --prove"

# ---- classroom
walk classroom '~/leap'
t="sudo stint turn -C ~/leap"
ends 0 'reviewer' "sudo stint matrix -C ~/leap"
ends 0 '% 4' "$t developer -- cat src/leap.sh"
ends 2 "cannot open directory 'tests': Permission denied" "$t developer -- ls tests"
ends 0 '\.keep' "$t reviewer -- ls -A tests"
ends 1 'cat: src/leap.sh: Permission denied' "$t tester -- cat src/leap.sh"
ends 0 'ok 1 - 2024.*not ok 3 - 1900.*1\.\.4' "$t runner"
ends 2 'cannot create src/leap.sh: Permission denied' "$t reviewer -- sh -c 'echo yes > src/leap.sh'"
ends 0 '1900 is no leap year' "$t developer -- cat REVIEW.md"
ends 1 'cat: REVIEW.md: Permission denied' "$t tester -- cat REVIEW.md"
ends 1 'src/t/run: Permission denied' "$t developer -- cat src/t/run"
ends 1 'Permission denied|Device or resource busy' "$t developer -- mv src tests"
ends 1 "changing permissions of 'tests': Read-only file system" "$t developer -- chmod 777 tests"
ends 0 'started' "$t developer -- sh -c 'sleep 1000 & echo started'"
ends 2 'Permission denied' "sudo stint turn -C ~/leap --layers acl,seccomp developer -- ls tests"
ends 2 'Permission denied' "sudo stint turn -C ~/leap --layers landlock,seccomp developer -- ls tests"
ends 2 'Permission denied' "sudo stint turn -C ~/leap --layers acl,seccomp reviewer -- sh -c 'echo yes > src/leap.sh'"
ends 0 '' "sudo stint matrix -C ~/leap --prove"

# ---- hands-off, by hand
walk hands-off '~/roman'
for c in "git -C ~/roman -c user.name=Me -c user.email=me@localhost commit -q -m 'Specification and tasks'" "git -C ~/roman add ."; do ends 0 '' "$c"; done
ends 0 'roman_parse' "sudo stint run -C ~/roman --yes"
ends 0 'roman_parse' "stint view -C ~/roman"
ends 0 'Add numerals: roman_add.*Stint-Iterations: 1.*Stint-Iterations: 2.*Stint-Iterations: 1' "git -C ~/roman log"

is "$(agent_processes)" 0 "no process of the agent user is left"
for e in spec-only-tester classroom hands-off; do
    is "$(acl_count "$work/$e")" 0 "$e: no file has an ACL"
    is "$(find "$work/$e" ! -user "$OWNER" | wc -l)" 0 "$e: everything belongs to the owner"
done

# ---- agents: each block, for each role, in a table of its own
for block in examples/agents/*.yaml; do
    name=$(basename "$block" .yaml)
    install -d -o "$OWNER" -g "$OWNER" "$work/$name" "$work/$name"/{src,tests}
    P=$work/$name
    printf -- '- [ ] a task\n' | own tee TASKS.md >/dev/null
    {
        echo "agent_user: $AGENT"
        echo "roles:"
        for role in developer tester reviewer; do
            echo "  $role:"
            sed 's/^/    /' "$block"
        done
        echo "suite: {command: [sh, tests/run], format: tap}"
    } | own tee stint.yaml >/dev/null
    ok "agents/$name.yaml is valid" stint matrix -C "$P"
done
P=''
done_testing
