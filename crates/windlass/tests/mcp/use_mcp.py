"""The official MCP SDK for Python, over stdio and over HTTP."""

import asyncio
import json
import sys

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

CONFIG = json.loads(sys.argv[1])


def transport():
    if "url" in CONFIG:
        headers = {"Authorization": f"Bearer {CONFIG['token']}"}
        return streamable_http_client(CONFIG["url"], http_client=httpx2.AsyncClient(headers=headers, timeout=120))
    server = CONFIG["server"]
    return stdio_client(
        StdioServerParameters(command=server["command"], args=server["args"], env=server["env"], cwd=server["cwd"])
    )


async def main():
    async with Client(transport(), mode=CONFIG["mode"]) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"add_task", "wait_for_task", "merge_task"} <= names, names
        added = await client.call_tool("add_task", {"title": "From Python", "description": "Write done.txt."})
        task = added.structured_content["task"]["id"]
        listed = await client.call_tool("list_tasks", {"status": ["pending", "in_progress", "completed"]})
        assert task in [found["id"] for found in listed.structured_content["tasks"]], listed
        while True:
            outcome = (await client.call_tool("wait_for_task", {"id": task})).structured_content
            if outcome["done"]:
                break
        assert outcome["task"]["status"] == "completed", outcome
        resources = {str(found.uri) for found in (await client.list_resources()).resources}
        assert f"windlass://task/{task}/proof" in resources, resources
        proof = await client.read_resource(f"windlass://task/{task}/proof")
        assert json.loads(proof.contents[0].text)["exit_code"] == 0, proof
        assert len((await client.list_resource_templates()).resource_templates) == 4
        try:
            await client.read_resource("windlass://task/999/proof")
            raise AssertionError("a missing task was read")
        except MCPError as error:
            assert "999" in str(error), error
        missing = await client.call_tool("show_task", {"id": 999})
        assert missing.is_error and "task 999" in missing.content[0].text, missing
        seen = []

        async def on_progress(progress, total, message):
            seen.append(message)

        idle = await client.call_tool("add_task", {"title": "Never", "kind": "test"})
        idle = idle.structured_content["task"]["id"]
        await client.call_tool("wait_for_task", {"id": idle, "timeout_secs": 6}, progress_callback=on_progress)
        assert seen == ["running for 5 s"], seen
        await client.call_tool("cancel_task", {"id": idle})
        merged = await client.call_tool("merge_task", {"id": task})
        assert merged.structured_content["merge"]["status"] == "merged", merged
    print("ok")


asyncio.run(main())
