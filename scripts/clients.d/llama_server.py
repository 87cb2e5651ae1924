"""llama.cpp's own HTTP server: what the binary learns of it, what it sends, and how its sessions end. What the model says is told
to it, so that the requests, the ends, the exit codes and the journal can be judged."""
import json
import pathlib

import check as c
from check import check
from llama import Desk, Llama, Relay, picture, says

TOOLS = (pathlib.Path(__file__).parent / "llama_tools.jinja").read_text()
NO_SYSTEM = ("{% for m in messages %}{% if m['role'] != ('user' if loop.index0 % 2 == 0 else 'assistant') %}"
             "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
             "{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}{{ '<|im_start|>assistant\\n' }}")
CALL = '<tool_call>\n{"name":"bash","arguments":{"command":"%s"}}\n</tool_call>'
SUMMARY = b"is about to be replaced by a summary"
DASHES = {"logit_bias": [[15069, 1000]]}  # 64 of them are one token


def secretive(method, path, body, to):
    """Where a gateway passes nothing on but the conversation."""
    return to if path.endswith("/chat/completions") else (404, b'{"error":{"message":"Not Found"}}')


def messages(seen):
    return seen[1]["messages"]


done = Llama(grammar=says("Done."))


def first_request():
    relay = Relay(lambda *request: done)
    desk = Desk(relay.url, model="")
    told = json.loads(desk.run("models", "probe", "compat/smollm2", "--json")[0])
    check((told["window"], told["vision"], told["tools"]) == (8192, False, False), told)
    check(told["roles"] == "system, user, assistant" and told["models"] == ["smollm2"], told)
    check(not relay.replies(), "a probe asked the model")
    out, err = desk.run("run", "--model", "compat/smollm2", "hi")
    check(out == "Done.\n", out)
    check("takes no tools (endpoint: its /props" in err, err)
    check(len(relay.replies()) == 1 and not relay.refusals(), relay.refusals())
    request = relay.replies()[0][1]
    check("tools" not in request and "<tool_call>" in request["messages"][0]["content"], request)


def no_model_is_named():
    relay = Relay(lambda *request: done)
    desk = Desk(relay.url, model="")
    del desk.env["OPENMANUS_LLM_BASE_URL"], desk.env["OPENMANUS_LLM_API_KEY"]
    desk.env |= {"OPENAI_BASE_URL": relay.url, "OPENAI_API_KEY": "sk-none"}
    out, err = desk.run("run", "hi")
    check(out == "Done.\n" and "smollm2" in err, (out, err))


def calls_as_text(name, template, configuration=""):
    caller = Llama(grammar=says(CALL % "echo hi >f"), template=template)
    finisher = Llama(grammar=says("Done."), template=template)
    relay = Relay(lambda method, path, body: finisher if body and len(json.loads(body)["messages"]) > 2 else caller)
    desk = Desk(relay.url)
    if configuration:
        desk.configure(configuration)
    out, _ = desk.run("run", "write a file")
    check(out == "Done.\n" and (desk.folder / "f").read_text() == "hi\n", (name, out))
    check(not relay.refusals() and len(relay.replies()) == 2, relay.refusals())
    check(all("tools" not in x[1] for x in relay.replies()), name)
    return json.loads(desk.run("models", "probe", "--json")[0])


def tools_of_the_template():
    relay = Relay(lambda *request: tooled)
    tooled = Llama(template=TOOLS, **DASHES)
    desk = Desk(relay.url)
    told = json.loads(desk.run("models", "probe", "--json")[0])
    check(told["tools"] is True, told)
    desk.configure("[llm]\nmax_tokens = 2\n")
    desk.run("run", "hi", code=3)  # it is cut at its limit
    names = {t["function"]["name"] for t in relay.replies()[0][1]["tools"]}
    check("bash" in names and not relay.refusals(), relay.refusals())


def a_picture(hidden):
    relay = Relay(lambda method, path, body: secretive(method, path, body, done) if hidden else done)
    desk = Desk(relay.url)
    (desk.folder / "p.png").write_bytes(picture())
    out, _ = desk.run("run", "what is it?", "--attach", "p.png")
    check(out == "Done.\n", out)
    desk.run("sessions", "resume", "last", "and now?")
    check(len(relay.refusals()) == (1 if hidden else 0), relay.refusals())
    check(all("image input is not supported" in x for x in relay.refusals()), relay.refusals())
    last = json.dumps(messages(relay.replies()[-1]))
    check("image_url" not in last and "You cannot see images" in last, last[-2000:])


def a_loop():
    relay = Relay(lambda *request: looping)
    looping = Llama(**DASHES)
    desk = Desk(relay.url)
    _, err = desk.run("run", "hi", code=1)
    check("repeats itself without end" in err, err)
    relay.settle()
    check(len(relay.replies()) == 3, len(relay.replies()))
    check("over and over" in messages(relay.replies()[-1])[-1]["content"], messages(relay.replies()[-1])[-1])
    check(all(x[3].count("-" * 64) < 100 for x in relay.replies()), "it is heard to the end")
    check(not any(e["type"] == "finished" for e in desk.events()))


def no_system_role():
    relay = Relay(lambda *request: strict)
    strict = Llama(grammar=says("Done."), template=NO_SYSTEM)
    desk = Desk(relay.url)
    check(desk.run("run", "hi")[0] == "Done.\n")
    check(desk.run("sessions", "resume", "last", "again")[0] == "Done.\n")
    check(len(relay.refusals()) <= 1, relay.refusals())


def overflows():
    caller = Llama(grammar=says(CALL % "seq 999"))

    def to(method, path, body):
        if not path.endswith("/chat/completions"):
            return secretive(method, path, body, done)
        return done if SUMMARY in body or len(relay.replies()) > 14 else caller

    relay = Relay(to)
    desk = Desk(relay.url)
    out, err = desk.run("run", "count")
    check(out == "Done.\n" and "finished" in err, (out, err))
    check(relay.refusals() and all("exceeds the available context size (8192 tokens)" in x for x in relay.refusals()), relay.refusals())
    kinds = [e["type"] for e in desk.events()]
    check(kinds.count("compacted") + kinds.count("elided") >= 2 and "model_failed" not in kinds, kinds)
    check(desk.run("sessions", "resume", "last", "and again")[0] == "Done.\n")
    desk.run("sessions", "replay", "--check", "last")


first_request()
no_model_is_named()
told = calls_as_text("tools that the template drops", "")
check(told["tools"] is False and told["sources"]["tools"].startswith("endpoint"), told)
told = calls_as_text("tools = false", TOOLS, '[models."compat/smollm2"]\ntools = false\n')
check(told["tools"] is False and "config.toml" in told["sources"]["tools"], told)
tools_of_the_template()
a_picture(hidden=False)
a_picture(hidden=True)
a_loop()
no_system_role()
overflows()
print(f"llama.cpp: {c.count} checks")
