"""Ollama's own client, with agents and with a model."""

import ollama
from common import CITIES, DIALOG, HELLO, OBJECT, TOKEN, TRANSCRIPT, URL, WEATHER, equal, fails, holds

client = ollama.Client(host=URL, headers={"authorization": f"Bearer {TOKEN}"})
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": WEATHER}}]


def messages(prompt):
    return prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}]


def ask(model, prompt, **more):
    return client.chat(model=model, messages=messages(prompt), **more)


def stream(model, prompt, **more):
    return list(client.chat(model=model, messages=messages(prompt), stream=True, **more))


equal(ask("model", "plain").message.content, HELLO)
equal("".join(piece.message.content for piece in stream("model", "plain")), HELLO)
holds(ask("echo", DIALOG).message.content, TRANSCRIPT)
holds("".join(piece.message.content for piece in stream("echo", DIALOG)), TRANSCRIPT)
calls = ask("model", "weather", tools=TOOLS).message.tool_calls
equal([dict(call.function.arguments) for call in calls], CITIES)
equal(ask("model", "object", format=OBJECT).message.content, '{"name":"rope","length":12}')
names = [model.model for model in client.list().models]
assert "composite/profile/pair" in names, names
assert "tools" in client.show("model").capabilities
equal(fails(ollama.ResponseError, lambda: ask("ecko", "Hi!")).status_code, 404)
equal(fails(ollama.ResponseError, lambda: ask("echo", "Hi!", tools=TOOLS)).status_code, 400)
equal(fails(ollama.ResponseError, lambda: stream("limited", "slow down")).status_code, 429)
print("ok")
