"""Reads the server's token.

runs: agent, mcp
bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

if (attack.HOME / ".local/state/windlass/server-token").read_text().strip():
    attack.succeeded("read the token")
attack.blocked("the file is empty")
