"""LangChain's packages for OpenAI and Anthropic, with the gateway as the provider."""

import anthropic
import openai
from common import CITIES, HELLO, OBJECT, TOKEN, URL, WEATHER, equal, fails, holds
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings


def chat(model, **more):
    return ChatOpenAI(model=model, base_url=f"{URL}/v1", api_key=TOKEN, max_retries=0, **more)


def messages(model):
    return ChatAnthropic(model=model, base_url=URL, api_key=TOKEN, max_retries=0, max_tokens=500)


TOOL = StructuredTool.from_function(lambda city, days: "", name="weather", description="The weather.", args_schema=WEATHER)
for make in chat, messages, lambda model: chat(model, use_responses_api=True):
    equal(make("model").invoke("plain").text, HELLO)
    equal("".join(chunk.text for chunk in make("model").stream("plain")), HELLO)
    holds(make("echo").invoke("round").text, "round")
    calls = make("model").bind_tools([TOOL]).invoke("weather").tool_calls
    equal([call["args"] for call in calls], CITIES)
answer = chat("model").with_structured_output({"title": "thing", **OBJECT}, method="json_schema").invoke("object")
equal(answer["length"], 12)
equal(chat("model").invoke("weather").usage_metadata["output_tokens"], 40)
fails(openai.AuthenticationError, lambda: chat("model").invoke("unauthorized"))
fails(anthropic.AuthenticationError, lambda: messages("model").invoke("unauthorized"))
fails(openai.RateLimitError, lambda: chat("limited").invoke("slow down"))
fails(openai.BadRequestError, lambda: chat("model", logprobs=True).invoke("plain"))
fails(openai.BadRequestError, lambda: chat("model", n=2).invoke("plain"))
embeddings = OpenAIEmbeddings(
    model="model", base_url=f"{URL}/v1", api_key=TOKEN, max_retries=0, check_embedding_ctx_length=False
)
equal(len(embeddings.embed_query("rope")), 3)
print("ok")
