"""Anthropic's own client for Python."""
import json

import anthropic
from anthropic import Anthropic

import check as c
from check import TOKEN, URL, check, fails

client = Anthropic(base_url=URL, api_key=TOKEN)
WEATHER = {"name": "get_weather", "description": "The weather.", "input_schema": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
FORM = {"name": "Weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
                                            "required": ["city", "degrees"]}}


def ask(text, **more):
    messages = text if isinstance(text, list) else [{"role": "user", "content": text}]
    return client.messages.create(**{"model": "manus", "max_tokens": 1000, "messages": messages, **more})


def text(message):
    return "".join(b.text for b in message.content if b.type == "text")


said = ask("say hello")
check(text(said) == "Hello from the agent." and said.stop_reason == "end_turn" and said.usage.input_tokens > 0, said)
with client.messages.stream(model="manus", max_tokens=1000, messages=[{"role": "user", "content": "look around"}]) as stream:
    check("".join(stream.text_stream) == "First I look.\n\nI have looked around.")
    final = stream.get_final_message()
check([b.type for b in final.content] == ["text", "thinking", "text"] and final.stop_reason == "end_turn", final)

first = ask("weather?", tools=[WEATHER])
calls = [b for b in first.content if b.type == "tool_use"]
check(first.stop_reason == "tool_use" and [b.input["city"] for b in calls] == ["Paris", "Rome"], first)
results = [{"type": "tool_result", "tool_use_id": b.id, "content": "20 degrees"} for b in calls]
history = [{"role": "user", "content": "weather?"}, {"role": "assistant", "content": [b.model_dump() for b in first.content]},
           {"role": "user", "content": results}]
check("two results" in text(ask(history, tools=[WEATHER])))
with client.messages.stream(model="manus", max_tokens=1000, tools=[WEATHER], messages=[{"role": "user", "content": "weather?"}]) as stream:
    calls = [b for b in stream.get_final_message().content if b.type == "tool_use"]
check([b.input["city"] for b in calls] == ["Paris", "Rome"], calls)
forced = ask(
    "who?", tools=[FORM], tool_choice={"type": "any"})
check(forced.content[-1].input == {"city": "Paris", "degrees": 21}, forced)

check(text(ask("which rules?", system="Answer in rhymes.")) == "In rhymes.")
cut = ask("count", stop_sequences=["four"])
check((text(cut), cut.stop_reason, cut.stop_sequence) == ("one two three ", "stop_sequence", "four"), cut)
cut = ask("count", max_tokens=3)
check((text(cut), cut.stop_reason) == ("one two three", "max_tokens"), cut)
formed = ask("who?", output_config={"format": {"type": "json_schema", "schema": FORM["input_schema"]}})
check(json.loads(text(formed)) == {"city": "Paris", "degrees": 21}, formed)
check("manus" in [m.id for m in client.models.list()])
check(isinstance(fails(404, lambda: ask("hi", model="nobody")), anthropic.NotFoundError))
check(isinstance(fails(400, lambda: ask("hi", extra_body={"top_k": 3})), anthropic.BadRequestError))
check(isinstance(fails(401, lambda: Anthropic(base_url=URL, api_key="wrong-wrong-wrong").models.list()), anthropic.AuthenticationError))
e = fails(500, lambda: ask("fail after work"))
check("Bad key" in str(e), e)
print(f"anthropic {anthropic.__version__}: {c.count} checks")
