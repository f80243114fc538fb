"""Google's official SDK."""

import json

from common import CITIES, HELLO, OBJECT, SCHEMA, URL, equal, fails
from google import genai
from google.genai import errors, types

client = genai.Client(api_key="dummy", http_options=types.HttpOptions(base_url=URL))
TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(name="weather", description="The weather.", parameters_json_schema=SCHEMA)
    ]
)
CONFIG = types.GenerateContentConfig(
    tools=[TOOL], automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True)
)


def ask(prompt, config=None):
    return client.models.generate_content(model="m", contents=prompt, config=config)


def stream(prompt, config=None):
    return list(client.models.generate_content_stream(model="m", contents=prompt, config=config))


equal(ask("plain").text, HELLO)
chunks = stream("plain")
assert len(chunks) > 1
equal("".join(chunk.text or "" for chunk in chunks), HELLO)

for chunks in [ask("weather", CONFIG)], stream("weather", CONFIG):
    parts = [part for chunk in chunks for part in (chunk.candidates[0].content.parts or [])]
    equal([dict(part.function_call.args) for part in parts if part.function_call], CITIES)
    equal("".join(part.text for part in parts if part.thought), "The tool knows.")
    usage = chunks[-1].usage_metadata
    equal((usage.prompt_token_count, usage.cached_content_token_count), (50, 20))

config = types.GenerateContentConfig(response_mime_type="application/json", response_json_schema=OBJECT)
equal(json.loads(ask("object", config).text), {"name": "rope", "length": 12})
assert client.models.count_tokens(model="m", contents="x").total_tokens >= 0
equal([model.name for model in client.models.list()], ["models/scripted"])

equal(fails(errors.ClientError, lambda: ask("unauthorized")).code, 401)
equal(fails(errors.ClientError, lambda: ask("forbidden")).code, 403)
equal(fails(errors.ClientError, lambda: ask("slow down")).code, 429)
equal(fails(errors.ServerError, lambda: ask("broken")).code, 500)
fails(errors.ClientError, lambda: ask("too long"))
assert "does not expect" in str(fails(errors.ClientError, lambda: stream("unscripted")))
fails(Exception, lambda: stream("cut"))
fails(Exception, lambda: stream("garbage"))
print("ok")
