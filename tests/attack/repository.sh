#!/bin/bash
# A hostile repository: what its git configuration, its stint.yaml and its TASKS.md would have the host do. The coordinator runs as
# the project's owner, outside of every turn: whatever it is talked into happens with that person's rights.
# shellcheck source=tests/attack/lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016 # runs inside
work=('echo 42 >src/answer' 'echo t >tests/answer' 'true' 'if [ "$(cat src/answer)" = 42 ]; then echo "ok 1"; else echo "not ok 1"; fi; echo 1..1')
# A project that one run finishes; MARK is a file that anybody may make and that nobody may be made to make.
fresh() {
    project_new /srv
    install -d -m 777 "$FOLDER/marks"
    MARK=$FOLDER/marks/ran
    own git config user.name Owner
    own git config user.email owner@localhost
    scripted "${work[@]}"
    commit_all arena
}
go() { run timeout 60 stint run -C "$P" "$@"; }
program() { # NAME: a program of the repository's that leaves the mark and does what a filter does
    own sh -c 'printf "#!/bin/sh\ntouch %s\nexec cat\n" "$1" >"$2" && chmod 755 "$2"' sh "$MARK" "$1"
}

# not_run NAME CONTROL…: the owner's own git runs the repository's program (control); a whole run, which commits, does not
not_run() {
    local name=$1
    shift
    own "$@" >/dev/null 2>&1 </dev/null
    if [ ! -e "$MARK" ]; then fail "$name" "the control failed: $* left no mark"; return; fi
    rm -f "$MARK"
    own git checkout -q -f main
    own git clean -qfd -e evil
    rm -f "$MARK"
    go
    if [ -e "$MARK" ]; then
        fail "$name" "it ran" "$OUT" "$ERR"
    elif [ "$RC" -ne 0 ] || [ "$(own git -c core.fsmonitor= -c core.hooksPath=/dev/null log -1 --format=%s)" != first ]; then
        fail "$name" "the run did not commit: exit $RC" "$OUT" "$ERR"
    else
        pass "$name"
    fi
}
# refuses NAME STATUS WANT CHECK…: with the hostile thing in place the run ends with STATUS and WANT in its message, soon, and CHECK holds
refuses() {
    local name=$1 status=$2 want=$3 start=$SECONDS
    shift 3
    go
    if [ "$RC" -ne "$status" ] || ! grep -qE "$want" <<<"$ERR"; then
        fail "$name" "exit $RC instead of $status, message wanted: $want" "$OUT" "$ERR"
    elif [ $((SECONDS - start)) -gt 40 ]; then
        fail "$name" "it took $((SECONDS - start)) s"
    elif [ "$(wc -l <<<"$ERR")" -gt 4 ]; then
        fail "$name" "more than one clear error" "$ERR"
    else
        ok "$name" "${@:-true}"
    fi
}
runs() { # NAME CHECK…: the run passes and CHECK holds
    local name=$1
    shift
    go
    if [ "$RC" -eq 0 ]; then ok "$name" "$@"; else fail "$name" "exit $RC" "$OUT" "$ERR"; fi
}
unmarked() { [ ! -e "$MARK" ]; }

# ------------------------------------------------------------------ programs that git's configuration names
attack_filter_clean() {
    fresh
    program evil
    own git config filter.evil.clean "$P/evil"
    put .gitattributes <<<'TASKS.md filter=evil
src/* filter=evil'
    commit_all attributes
    not_run "a clean filter of .gitattributes" sh -c 'echo y >src/new && git add src/new && git reset -q --hard'
}
attack_filter_smudge() {
    fresh
    program evil
    own git config filter.evil.smudge "$P/evil"
    put .gitattributes <<<'* filter=evil'
    commit_all attributes
    not_run "a smudge filter of .gitattributes" sh -c 'rm src/code.txt && git checkout src/code.txt'
}
attack_filter_process() {
    fresh
    program evil
    own git config filter.evil.process "$P/evil"
    put .gitattributes <<<'* filter=evil'
    own git -c filter.evil.process= add -A && own git -c filter.evil.process= commit -q -m attributes
    not_run "a long-running filter" sh -c 'echo y >src/new; git add src/new; git reset -q'
}
attack_info_attributes() {
    fresh
    program evil
    own git config filter.evil.clean "$P/evil"
    own sh -c 'mkdir -p .git/info && echo "* filter=evil" >.git/info/attributes'
    not_run "a filter of .git/info/attributes" sh -c 'echo y >src/new && git add src/new && git reset -q --hard'
}
attack_hooks() {
    fresh
    program evil
    own sh -c 'mkdir -p .git/hooks && for h in pre-commit prepare-commit-msg commit-msg post-commit reference-transaction post-index-change; do cp evil .git/hooks/$h; done'
    not_run "hooks of a commit" git commit -q --allow-empty -m control
}
attack_hooks_path() {
    fresh
    own mkdir evil
    program evil/post-commit
    own git config core.hooksPath "$P/evil"
    not_run "core.hooksPath" git commit -q --allow-empty -m control
}
attack_fsmonitor() {
    fresh
    program evil
    own git config core.fsmonitor "$P/evil"
    not_run "core.fsmonitor" git status
}
attack_external_diff() {
    fresh
    program evil
    own git config diff.external "$P/evil"
    not_run "diff.external" sh -c 'echo y >>src/code.txt && git diff --ext-diff; git checkout -q src/code.txt'
}
attack_textconv() {
    fresh
    program evil
    own git config diff.evil.textconv "$P/evil"
    put .gitattributes <<<'* diff=evil'
    commit_all attributes
    not_run "a text conversion" sh -c 'echo y >>src/code.txt && git diff; git checkout -q src/code.txt'
}
attack_signing_program() {
    fresh
    program evil
    own git config gpg.program "$P/evil"
    own git config commit.gpgSign true
    not_run "the program that signs commits" git commit -q --allow-empty -m control
}
attack_included_config() {
    fresh
    program evil
    own sh -c 'printf "[core]\n\tfsmonitor = %s\n" "$PWD/evil" >evil.inc && git config include.path "$PWD/evil.inc"'
    commit_all include
    not_run "a program of an included file" git status
}
attack_conditional_include() {
    fresh
    program evil
    own sh -c 'printf "[core]\n\tfsmonitor = %s\n" "$PWD/evil" >evil.inc && git config "includeIf.gitdir:$PWD/.path" "$PWD/evil.inc"'
    commit_all include
    not_run "a program of a conditionally included file" git status
}
attack_editors() {
    fresh
    program evil
    own git config core.editor "$P/evil"
    own git config core.pager "$P/evil"
    own git config sequence.editor "$P/evil"
    not_run "editors and pagers" git commit --allow-empty
}
attack_merge_driver() {
    fresh
    program evil
    own git config merge.evil.driver "$P/evil"
    put .gitattributes <<<'* merge=evil'
    commit_all attributes
    not_run "a merge driver" sh -c 'git switch -qc side && echo a >src/code.txt && git commit -qam a && git switch -q main && echo b >src/code.txt && git commit -qam b && git merge side; git merge --abort; git reset -q --hard HEAD~1'
}
# pushed NAME STATUS WANT URL CONTROL…: CONTROL runs the program; a run that is to push to URL ends with STATUS and WANT, and does not
pushed() {
    local name=$1 status=$2 want=$3
    own git config remote.there.url "$4"
    scripted "${work[@]}" 'commit: {push: there}'
    commit_all push
    shift 4
    own timeout -k 1 3 "$@" >/dev/null 2>&1 </dev/null
    if unmarked; then fail "$name" "the control failed"; return; fi
    rm -f "$MARK"
    refuses "$name" "$status" "$want" unmarked
}
attack_push_program() {
    fresh
    program evil
    own git config protocol.ext.allow always
    pushed "a remote that is a program" 2 'cannot push to ext::' "ext::$P/evil" git push there main
}
attack_push_ssh_command() {
    fresh
    program evil
    own git config core.sshCommand "$P/evil"
    pushed "core.sshCommand" 5 'push' ssh://localhost:1/x git push there main
}
attack_push_helper() {
    fresh
    program evil
    own git config credential.helper "!$P/evil"
    own git config core.askPass "$P/evil"
    pushed "credential.helper" 5 'push' http://localhost:1/x sh -c 'printf "protocol=http\nhost=localhost\n\n" | git credential fill'
}

# ------------------------------------------------------------------ where git's files lead
outside() { # a folder of the owner's beside the project, whose contents must stay
    own mkdir -p "$FOLDER/out" 2>/dev/null || install -d -o "$OWNER" -g "$OWNER" "$FOLDER/out"
    own sh -c 'echo keep >"$1/file"' sh "$FOLDER/out"
}
kept() { [ "$(cat "$FOLDER/out/file")" = keep ] && [ "$(ls -A "$FOLDER/out")" = file ]; }
attack_worktree_elsewhere() {
    fresh
    outside
    own git config core.worktree "$FOLDER/out"
    [ "$(own git rev-parse --show-toplevel)" = "$FOLDER/out" ] || { fail "core.worktree elsewhere" "the control failed"; return; }
    refuses "core.worktree elsewhere" 2 'names another working tree' kept
}
attack_gitdir_elsewhere() {
    fresh
    mv "$P/.git" "$FOLDER/elsewhere"
    put .git <<<"gitdir: $FOLDER/elsewhere"
    own git status >/dev/null || { fail ".git is a file" "the control failed"; return; }
    refuses ".git is a file" 2 'no folder' true
}
attack_git_is_a_link() {
    fresh
    mv "$P/.git" "$FOLDER/linked"
    own ln -s "$FOLDER/linked" .git
    own timeout 5 git status >/dev/null || { fail ".git is a symbolic link" "the control failed"; return; }
    refuses ".git is a symbolic link" 2 '\.git' true
}
attack_branch_is_a_link() {
    fresh
    outside
    own sh -c 'git pack-refs --all; mkdir -p .git/refs/heads; git rev-parse HEAD >"$1/ref"; ln -s "$1/ref" .git/refs/heads/main' sh "$FOLDER/out"
    own git log -1 >/dev/null || { fail "the branch is a symbolic link" "the control failed"; return; }
    cp "$FOLDER/out/ref" "$FOLDER/before"
    runs "the branch is a symbolic link: what it names is not written" cmp "$FOLDER/out/ref" "$FOLDER/before"
}
borrow() { # NAME STORE: git takes it (control), a run does not
    own sh -c 'echo "$1" >.git/objects/info/alternates' sh "$2"
    own git status >/dev/null 2>&1 || { fail "$1" "the control failed"; return; }
    refuses "$1" 2 'borrows objects'
}
attack_alternates() {
    fresh
    own git init -q --bare other.git
    borrow "objects of another repository" "$P/other.git/objects"
}
attack_alternates_loop() {
    fresh
    borrow "objects of itself" "$P/.git/objects"
}
attack_alternates_closed() { # a store that only root may read
    fresh
    git init -q --bare "$FOLDER/closed.git"
    chmod 700 "$FOLDER/closed.git"
    borrow "objects that only root may read" "$FOLDER/closed.git/objects"
}
attack_commondir() {
    fresh
    cp -a "$P/.git" "$FOLDER/common"
    own sh -c 'echo "$1/common" >.git/commondir' sh "$FOLDER"
    own git log -1 >/dev/null || { fail "commondir" "the control failed"; return; }
    refuses "history that lies elsewhere" 2 'commondir.*borrows objects'
}
attack_replaced_commit() {
    fresh
    own sh -c 'git replace HEAD "$(git commit-tree -m fake "$(git mktree </dev/null)")"'
    [ -z "$(own git ls-tree HEAD)" ] || { fail "a replaced commit" "the control failed"; return; }
    runs "a replaced commit: the run commits on the true one" own sh -c 'git --no-replace-objects cat-file -e HEAD:README'
}
pipe() { # FILE of .git: git waits for it (control), a run does not
    fresh
    own sh -c 'mkdir -p "$(dirname ".git/$1")" && rm -f ".git/$1" && mkfifo ".git/$1"' sh "$1"
    own timeout 2 git "${@:2}" >/dev/null 2>&1 </dev/null
    [ $? -eq 124 ] || { fail "a pipe for .git/$1" "the control failed: git does not wait for it"; return; }
    refuses "a pipe for .git/$1" 2 'holds a pipe'
}
attack_config_pipe() { pipe config status; }
attack_packed_refs_pipe() { pipe packed-refs rev-parse --verify other; }
attack_head_pipe() { pipe HEAD status; }
attack_branch_pipe() { pipe refs/heads/main rev-parse HEAD; }
attack_index_pipe() { pipe index status; }
attack_exclude_pipe() { pipe info/exclude status; }
attack_alternates_pipe() { pipe objects/info/alternates cat-file -e 1234567890123456789012345678901234567890; }
attack_many_refs() {
    fresh
    own sh -c 'h=$(git rev-parse HEAD); { echo "# pack-refs with: peeled fully-peeled sorted "; seq -f "%06g" 200000 | sed "s#^#$h refs/heads/a#"; echo "$h refs/heads/main"; } >.git/packed-refs'
    [ "$(own git for-each-ref | wc -l)" -ge 200000 ] || { fail "200,000 branches" "the control failed"; return; }
    runs "200,000 branches" own sh -c '[ "$(git log -1 --format=%s)" = first ]'
}
attack_truncated_index() {
    fresh
    own sh -c 'truncate -s 20 .git/index'
    refuses "an index that is cut" 2 'index' true
}
attack_lying_index() { # entries that say "unchanged" of files that differ
    fresh
    own git update-index --assume-unchanged src/code.txt
    own sh -c 'echo changed >src/code.txt'
    [ -z "$(own git status --porcelain)" ] || { fail "assume-unchanged" "the control failed"; return; }
    refuses "assume-unchanged hides nothing" 2 'src/code.txt' true
}

# ------------------------------------------------------------------ stint.yaml
hostile_yaml() { # NAME WANT: stdin is the file
    fresh
    go --dry-run
    [ "$RC" -eq 0 ] || { fail "$1" "the control failed: exit $RC" "$ERR"; return; }
    put stint.yaml
    own git commit -qam yaml
    refuses "$1" 2 "$2" true
}
attack_yaml_billion_laughs() {
    hostile_yaml "YAML aliases upon aliases" 'stint.yaml:[0-9]+' < <(
        echo 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]'
        for i in 1 2 3 4 5 6 7 8 9; do echo "a$i: &a$i [$(printf "*a$((i - 1)), %.0s" 1 2 3 4 5 6 7 8 9 10)]"; done
    )
}
attack_yaml_depth() {
    hostile_yaml "YAML 200,000 levels deep" 'stint.yaml' < <(printf 'roles: '; head -c 200000 /dev/zero | tr '\0' '[')
}
attack_yaml_size() {
    hostile_yaml "a stint.yaml of 40 MB" 'stint.yaml' < <(echo 'x: |'; yes '  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' | head -c 40000000)
}
yaml() { # AGENT-USER [MORE]
    printf 'agent_user: %s\nroles:\n  developer: {command: [id]}\n  tester: {command: [id]}\n  reviewer: {command: [id]}\nsuite: {command: [id], format: exit}\n%s\n' "$1" "${2:-}"
}
attack_yaml_agent_root() { hostile_yaml "root as agent user" 'root' < <(yaml root); }
attack_yaml_agent_owner() { hostile_yaml "the owner as agent user" "$OWNER" < <(yaml "$OWNER"); }
attack_yaml_agent_nobody() { hostile_yaml "an account that setup never made as agent user" nobody < <(yaml nobody); }
zone() { yaml "$AGENT" "access: {$1: {developer: rw, tester: r, reviewer: r}, src/: {developer: rw}}"; } # PATH
attack_yaml_zone_up() { hostile_yaml "a zone above the project" 'stint.yaml:[0-9]+' < <(zone ../marks); }
attack_yaml_zone_absolute() { hostile_yaml "a zone with an absolute path" 'stint.yaml:[0-9]+' < <(zone /etc); }
attack_yaml_loader() { # the loader of what confines would obey it
    hostile_yaml "LD_PRELOAD in a role's environment" 'stint.yaml:[0-9]+.*LD_PRELOAD' < <(yaml "$AGENT" | sed "s#developer: {#&env: [LD_PRELOAD=$P/lib.so], #")
}
closed_zone() { # FOLDER: stays closed whatever the file says
    fresh
    own mkdir -p "$1"
    zone "$1/" | put stint.yaml
    own git add -A && own git commit -qm zone
    refused "$1 as a zone stays closed" 'Permission denied|No such file' turn developer sh -c 'echo x >src/new' -- turn developer sh -c "echo x >$1/new"
}
attack_yaml_zone_git() { closed_zone .git/hooks; }
attack_yaml_zone_record() { closed_zone .stint; }
attack_yaml_zone_link() {
    fresh
    outside
    own sh -c 'rm -r src && ln -s ../out src'
    own git add -A && own git commit -qm link
    refuses "a zone that is a symbolic link" 2 'src' kept
}
attack_yaml_pipe() {
    fresh
    own sh -c 'rm stint.yaml && mkfifo stint.yaml'
    refuses "a pipe for stint.yaml" 2 'stint.yaml' true
}
attack_yaml_of_roots() { # a file that only root may read: its text must reach no message
    fresh
    echo 'password: hunter2' >"$FOLDER/secret.yaml"
    chmod 600 "$FOLDER/secret.yaml"
    own sh -c 'rm stint.yaml && ln -s ../secret.yaml stint.yaml'
    refuses "stint.yaml leads to a file of root's" 2 'stint.yaml' true
    unlike "$OUT$ERR" 'hunter2|password' "and nothing of it is shown"
}
attack_yaml_reads() {
    fresh
    yaml "$AGENT" | sed 's#developer: {#&read: [/root, /etc/shadow], #' | put stint.yaml
    own git commit -qam read
    turn developer sh -c 'ls -d /root' >/dev/null || { fail "read: lends no rights" "the control failed"; return; }
    answers turn developer <<'END'
folder | ls /root
file | cat /etc/shadow
END
    is "${ANSWER[folder]} ${ANSWER[file]}" "2 ls: cannot open directory '/root': Permission denied 1 cat: /etc/shadow: Permission denied" "read: lends no rights"
}
attack_command_of_repository() { # a relative command is the agent's business: it runs as the agent user, and nowhere outside
    fresh
    own sh -c 'printf "#!/bin/sh\nid -un\ntouch %s\n" "$1" >agent.sh && chmod 755 agent.sh' sh "$MARK"
    own ./agent.sh >/dev/null
    if unmarked; then fail "a command of the repository" "the control failed"; return; fi
    rm -f "$MARK"
    yaml "$AGENT" | sed 's#\[id\]#[./agent.sh]#' | put stint.yaml
    commit_all command
    go
    if [ "$RC" -ne 4 ] || ! grep -rqx "$AGENT" "$P"/.stint/runs/*/turn-1/; then
        fail "a command of the repository" "it did not run as the agent: exit $RC" "$OUT" "$ERR"
    else
        ok "a command of the repository runs confined" unmarked
    fi
}

# ------------------------------------------------------------------ TASKS.md, REVIEW.md, .stint
attack_title_shell() {
    fresh
    put TASKS.md <<END
- [ ] \$(touch $MARK) \`touch $MARK\`; touch $MARK
END
    own git commit -qam title
    runs "a title that is a shell command is a title" unmarked
}
attack_title_terminal() {
    fresh
    printf -- '- [ ] red \033[31m \033]0;owned\007 \302\233 end\n' | put TASKS.md
    own git commit -qam title
    runs "a title with escape sequences is a title" true
    if LC_ALL=C grep -qP '[\x1b\x07]|\xc2\x9b' <<<"$OUT$ERR"; then fail "and none reaches a terminal" "$(od -c <<<"$OUT$ERR" | head -40)"; else pass "and none reaches a terminal"; fi
}
attack_title_trailer() {
    fresh
    put TASKS.md <<<'- [ ] Stint-Suite: 9 passed&#10;&#10;Stint-Run: forged'
    own git commit -qam title
    runs "a title with line feeds is a title" true
    unlike "$(own git log -1 --format='%(trailers:key=Stint-Run,valueonly)%(trailers:key=Stint-Suite,valueonly)')" 'forged|9 passed' "and forges no trailer"
}
attack_title_path() {
    fresh
    put TASKS.md <<<'- [ ] ../../../../marks/ran'
    own git commit -qam title
    runs "a title that is a path is a title" unmarked
}
attack_tasks_pipe() {
    fresh
    own sh -c 'rm TASKS.md && mkfifo TASKS.md'
    refuses "a pipe for TASKS.md" 2 'TASKS.md' true
}
attack_tasks_link() {
    fresh
    outside
    own sh -c 'echo "- [ ] secret task" >"$1/file" && rm TASKS.md && ln -s "$1/file" TASKS.md' sh "$FOLDER/out"
    refuses "a link for TASKS.md" 2 'TASKS.md' grep -q 'secret task' "$FOLDER/out/file"
}
attack_tasks_device() {
    fresh
    own sh -c 'rm TASKS.md && ln -s /dev/zero TASKS.md'
    refuses "a link to an endless device for TASKS.md" 2 'TASKS.md' true
}
attack_tasks_huge() {
    fresh
    own sh -c 'truncate -s 3G TASKS.md'
    refuses "a TASKS.md of 3 GB" 2 'TASKS.md' true
}
attack_tasks_depth() {
    fresh
    { head -c 100000 /dev/zero | tr '\0' '>'; echo '- [ ] deep'; } | put TASKS.md
    own git commit -qam deep
    refuses "100,000 quotes in each other" 2 'TASKS.md:1: .*nested'
}
attack_review_pipe() {
    fresh
    own mkfifo REVIEW.md
    refuses "a pipe for REVIEW.md" 2 'REVIEW.md' true
}
attack_record_is_a_link() {
    fresh
    outside
    own ln -s "$FOLDER/out" .stint
    refuses "a record that leads elsewhere" 2 '\.stint' kept
}
attack_runs_is_a_link() {
    fresh
    outside
    own sh -c 'mkdir .stint && ln -s "$1" .stint/runs' sh "$FOLDER/out"
    refuses "runs that lead elsewhere" 2 '\.stint' kept
}
attack_stale_record() { # a record that came with the repository is no state of this machine's
    fresh
    go
    local old=$FOLDER
    mv "$P/.stint" "$old/"
    fresh
    mv "$old/.stint" "$P/"
    runs "a record of another repository changes nothing" own sh -c '[ "$(git log -1 --format=%s)" = first ]'
}
attacks "$@"
