#!/bin/bash
# Programs that need a terminal.
# shellcheck source=tests/daily/lib.sh
. "$(dirname "$0")/lib.sh"

works tmux 'grep -qx "/dev/pts/[0-9]*" out && ! test -e started' <<'END'
:
END
works script 'grep -q "/dev/pts/" typescript' <<'END'
:
END
works python-pty 'grep -q "is a terminal" out' <<'END'
:
END
done_testing
