"""The official Python SDK of ACP as a client of `windlass acp`.

usage: use_acp.py WINDLASS CONFIG CWD
"""

import asyncio
import os
import sys
from pathlib import Path

import acp
from acp.schema import AllowedOutcome, RequestPermissionResponse

windlass, config, cwd = sys.argv[1:]


class Editor(acp.Client):
    def __init__(self):
        self.updates = []
        self.permissions = []
        self.changed = asyncio.Event()

    async def session_update(self, session_id, update, **kwargs):
        self.updates.append(update)
        self.changed.set()

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        self.permissions.append(tool_call)
        allow = next(option for option in options if option.kind == "allow_once")
        outcome = AllowedOutcome(outcome="selected", option_id=allow.option_id)
        return RequestPermissionResponse(outcome=outcome)

    def of_kind(self, kind):
        return [update for update in self.updates if update.session_update == kind]

    def text(self):
        return "".join(chunk.content.text for chunk in self.of_kind("agent_message_chunk"))

    async def wait_for(self, kind):
        while not self.of_kind(kind):
            self.changed.clear()
            await self.changed.wait()


async def main():
    editor = Editor()
    home = str(Path(config).parent / "home")
    env = {"PATH": os.environ["PATH"], "HOME": home, "KEY": "not-a-real-key"}
    command = [windlass, "--config", config, "acp"]
    async with acp.spawn_agent_process(editor, *command, cwd=cwd, env=env) as (agent, process):
        hello = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert hello.protocol_version == 1 and hello.agent_info.name == "windlass", hello
        assert hello.agent_capabilities.load_session
        session = await agent.new_session(cwd=cwd, mcp_servers=[])
        assert [mode.id for mode in session.modes.available_modes] == ["ask", "edit", "task"]
        id = session.session_id

        async def prompt(text):
            editor.updates.clear()
            return await agent.prompt(session_id=id, prompt=[acp.text_block(text)])

        done = await prompt("Greet like a sailor")
        assert done.stop_reason == "end_turn", done
        assert editor.text() == "Now it says Ahoy.", editor.updates
        [call] = editor.of_kind("tool_call")
        [diff] = call.content
        assert (diff.type, diff.old_text, diff.new_text) == ("diff", "Hello", "Ahoy"), call
        assert editor.of_kind("tool_call_update")[-1].status == "completed"
        listed = await agent.list_sessions(cwd=cwd)
        assert [(it.session_id, it.title) for it in listed.sessions] == [(id, "Greet like a sailor")], listed

        await agent.set_config_option(config_id="agent", session_id=id, value="careful")
        await prompt("Write it")
        assert editor.text() == "So be it.", editor.updates
        [asked] = editor.permissions
        assert asked.content[0].new_text == "new\n", asked
        assert Path(cwd, "new.txt").read_text() == "new\n"

        await agent.set_config_option(config_id="agent", session_id=id, value="player")
        waiting = asyncio.create_task(prompt("Wait"))
        await asyncio.sleep(0)
        await editor.wait_for("tool_call")
        await agent.cancel(session_id=id)
        assert (await waiting).stop_reason == "cancelled"

        await agent.set_session_mode(session_id=id, mode_id="task")
        done = await prompt("Write done.txt")
        assert done.stop_reason == "end_turn" and "/task-1`" in editor.text(), editor.updates
        assert editor.of_kind("plan")[-1].entries[-1].status == "completed"

        await agent.close_session(session_id=id)
        editor.updates.clear()
        await agent.load_session(cwd=cwd, session_id=id, mcp_servers=[])
        assert len(editor.of_kind("user_message_chunk")) == 4, editor.updates
        try:
            await agent.prompt(session_id="unknown", prompt=[acp.text_block("Hello?")])
            raise AssertionError("an unknown session was accepted")
        except acp.RequestError as error:
            assert error.code == -32002 and "is not known to windlass" in str(error), error
    assert process.returncode == 0, process.returncode
    print("ok")


asyncio.run(main())
