"""A scripted task, of 14 steps or LLAMA_STEPS, of which a real llama.cpp with a window of 8,192 tokens sees every request, and is asked for one
token: it refuses none. LLAMA_TASKS=all does the task also where the template of the model has no tools."""
import json
import os
import pathlib

import check as c
from check import check
from llama import Desk, Llama, Relay

STEPS = int(os.environ.get("LLAMA_STEPS", 14))
TOOLS = (pathlib.Path(__file__).parent / "llama_tools.jinja").read_text()
FUNCTION = "def f%d(numbers, factor=%d):\n    return [n * factor for n in numbers if n %% 2 == 0]\n\n\n"


def step(n):
    """What the model does in its n-th step: the name of a tool, and its arguments."""
    return [
        ("bash", {"command": f"seq {n} {n + 700}"}),
        ("file_saver", {"file_path": f"f{n}.py", "content": "".join(FUNCTION % (i, n) for i in range(40))}),
        ("bash", {"command": f"cat f{n - 1}.py; head -c 1500 /dev/urandom | base64"}),
        ("bash", {"command": "cat nothing; ls -l; env | sort"}),
        ("str_replace_editor", {"command": "view", "path": f"f{n - 3}.py"}),
        ("bash", {"command": "yes 'The quick brown fox jumps over the lazy dog, again and again.' | head -n 80"}),
        ("grep", {"pattern": "def f1"}),
        ("bash", {"command": "printf 'größer als 東京, Привет %.0s' $(seq 80)"}),
    ][n % 8]


def stream(text, call):
    """A reply of Chat Completions with a text, or with a call."""
    delta = {"role": "assistant", "content": text}
    if call:
        name, arguments = call
        delta["tool_calls"] = [{"index": 0, "id": f"call_{hash(text) % 10 ** 8}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}]
    for choice in {"delta": delta, "finish_reason": None}, {"delta": {}, "finish_reason": "tool_calls" if call else "stop"}:
        yield b"data: " + json.dumps({"choices": [{"index": 0, **choice}]}).encode() + b"\n\n"


def ended(said):
    """The end of a reply, with what llama.cpp has counted."""
    return b"data: " + json.dumps({"choices": [], "usage": said["usage"]}).encode() + b"\n\ndata: [DONE]\n\n"


def task(template):
    llama, n = Llama(template=template, stream=False, max_tokens=1, max_completion_tokens=1), 0

    def to(method, path, body):
        nonlocal n
        if not path.endswith("/chat/completions"):
            return llama
        with llama.ask(method, path, body) as r:
            asked.append((r.status, json.loads(r.read()), body))
        if asked[-1][0] != 200:
            return asked[-1][0], json.dumps(asked[-1][1]).encode()
        if b"is about to be replaced by a summary" in body:
            return 200, b"".join(stream("I ran commands and wrote functions.", None)) + ended(asked[-1][1])
        n += 1
        if n > STEPS:
            return 200, b"".join(stream("Done.", None)) + ended(asked[-1][1])
        name, arguments = step(n - 1)
        if "tools" in json.loads(body):
            said = stream(f"Step {n}.", (name, arguments))
        else:
            said = stream("<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}) + "\n</tool_call>", None)
        return 200, b"".join(said) + ended(asked[-1][1])

    asked, relay = [], Relay(to)
    desk = Desk(relay.url)
    desk.configure('[provenance]\nmode = "record"\n')  # what one step prints is the command of another
    out, err = desk.run("run", "--max-steps", "100", "go through the script")
    check(out.endswith("Done.\n"), out[-2000:])
    refused = [x[1] for x in asked if x[0] != 200]
    check(not refused, refused)
    kinds = [e["type"] for e in desk.events()]
    check(kinds.count("call_done") == STEPS, kinds)
    check(kinds.count("compacted") + kinds.count("elided") > 1 and "model_failed" not in kinds, kinds)
    check(all(("tools" in json.loads(x[2])) == bool(template) for x in asked if b"about to be replaced" not in x[2]), "the form of the tools")
    desk.run("sessions", "replay", "--check", "last")
    return len(asked), max(x[1]["usage"]["prompt_tokens"] for x in asked)


figures = [task(template) for template in ((TOOLS, "") if os.environ.get("LLAMA_TASKS") == "all" else (TOOLS,))]
print(f"llama.cpp: {c.count} checks; it took {' and '.join(f'{n} requests of {most} tokens at most' for n, most in figures)}")
