"""A small MCP server on stdin and stdout, with one tool, which returns its input, and one resource."""

import json
import sys

TOOL = {
    "name": "say_back",
    "description": "Returns the given text.",
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
