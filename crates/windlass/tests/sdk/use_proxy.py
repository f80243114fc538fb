"""A real LiteLLM proxy whose `model_list` contains agents, with the gateway as its upstream."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import openai
from common import CITIES, DIALOG, TOKEN, TRANSCRIPT, URL, WEATHER, equal, fails, holds

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
here = Path(__file__).parent
environment = {
    **os.environ,
    "GATEWAY_BASE": f"{URL}/v1",
    "GATEWAY_TOKEN": TOKEN,
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "NO_PROXY": "127.0.0.1",
}
# Start it with the interpreter: the script's shebang names a missing one if the directory was moved.
command = [sys.executable, str(Path(sys.executable).parent / "litellm"), "--config", str(here / "proxy.yaml"), "--host", "127.0.0.1", "--port", str(port)]
with open(os.devnull, "w") as nothing:
    proxy = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=nothing, stderr=sys.stderr)
base = f"http://127.0.0.1:{port}"


def ready():
    while proxy.poll() is None:
        try:
            with urllib.request.urlopen(f"{base}/health/liveliness", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the proxy ended")


try:
    ready()
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="sk-proxy", max_retries=0)
    names = sorted(model.id for model in client.models.list())
    equal(names, ["composer", "pair", "tools"])

    def ask(model, prompt, **more):
        answer = client.chat.completions.create(model=model, messages=prompt, **more)
        return answer.choices[0].message

    def stream(model, prompt, **more):
        pieces = client.chat.completions.create(model=model, messages=prompt, stream=True, **more)
        return "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)

    # A dialog: the prompt contains all turns, and the program's output is the answer.
    holds(ask("composer", DIALOG).content, TRANSCRIPT)
    holds(stream("composer", DIALOG), TRANSCRIPT)
    say = [{"role": "user", "content": "round"}]
    holds(ask("pair", say).content, "round")
    holds(stream("pair", say), "round")
    tools = [{"type": "function", "function": {"name": "weather", "parameters": WEATHER}}]
    calls = ask("tools", [{"role": "user", "content": "weather"}], tools=tools).tool_calls
    equal([json.loads(call.function.arguments) for call in calls], CITIES)
    fails(openai.RateLimitError, lambda: ask("composer", [{"role": "user", "content": "fail"}]))
    fails(openai.BadRequestError, lambda: ask("composer", say, tools=tools))
    print("ok")
finally:
    proxy.terminate()
    try:
        proxy.wait(20)
    except subprocess.TimeoutExpired:
        proxy.kill()
