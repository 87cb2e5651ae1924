"""LangChain: tools, structured output in its three ways, streams."""
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

import check as c
from check import TOKEN, URL, check


class Weather(BaseModel):
    """The weather in a city."""

    city: str
    degrees: int


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"20 degrees in {city}"


for responses in False, True:
    model = ChatOpenAI(model="manus", base_url=URL + "/v1", api_key=TOKEN, use_responses_api=responses, max_retries=0)
    check(model.invoke("say hello").text == "Hello from the agent.")
    check("".join(x.text for x in model.stream("look around")) == "First I look.\n\nI have looked around.")
    for way in "json_schema", "function_calling":
        check(model.with_structured_output(Weather, method=way).invoke("who?") == Weather(city="Paris", degrees=21), way)
    check(model.with_structured_output(None, method="json_mode").invoke("who? JSON")["city"] == "Paris")
    said = [HumanMessage("weather?")]
    said.append(model.bind_tools([get_weather]).invoke(said))
    check([x["args"]["city"] for x in said[1].tool_calls] == ["Paris", "Rome"], said)
    said += [get_weather.invoke(x) for x in said[1].tool_calls]
    check(all(isinstance(m, ToolMessage) for m in said[2:]))
    check("two results" in model.bind_tools([get_weather]).invoke(said).text)
print(f"langchain: {c.count} checks")
