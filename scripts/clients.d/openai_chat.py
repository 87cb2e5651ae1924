"""OpenAI's own client for Python: chat completions, errors, models."""
import json
import urllib.request

import openai
from openai import OpenAI

import check as c
from check import TOKEN, URL, check, fails

client = OpenAI(base_url=URL + "/v1", api_key=TOKEN)
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
          "required": ["city", "degrees"], "additionalProperties": False}
WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "The weather in a city.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}


def ask(text, **more):
    return client.chat.completions.create(model="manus", messages=[{"role": "user", "content": text}], **more)


def sessions():
    r = urllib.request.Request(URL + "/api/v1/sessions?limit=500", headers={"Authorization": "Bearer " + TOKEN})
    return len(json.load(urllib.request.urlopen(r))["items"])


said = ask("say hello")
check(said.choices[0].message.content == "Hello from the agent.", said)
check(said.choices[0].finish_reason == "stop" and said.usage.total_tokens > 0, said)
check(said.created > 1_700_000_000, said)

# A stream says the same, with its usage; calls of the agent's own tools are reasoning.
text, work, last = "", "", None
for chunk in ask("look around", stream=True, stream_options={"include_usage": True}):
    for choice in chunk.choices:
        text += choice.delta.content or ""
        work += getattr(choice.delta, "reasoning_content", None) or ""
    last = chunk
check(text == "First I look.\n\nI have looked around.", text)
check("echo looked around" in work, work)
check(last.usage.prompt_tokens > 0, last)

# The client's own tools: the session waits for all results and goes on in itself.
messages = [{"role": "user", "content": "weather in Paris and Rome?"}]
first = client.chat.completions.with_raw_response.create(model="manus", messages=messages, tools=[WEATHER])
session, first = first.headers["openmanus-session"], first.parse()
calls = first.choices[0].message.tool_calls
check(first.choices[0].finish_reason == "tool_calls", first)
check([json.loads(x.function.arguments)["city"] for x in calls] == ["Paris", "Rome"], calls)
messages.append(first.choices[0].message.model_dump(exclude_none=True))
one = messages + [{"role": "tool", "tool_call_id": calls[0].id, "content": "21 degrees"}]
fails(400, lambda: client.chat.completions.create(model="manus", messages=one, tools=[WEATHER]))
both = one + [{"role": "tool", "tool_call_id": calls[1].id, "content": "25 degrees"}]
for _ in range(2):  # the same again gets the same answer from the same session
    done = client.chat.completions.with_raw_response.create(model="manus", messages=both, tools=[WEATHER])
    check(done.headers["openmanus-session"] == session)
    check("two results" in done.parse().choices[0].message.content, done.text)

pieces = {}
for chunk in ask("weather?", tools=[WEATHER], stream=True):
    for call in chunk.choices[0].delta.tool_calls or []:
        pieces[call.index] = pieces.get(call.index, "") + call.function.arguments
check([json.loads(p)["city"] for p in pieces.values()] == ["Paris", "Rome"], pieces)
alone = ask("weather?", tools=[WEATHER], parallel_tool_calls=False).choices[0].message
check(len(alone.tool_calls) == 1, alone)
forced = ask("who?", tools=[{"type": "function", "function": {"name": "Weather", "parameters": SCHEMA}}],
             tool_choice={"type": "function", "function": {"name": "Weather"}}).choices[0].message
check(json.loads(forced.tool_calls[0].function.arguments) == {"city": "Paris", "degrees": 21}, forced)

# Structured output, whole and streamed.
form = {"type": "json_schema", "json_schema": {"name": "weather", "strict": True, "schema": SCHEMA}}
check(json.loads(ask("who?", response_format=form).choices[0].message.content)["degrees"] == 21)
check(json.loads(ask("who?", response_format={"type": "json_object"}).choices[0].message.content)["city"] == "Paris")
text = "".join(x.choices[0].delta.content or "" for x in ask("who?", response_format=form, stream=True) if x.choices)
check(json.loads(text) == {"city": "Paris", "degrees": 21}, text)

# System and developer messages are in the system prompt; images arrive.
rules = [{"role": "developer", "content": "Answer in rhymes."}, {"role": "user", "content": "which rules?"}]
check(client.chat.completions.create(model="manus", messages=rules).choices[0].message.content == "In rhymes.")

# stop and max_tokens, whole and streamed.
for stop, limit, want, reason in [("four", None, "one two three ", "stop"), (None, 3, "one two three", "length")]:
    more = {k: v for k, v in {"stop": stop, "max_completion_tokens": limit}.items() if v}
    got = ask("count", **more).choices[0]
    check((got.message.content, got.finish_reason) == (want, reason), got)
    text, end = "", None
    for chunk in ask("count", stream=True, **more):
        text += chunk.choices[0].delta.content or ""
        end = chunk.choices[0].finish_reason or end
    check((text, end) == (want, reason), (text, end))

# What cannot be done is refused, and the field is named.
for field, value in {"n": 2, "logprobs": True, "top_p": 0.5, "logit_bias": {"5": 1}, "seed_": 1, "temperature": 9,
                     "functions": [{"name": "x"}], "web_search_options": {}}.items():
    param = {"seed_": "seed_"}.get(field, field)
    fails(400, lambda: ask("say hello", extra_body={field: value}), param)
for field in ["n", "seed", "user", "metadata", "temperature"]:
    value = {"n": 1, "seed": 7, "user": "u", "metadata": {"a": "b"}, "temperature": 0.5}[field]
    check(ask("say hello", extra_body={field: value}).choices[0].message.content)
fails(400, lambda: client.chat.completions.create(model="manus", messages=[{"role": "x", "content": "hi"}]), "messages[0].role")
fails(400, lambda: client.chat.completions.create(model="manus", messages=[]), "messages")
e = fails(404, lambda: client.chat.completions.create(model="nobody", messages=[{"role": "user", "content": "hi"}]), "model")
check(e.code == "model_not_found", e)
e = fails(401, lambda: OpenAI(base_url=URL + "/v1", api_key="wrong-wrong-wrong").models.list())
check(e.code == "invalid_api_key" and "not authenticated" in str(e), e)
fails(404, lambda: client.files.list())
fails(405, lambda: client.get("/chat/completions", cast_to=object))
check(client.models.retrieve("manus").created > 1_700_000_000)
fails(404, lambda: client.models.retrieve("nobody"))

# A failed agent is not run again by the client's retries.
before = sessions()
e = fails(500, lambda: ask("fail after work"))
check("Bad key" in str(e), e)
check(sessions() == before + 1, f"{sessions() - before} sessions")

# The same Idempotency-Key is the same session; another question under it is refused.
key = {"Idempotency-Key": f"key-{before}"}
ids = {ask("say hello", extra_headers=key).id for _ in range(3)}
check(len(ids) == 1, ids)
fails(409, lambda: ask("count", extra_headers=key))

print(f"openai {openai.__version__}, chat: {c.count} checks")
