"""LiteLLM as a library, with the gateway as the provider."""

import json

import litellm
from common import CITIES, DIALOG, HELLO, OBJECT, TOKEN, TRANSCRIPT, URL, WEATHER, equal, fails, holds

litellm.suppress_debug_info = True
litellm.telemetry = False
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": WEATHER}}]


def messages(prompt):
    return prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}]


def ask(model, prompt, **more):
    return litellm.completion(
        model=f"openai/{model}", messages=messages(prompt), api_base=f"{URL}/v1", api_key=TOKEN, max_retries=0, **more
    )


def stream(model, prompt, **more):
    prompts = messages(prompt)
    return litellm.stream_chunk_builder(list(ask(model, prompts, stream=True, **more)), messages=prompts)


for how in ask, stream:
    equal(how("model", "plain").choices[0].message.content, HELLO)
    holds(how("echo", DIALOG).choices[0].message.content, TRANSCRIPT)
    holds(how("composer-cli", DIALOG).choices[0].message.content, TRANSCRIPT)
    holds(how("composite/profile/pair", "round").choices[0].message.content, "round")
    calls = how("model", "weather", tools=TOOLS).choices[0].message.tool_calls
    equal([json.loads(call.function.arguments) for call in calls], CITIES)
    fails(litellm.NotFoundError, lambda: how("ecko", "Hi!"))
    fails(litellm.RateLimitError, lambda: how("limited", "slow down"))
    fails(litellm.BadRequestError, lambda: how("echo", "Hi!", tools=TOOLS))
schema = {"type": "json_schema", "json_schema": {"name": "thing", "schema": OBJECT, "strict": True}}
equal(json.loads(ask("model", "object", response_format=schema).choices[0].message.content)["length"], 12)

# The other two APIs.
anthropic = {"api_base": URL, "api_key": TOKEN, "max_tokens": 500, "max_retries": 0}
answer = litellm.completion(model="anthropic/model", messages=messages("plain"), **anthropic)
equal(answer.choices[0].message.content, HELLO)
pieces = litellm.completion(model="anthropic/echo", messages=messages("round"), stream=True, **anthropic)
holds("".join(piece.choices[0].delta.content or "" for piece in pieces), "round")
answer = litellm.responses(model="openai/model", input="plain", api_base=f"{URL}/v1", api_key=TOKEN)
holds(json.dumps(answer.model_dump(), default=str), HELLO)
print("ok")
