"""A Python function as an adapter of `stint eval run`:

    stint eval run --suite suite.yaml --adapter 'python3 /usr/local/share/stint/python/stint_adapter.py module:function'

The function is called with the task, a dict (`task["input"]` is what the suite asks), and returns the output: text, or a dict with "output" and,
if it likes, "trace", a list. The module is looked for in the working directory first. A coroutine function is run to its end.

One process a task. What the function and what it starts print goes to standard error, so that it cannot spoil the answer; an exception ends
the process with its traceback and status 1, which makes the task an error."""
import asyncio
import importlib
import inspect
import json
import os
import sys


def load(name):
    """The function that MODULE:FUNCTION names; FUNCTION may have dots."""
    module, colon, function = name.partition(":")
    if not (module and colon and function):
        sys.exit(f"stint_adapter: {name!r} is not MODULE:FUNCTION")
    sys.path.insert(0, os.getcwd())
    found = importlib.import_module(module)
    for part in function.split("."):
        found = getattr(found, part)
    if not callable(found):
        sys.exit(f"stint_adapter: {name} is no function")
    return found


def answer(function, task):
    """What goes to standard output."""
    result = function(task)
    if inspect.isawaitable(result):
        result = asyncio.run(wait_for(result))
    if isinstance(result, str):
        result = {"output": result}
    if not isinstance(result, dict) or not isinstance(result.get("output"), str):
        raise TypeError('the function must return text, or a dict with "output", which is text')
    if not isinstance(result.get("trace", []), list):
        raise TypeError('"trace" must be a list')
    return {k: result[k] for k in ("output", "trace") if k in result}


async def wait_for(result):
    return await result


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: stint_adapter.py MODULE:FUNCTION <TASK.json")
    task = json.load(sys.stdin)
    out = os.dup(1)
    os.dup2(2, 1)
    text = json.dumps(answer(load(sys.argv[1]), task), ensure_ascii=False, allow_nan=False)
    sys.stdout.flush()
    with open(out, "wb") as f:
        f.write(text.encode("utf-8", "replace") + b"\n")


if __name__ == "__main__":
    main()
