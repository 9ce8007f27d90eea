#!/usr/bin/env python3
"""A judge of small Python programs: gives each answer the same input in a sandbox and says what became of it.

    PYTHONPATH=/usr/local/share/stint/python ./judge.py judge.yaml"""
import sys

import stint

INPUT = "1\n2\n39\n"
EXPECTED = "42\n"
ANSWERS = {
    "right": "import sys; print(sum(map(int, sys.stdin)))",
    "wrong": "import sys; print(len(list(sys.stdin)))",
    "endless": "while True: pass",
    "copied": "print(open('solution.txt').read())",
    "writes": "open('out', 'w')",
    "online": "import socket; socket.socket()",
}


def judge(box, code):
    r = box.run_python(code, input=INPUT, timeout=3)
    if r.violation:
        return "forbidden"
    if r.timed_out:
        return "too slow"
    if r.status != 0:
        return f"failed with status {r.status}: {r.stderr.splitlines()[-1]}"
    return "accepted" if r.stdout == EXPECTED else "wrong answer"


def main():
    profile = stint.load_profile(sys.argv[1])
    with stint.Sandbox(profile) as box:
        for who, code in ANSWERS.items():
            print(f"{who:8} {judge(box, code)}")


main()
