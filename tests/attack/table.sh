#!/bin/bash
# The table itself: each attempt by each role at what is another's. With the whole stack, then with ACLs alone, then with covers
# and Landlock alone; LAYERS=acl in the environment runs that one mode.
# shellcheck source=tests/attack/lib.sh
. "$(dirname "$0")/lib.sh"
arena
MODES=("${LAYERS:-}")
[ -n "${LAYERS:-}" ] || MODES=('' acl landlock)

attack_tester_reads_source() { refused "$(how)tester reads source" 'Permission denied' turn reviewer cat src/code.txt -- turn tester cat src/code.txt; }
attack_tester_lists_source() { refused "$(how)tester lists source" 'Permission denied' turn developer ls src -- turn tester ls src; }
attack_developer_reads_tests() { refused "$(how)developer reads tests" 'Permission denied' turn tester cat tests/test.txt -- turn developer cat tests/test.txt; }
attack_developer_writes_tests() { refused "$(how)developer writes tests" 'Permission denied' turn tester bin/try open-write tests/test.txt -- turn developer bin/try open-write tests/test.txt; }
attack_developer_creates_test() { refused "$(how)developer creates a test" 'Permission denied' turn tester bin/try create "tests/new$LAYERS" -- turn developer bin/try create tests/new2; }
attack_developer_deletes_test() {
    own sh -c 'echo x >tests/victim1; echo x >tests/victim2'
    refused "$(how)developer deletes a test" 'Permission denied' turn tester bin/try unlink tests/victim1 -- turn developer bin/try unlink tests/victim2
}
attack_reviewer_writes_source() { refused "$(how)reviewer writes source" "$(ro)" turn developer bin/try open-write src/code.txt -- turn reviewer bin/try open-write src/code.txt; }
attack_reviewer_truncates_test() { refused "$(how)reviewer truncates a test" "$(ro)" turn tester bin/try truncate tests/test.txt -- turn reviewer bin/try truncate tests/test.txt; }
attack_tester_renames_source() { refused "$(how)tester moves source away" 'Permission denied' turn developer sh -c 'bin/try rename src/code.txt src/c && bin/try rename src/c src/code.txt' -- turn tester bin/try rename src/code.txt src/gone; }
attack_runner_writes_source() { refused "$(how)suite writes source" "$(ro)" turn developer bin/try open-write src/code.txt -- turn runner bin/try open-write src/code.txt; }
attack_runner_writes_tests() { refused "$(how)suite writes tests" "$(ro)" turn tester bin/try open-write tests/test.txt -- turn runner bin/try open-write tests/test.txt; }
attack_developer_ticks_task() { refused "$(how)developer ticks its own box" "$(ro)" turn reviewer bin/try open-write TASKS.md -- turn developer bin/try open-write TASKS.md; }
attack_config_is_read_only() { refused "$(how)reviewer rewrites stint.yaml" "$(ro)" turn reviewer bin/try open-read stint.yaml -- turn reviewer bin/try open-write stint.yaml; }
attack_root_takes_no_file() { refused "$(how)developer creates in the root" "$(ro)" turn developer bin/try create "src/new$LAYERS" -- turn developer bin/try create new3; }
attack_rename_over_root_file() {
    refused "$(how)developer renames over a locked file" "$(across)" \
        turn developer sh -c 'echo x >src/a && bin/try rename src/a src/b' -- turn developer sh -c 'echo x >src/a && bin/try rename src/a TASKS.md'
}
attack_link_across_zones() {
    refused "$(how)developer links its file into tests" 'Permission denied' \
        turn developer sh -c 'rm -f src/l1 src/l2; echo x >src/l1 && bin/try link src/l1 src/l2; rm src/l2' -- turn developer bin/try link src/code.txt tests/l3
}
attack_git_objects() {
    refused "$(how)tester reads source through git" 'Permission denied|not a git repository' own git show HEAD:src/code.txt -- turn tester git show HEAD:src/code.txt
}
attack_git_head() { refused "$(how)reviewer reads .git" 'Permission denied' own cat .git/HEAD -- turn reviewer cat .git/HEAD; }
attack_record() {
    own sh -c 'mkdir -p .stint/runs && echo secret >.stint/runs/x'
    refused "$(how)reviewer reads the record" 'Permission denied' own cat .stint/runs/x -- turn reviewer cat .stint/runs/x
}
attack_dotdot() { refused "$(how)tester goes round by .." 'Permission denied' turn reviewer cat tests/../src/code.txt -- turn tester cat tests/../src/code.txt; }
attack_symlink_to_source() {
    turn tester ln -sf ../src/code.txt tests/link >/dev/null 2>&1 || own ln -sf ../src/code.txt tests/link
    refused "$(how)tester reads source through a link" 'Permission denied' turn reviewer cat tests/link -- turn tester cat tests/link
}
attack_absolute_path() { refused "$(how)tester takes the absolute path" 'Permission denied' turn reviewer cat "$P/src/code.txt" -- turn tester cat "$P/src/code.txt"; }
attack_proc_cwd() { refused "$(how)tester goes through /proc/self/cwd" 'Permission denied' turn reviewer cat /proc/self/cwd/src/code.txt -- turn tester cat /proc/self/cwd/src/code.txt; }
attack_proc_init_root() { refused "$(how)tester goes through init's root" 'Permission denied' turn tester ls /proc/self/cwd/tests -- turn tester cat "/proc/1/root$P/src/code.txt"; }
attack_env_file() {
    put .env <<<'KEY=secret'
    refused "$(how).env is closed unless named" 'Permission denied' turn developer cat README -- turn developer cat .env
}
attack_appears_later() {
    own sh -c 'mkdir -p later && echo x >later/file'
    refused "$(how)what appears later is read-only" "$(ro)" turn developer cat later/file -- turn developer bin/try create later/new
}
attack_handle() { refused "$(how)a file handle opens nothing" 'Operation not permitted' turn developer bin/try open-read src/code.txt -- turn developer bin/try handle src/code.txt; }
attack_swap_across_zones() {
    own sh -c 'mkdir -p README.d; echo x >src/a1; echo x >src/a2'
    refused "$(how)developer swaps a file with the task list" "$(across)" \
        turn developer bin/try rename-exchange src/a1 src/a2 -- turn developer bin/try rename-exchange src/a1 TASKS.md
}
attack_symlink_over_record() {
    refused "$(how)developer plants a link where REVIEW.md will stand" "$(ro)" \
        turn developer sh -c 'rm -f src/sl; bin/try symlink /etc/passwd src/sl' -- turn developer bin/try symlink /etc/passwd REVIEW.md
}
attack_tmpfile_in_zone() { refused "$(how)reviewer makes a file without a name in src" "$(ro)" turn developer bin/try tmpfile src -- turn reviewer bin/try tmpfile src; }
attack_map_writable() { refused "$(how)reviewer maps source writable" 'Permission denied' turn reviewer bin/try mincore src/code.txt -- turn reviewer bin/try map-write src/code.txt; }
attack_path_descriptor() { refused "$(how)tester turns a bare path descriptor into one that reads" 'Permission denied' turn reviewer bin/try path-fd src/code.txt -- turn tester bin/try path-fd src; }
attack_page_cache() {
    if [[ $("$TRY" cachestat "$P/src/code.txt" 2>&1) == *'Function not implemented'* ]]; then
        skip "$(how)tester asks which pages of the source are cached" "this kernel has no cachestat(2): Linux 6.5"
    else
        refused "$(how)tester asks which pages of the source are cached" 'Permission denied' turn developer bin/try cachestat src/code.txt -- turn tester bin/try cachestat src/code.txt
    fi
}
attack_mincore() { refused "$(how)tester asks which pages of the source are in memory" 'Permission denied' turn reviewer bin/try mincore src/code.txt -- turn tester bin/try mincore src/code.txt; }
attack_program_from_memory() {
    refused "$(how)a program that is no file reads source" 'Permission denied' turn reviewer bin/try memory-exec /bin/cat src/code.txt -- \
        turn tester bin/try memory-exec /bin/cat src/code.txt
}
attack_move_folder_out() {
    refused "$(how)developer moves a folder over the tests" "$(across)" \
        turn developer sh -c 'rm -rf src/m1 src/m2; mkdir src/m1 && bin/try rename src/m1 src/m2' -- turn developer sh -c 'mkdir -p src/m1 && bin/try rename src/m1 tests'
}
attack_watch() { # inotify needs the right to read what it watches
    local watch='import ctypes,os,sys
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(0)
wd = libc.inotify_add_watch(fd, sys.argv[1].encode(), 0xfff)
sys.exit(0 if wd >= 0 else os.strerror(ctypes.get_errno()))'
    refused "$(how)tester watches the source" 'Permission denied' turn developer python3 -c "$watch" src -- turn tester python3 -c "$watch" src
}
attack_metadata() { # what a sealed folder says of itself is the cover's; with ACLs alone names and sizes below it stay closed
    refused "$(how)tester asks for size and times of a source file" 'Permission denied' turn reviewer stat -c %s src/code.txt -- turn tester stat -c %s src/code.txt
}
attack_attribute() {
    refused "$(how)tester reads an attribute of the source" 'Permission denied' turn developer python3 -c 'import os; os.listxattr("src/code.txt")' -- \
        turn tester python3 -c 'import os; os.listxattr("src/code.txt")'
}
attack_reviewer_deletes_test() {
    refused "$(how)reviewer deletes a test" "$(ro)" turn tester sh -c 'echo x >tests/v && bin/try unlink tests/v' -- turn reviewer bin/try unlink tests/test.txt
}
attacks "$@"
