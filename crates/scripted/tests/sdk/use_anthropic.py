"""The official Anthropic SDK, with its own validation enabled."""

import anthropic
from common import CITIES, HELLO, SCHEMA, URL, equal, fails

client = anthropic.Anthropic(base_url=URL, api_key="dummy", max_retries=0, _strict_response_validation=True)
TOOLS = [{"name": "weather", "description": "The weather.", "input_schema": SCHEMA}]


def ask(prompt, **more):
    return client.messages.create(
        model="m", max_tokens=500, messages=[{"role": "user", "content": prompt}], **more
    )


def stream(prompt, **more):
    with client.messages.stream(
        model="m", max_tokens=500, messages=[{"role": "user", "content": prompt}], **more
    ) as events:
        return list(events), events.get_final_message()


message = ask("plain")
equal(message.content[0].text, HELLO)
equal(message.stop_reason, "end_turn")
events, message = stream("plain")
equal(message.content[0].text, HELLO)
assert sum(event.type == "text" for event in events) > 1

for message in ask("weather", tools=TOOLS), stream("weather", tools=TOOLS)[1]:
    equal([block.type for block in message.content], ["thinking", "text", "tool_use", "tool_use"])
    equal(message.content[0].thinking, "The tool knows.")
    equal([block.input for block in message.content[2:]], CITIES)
    equal(message.stop_reason, "tool_use")
    usage = message.usage
    equal((usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens), (30, 20, 40))

equal(ask("object").content[0].text, '{"name":"rope","length":12}')
assert client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "x"}]).input_tokens > 0
equal([model.id for model in client.models.list()], ["scripted"])

fails(anthropic.AuthenticationError, lambda: ask("unauthorized"))
fails(anthropic.PermissionDeniedError, lambda: ask("forbidden"))
error = fails(anthropic.RateLimitError, lambda: ask("slow down"))
equal(error.response.headers["retry-after"], "7")
equal(error.body["error"]["type"], "rate_limit_error")
fails(anthropic.InternalServerError, lambda: ask("broken"))
equal(fails(anthropic.APIStatusError, lambda: ask("busy")).body["error"]["type"], "overloaded_error")
assert "too long" in str(fails(anthropic.BadRequestError, lambda: ask("too long")))
assert "does not expect" in str(fails(anthropic.BadRequestError, lambda: ask("unscripted")))
fails(Exception, lambda: stream("cut"))
fails(Exception, lambda: stream("garbage"))
print("ok")
