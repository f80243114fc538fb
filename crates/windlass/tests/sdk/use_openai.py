"""The official OpenAI SDK, both of its APIs, with agents and with a model."""

import json

import openai
from common import CITIES, DIALOG, HELLO, OBJECT, TOKEN, TRANSCRIPT, URL, WEATHER, cancelled, equal, fails, holds

client = openai.OpenAI(base_url=f"{URL}/v1", api_key=TOKEN, max_retries=0)
FUNCTION = {"name": "weather", "description": "The weather.", "parameters": WEATHER}


def messages(prompt):
    return prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}]


def chat(model, prompt, **more):
    return client.chat.completions.create(model=model, messages=messages(prompt), **more)


def chat_stream(model, prompt, **more):
    with client.chat.completions.stream(
        model=model, messages=messages(prompt), stream_options={"include_usage": True}, **more
    ) as events:
        for _ in events:
            pass
        return events.get_final_completion()


def respond(model, prompt, **more):
    return client.responses.create(model=model, input=prompt, **more)


def respond_stream(model, prompt, **more):
    with client.responses.stream(model=model, input=prompt, **more) as events:
        for _ in events:
            pass
        return events.get_final_response()


# Text from a model and from agents.
for model in "model", "fast":
    for answer in chat(model, "plain"), chat_stream(model, "plain"):
        equal(answer.choices[0].message.content, HELLO)
        equal(answer.choices[0].finish_reason, "stop")
    for answer in respond(model, "plain"), respond_stream(model, "plain"):
        equal(answer.output_text, HELLO)
        equal(answer.status, "completed")
for ask in chat, chat_stream:
    holds(ask("echo", DIALOG).choices[0].message.content, TRANSCRIPT)
    holds(ask("composer-cli", DIALOG).choices[0].message.content, TRANSCRIPT)
    holds(ask("composite/profile/pair", "round").choices[0].message.content, "round")
for ask in respond, respond_stream:
    holds(ask("echo", DIALOG).output_text, TRANSCRIPT)
holds(chat("composer-cli/gpt-5", "Hi!").choices[0].message.content, "model=gpt-5")

# Tools, if the agent supports them.
tools = [{"type": "function", "function": FUNCTION}]
for answer in chat("model", "weather", tools=tools), chat_stream("model", "weather", tools=tools):
    calls = answer.choices[0].message.tool_calls
    equal([json.loads(call.function.arguments) for call in calls], CITIES)
    equal(answer.choices[0].finish_reason, "tool_calls")
    equal((answer.usage.prompt_tokens, answer.usage.completion_tokens), (50, 40))
results = [{"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in calls]
call_message = {"role": "assistant", "tool_calls": [call.model_dump() for call in calls]}
answer = chat("model", [{"role": "user", "content": "weather"}, call_message, *results, {"role": "user", "content": "plain"}], tools=tools)
equal(answer.choices[0].message.content, HELLO)
flat = [{"type": "function", "strict": False, **FUNCTION}]
for answer in respond("model", "weather", tools=flat), respond_stream("model", "weather", tools=flat):
    calls = [item for item in answer.output if item.type == "function_call"]
    equal([json.loads(call.arguments) for call in calls], CITIES)
error = fails(openai.BadRequestError, lambda: chat("echo", "Hi!", tools=tools))
holds(error.message, "echo")
holds(error.message, "weather")

# Tools of an agent that accepts only text and gets them in its prompt.
for ask in chat, chat_stream:
    answer = ask("talker", "weather", tools=tools)
    (call,) = answer.choices[0].message.tool_calls
    equal((call.function.name, json.loads(call.function.arguments)), ("weather", CITIES[0]))
    equal(answer.choices[0].finish_reason, "tool_calls")
    result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
    dialog = [{"role": "user", "content": "weather"}, {"role": "assistant", "tool_calls": [call.model_dump()]}, result]
    answer = ask("talker", dialog, tools=tools)
    equal((answer.choices[0].message.content, answer.choices[0].finish_reason), ("It is sunny.", "stop"))
for ask in respond, respond_stream:
    (call,) = [item for item in ask("talker", "weather", tools=flat).output if item.type == "function_call"]
    equal((call.name, json.loads(call.arguments)), ("weather", CITIES[0]))
    kept = {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    equal(ask("talker", [{"role": "user", "content": "weather"}, kept, result], tools=flat).output_text, "It is sunny.")

# Structured output: valid at the first attempt, valid after the validation error was sent, and never valid.
schema = {"type": "json_schema", "json_schema": {"name": "thing", "schema": OBJECT, "strict": True}}
for ask in chat, chat_stream:
    equal(json.loads(ask("model", "object", response_format=schema).choices[0].message.content)["length"], 12)
schema = {"format": {"type": "json_schema", "name": "thing", "schema": OBJECT, "strict": True}}
equal(json.loads(respond("model", "object", text=schema).output_text)["name"], "rope")
equal(json.loads(respond("model", "plain", text=schema).output_text)["name"], "rope")
other = {**OBJECT, "properties": {**OBJECT["properties"], "colour": {}}, "required": ["colour"]}
never = {"type": "json_schema", "json_schema": {"name": "thing", "schema": other}}
for ask in chat, chat_stream:
    error = fails(openai.InternalServerError, lambda: ask("model", "object", response_format=never))
    equal(error.status_code, 502)
    holds(error.message, "colour")

# Lists and headers.
names = [model.id for model in client.models.list()]
for name in "model", "fast", "echo", "composer-cli", "composite/profile/pair":
    assert name in names, names
equal(client.models.retrieve("composite/profile/pair").id, "composite/profile/pair")
raw = client.chat.completions.with_raw_response.create(model="echo", messages=messages("plain"))
holds(raw.parse().id, raw.headers["x-windlass-trace"])
assert raw.headers["x-windlass-agent"]
# The server of this model has the same API: its response passes as it is.
raw = client.chat.completions.with_raw_response.create(model="fast", messages=messages("plain"))
holds(raw.parse().id, "scripted-")
assert raw.headers["x-windlass-trace"]

# Embeddings, of a model that has them.
embedded = client.embeddings.create(model="model", input="rope")
equal((embedded.model, embedded.data[0].embedding), ("model", [0.5, 0.25, 0.125]))
refused = fails(openai.NotFoundError, lambda: client.embeddings.create(model="echo", input="rope"))
equal(refused.code, "embeddings_not_supported")

# Errors, each as the exception for its status.
for ask in chat, chat_stream, respond, respond_stream:
    holds(fails(openai.NotFoundError, lambda: ask("ecko", "Hi!")).message, "echo")
    # Until its limit ends, the account is not asked again.
    error = fails(openai.RateLimitError, lambda: ask("limited", "slow down"))
    assert 1 <= int(error.response.headers["retry-after"]) <= 7, error.response.headers
    fails(openai.InternalServerError, lambda: ask("model", "broken"))
    refused = fails(openai.AuthenticationError, lambda: ask("model", "unauthorized"))
    equal((refused.status_code, refused.code), (401, "invalid_api_key"))
    fails(openai.BadRequestError, lambda: ask("model", "too long"))
    equal(fails(openai.RateLimitError, lambda: ask("composer-cli", "fail")).response.headers["retry-after"], "420")
    equal(fails(openai.APIStatusError, lambda: ask("composer-cli", "crash")).status_code, 502)
    equal(fails(openai.APIStatusError, lambda: ask("short", "wait")).status_code, 408)
for ask in chat_stream, respond_stream:
    fails(Exception, lambda: ask("model", "cut"))
fails(openai.BadRequestError, lambda: chat("echo", "Hi!", n=2))
for field in "api_base", "api_key", "extra_headers", "command":
    error = fails(openai.BadRequestError, lambda: chat("model", "plain", extra_body={field: "http://127.0.0.1:1"}))
    holds(error.message, field)
wrong = openai.OpenAI(base_url=f"{URL}/v1", api_key="wrong", max_retries=0)
fails(openai.AuthenticationError, lambda: wrong.models.list())
fails(openai.AuthenticationError, lambda: wrong.responses.create(model="echo", input="Hi!"))


# A client that disconnects while it reads, or after a timeout.
def leave_chat():
    with chat("model", "endless", stream=True) as pieces:
        equal(next(piece for piece in pieces if piece.choices[0].delta.content).choices[0].delta.content, "so far")


def leave_response():
    with respond("model", "endless", stream=True) as events:
        equal(next(event for event in events if event.type == "response.output_text.delta").delta, "so far")


hasty = client.with_options(timeout=1)
cancelled("chat", leave_chat)
cancelled("responses", leave_response)
cancelled("chat", lambda: fails(openai.APITimeoutError, lambda: hasty.chat.completions.create(model="model", messages=messages("endless"))))
cancelled("chat", lambda: fails(openai.APITimeoutError, lambda: hasty.chat.completions.create(model="composer-cli", messages=messages("wait"))))
large = fails(openai.APIStatusError, lambda: chat("echo", "x" * (11 << 20)))
equal(large.status_code, 413)
print("ok")
