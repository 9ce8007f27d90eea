#!/bin/bash
# stint.yaml at a terminal: every mistake is one line FILE:LINE:COL with what to do, exit 2, and nothing changed.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
D=$(mktemp -d)
lib_folders+=("$D")
cd "$D" || bail "no folder"
mkdir -p src tests lib/core
: >TASKS.md

state() { find . -printf '%p %y %s %T@ %C@\n' | sort; }

# refused TEXT NAME YAML: `stint matrix` says one line that begins with TEXT (an extended regular expression), exit 2.
refused() {
    local before
    printf '%b' "$3" >stint.yaml
    before=$(state)
    run stint matrix
    if [ "$RC" -eq 2 ] && [ -z "$OUT" ] && [ "$(wc -l <<<"$ERR")" -eq 1 ] && [[ $ERR =~ ^$1 ]] && [ "$before" = "$(state)" ]; then
        pass "$2"
    else
        fail "$2" "exit $RC, wanted: $1" "$OUT" "$ERR"
    fi
}

printf 'access: {src/: {developer: rw}}\n' >stint.yaml
exits 0 "a good file is accepted" stint matrix
like "$OUT" 'src/ +rw' "and its table is printed"

refused 'stint\.yaml:1:1: .*acess.*access' "an unknown key names the nearest" 'acess: {}\n'
refused 'stint\.yaml:3:5: .*comand.*command' "also further in" 'roles:\n  tester:\n    comand: [x]\n'
refused 'stint\.yaml:1:28: .*level.*rwx.*rw' "an unknown level" 'access: {src/: {developer: rwx}}\n'
refused 'stint\.yaml:2:3: roles: develper .*no row.*did you mean developer\?$' "a misspelt role is no new one" 'roles:\n  develper: {}\n'
refused 'stint\.yaml:1:9: roles: auditor .*give it a level under access$' "a role that may touch nothing" 'roles: {auditor: {command: [x]}}\n'
refused 'stint\.yaml:1:17: .*role.*devloper.*developer' "an unknown role" 'access: {src/: {devloper: rw}}\n'
refused 'stint\.yaml:1:10: .*/etc.*absolute' "an absolute zone" 'access: {/etc/: {developer: r}}\n'
refused 'stint\.yaml:1:10: .*\.\.' "a zone with .." 'access: {a/../../b/: {developer: r}}\n'
refused 'stint\.yaml:3:3: .*line 2' "two entries for one path" 'access:\n  src/: {developer: r}\n  src: {tester: r}\n'
refused 'stint\.yaml:3:3: .*line 2' "a zone inside a zone" 'access:\n  src/: {developer: r}\n  src/a/: {tester: r}\n'
refused 'stint\.yaml:2:1: .*twice' "a key twice" 'scratch: [a]\nscratch: [b]\n'
refused 'stint\.yaml:1:18: .*list' "a word where a list belongs" 'suite: {command: make test}\n'
refused 'stint\.yaml:1:22: .*number' "a word where a number belongs" 'limits: {iterations: many}\n'
refused 'stint\.yaml:1:18: .*GiB' "a size with an unknown unit" 'limits: {memory: 4GB}\n'
refused 'stint\.yaml:1:19: .*30m' "a time without a unit" 'suite: {deadline: 30}\n'
refused 'stint\.yaml:1:4: .*alias' "an alias bomb" 'a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n'
refused 'stint\.yaml:2:1: .*second' "a second document" 'scratch: []\n---\n'
refused 'stint\.yaml:2:1: .*tab' "a tab as indentation" 'suite:\n\tformat: tap\n'
refused 'stint\.yaml:1:13: .*UTF-8' "bytes that are no UTF-8" 'agent_user: \xff\n'
refused 'stint\.yaml:1:3: .*0x1b' "an escape sequence does not reach the terminal" '# \x1b[31m\n'
refused 'stint\.yaml:1:27: .*loader' "LD_PRELOAD" 'roles: {developer: {env: [LD_PRELOAD=x]}}\n'
refused 'stint\.yaml:1:9: .*suite' "the runner has no block of its own" 'roles: {runner: {command: [x]}}\n'
refused 'stint\.yaml:2:1: this is no YAML' "an unclosed bracket" '{\n'

head -c 1048577 /dev/zero | tr '\0' '#' >stint.yaml
exits 2 "a file of more than 1 MiB" stint matrix
like "$ERR" 'stint\.yaml.*larger' "says so"
head -c 1048575 /dev/zero | tr '\0' '#' >stint.yaml
exits 0 "one of 1 MiB is read" stint matrix
rm stint.yaml
exits 2 "no file" stint matrix
like "$ERR" '^stint: stint\.yaml is missing.*stint init' "names stint init"
mkfifo stint.yaml
exits 2 "a FIFO does not block" timeout 5 stint matrix
rm stint.yaml
ln -s /etc/passwd stint.yaml
exits 2 "a symbolic link is not followed" stint matrix
unlike "$ERR" 'root:' "and shows nothing"
rm stint.yaml

ln -s src link
: >TASKS.md

# What the table says.
printf 'access: {src/: {developer: rw, reviewer: r}, "*": {tester: r}}\n' >stint.yaml
is "$(stint matrix --explain developer src/x.c | head -n 1)" 'developer  src/x.c  rw' "explain: below a zone"
is "$(stint matrix --explain tester "$D/TASKS.md" | head -n 1)" 'tester  TASKS.md  r' "explain: an absolute path, by *"
is "$(stint matrix --explain tester .git/config | head -n 1)" 'tester  .git/config  none' "explain: .git"
like "$(stint matrix --explain tester link/x)" 'link  *none|link/x  none' "explain: a link is closed"
exits 2 "explain: a path outside" stint matrix --explain tester ../x
exits 2 "explain: an unknown role" stint matrix --explain testr src
like "$ERR" 'tester' "names the nearest"
exits 2 "an unknown option" stint matrix --jsn
exits 2 "--layers without --prove" stint matrix --layers acl
run stint matrix --json
is "$(python3 -c 'import json,sys
d=json.load(sys.stdin)
print(sorted({(c["role"],c["op"]) for c in d["cells"] if c["path"]=="src/" and c["expected"]}))' <<<"$OUT")" \
    "[('developer', 'create'), ('developer', 'delete'), ('developer', 'list'), ('developer', 'read'), ('developer', 'write'), ('reviewer', 'list'), ('reviewer', 'read')]" \
    "matrix --json says the same"

# What only the tree can show: refused when a run starts.
cd / && project_new
cp "$P/stint.yaml" "$D/good.yaml"
commands='roles: {developer: {command: [/bin/true]}, tester: {command: [/bin/true]}, reviewer: {command: [/bin/true]}}
suite: {command: [/bin/true]}'
tree_state() { find "$P" -printf '%p %y %m %U %s %T@ %C@\n' | sort; }

# started TEXT NAME YAML: `stint run` says one line with TEXT (an extended regular expression), exit 2, and leaves all as it was.
started() {
    local before
    printf 'agent_user: %s\n%b\n%s\n' "$AGENT" "$3" "$commands" | put stint.yaml
    before=$(tree_state)
    run stint run -C "$P" --yes
    if [ "$RC" -eq 2 ] && [ "$(grep -vc ' warning: ' <<<"$ERR")" -eq 1 ] && [[ $ERR =~ $1 ]] && [ "$before" = "$(tree_state)" ]; then
        pass "$2"
    else
        fail "$2" "exit $RC, wanted: $1" "$OUT" "$ERR" "$(diff <(echo "$before") <(tree_state))"
    fi
}
own mkdir -p lib/core
own ln -s src link
exits 0 "the project as it is lets a turn run" turn developer true
started 'stint\.yaml:2:10: link .*symbolic link' "a zone that is a symbolic link" 'access: {link/: {developer: rw}}'
started 'stint\.yaml:2:10: .*mkdir -p nowhere' "a folder that does not exist" 'access: {nowhere/: {developer: rw}}'
started 'stint\.yaml:2:10: .*src/' "a folder written as a file" 'access: {src: {developer: rw}}'
started 'stint\.yaml:2:10: .*last /' "a file written as a folder" 'access: {TASKS.md/: {developer: rw}}'
own mkdir lib/core/.git
started 'lib/core/\.git is a repository' "a repository in an open folder" 'access: {lib/: {developer: r}}'
started 'lib/core/\.git is a repository' "also where * opens it" ''
own rmdir lib/core/.git
mkdir "$P/other"
started 'stint\.yaml:2:10: other .*owner' "a folder of another user" 'access: {other/: {developer: r}}'
rmdir "$P/other"
commands=${commands/, reviewer: \{command: \[\/bin\/true\]\}/}
started 'reviewer has no command' "a role without a command" ''
commands=${commands/true]/true], env: [STINTLESS_KEY]}
commands=${commands/\}\}$'\n'/\}, reviewer: \{command: [/bin/true]\}\}$'\n'}
started 'stint\.yaml:3:9: .*sudo --preserve-env=STINTLESS_KEY' "a variable that is not set" ''
printf 'agent_user: nobody\n%s\n' "${commands/, env: \[STINTLESS_KEY\]/}" | put stint.yaml
exits 2 "an account that stint setup did not make" stint run -C "$P" --yes
like "$ERR" '^stint: *stint\.yaml:1:13: agent_user: nobody is not recorded.*stint setup|stint\.yaml:1:13: agent_user: nobody.*stint setup' "names line and stint setup"
printf 'agent_user: %sx\n%s\n' "$AGENT" "${commands/, env: \[STINTLESS_KEY\]/}" | put stint.yaml
run stint run -C "$P" --yes
like "$RC $ERR" "^2 .*did you mean $AGENT\?" "and the nearest account"
put stint.yaml <"$D/good.yaml"
exits 0 "and the project is none the worse" turn developer true
done_testing
