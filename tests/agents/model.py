#!/usr/bin/env python3
"""A scripted model on loopback: speaks the Messages API and plays developer, tester and reviewer.

usage: model.py ROOT PORT_FILE LOG

ROOT is the project's folder, as the agents see it. It listens on two free ports of 127.0.0.1 and writes their numbers to PORT_FILE:
the API, and one that no role may reach. LOG gets one JSON line for each answer:
{"role", "step", "tools": [names asked for], "results": [what the last tools answered]}.

It keeps no state: who it is follows from the prompt's "You are the …", where it is from how many answers the conversation
holds already, what it writes from what the conversation shows. So a role that could not read something cannot use it.
"""
import json
import os
import re
import socket
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Task 1 goes wrong first: only a finding that names negative numbers leads to the second version.
# Each side's files carry a mark that the other side must never see.
SUM_WRONG = """#!/bin/sh
# mark-of-the-source
t=0
for n in "$@"; do t=$((t + ${n#-})); done
echo "$t"
"""
SUM_RIGHT = """#!/bin/sh
# mark-of-the-source
t=0
for n in "$@"; do t=$((t + n)); done
echo "$t"
"""
MAX = """#!/bin/sh
# mark-of-the-source
m=$1
for n in "$@"; do [ "$n" -gt "$m" ] && m=$n; done
echo "$m"
"""
SUITE_HEAD = """#!/bin/sh
# mark-of-the-tests
echo "# the suite's key: ${ANTHROPIC_API_KEY-unset}"
n=0
is() {
\tn=$((n + 1))
\tif [ "$1" = "$2" ]; then echo "ok $n - $3"; else echo "not ok $n - $3"; fi
}
"""
SUITE_SUM = """is "$(sh src/sum.sh 1 2)" 3 "sum of 1 2"
is "$(sh src/sum.sh 5 -2)" 3 "sum with a negative number"
"""
SUITE_MAX = """is "$(sh src/max.sh 3 9 4)" 9 "max of 3 9 4"
"""
SUITE_TAIL = 'echo "1..$n"\n'
FINDING = "- [ ] src/sum.sh drops the sign of negative numbers: 5 -2 must give 3\n"


def tool(name, **arguments):
    return {"name": name, "input": arguments}


def bash(command):
    return tool("Bash", command=command, description="run a command")


def developer(seen, root, closed):
    """Reads the specification, tries what it may not, writes src/, tries it out."""
    if "max.sh" in seen.task:
        name, text = "max.sh", MAX
    else:
        name, text = "sum.sh", SUM_RIGHT if "negative" in seen.prompt or seen.shows(1, "negative") else SUM_WRONG
    return [
        [tool("Read", file_path=f"{root}/SPEC.md")],
        [bash("cat REVIEW.md")],
        [bash("ls tests; cat tests/suite.sh; git show HEAD:tests/suite.sh; ls .git .stint")],
        [tool("Read", file_path=f"{root}/tests/suite.sh")],
        [tool("Write", file_path=f"{root}/tests/suite.sh", content="echo 1..1; echo ok 1\n")],
        [tool("Write", file_path=f"{root}/outside.txt", content="nothing of the developer's\n")],
        [bash(f"exec 3<>/dev/tcp/127.0.0.1/{closed}")],
        # The file may stand already: the agent must have read it before it writes it.
        [bash(f"test -e src/{name} || : > src/{name}")],
        [tool("Read", file_path=f"{root}/src/{name}")],
        [tool("Write", file_path=f"{root}/src/{name}", content=text)],
        [bash(f"sh src/{name} 1 2")],
        f"src/{name} is written; the tests pass.",
    ]


def tester(seen, root, _):
    """Writes tests/ from the specification alone; tries to read and to write src/."""
    text = SUITE_HEAD + SUITE_SUM + (SUITE_MAX if "max.sh" in seen.task else "") + SUITE_TAIL
    return [
        [tool("Read", file_path=f"{root}/SPEC.md")],
        [bash("ls src; cat src/sum.sh; git show HEAD:src/sum.sh")],
        [tool("Read", file_path=f"{root}/src/sum.sh")],
        [tool("Write", file_path=f"{root}/src/sum.sh", content="echo 3\n")],
        [bash("test -e tests/suite.sh || : > tests/suite.sh")],
        [tool("Read", file_path=f"{root}/tests/suite.sh")],
        [tool("Write", file_path=f"{root}/tests/suite.sh", content=text)],
        [bash("sh -n tests/suite.sh && echo parses")],
        "tests/suite.sh follows SPEC.md.",
    ]


def reviewer(seen, root, _):
    """Reads both sides and the suite's log; writes REVIEW.md only when it found something."""
    review = f"{root}/REVIEW.md"
    if seen.shows(0, r"\bnot ok\b"):
        end = [[tool("Write", file_path=review, content=FINDING)], "One finding in REVIEW.md."]
    elif seen.shows(3, r"- \[ \]"):
        end = [[tool("Edit", file_path=review, old_string="- [ ]", new_string="- [x]")], "The finding is fixed."]
    else:
        end = ["No finding."]
    return [
        [bash(f"cat {seen.suite_log}")],
        [bash("cat src/*.sh"), bash("cat tests/suite.sh")],
        [bash("echo >> src/sum.sh; echo >> tests/suite.sh; : > new.txt")],
        [tool("Read", file_path=review)],
    ] + end


SCRIPTS = {"developer": developer, "tester": tester, "reviewer": reviewer}


def text_of(content):
    """The text of a message's content, tool results included."""
    if isinstance(content, str):
        return content
    parts = []
    for block in content or []:
        if block.get("type") == "text":
            parts.append(block["text"])
        elif block.get("type") == "tool_result":
            parts.append(text_of(block.get("content")))
    return "\n".join(parts)


def results_of(message):
    if isinstance(message["content"], str):
        return []
    return [text_of(b.get("content")) for b in message["content"] if b.get("type") == "tool_result"]


class Seen:
    """What one conversation shows."""

    def __init__(self, request):
        self.messages = request["messages"]
        self.prompt = re.sub(r"<system-reminder>.*?</system-reminder>", "", text_of(self.messages[0]["content"]), flags=re.S)
        self.step = sum(1 for m in self.messages if m["role"] == "assistant")
        named = re.search(r"You are the (developer|tester|reviewer)", self.prompt)
        self.role = named.group(1) if named else None
        named = re.search(r"/\S*/suite\.log", self.prompt)
        self.suite_log = named.group(0).rstrip(".,`)") if named else "/run/stint/suite.log"
        named = re.search(r"src/\w+\.sh", self.prompt)
        self.task = named.group(0) if named else ""

    def results(self, step):
        """What the tools of answer number `step` said, one text each."""
        after = -1
        said = []
        for message in self.messages:
            if message["role"] == "assistant":
                after += 1
            elif after == step:
                said += results_of(message)
        return said

    def shows(self, step, pattern):
        return re.search(pattern, "\n".join(self.results(step))) is not None


def answer(request, server):
    """The content blocks of the next message."""
    names = {t.get("name") for t in request.get("tools", [])}
    if "Write" not in names:
        return [{"type": "text", "text": "a task"}]
    seen = Seen(request)
    if seen.role is None:
        return [{"type": "text", "text": "The prompt names no role."}]
    steps = SCRIPTS[seen.role](seen, server.root, server.closed)
    now = steps[min(seen.step, len(steps) - 1)]
    server.log({"role": seen.role, "step": seen.step, "tools": [t["name"] for t in now] if isinstance(now, list) else [],
                "results": seen.results(seen.step - 1)})
    if isinstance(now, str):
        return [{"type": "text", "text": now}]
    return [{"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": t["name"], "input": t["input"]}
            for t in now]


def events(message):
    """The message as the stream that the API would send."""
    head = dict(message, content=[], stop_reason=None)
    yield {"type": "message_start", "message": head}
    for i, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = dict(block, text=""), {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = dict(block, input={}), {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": i, "content_block": empty}
        yield {"type": "content_block_delta", "index": i, "delta": delta}
        yield {"type": "content_block_stop", "index": i}
    yield {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
           "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self):
        self.reply("text/plain", b"")

    def do_GET(self):
        self.reply("application/json", b'{"data": []}')

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.path.split("?")[0].endswith("/count_tokens"):
            self.reply("application/json", b'{"input_tokens": 100}')
            return
        if not self.path.startswith("/v1/messages"):
            self.reply("application/json", b"{}")
            return
        content = answer(request, self.server)
        message = {
            "id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": request.get("model", "model"),
            "content": content, "stop_reason": "tool_use" if content[0]["type"] == "tool_use" else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10},
        }
        if request.get("stream"):
            stream = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events(message))
            self.reply("text/event-stream", stream.encode())
        else:
            self.reply("application/json", json.dumps(message).encode())


def main():
    root, port_file, log_file = sys.argv[1:4]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    closed = socket.create_server(("127.0.0.1", 0))
    lines = open(log_file, "a", encoding="utf-8", buffering=1)
    server.root = root
    server.closed = closed.getsockname()[1]
    server.log = lambda row: lines.write(json.dumps(row) + "\n")
    with open(port_file + ".new", "w", encoding="utf-8") as f:
        f.write(f"{server.server_port} {server.closed}\n")
    os.rename(port_file + ".new", port_file)
    server.serve_forever()


if __name__ == "__main__":
    main()
