"""Ollama's official SDK."""

import json

import ollama
from common import CITIES, HELLO, OBJECT, SCHEMA, URL, equal, fails

client = ollama.Client(host=URL)
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": SCHEMA}}]


def ask(prompt, **more):
    return client.chat(model="m", messages=[{"role": "user", "content": prompt}], **more)


def stream(prompt, **more):
    return list(ask(prompt, stream=True, **more))


equal(ask("plain").message.content, HELLO)
chunks = stream("plain")
assert len(chunks) > 2 and chunks[-1].done
equal("".join(chunk.message.content or "" for chunk in chunks), HELLO)

for chunks in [ask("weather", tools=TOOLS)], stream("weather", tools=TOOLS):
    calls = [call for chunk in chunks for call in (chunk.message.tool_calls or [])]
    equal([dict(call.function.arguments) for call in calls], CITIES)
    equal("".join(chunk.message.thinking or "" for chunk in chunks), "The tool knows.")
    equal((chunks[-1].prompt_eval_count, chunks[-1].eval_count), (50, 40))

equal(json.loads(ask("object", format=OBJECT).message.content), {"name": "rope", "length": 12})
equal([model.model for model in client.list().models], ["scripted:latest"])
equal(client.show("scripted").capabilities, ["completion", "tools"])

equal(fails(ollama.ResponseError, lambda: ask("unauthorized")).status_code, 401)
equal(fails(ollama.ResponseError, lambda: stream("slow down")).status_code, 429)
equal(fails(ollama.ResponseError, lambda: ask("busy")).status_code, 529)
assert "does not expect" in fails(ollama.ResponseError, lambda: stream("unscripted")).error
fails(Exception, lambda: stream("cut"))
fails(Exception, lambda: stream("garbage"))
print("ok")
