"""Reads a private SSH key.

runs: agent, mcp
bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".ssh/id_ed25519")
