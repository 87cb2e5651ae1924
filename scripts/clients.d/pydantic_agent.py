"""Pydantic AI: output_type in its three ways, and tools in a loop."""
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

import check as c
from check import TOKEN, URL, check


class Weather(BaseModel):
    city: str
    degrees: int


provider = OpenAIProvider(base_url=URL + "/v1", api_key=TOKEN)
for kind in OpenAIChatModel, OpenAIResponsesModel:
    model = kind("manus", provider=provider)
    check(Agent(model).run_sync("say hello").output == "Hello from the agent.")
    for way in ToolOutput, NativeOutput, PromptedOutput:
        out = Agent(model, output_type=way(Weather)).run_sync("weather in one city").output
        check(out == Weather(city="Paris", degrees=21), (way, out))
    asked = []
    agent = Agent(model, instructions="Answer in rhymes.")

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """The weather in a city."""
        asked.append(city)
        return f"20 degrees in {city}"

    run = agent.run_sync("weather?")
    check("two results" in run.output and sorted(asked) == ["Paris", "Rome"], (run.output, asked))
    check(agent.run_sync("say hello", message_history=run.all_messages()).output == "Hello from the agent.")
print(f"pydantic-ai: {c.count} checks")
