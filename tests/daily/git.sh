#!/bin/bash
# git, with identity and settings in a HOME that is not granted.
# shellcheck source=tests/daily/lib.sh
. "$(dirname "$0")/lib.sh"

origin='git init -q --bare origin.git
git clone -q origin.git start 2>/dev/null
cd start
for n in 1 2 3; do echo $n >f$n; git add .; git commit -q -m "commit $n"; done
git push -q origin main
cd ..
'
clone="$origin"'rm -rf start
git clone -q origin.git work
'
works git-clone 'test "$(git -C work log --format=%s | wc -l)" = 3 && git -C work fsck' <<END
$origin
END
works git-commit 'test "$(git -C work log -1 --format="%an %s")" = "A User more" && git -C work fsck && test "$(git -C origin.git log -1 --format=%s main)" = more' <<END
$clone
echo 4 >work/f4
END
works git-rebase 'test "$(git -C work log --format=%s | tr "\n" ,)" = "side,commit 3,commit 2,commit 1," && test -z "$(git -C work status --porcelain)"' <<END
$clone
cd work
git checkout -q -b side HEAD~1
echo side >side
git add side
git commit -q -m side
END
works git-gc 'git -C work fsck && test "$(git -C work count-objects)" = "0 objects, 0 kilobytes"' <<END
$clone
cd work
git commit -q --allow-empty -m more
END
works git-worktree 'test "$(cat work/other/f1)" = 1 && git -C work stash list | grep -q kept' <<END
$clone
echo changed >work/f2
END
refused git-home 'kept' 'unknown error occurred while reading the configuration files|unable to access .*gitconfig.*Permission denied' <<END
git init -q work
cd work
git commit -q --allow-empty -m kept
END
works git-no-home 'test -d work/.git' <<END
git init -q work
cd work
git commit -q --allow-empty -m kept
END
done_testing
