#!/bin/bash
# What an agent leaves in the tree: ownership, modes, ACLs, links, special files, names.
# shellcheck source=tests/attack/lib.sh
. "$(dirname "$0")/lib.sh"
arena

# after NAME CONDITION…: a turn has ended; the condition must hold for the tree
state() { stat -c '%U %a %F' "$P/$1" 2>/dev/null || echo gone; }

attack_owner_regrants() {
    turn developer sh -c 'echo x >src/mine && chmod 777 src/mine' >/dev/null
    refused "a file of its own stays closed to the next role" 'Permission denied' turn reviewer cat src/mine -- turn tester cat src/mine
}
attack_owner_given_back() {
    turn developer sh -c 'mkdir src/d && echo x >src/d/f' >/dev/null
    is "$(state src/d/f)" "$OWNER 644 regular file" "what it made belongs to the owner again"
}
attack_private_file() {
    turn developer sh -c 'umask 077; echo x >src/private' >/dev/null
    refused "a private file is opened for who may read it only" 'Permission denied' turn reviewer cat src/private -- turn tester cat src/private
}
attack_locked_folder() {
    turn developer sh -c 'mkdir src/locked && echo x >src/locked/f && chmod 000 src/locked' >/dev/null
    ok "a folder of mode 000 does not lock the reviewer out" turn reviewer cat src/locked/f
}
attack_foreign_acl() {
    run turn developer sh -c 'echo x >src/shared && setfacl -m u:nobody:rwx src/shared && getfacl -c src/shared'
    [[ $OUT == *user:nobody:rwx* ]] || { fail "an ACL entry for a stranger" "the control failed" "$OUT $ERR"; return; }
    unlike "$(getfacl -c "$P/src/shared")" 'nobody' "an ACL entry for a stranger is dropped"
}
attack_foreign_default_acl() {
    run turn developer sh -c 'mkdir src/dd && setfacl -d -m u:nobody:rwx src/dd && getfacl -c src/dd'
    [[ $OUT == *default:user:nobody:rwx* ]] || { fail "a default ACL entry for a stranger" "the control failed" "$OUT $ERR"; return; }
    unlike "$(getfacl -c "$P/src/dd")" 'nobody' "a default ACL entry for a stranger is dropped"
}
attack_user_xattr() {
    run turn developer sh -c 'echo x >src/attr && python3 -c "import os; os.setxattr(\"src/attr\", \"user.note\", b\"1\"); print(os.listxattr(\"src/attr\"))"'
    if [ "$RC" -ne 0 ]; then fail "an extended attribute" "the control failed" "$OUT $ERR"; return; fi
    is "$(python3 -c 'import os,sys; print([n for n in os.listxattr(sys.argv[1]) if n.startswith("user.")])' "$P/src/attr")" "[]" "an extended attribute on its own file is dropped"
}
attack_inode_flags() { # no dump: a backup would leave the file out, whoever owns it later
    own sh -c 'echo x >src/flagged'
    refused "a flag of the inode" 'Operation not permitted' own "$TRY" inode-nodump src/flagged -- \
        turn developer sh -c 'echo x >src/flags && bin/try inode-nodump src/flags'
}
attack_setuid() {
    refused "a set-id bit" 'Operation not permitted' turn developer sh -c 'cp /bin/true src/s && bin/try chmod src/s' -- turn developer bin/try chmod-setuid src/s
}
attack_setuid_survives() {
    LAYERS=acl,landlock turn developer sh -c 'cp /bin/true src/s2 && chmod 4755 src/s2' >/dev/null 2>&1
    is "$(state src/s2)" "$OWNER 755 regular file" "a set-id bit set without seccomp is gone after the turn"
}
attack_device() {
    refused "a device node" 'Operation not permitted' turn developer bin/try create src/plain -- turn developer bin/try mknod-null src/null
}
attack_fifo() {
    local start=$SECONDS
    run turn developer bin/try mkfifo src/pipe
    if [ "$RC" -ne 0 ]; then fail "a FIFO blocks nobody" "the control failed" "$OUT $ERR"; return; fi
    run turn reviewer ls src
    if [ $((SECONDS - start)) -lt 20 ] && [ "$RC" -eq 0 ] && [[ $(state src/pipe) != *" 644 "* ]]; then
        pass "a FIFO blocks nobody and is neutralised: $(state src/pipe)"
    else
        fail "a FIFO blocks nobody" "$(state src/pipe)" "$OUT $ERR"
    fi
}
attack_planted_symlink() {
    local out
    out=$(mktemp -d) && echo secret >"$out/file" && chmod 600 "$out/file"
    turn developer sh -c "ln -s $out/file src/out && ln -s $out src/outdir" >/dev/null
    if [ -L "$P/src/out" ]; then
        is "$(stat -c '%U %a' "$out/file")" "root 600" "a planted link is not followed by root"
    else
        fail "a planted link is not followed by root" "the control failed: no link"
    fi
    rm -rf "$out"
}
attack_planted_hardlink() {
    local before
    own sh -c 'mkdir -p store && echo x >store/pkg'
    before=$(stat -c '%U %a' "$P/store/pkg")
    own ln store/pkg src/pkg
    refused "a hard link shared with another zone is not opened" 'Permission denied' turn developer bin/try open-write src/code.txt -- turn developer bin/try open-write src/pkg
    own rm src/pkg
    [ "$before" = "$(stat -c '%U %a' "$P/store/pkg")" ] || diag "store/pkg changed: $before"
}
attack_newline_name() {
    turn developer sh -c 'printf x >"src/$(printf "a\nb\033[31m")"' >/dev/null 2>&1
    is "$(find "$P/src" -maxdepth 1 -name 'a*' -printf '%u\n' | sort -u)" "$OWNER" "names with newline and escape are taken back"
    find "$P/src" -maxdepth 1 -name 'a?b*' -delete
}
attack_invalid_utf8_name() {
    turn developer sh -c 'printf x >"src/$(printf "z\377\376")"' >/dev/null 2>&1
    is "$(find "$P/src" -maxdepth 1 -name 'z*' -printf '%u\n' | sort -u)" "$OWNER" "names that are not UTF-8 are taken back"
    find "$P/src" -maxdepth 1 -name 'z*' -delete
}
attack_deep_tree() {
    turn developer python3 -c 'import os
os.chdir("src")
for i in range(400): os.mkdir("d"*16); os.chdir("d"*16)
open("deep","w").write("x")' >/dev/null
    is "$(cd "$P" && find src -name deep -printf '%u %d\n')" "$OWNER 401" "a path longer than PATH_MAX is taken back"
    rm -rf "$P/src/dddddddddddddddd"
}
attack_mode_of_parent() {
    refused "chmod of the zone's top" 'Operation not permitted' turn developer sh -c 'mkdir src/e && chmod 700 src/e' -- turn developer chmod 777 src
}
attack_chown() {
    refused "giving a file away" 'Operation not permitted' turn developer bin/try create src/own -- turn developer bin/try chown src/own
}
# Repositories whose configuration runs a program at the owner's next git status: lay DIR prints what makes one.
lay() { # DIR
    printf 'mkdir -p %s/objects %s/refs && echo "ref: refs/heads/main" >%s/HEAD && printf "[core]\\n\\trepositoryformatversion = 0\\n\\tworktree = .\\n\\tfsmonitor = \\"touch %s/ran;:\\"\\n" >%s/config' \
        "$1" "$1" "$1" "$P" "$1"
}
runs_in() { # DIR: does the owner's git there run the program?
    rm -f "$P/ran"
    own git -C "$1" status >/dev/null 2>&1
    [ -e "$P/ran" ]
}
planted() { # NAME DIR TURN…: the owner's own layout runs it (control); after these turns of a developer, git in DIR does not
    local name=$1 dir=$2 script
    shift 2
    rm -rf "$P/control"
    own sh -c "$(lay control)"
    runs_in control || { fail "$name" "the control failed: git status did not run the program"; return; }
    own sh -c "$(lay src/live)" # an owner's own is left alone
    for script; do
        run turn developer sh -ec "$script"
        [ "$RC" -eq 0 ] || { fail "$name" "the turn failed: $OUT $ERR"; return; }
    done
    if runs_in "$dir"; then
        fail "$name" "git ran the agent's program" "$(own ls -la "$dir" 2>&1)" "$ERR"
    elif [ ! -e "$P/src/live/HEAD" ]; then
        fail "$name" "the owner's own repository lost its HEAD"
    else
        pass "$name"
    fi
    rm -rf "$P/control" "$P/src/live" "$P/src/e" "$P/src/n"
}
attack_bare_layout() { planted "a repository that is not called .git" src/e "$(lay src/e)"; }
attack_bare_linked_head() { planted "one whose HEAD is a link" src/e "$(lay src/e); rm src/e/HEAD; ln -s refs/heads/main src/e/HEAD"; }
attack_bare_two_heads() { planted "one with HEAD in two spellings" src/e "$(lay src/e); cp src/e/HEAD src/e/head; cp src/e/HEAD src/e/Head"; }
attack_bare_of_files() { planted "one whose objects and refs are files" src/e "$(lay src/e); rmdir src/e/objects src/e/refs; install -m 755 /dev/null src/e/objects; install -m 755 /dev/null src/e/refs"; }
attack_bare_owners_hook() {
    own sh -c "$(lay src/live); mkdir -p src/usual"
    refused "a hook in an owner's repository" 'Permission denied' turn developer sh -c 'cat src/live/HEAD && echo x >src/usual/hook' -- \
        turn developer sh -c 'mkdir src/live/hooks'
    own rm -r src/live src/usual
}
attack_git_in_the_root() { # the README sends people there while a turn runs
    local c ran=''
    own sh -c "$(lay src/n/.git); sed -i 's/worktree = ./worktree = ../' src/n/.git/config; cp -r src/n/.git src/.git"
    runs_in src/n || { fail "git in the root" "the control failed: git status did not run the program"; return; }
    rm -f "$P/ran"
    for c in "status -uall" diff "diff HEAD" "add -n ." "ls-files -o" "commit -a --dry-run" log; do
        # shellcheck disable=SC2086 # words
        own git $c >/dev/null 2>&1
        [ ! -e "$P/ran" ] || ran+=" $c;"
        rm -f "$P/ran"
    done
    own rm -r src/n src/.git
    is "$ran" "" "git in the root obeys no repository in a zone"
}
attack_bare_zone() {
    own sh -c "$(lay src); rm -r src/config"
    run turn developer true
    own rm -r src/HEAD src/objects src/refs
    like "$RC $ERR" '^(3|125) .*src is a repository to git' "a zone that is a repository is refused"
}
attack_bare_in_parts() { planted "one that is made in two turns" src/e "$(lay src/e); mv src/e/refs src/e/later" 'mv src/e/later src/e/refs'; }
attack_bare_head_rewritten() {
    planted "one whose HEAD is written last, into an older file" src/e "$(lay src/e); echo none >src/e/HEAD; rmdir src/e/refs" \
        'cat src/e/HEAD; echo "ref: refs/heads/main" >src/e/HEAD; mkdir src/e/refs'
}
attack_bare_moved_whole() { planted "an owner's one, moved" src/e 'mv src/live src/e; mkdir -p src/live; touch src/live/HEAD'; }
attack_bare_config() {
    planted "an owner's one, configured anew" src/e 'true' "cp -r src/live src/e; rm src/e/config" "$(lay src/e)"
}
attack_git_renamed_later() { planted "one made in a turn and named .git in the next" src/n "$(lay src/n/x); mv src/n/x/HEAD src/n/h" 'mv src/n/h src/n/x/HEAD; mv src/n/x src/n/.git'; }
attack_git_swapped() {
    planted "a .git that was made useless, replaced by an older folder" src/n "$(lay src/n/.git)" "$(lay src/n/x); mv src/n/x/HEAD src/n/h" \
        'mv src/n/h src/n/x/HEAD; mv src/n/.git src/n/old; mv src/n/x src/n/.git'
}
attack_gitfile_of_the_owner() {
    own sh -c 'mkdir -p src/n && echo notes >src/n/notes'
    planted "an owner's file, rewritten and named .git" src/n "$(lay src/n/e); mv src/n/e/HEAD src/n/h" \
        'mv src/n/h src/n/e/HEAD; echo "gitdir: e" >src/n/notes; mv src/n/notes src/n/.git'
}
attack_nested_git() {
    turn developer sh -c 'mkdir -p src/sub/.git/hooks && echo x >src/sub/.git/config' >/dev/null
    if [ -e "$P/src/sub/.git" ] && own sh -c 'cat src/sub/.git/config' >/dev/null 2>&1; then
        fail "a planted .git is neutralised" "$(state src/sub/.git)"
    else
        pass "a planted .git is neutralised: $(state src/sub/.git)"
    fi
    rm -rf "$P/src/sub"
}
attack_acls_gone() {
    stint restore -C "$P" >/dev/null
    is "$(acl_count)" 0 "no ACL is left after the turns"
}
attacks "$@"
