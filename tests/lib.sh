# shellcheck shell=bash
# For shell tests: TAP on stdout, a project owned by an ordinary account, turns in it. Source it, call `plan N` first or
# `done_testing` last. As root; `stint` is found through STINT_BIN (build/bin unless set).
#
#   . tests/lib.sh
#   project_new
#   put src/a.c <<<'int a;'
#   denied tester developer 'Permission denied' cat src/a.c
#   done_testing

set -u
export LC_ALL=C
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
STINT_BIN=${STINT_BIN:-$TOP/${BUILD:-build}/bin}
export STINT_BIN PATH=$STINT_BIN:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
unset SUDO_UID SUDO_GID SUDO_USER SUDO_COMMAND
umask 022

OWNER=${STINT_TEST_OWNER:-stint-own} # owns the projects
AGENT=${STINT_TEST_AGENT:-stint-test} # runs the turns
P=''                                  # the project of the last project_new
tap_n=0 tap_failed=0 tap_planned=''
lib_folders=() lib_made_owner='' lib_made_agent=''

# ---------------------------------------------------------------- TAP
plan() { tap_planned=$1; echo "1..$1"; }
diag() { printf '%s\n' "$*" | sed 's/^/# /'; }
pass() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $1"; }
fail() { # NAME [REASON]…: a failed test and what is known about it
    tap_n=$((tap_n + 1)) tap_failed=$((tap_failed + 1))
    echo "not ok $tap_n - $1"
    shift
    [ $# -eq 0 ] || diag "$@"
}
skip() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $1 # SKIP $2"; } # NAME REASON
ok() { # NAME CMD…: the command succeeds; its output is shown when it does not
    local name=$1 out rc=0
    shift
    out=$("$@" 2>&1) || rc=$?
    if [ "$rc" -eq 0 ]; then pass "$name"; else fail "$name" "exit $rc: $*" "$out"; fi
}
is() { # GOT WANT NAME
    if [ "$1" = "$2" ]; then pass "$3"; else fail "$3" "got:  $1" "want: $2"; fi
}
like() { # GOT REGEX NAME: an extended regular expression
    if [[ $1 =~ $2 ]]; then pass "$3"; else fail "$3" "got:  $1" "want: $2"; fi
}
unlike() { # GOT REGEX NAME
    if [[ $1 =~ $2 ]]; then fail "$3" "got:      $1" "unwanted: $2"; else pass "$3"; fi
}
exits() { # STATUS NAME CMD…: the exact exit status; output stays in OUT and ERR
    local want=$1 name=$2
    shift 2
    run "$@"
    if [ "$RC" -eq "$want" ]; then pass "$name"; else fail "$name" "exit $RC, not $want: $*" "$OUT" "$ERR"; fi
}
run() { # CMD…: sets OUT, ERR, RC
    local err
    err=$(mktemp)
    RC=0
    OUT=$("$@" 2>"$err" </dev/null) || RC=$?
    # shellcheck disable=SC2034 # for the tests
    ERR=$(tr -d '\0' <"$err")
    rm -f "$err"
}
done_testing() {
    [ -n "$tap_planned" ] || plan "$tap_n"
    [ "$tap_n" -gt 0 ] && [ "$tap_n" -eq "$tap_planned" ] && [ "$tap_failed" -eq 0 ]
    exit
}
bail() { echo "Bail out! $*"; exit 1; }

# ---------------------------------------------------------------- the kernel
# ABI: the Landlock ABI that this kernel has; 0 and less: none.
ABI=$(python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))') || ABI=0
# ports_refused ROLE NAME: where Landlock cannot limit TCP, a role with ports starts nothing and words say why; then true, and
# what NAME wants to try there has its answer. Otherwise false and silent.
ports_refused() {
    [ "$ABI" -lt 4 ] || return 1
    run turn "$1" echo started
    like "$RC $OUT $ERR" "^125  .*cannot limit TCP ports \(Landlock ABI $ABI, 4 is needed\)" "$2: this kernel limits no TCP, the role is refused"
}

# ---------------------------------------------------------------- accounts and projects
lib_owner() {
    [ "$(id -u)" -eq 0 ] || bail "not root"
    if ! getent passwd "$OWNER" >/dev/null; then
        useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$OWNER" ||
            bail "cannot add $OWNER"
        lib_made_owner=1
    fi
    # A checkout in a folder that the owner cannot enter: a copy of the programs serves.
    if ! P='' own test -x "$STINT_BIN/stint"; then
        folder_new
        cp -R "$STINT_BIN" "$FOLDER/bin"
        cp -R "${STINT_BIN%/*}/share" "$FOLDER/share"
        PATH=$FOLDER/bin:${PATH#*:} STINT_BIN=$FOLDER/bin
    fi
}
lib_accounts() {
    lib_owner
    if ! getent passwd "$AGENT" >/dev/null; then
        stint setup --user "$AGENT" >/dev/null || bail "stint setup --user $AGENT failed"
        lib_made_agent=1
    fi
}

own() { # CMD…: as the projects' owner, in the project
    (cd "${P:-/}" && exec setpriv --reuid "$OWNER" --regid "$OWNER" --clear-groups --inh-caps=-all -- \
        env -i HOME=/nonexistent PATH="$PATH" LC_ALL=C GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=Owner GIT_AUTHOR_EMAIL=owner@localhost \
        GIT_COMMITTER_NAME=Owner GIT_COMMITTER_EMAIL=owner@localhost "$@")
}

folder_new() { # [BASE]: FOLDER, removed at the end
    FOLDER=$(mktemp -d "${1:-/tmp}/stint-test.XXXXXX") || bail "no folder below ${1:-/tmp}"
    lib_folders+=("$FOLDER")
    chmod 755 "$FOLDER"
}

# project_new [BASE]: a new project P in a folder of its own below BASE (/tmp): the built-in access table, src/, tests/,
# a task, a git repository with one commit. stint.yaml sets the agent user and harmless commands.
project_new() {
    lib_accounts
    folder_new "${1:-/tmp}"
    P=$FOLDER/project
    install -d -m 755 -o "$OWNER" -g "$OWNER" "$P"
    own mkdir src tests
    put src/code.txt <<<'source'
    put tests/test.txt <<<'test'
    put README <<<'a project'
    put TASKS.md <<<'- [ ] first'
    put .gitignore <<<'/.stint/'
    put stint.yaml <<END
agent_user: $AGENT
roles:
  developer: {command: [/bin/true]}
  tester: {command: [/bin/true]}
  reviewer: {command: [/bin/true]}
suite: {command: [sh, -c, "echo ok 1; echo 1..1"], format: tap}
END
    own git -c init.defaultBranch=main init -q
    commit_all start
}

put() { # FILE: standard input becomes the project's FILE, as its owner
    own sh -c 'cat >"$1"' sh "$1" || bail "cannot write $1"
}

# scripted DEVELOPER TESTER REVIEWER SUITE [MORE-YAML]: stint.yaml with these shell texts (without ') as the project's agents
scripted() {
    put stint.yaml <<END
agent_user: $AGENT
roles:
  developer: {command: [sh, -c, '$1']}
  tester: {command: [sh, -c, '$2']}
  reviewer: {command: [sh, -c, '$3']}
suite: {command: [sh, -c, '$4'], format: tap}
${5:-}
END
}

commit_all() { # MESSAGE
    own git add -A && own git commit -q -m "$1" || bail "cannot commit"
}

# ---------------------------------------------------------------- turns
turn() { # ROLE CMD…
    local role=$1
    shift
    stint turn -C "$P" "$role" -- "$@"
}

allowed() { # ROLE CMD…: the command succeeds in that role's turn
    local role=$1
    shift
    run turn "$role" "$@"
    if [ "$RC" -eq 0 ]; then pass "$role may: $*"; else fail "$role may: $*" "exit $RC" "$OUT" "$ERR"; fi
}

# denied ROLE CONTROL TEXT CMD…: the command succeeds for the role CONTROL, and for ROLE it fails with a line on stderr that
# ends in ": TEXT" (an errno's text). One test; a refusal without its control is no evidence.
denied() {
    local role=$1 control=$2 text=$3 name
    shift 3
    name="$role may not ($control may): $*"
    run turn "$control" "$@"
    if [ "$RC" -ne 0 ]; then
        fail "$name" "the control failed: exit $RC" "$OUT" "$ERR"
        return
    fi
    run turn "$role" "$@"
    if [ "$RC" -ne 0 ] && [ "$RC" -lt 124 ] && grep -q ": $text\$" <<<"$ERR"; then
        pass "$name"
    else
        fail "$name" "exit $RC, wanted: $text" "$OUT" "$ERR"
    fi
}

agent_processes() { find /proc -mindepth 1 -maxdepth 1 -name '[0-9]*' -user "$AGENT" 2>/dev/null | wc -l; }
acl_count() { getfacl -Rsnp --skip-base "${1:-$P}" | grep -c '^# file'; } # files that have an extended ACL

# ---------------------------------------------------------------- documents
# md_commands FILE: the commands of FILE's ```sh blocks, each ended by NUL. A command ends at the first line where the shell
# would find it complete.
md_commands() {
    local line command='' inside=''
    while IFS= read -r line; do
        case $line in
        '```sh') inside=1 ;;
        '```') inside='' ;;
        *)
            [ -n "$inside" ] && [ -n "$command$line" ] || continue
            command+=${command:+$'\n'}$line
            bash -n <<<"$command" 2>/dev/null || continue
            printf '%s\0' "$command"
            command=''
            ;;
        esac
    done <"$1"
}

# ---------------------------------------------------------------- the end
lib_cleanup() {
    local status=$?
    trap - EXIT
    for d in "${lib_folders[@]}"; do
        [ ! -d "$d/project" ] || stint restore -C "$d/project" >/dev/null 2>&1
        chattr -Rf -i "$d" 2>/dev/null
        rm -rf --one-file-system "$d"
    done
    [ -z "$lib_made_agent" ] || stint setup --user "$AGENT" --remove >/dev/null
    [ -z "$lib_made_owner" ] || userdel "$OWNER"
    exit "$status"
}
trap lib_cleanup EXIT
trap 'exit 130' INT TERM
