#!/bin/bash
# The table itself: each attempt by each role at what is another's, with the whole stack, ACLs alone and Landlock alone.
# shellcheck source=tests/attack/lib.sh
. "$(dirname "$0")/lib.sh"
arena

attack_tester_reads_source() { refused "tester reads source" 'Permission denied' turn reviewer cat src/code.txt -- turn tester cat src/code.txt; }
attack_tester_lists_source() { refused "tester lists source" 'Permission denied' turn developer ls src -- turn tester ls src; }
attack_developer_reads_tests() { refused "developer reads tests" 'Permission denied' turn tester cat tests/test.txt -- turn developer cat tests/test.txt; }
attack_developer_writes_tests() { refused "developer writes tests" 'Permission denied' turn tester bin/try open-write tests/test.txt -- turn developer bin/try open-write tests/test.txt; }
attack_developer_creates_test() { refused "developer creates a test" 'Permission denied' turn tester bin/try create tests/new1 -- turn developer bin/try create tests/new2; }
attack_developer_deletes_test() {
    own sh -c 'echo x >tests/victim1; echo x >tests/victim2'
    refused "developer deletes a test" 'Permission denied' turn tester bin/try unlink tests/victim1 -- turn developer bin/try unlink tests/victim2
}
attack_reviewer_writes_source() { refused "reviewer writes source" 'Permission denied' turn developer bin/try open-write src/code.txt -- turn reviewer bin/try open-write src/code.txt; }
attack_reviewer_truncates_test() { refused "reviewer truncates a test" 'Permission denied' turn tester bin/try truncate tests/test.txt -- turn reviewer bin/try truncate tests/test.txt; }
attack_tester_renames_source() { refused "tester moves source away" 'Permission denied' turn developer sh -c 'bin/try rename src/code.txt src/c && bin/try rename src/c src/code.txt' -- turn tester bin/try rename src/code.txt src/gone; }
attack_runner_writes_source() { refused "suite writes source" 'Permission denied' turn developer bin/try open-write src/code.txt -- turn runner bin/try open-write src/code.txt; }
attack_runner_writes_tests() { refused "suite writes tests" 'Permission denied' turn tester bin/try open-write tests/test.txt -- turn runner bin/try open-write tests/test.txt; }
attack_developer_ticks_task() { refused "developer ticks its own box" 'Permission denied' turn reviewer bin/try open-write TASKS.md -- turn developer bin/try open-write TASKS.md; }
attack_config_is_read_only() { refused "reviewer rewrites stint.yaml" 'Permission denied' turn reviewer bin/try open-read stint.yaml -- turn reviewer bin/try open-write stint.yaml; }
attack_root_takes_no_file() { refused "developer creates in the root" 'Permission denied' turn developer bin/try create src/new3 -- turn developer bin/try create new3; }
attack_rename_over_root_file() {
    refused "developer renames over a locked file" 'Permission denied|Invalid cross-device|Device or resource busy' \
        turn developer sh -c 'echo x >src/a && bin/try rename src/a src/b' -- turn developer sh -c 'echo x >src/a && bin/try rename src/a TASKS.md'
}
attack_link_across_zones() {
    refused "developer links its file into tests" 'Permission denied|Invalid cross-device|Operation not permitted' \
        turn developer sh -c 'echo x >src/l1 && bin/try link src/l1 src/l2' -- turn developer bin/try link src/code.txt tests/l3
}
attack_git_objects() {
    refused "tester reads source through git" 'Permission denied|not a git repository' own git show HEAD:src/code.txt -- turn tester git show HEAD:src/code.txt
}
attack_git_head() { refused "reviewer reads .git" 'Permission denied' own cat .git/HEAD -- turn reviewer cat .git/HEAD; }
attack_record() {
    own sh -c 'mkdir -p .stint/runs && echo secret >.stint/runs/x'
    refused "reviewer reads the record" 'Permission denied' own cat .stint/runs/x -- turn reviewer cat .stint/runs/x
}
attack_dotdot() { refused "tester goes round by .." 'Permission denied' turn reviewer cat tests/../src/code.txt -- turn tester cat tests/../src/code.txt; }
attack_symlink_to_source() {
    turn tester ln -sf ../src/code.txt tests/link >/dev/null 2>&1 || own ln -sf ../src/code.txt tests/link
    refused "tester reads source through a link" 'Permission denied' turn reviewer cat tests/link -- turn tester cat tests/link
}
attack_absolute_path() { refused "tester takes the absolute path" 'Permission denied' turn reviewer cat "$P/src/code.txt" -- turn tester cat "$P/src/code.txt"; }
attack_proc_cwd() { refused "tester goes through /proc/self/cwd" 'Permission denied' turn reviewer cat /proc/self/cwd/src/code.txt -- turn tester cat /proc/self/cwd/src/code.txt; }
attack_proc_init_root() { refused "tester goes through init's root" 'Permission denied|No such file' turn tester ls /proc/self/cwd/tests -- turn tester cat "/proc/1/root$P/src/code.txt"; }
attack_env_file() {
    put .env <<<'KEY=secret'
    refused ".env is closed unless named" 'Permission denied' turn developer cat README -- turn developer cat .env
}
attack_appears_later() {
    own mkdir later && own sh -c 'echo x >later/file'
    refused "what appears later is read-only" 'Permission denied' turn developer cat later/file -- turn developer bin/try create later/new
}
attack_handle() { refused "a file handle opens nothing" 'Operation not permitted|Function not implemented' turn developer bin/try open-read src/code.txt -- turn developer bin/try handle src/code.txt; }
attacks "$@"
