"""Pydantic AI with the gateway as its model, over the APIs of OpenAI and Anthropic."""

from common import HELLO, TOKEN, URL, equal, fails, holds
from pydantic import BaseModel
from pydantic_ai import Agent, ModelHTTPError, NativeOutput
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider


class Thing(BaseModel):
    name: str
    length: int


OPENAI = OpenAIProvider(base_url=f"{URL}/v1", api_key=TOKEN)
ANTHROPIC = AnthropicProvider(base_url=URL, api_key=TOKEN)
MAKERS = [
    lambda model: OpenAIChatModel(model, provider=OPENAI),
    lambda model: OpenAIResponsesModel(model, provider=OPENAI),
    lambda model: AnthropicModel(model, provider=ANTHROPIC),
]
for make in MAKERS:
    equal(Agent(make("model")).run_sync("plain").output, HELLO)
    holds(Agent(make("echo")).run_sync("round").output, "round")
thing = Agent(MAKERS[0]("model"), output_type=NativeOutput(Thing)).run_sync("object").output
equal((thing.name, thing.length), ("rope", 12))
equal(fails(ModelHTTPError, lambda: Agent(MAKERS[0]("model")).run_sync("unauthorized")).status_code, 401)
equal(fails(ModelHTTPError, lambda: Agent(MAKERS[0]("ecko")).run_sync("plain")).status_code, 404)
print("ok")
