"""Runs a command on a terminal of its own and types one answer at each question: skill_typed.py ANSWER,... CMD ARG..."""
import os
import pty
import select
import sys

answers = sys.argv[1].split(",")
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
out, typed = b"", 0
while select.select([fd], [], [], 30)[0]:
    try:
        got = os.read(fd, 4096)
    except OSError:
        break
    if not got:
        break
    out += got
    if out.count(b"Enter for no: ") > typed:
        os.write(fd, answers[typed].encode() + b"\n")
        typed += 1
sys.stdout.buffer.write(out.replace(b"\r\n", b"\n"))
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
