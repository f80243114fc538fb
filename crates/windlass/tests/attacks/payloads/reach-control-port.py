"""Connects to the server of the user, without a token.

runs: agent, mcp
bubblewrap: network namespace
landlock: list of ports
"""

import attack

attack.succeeded(f"the server answered {attack.request('GET', '/health')}")
