"""Merges its own change with the server's token.

runs: agent, mcp
bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.control("POST", "/tasks/1/merge", {})
