"""LiteLLM: the same program for every provider."""
import json
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no download
import litellm

import check as c
from check import TOKEN, URL, check

litellm.telemetry = False
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}
FORM = {"type": "json_schema", "json_schema": {"name": "w", "schema": {
    "type": "object", "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}}, "required": ["city", "degrees"]}}}


def ask(messages, model="openai/manus", **more):
    base = URL if model.startswith("anthropic/") else URL + "/v1"
    return litellm.completion(model=model, api_base=base, api_key=TOKEN, messages=messages, **more)


def user(text):
    return [{"role": "user", "content": text}]


for model in "openai/manus", "anthropic/manus":
    check(ask(user("say hello"), model).choices[0].message.content == "Hello from the agent.", model)
    text = "".join(x.choices[0].delta.content or "" for x in ask(user("look around"), model, stream=True))
    check(text == "First I look.\n\nI have looked around.", text)
    first = ask(user("weather?"), model, tools=[TOOL]).choices[0].message
    check(len(first.tool_calls) == 2, first)
    said = user("weather?") + [first.model_dump(exclude_none=True)] + [
        {"role": "tool", "tool_call_id": x.id, "content": "20 degrees"} for x in first.tool_calls]
    check("two results" in ask(said, model, tools=[TOOL]).choices[0].message.content)
check(json.loads(ask(user("who?"), response_format=FORM).choices[0].message.content)["degrees"] == 21)
try:
    ask(user("say hello"), "openai/nobody")
    check(False)
except litellm.NotFoundError as e:
    check("nobody" in str(e))
try:
    ask(user("fail after work"))
    check(False)
except litellm.InternalServerError as e:
    check("Bad key" in str(e), e)
print(f"litellm: {c.count} checks")
