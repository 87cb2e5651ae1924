"""OpenAI's own client for Python: responses."""
import json
import time
import urllib.request

import openai
from openai import OpenAI

import check as c
from check import TOKEN, URL, check, fails

client = OpenAI(base_url=URL + "/v1", api_key=TOKEN)
WEATHER = {"type": "function", "name": "get_weather", "description": "The weather.", "strict": False, "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}


def ask(said, **more):
    return client.responses.create(model="manus", input=said, **more)


said = ask("say hello", metadata={"a": "b"})
check(said.output_text == "Hello from the agent." and said.status == "completed", said)
check(said.metadata["a"] == "b" and said.usage.total_tokens > 0, said)

# A response can be read again, with its input.
again = client.responses.retrieve(said.id)
check(again.output_text == said.output_text and again.id == said.id and again.created_at == said.created_at, again)
check([i.content[0].text for i in client.responses.input_items.list(said.id)] == ["say hello"])
fails(404, lambda: client.responses.retrieve("resp_none_1_0"))
fails(404, lambda: client.responses.retrieve("nothing"))

# A stream, and its own accumulator; reconnecting at every event gives the same.
whole = list(ask("look around", stream=True))
numbers = [e.sequence_number for e in whole]
check(numbers == sorted(set(numbers)), numbers)
text = "".join(e.delta for e in whole if e.type == "response.output_text.delta")
check(text == "First I look.\n\nI have looked around.", text)
done = whole[-1].response
check(whole[-1].type == "response.completed" and done.output_text == text, done)
check([i.type for i in done.output] == ["message", "reasoning", "message"], done.output)


def shown(events):
    out = []
    for e in events:
        d = e.model_dump()
        if e.type == "response.output_text.delta":
            out += [d["delta"]] if not out or not isinstance(out[-1], str) else []
            if isinstance(out[-1], str) and out[-1] is not d["delta"]:
                out[-1] += d["delta"]
        else:
            out.append((e.type, json.dumps(d.get("item") or d.get("part") or d.get("text") or "", sort_keys=True)))
    return out


want = shown(whole)
for i, e in enumerate(whole):
    rest = list(client.responses.retrieve(done.id, stream=True, starting_after=e.sequence_number))
    check(shown(whole[: i + 1] + rest) == want, f"cut after {e.type}")

# The client's tools.
first = ask("weather?", tools=[WEATHER])
calls = [i for i in first.output if i.type == "function_call"]
check([json.loads(x.arguments)["city"] for x in calls] == ["Paris", "Rome"], first)
outputs = [{"type": "function_call_output", "call_id": x.call_id, "output": "20 degrees"} for x in calls]
second = ask(outputs, previous_response_id=first.id, tools=[WEATHER])
check("two results" in second.output_text and second.previous_response_id == first.id, second)
history = [{"role": "user", "content": "weather?"}] + [i.model_dump(exclude_none=True) for i in first.output] + outputs
check("two results" in ask(history, tools=[WEATHER]).output_text)
kinds = [e.type for e in ask("weather?", tools=[WEATHER], stream=True)]
check(kinds.count("response.function_call_arguments.done") == 2, kinds)

# Structured output, background, cancel, delete, going on.
schema = {"type": "object", "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
          "required": ["city", "degrees"], "additionalProperties": False}
formed = ask("who?", text={"format": {"type": "json_schema", "name": "w", "schema": schema, "strict": True}})
check(json.loads(formed.output_text) == {"city": "Paris", "degrees": 21}, formed)
check(ask("which rules?", instructions="Answer in rhymes.").output_text == "In rhymes.")
short = ask("count", max_output_tokens=2)
check(short.status == "incomplete" and short.output_text == "one two", short)
check(client.responses.retrieve(short.id).output_text == "one two")
later = ask("look around", background=True)
check(later.status in ("queued", "in_progress", "completed"), later)
for _ in range(600):
    later = client.responses.retrieve(later.id)
    if later.status not in ("queued", "in_progress"):
        break
    time.sleep(0.1)
check(later.status == "completed" and later.output_text == "I have looked around.", later)
check(client.responses.cancel(later.id).status == "completed")
waiting = ask("weather?", tools=[WEATHER])
next_ = ask("say hello", previous_response_id=said.id)
check(next_.metadata["session"] == said.metadata["session"], next_)
fails(409, lambda: client.responses.delete(next_.id))
client.responses.delete(later.id)
fails(404, lambda: client.responses.retrieve(later.id))
for field, value in {"conversation": "c", "max_tool_calls": 1, "prompt": {"id": "p"}, "previous_response_id": "resp_x",
                     "tools": [{"type": "web_search_preview"}]}.items():
    fails(400, lambda: ask("say hello", extra_body={field: value}), "tools[0].type" if field == "tools" else field)

print(f"openai {openai.__version__}, responses: {c.count} checks")
