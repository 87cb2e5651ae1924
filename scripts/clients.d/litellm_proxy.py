"""LiteLLM's proxy, a gateway that others wrote, in front of strict servers (internal/zoo): a session with calls, thinking, a
picture and a compaction goes through it to its end, in each interface that both speak."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.request

import check as c
from check import check
from llama import Desk, picture, work

REPOSITORY = pathlib.Path(os.environ["OPENMANUS"]).parent.parent
KEY = "sk-of-the-gateway"


def until(what, process, seconds=300):
    end = time.monotonic() + seconds
    while not what():
        assert process.poll() is None and time.monotonic() < end, "it did not start"
        time.sleep(0.1)


def get(url):
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Authorization": f"Bearer {KEY}"})) as r:
        return json.loads(r.read())


def zoo():
    """Starts the strict servers, and returns the process, and where they are."""
    served = work / "served.json"
    subprocess.run(["go", "test", "-c", "-o", work / "zoo.test", "./internal/zoo"], cwd=REPOSITORY, check=True)
    process = subprocess.Popen([work / "zoo.test", "-test.run", "^TestServe$", "-test.timeout", "30m"], env={**os.environ, "ZOO_SERVED": str(served)},
                               cwd=REPOSITORY / "internal" / "zoo", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    until(served.exists, process)
    return process, json.loads(served.read_text())


def gateway(at):
    """Starts the proxy in front of them, and returns the process, and where it is."""
    models = {"deepseek": ("deepseek/deepseek-v4-pro", "DeepSeek"), "gpt": ("openai/gpt-4.1", "OpenAI Chat Completions"),
              "gpt-5": ("openai/gpt-5", "OpenAI Responses"), "claude": ("anthropic/claude-sonnet-4-5", "Anthropic")}
    (work / "gateway.yaml").write_text(json.dumps({
        "model_list": [{"model_name": name, "litellm_params": {"model": model, "api_base": at[server], "api_key": "sk-of-the-zoo"}}
                       for name, (model, server) in models.items()],
        "litellm_settings": {"num_retries": 0, "telemetry": False}, "general_settings": {"master_key": KEY}}))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    process = subprocess.Popen(
        [pathlib.Path(sys.executable).parent / "litellm", "--config", work / "gateway.yaml", "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"],
        cwd=work, stdout=open(work / "gateway.log", "w"), stderr=subprocess.STDOUT, env={**os.environ, "HOME": str(work), "LITELLM_LOCAL_MODEL_COST_MAP": "True"})
    url = f"http://127.0.0.1:{port}"

    def up():
        try:
            return len(get(url + "/v1/models")["data"]) == len(models)
        except OSError:
            return False

    until(up, process)
    return process, url


def session(server, model, base, **env):
    before = get(at["report"])[server]
    desk = Desk(base, model, OPENMANUS_LLM_API_KEY=KEY, **env)
    desk.configure('[provenance]\nmode = "record"\n')
    (desk.folder / "p.png").write_bytes(picture())
    out, err = desk.run("run", "count, and look at this", "--attach", "p.png")
    check(out.endswith("Done.\n") and "finished" in err, (model, out[-500:], err[-2000:]))
    events = desk.events()
    kinds = [e["type"] for e in events]
    check(kinds.count("call_done") > 12 and "compacted" in kinds and "model_failed" not in kinds, (model, kinds))
    check(model == "compat/gpt" or "I see, " in json.dumps(events), (model, "its thoughts are lost"))
    after = get(at["report"])[server]
    check(after["taken"] - before["taken"] == 13, (model, before["taken"], after["taken"]))  # 12 replies and a summary
    new = (after["refusals"] or [])[len(before["refusals"] or []):]
    check(any("context" in x or "too long" in x for x in new), (model, new))
    desk.run("sessions", "replay", "--check", "last")
    return [x for x in new if "context" not in x and "too long" not in x]


animals, at = zoo()
try:
    proxy, url = gateway(at)
    try:
        told = {}
        for name, server, model, base, env in [
            ("DeepSeek", "DeepSeek", "compat/deepseek", "/v1", {}),
            ("OpenAI", "OpenAI Chat Completions", "compat/gpt", "/v1", {}),
            ("OpenAI, Responses", "OpenAI Responses", "openai/gpt-5", "/v1", {"OPENMANUS_LLM_API": "responses"}),
            ("Anthropic, by Chat Completions", "Anthropic", "compat/claude", "/v1", {}),
            ("Anthropic, thinking", "Anthropic", "compat/claude", "/v1", {"OPENMANUS_LLM_EFFORT": "medium"}),
            ("Anthropic, Messages", "Anthropic", "anthropic/claude", "", {}),
        ]:
            told[name] = session(server, model, url + base, **env)
        for name, refusals in told.items():
            check(not refusals, told)
    finally:
        proxy.terminate()
        proxy.wait()
finally:
    animals.stdin.close()
    animals.wait()
print(f"LiteLLM's proxy: {c.count} checks, {len(told)} sessions")
