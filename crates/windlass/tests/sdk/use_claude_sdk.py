"""The Claude Agent SDK: the real Claude Code, with a model of the gateway, writes a file."""

import asyncio
import os
import pathlib
import sys

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ResultMessage, query
from common import TOKEN, URL, equal

FOLDER = pathlib.Path(os.environ["HOME"], "claude")
FOLDER.mkdir()
PROGRAM = sys.argv[3]


async def main():
    options = ClaudeAgentOptions(
        cwd=FOLDER,
        cli_path=PROGRAM,
        model="model",
        permission_mode="acceptEdits",
        env={
            "ANTHROPIC_BASE_URL": URL,
            "ANTHROPIC_API_KEY": TOKEN,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CONFIG_DIR": str(FOLDER / "config"),
        },
    )
    messages = [message async for message in query(prompt="Write the knot", options=options)]
    assert any(isinstance(message, AssistantMessage) for message in messages), messages
    result = messages[-1]
    assert isinstance(result, ResultMessage) and not result.is_error, result
    equal((FOLDER / "knot.txt").read_text(), "bowline\n")


asyncio.run(main())
print("ok")
