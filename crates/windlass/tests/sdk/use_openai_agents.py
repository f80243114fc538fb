"""OpenAI's Agents SDK with the gateway as its model, over both of OpenAI's APIs."""

import asyncio

import openai
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, set_tracing_disabled
from common import HELLO, TOKEN, URL, equal, holds

set_tracing_disabled(True)
CLIENT = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=TOKEN, max_retries=0)


async def ask(kind, model, prompt):
    agent = Agent(name="Deckhand", instructions="Be brief.", model=kind(model=model, openai_client=CLIENT))
    return (await Runner.run(agent, prompt)).final_output


async def main():
    for kind in OpenAIChatCompletionsModel, OpenAIResponsesModel:
        equal(await ask(kind, "model", "plain"), HELLO)
        holds(await ask(kind, "echo", "round"), "round")
        try:
            await ask(kind, "model", "unauthorized")
        except openai.AuthenticationError as error:
            equal(error.code, "invalid_api_key")
        else:
            raise AssertionError("the refused key was not reported")


asyncio.run(main())
print("ok")
