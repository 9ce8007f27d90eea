"""What the agent's command does in a turn: the operations of its one argument, in order, each one system call that changes
anything, and each one's outcome in HOME/ops.log as soon as it is known. Names are Latin-1 for raw bytes."""
import json
import os
import sys
import time


def run(op, path, to=None, mode=0, data=None):
    if op == "create":
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    elif op == "append":
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
        os.write(fd, data)
        os.close(fd)
    elif op == "mkdir":
        os.mkdir(path, mode)
    elif op == "chmod":
        os.chmod(path, mode)
    elif op == "xattr":
        os.setxattr(path, data.decode(), b"by the agent", follow_symlinks=False)
    elif op == "acl":
        os.setxattr(path, "system.posix_acl_access", data, follow_symlinks=False)
    elif op == "unlink":
        os.unlink(path)
    elif op == "rmdir":
        os.rmdir(path)
    elif op == "rename":
        os.rename(path, to)
    elif op == "link":
        os.link(path, to, follow_symlinks=False)
    elif op == "symlink":
        os.symlink(to, path)
    elif op == "fifo":
        os.mkfifo(path, mode)
    elif op == "sleep":
        time.sleep(mode / 1000)
    elif op == "socket":
        import socket  # rare, and slow to load
        socket.socket(socket.AF_UNIX).bind(path)


def raw(text):
    return None if text is None else text.encode("latin-1")


def main():
    os.umask(0)
    log = os.open(os.environ["HOME"] + "/ops.log", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    for op in json.loads(sys.argv[1]):
        error = 0
        try:
            run(op["op"], raw(op["path"]), raw(op.get("to")), op.get("mode", 0), raw(op.get("data")))
        except OSError as e:
            error = e.errno if e.errno is not None else 22
        os.write(log, b"%d\n" % error)


main()
