#!/bin/bash
# stint init: a project that is true from the start, and never at the cost of what is there.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
D=$(mktemp -d)
chmod 755 "$D"
lib_folders+=("$D")
cd "$D" || bail "no folder"
export HOME=$D/home GIT_CONFIG_NOSYSTEM=1
mkdir "$HOME"
state() { find "$1" -printf '%p %y %m %s %T@\n' | sort; }

exits 0 "a new folder" stint init one
is "$(cd one && git ls-files | tr '\n' ' ')" '.gitignore TASKS.md src/greet stint.yaml tests/greet.t tests/run ' "the first commit holds it all"
is "$(cd one && git status --porcelain)" '' "and nothing is left over"
is "$(cd one && git log --format=%an%n%s | head -n 1)" 'stint' "in stint's name"
is "$(cd one && git symbolic-ref --short HEAD)" 'main' "on main"
is "$(cd one && sh tests/run)" 'ok 1 - greets by name
1..1' "its suite runs and passes"
sed -i 's/Hello/Hallo/' one/src/greet
exits 1 "and fails when the program is wrong" env -C one sh tests/run
sed -i 's/Hallo/Hello/' one/src/greet
exits 0 "its table" stint matrix -C one
is "$(stint matrix -C one --explain developer tests/run | head -n 1)" 'developer  tests/run  none' "the suite is not the developer's"
is "$(stint tasks one/TASKS.md --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["tasks"]))')" 2 "two tasks"
is "$(cd one && mkdir .stint && touch .stint/x && git status --porcelain)" '' ".stint is ignored"

mkdir two
exits 0 "the C template, in the folder itself" env -C two stint init --template c
is "$(cd two && make -s test)" 'ok 1 - greets by name
1..1' "its suite builds and passes"
is "$(cd two && git status --porcelain)" '' "what it builds is ignored"
is "$(stint matrix -C two --explain tester Makefile | head -n 1)" 'tester  Makefile  r' "its Makefile is nobody's to write"
printf 'int main(void) { return 0; }\n' >two/tests/test_empty.c
like "$(cd two && make -s test 2>/dev/null; echo "exit $?")" 'not ok 1 - build/test_empty runs to its end.*exit [1-9]' "a test program without tests fails"

before=$(state one)
exits 2 "a project is not made twice" stint init one
like "$ERR" '^stint: stint\.yaml is there already' "says what is in the way"
is "$(wc -l <<<"$ERR")" 1 "in one line"
is "$(state one)" "$before" "and changes nothing"

mkdir -p three/src
echo mine >three/src/greet
before=$(state three)
exits 2 "a file in the way, further in" stint init three
like "$ERR" 'src/greet is there already.*bare' "offers the bare template"
is "$(state three)" "$before" "changes nothing: no stint.yaml, no repository"
echo mine >four
exits 2 "a file instead of a folder" stint init four
mkdir five && ln -s /tmp five/src
before=$(state five)
exits 2 "a link instead of src/" stint init five
is "$(state five)" "$before" "changes nothing"
exits 2 "a folder above that is missing" stint init no/such
exits 2 "an unknown template" stint init six --template shh
like "$ERR" 'did you mean sh' "names the nearest"
exits 2 "two folders" stint init six seven
[ ! -e six ] && pass "nothing was made" || fail "nothing was made"

# A project that exists, with commits and a .gitignore of its own.
mkdir eight && cd eight || bail "no folder"
git init -q -b trunk . && printf 'a.out' >.gitignore && echo '- [ ] mine' >TASKS.md && git add -A &&
    git -c user.name=o -c user.email=o@localhost commit -q -m mine || bail "no repository"
exits 0 "bare, in a project that exists" stint init --template bare
is "$(cat TASKS.md)" '- [ ] mine' "TASKS.md stays"
is "$(cat .gitignore)" 'a.out
/.stint/' ".gitignore gets its line"
is "$(git rev-list --count HEAD)" 1 "and no commit is made for the owner"
like "$OUT" 'commit the new files yourself' "which is said"
rm stint.yaml
run stint init --template bare
is "$(grep -c stint .gitignore)" 1 "the line comes once"
cd .. || bail "no folder"

if [ "$(id -u)" -eq 0 ]; then
    lib_accounts
    install -d -o "$OWNER" -g "$OWNER" nine
    exits 0 "root in a user's folder" stint init nine
    is "$(find nine ! -user "$OWNER" | wc -l)" 0 "makes the user's project"
    uid=$(id -u "$OWNER")
    exits 2 "sudo in somebody else's folder" env SUDO_UID="$((uid + 1))" stint init nine
    install -d -o "$OWNER" -g "$OWNER" up
    exits 0 "sudo, a new folder" env SUDO_UID="$uid" stint init up/ten
    is "$(find up/ten ! -user "$OWNER" | wc -l)" 0 "makes the caller's project"
else
    skip "root in a user's folder" "not root"
fi
# ---------------------------------------------------------------- a skill
exits 0 "the skill template" stint init seven --template skill
like "$OUT" 'stint skill run skill.yaml' "... says what to do with it"
exits 0 "... which runs as it is" env -C seven stint skill run skill.yaml --yes --out r.json
ok "... and does what it says" diff seven/notes/today.md seven/backup/today.md
is "$(ls -a seven | tr '\n' ' ')" ". .. backup notes r.json skill.yaml " "... and makes no repository"

done_testing
