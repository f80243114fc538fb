"""A small MCP server on stdin and stdout: one tool, which says back what it is told, and one thing to read."""

import json
import sys

TOOL = {
    "name": "say_back",
    "description": "Says back what it is told.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "echo", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": f"echo: {params['arguments']['text']}"}]}
    if method == "resources/list":
        return {"resources": [{"uri": "log://today", "name": "today"}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "Fair wind."}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
