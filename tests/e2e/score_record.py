"""A record of an eval run on standard output, whose tasks are the JSON lines on standard input; what they leave out is filled in."""
import hashlib
import json
import sys


def escaped(text):
    """As a record keeps what is no text (here: what has a NUL byte): everything but plain characters as \\xHH, the backslash too."""
    return "".join(c if c.isprintable() and c != "\\" else "".join(f"\\x{b:02x}" for b in c.encode()) for c in text)


tasks = []
for line in sys.stdin:
    given = json.loads(line)
    text = given["output"]
    raw = (text or "").encode()
    cut = given.get("cut", False)
    whole = raw + b"and so on" if cut else raw
    output = None
    if text is not None:
        output = {"text": text, "sha256": "sha256:" + hashlib.sha256(whole).hexdigest(), "bytes": len(whole), "cut": cut}
        if "\0" in text:
            output |= {"text": escaped(text), "escaped": True}
    status = given["status"]
    tasks.append({
        "id": given["id"], "input": given.get("input", ""), "target": given.get("target"), "scorer": given.get("scorer", "exact_match"),
        "output": output, "trace": [], "exit": given.get("exit", 0), "status": status, "scored": given.get("scored", True),
        "score": {"pass": 1.0, "fail": 0.0}.get(status), "reason": None, "wall_ms": 1, "attempts": 1, "refusals": [],
    })
json.dump({
    "schema": 1, "tool": "stint 0.1.0", "kind": "eval", "id": "20260102-030405-1a2b", "started": "2026-01-02T03:04:05Z",
    "ended": "2026-01-02T03:04:06Z", "state": "ended", "stop": 1, "reason": None, "kernel": "6.1.0", "landlock_abi": 2, "layers": [],
    "suite": {"name": "cases", "hash": "sha256:" + "0" * 64, "version": None}, "tasks": tasks,
}, sys.stdout, indent=1)
