"""A client of `windlass acp` that waits in the middle of a tool until it is killed.

usage: acp_hanging_client.py WINDLASS CONFIG
"""

import json
import os
import subprocess
import sys

windlass, config = sys.argv[1:]
agent = subprocess.Popen(
    [windlass, "--config", config, "acp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)


def send(**message):
    agent.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    agent.stdin.flush()


def read(is_wanted):
    for line in agent.stdout:
        message = json.loads(line)
        if is_wanted(message):
            return message
    raise SystemExit("windlass acp ended")


send(id=1, method="initialize", params={"protocolVersion": 1, "clientCapabilities": {}})
read(lambda message: message.get("id") == 1)
send(id=2, method="session/new", params={"cwd": os.getcwd(), "mcpServers": []})
session = read(lambda message: message.get("id") == 2)["result"]["sessionId"]
prompt = [{"type": "text", "text": "Wait"}]
send(id=3, method="session/prompt", params={"sessionId": session, "prompt": prompt})
read(lambda message: message.get("params", {}).get("update", {}).get("sessionUpdate") == "tool_call")
print("the tool runs", flush=True)
read(lambda message: False)
