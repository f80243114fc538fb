"""The official OpenAI SDK, both of its APIs, with its own validation enabled."""

import json

import openai
from common import CITIES, HELLO, OBJECT, SCHEMA, URL, equal, fails

client = openai.OpenAI(base_url=f"{URL}/v1", api_key="dummy", max_retries=0, _strict_response_validation=True)
FUNCTION = {"name": "weather", "description": "The weather.", "parameters": SCHEMA}


def chat(prompt, **more):
    return client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": prompt}], **more
    )


def chat_stream(prompt, **more):
    with client.chat.completions.stream(
        model="m",
        messages=[{"role": "user", "content": prompt}],
        stream_options={"include_usage": True},
        **more,
    ) as events:
        for _ in events:
            pass
        return events.get_final_completion()


def respond(prompt, **more):
    return client.responses.create(model="m", input=prompt, **more)


def respond_stream(prompt, **more):
    with client.responses.stream(model="m", input=prompt, **more) as events:
        for _ in events:
            pass
        return events.get_final_response()


for answer in chat("plain"), chat_stream("plain"):
    equal(answer.choices[0].message.content, HELLO)
    equal(answer.choices[0].finish_reason, "stop")
tools = [{"type": "function", "function": FUNCTION}]
for answer in chat("weather", tools=tools), chat_stream("weather", tools=tools):
    calls = answer.choices[0].message.tool_calls
    equal([json.loads(call.function.arguments) for call in calls], CITIES)
    assert len({call.id for call in calls}) == 2
    equal(answer.choices[0].finish_reason, "tool_calls")
    equal((answer.usage.prompt_tokens, answer.usage.completion_tokens), (50, 40))
    equal(answer.usage.prompt_tokens_details.cached_tokens, 20)

for answer in respond("plain"), respond_stream("plain"):
    equal(answer.output_text, HELLO)
    equal(answer.status, "completed")
tools = [{"type": "function", "strict": False, **FUNCTION}]
for answer in respond("weather", tools=tools), respond_stream("weather", tools=tools):
    equal([item.type for item in answer.output], ["reasoning", "message", "function_call", "function_call"])
    equal([json.loads(item.arguments) for item in answer.output[2:]], CITIES)
    equal((answer.usage.input_tokens, answer.usage.output_tokens), (50, 40))
    equal(answer.usage.input_tokens_details.cached_tokens, 20)

schema = {"type": "json_schema", "json_schema": {"name": "thing", "schema": OBJECT, "strict": True}}
equal(json.loads(chat("object", response_format=schema).choices[0].message.content)["length"], 12)
schema = {"format": {"type": "json_schema", "name": "thing", "schema": OBJECT, "strict": True}}
equal(json.loads(respond("object", text=schema).output_text)["name"], "rope")
equal([model.id for model in client.models.list()], ["scripted"])

for ask, stream in (chat, chat_stream), (respond, respond_stream):
    fails(openai.AuthenticationError, lambda: ask("unauthorized"))
    fails(openai.PermissionDeniedError, lambda: ask("forbidden"))
    error = fails(openai.RateLimitError, lambda: ask("slow down"))
    equal(error.response.headers["retry-after"], "7")
    fails(openai.InternalServerError, lambda: ask("broken"))
    fails(openai.InternalServerError, lambda: ask("busy"))
    equal(fails(openai.BadRequestError, lambda: ask("too long")).code, "context_length_exceeded")
    assert "does not expect" in str(fails(openai.BadRequestError, lambda: stream("unscripted")))
    fails(Exception, lambda: stream("cut"))
    fails(Exception, lambda: stream("garbage"))
print("ok")
