#!/bin/bash
# `make static`: the guard as one file, on a system that has nothing but a static busybox: no libc, no /proc, no /dev, no stint.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
cd "$TOP" || exit 2
[ "$(id -u)" -eq 0 ] || bail "not root: a root folder of one's own takes root"
# Debian's busybox-static; a busybox that needs libraries would not do.
busybox=$(command -v busybox) || bail "busybox-static is not installed"

folder_new
R=$FOLDER/root
ok "make static" make -s static BUILD="${BUILD:-build}"
file=${BUILD:-build}/static/stint-guard
is "$(readelf -dlW "$file" | grep -cE 'INTERP|\(NEEDED\)')" 0 "it wants no loader and no library"
mkdir -p "$R/bin" "$R/project" "$R/secret" "$R/tmp"
cp "$file" "$R/stint-guard"
cp "$busybox" "$R/bin/busybox"
ln -s busybox "$R/bin/sh"
echo content >"$R/secret/f"
is "$(find "$R" -type f -printf '%f\n' | sort | xargs)" "busybox f stint-guard" "the system is two programs and a file"

in_root() { run chroot "$R" "$@"; }
in_root /stint-guard --quiet --allow-write /project -- /bin/sh -c 'echo made >/project/f; read -r x </project/f; echo "$x"'
is "$RC $OUT" "0 made" "a command works there"
in_root /bin/sh -c 'read -r x </secret/f; echo "$x"'; outside=$OUT
in_root /stint-guard --quiet --allow-write /project -- /bin/sh -c 'read -r x </secret/f; echo "$x"'
is "$outside $OUT" "content " "a file outside the grants is not read"; like "$ERR" "secret/f: Permission denied" "... by Landlock"
in_root /bin/sh -c '/bin/busybox chmod u+s /project/f && echo set'; outside=$OUT
in_root /stint-guard --quiet --allow-write /project -- /bin/sh -c '/bin/busybox chmod u+s /project/f && echo set'
is "$outside $OUT" "set " "a set-id bit is not set"; like "$ERR" "Operation not permitted" "... by seccomp"
in_root /stint-guard --quiet --profile pure-parse -- /bin/busybox wc -c; is "$RC $OUT" "0 0" "another built-in profile"
in_root /stint-guard --quiet -- /bin/nothing; is "$RC" 127 "127 for a command that is not there"
in_root /stint-guard -- /bin/busybox true; like "$ERR" 'Landlock: ABI [0-9]+ enforced' "the summary"
in_root /stint-guard --profile ./my.yaml -- /bin/busybox true
is "$RC" 125 "a profile to be compiled is refused"; like "$ERR" 'stint: ' "... with a sentence"
done_testing
