"""The official Anthropic SDK, with agents and with a model."""

import json

import anthropic
from common import CITIES, DIALOG, HELLO, OBJECT, TOKEN, TRANSCRIPT, URL, WEATHER, cancelled, equal, fails, holds

client = anthropic.Anthropic(base_url=URL, api_key=TOKEN, max_retries=0)
TOOLS = [{"name": "weather", "description": "The weather.", "input_schema": WEATHER}]


def messages(prompt):
    return prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}]


def ask(model, prompt, **more):
    return client.messages.create(model=model, max_tokens=500, messages=messages(prompt), **more)


def stream(model, prompt, **more):
    with client.messages.stream(model=model, max_tokens=500, messages=messages(prompt), **more) as events:
        for _ in events:
            pass
        return events.get_final_message()


def text(message):
    return "".join(block.text for block in message.content if block.type == "text")


for how in ask, stream:
    message = how("model", "plain")
    equal(text(message), HELLO)
    equal(message.stop_reason, "end_turn")
    holds(text(how("echo", DIALOG)), TRANSCRIPT)
    holds(text(how("echo", "Hi!", system="Be brief.")), "<<<ROLE:SYSTEM>>>\nBe brief.\n\n<<<ROLE:USER>>>\nHi!")
    holds(text(how("composer-cli", DIALOG)), TRANSCRIPT)
    holds(text(how("composite/profile/pair", "round")), "round")
    message = how("model", "weather", tools=TOOLS)
    equal([block.input for block in message.content if block.type == "tool_use"], CITIES)
    equal(message.stop_reason, "tool_use")
    usage = message.usage
    equal((usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens), (30, 20, 40))

    # An agent that accepts only text and gets the tools in its prompt.
    message = how("talker", "weather", tools=TOOLS)
    (call,) = message.content
    equal((call.type, call.name, call.input, message.stop_reason), ("tool_use", "weather", CITIES[0], "tool_use"))
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
    called = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}
    dialog = [{"role": "user", "content": "weather"}, {"role": "assistant", "content": [called]}, {"role": "user", "content": [result]}]
    equal(text(how("talker", dialog, tools=TOOLS)), "It is sunny.")

    error = fails(anthropic.BadRequestError, lambda: how("echo", "Hi!", tools=TOOLS))
    holds(str(error), "weather")
    equal(error.body["error"]["type"], "invalid_request_error")
    holds(str(fails(anthropic.NotFoundError, lambda: how("ecko", "Hi!"))), "echo")
    # Until its limit ends, the account is not asked again.
    error = fails(anthropic.RateLimitError, lambda: how("limited", "slow down"))
    assert 1 <= int(error.response.headers["retry-after"]) <= 7, error.response.headers
    equal(error.body["error"]["type"], "rate_limit_error")
    fails(anthropic.InternalServerError, lambda: how("model", "broken"))
    holds(str(fails(anthropic.BadRequestError, lambda: how("model", "too long"))), "prompt is too long")
    equal(fails(anthropic.APIStatusError, lambda: how("short", "wait")).status_code, 408)
fails(Exception, lambda: stream("model", "cut"))

# Structured output: valid, and never valid.
schema = {"format": {"type": "json_schema", "schema": OBJECT}}
for how in ask, stream:
    equal(json.loads(text(how("model", "object", output_config=schema)))["length"], 12)
other = {**OBJECT, "properties": {**OBJECT["properties"], "colour": {}}, "required": ["colour"]}
error = fails(anthropic.APIStatusError, lambda: ask("model", "object", output_config={"format": {"type": "json_schema", "schema": other}}))
equal(error.status_code, 502)
holds(str(error), "colour")


# A client that disconnects while it reads, or after a timeout.
def leave():
    with client.messages.stream(model="model", max_tokens=500, messages=messages("endless")) as events:
        equal(next(events.text_stream), "so far")


hasty = client.with_options(timeout=1)
cancelled("messages", leave)
cancelled("messages", lambda: fails(anthropic.APITimeoutError, lambda: hasty.messages.create(model="model", max_tokens=5, messages=messages("endless"))))

assert client.messages.count_tokens(model="echo", messages=messages("x" * 400)).input_tokens > 90
names = [model.id for model in client.models.list()]
assert "composite/profile/pair" in names, names
raw = client.messages.with_raw_response.create(model="echo", max_tokens=5, messages=messages("Hi!"))
holds(raw.parse().id, raw.headers["x-windlass-trace"])
equal(raw.headers["x-windlass-agent"], "echo")
wrong = anthropic.Anthropic(base_url=URL, api_key="wrong", max_retries=0)
fails(anthropic.AuthenticationError, lambda: wrong.messages.create(model="echo", max_tokens=5, messages=messages("Hi!")))
print("ok")
