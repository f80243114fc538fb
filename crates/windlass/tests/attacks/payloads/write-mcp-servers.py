"""Adds a program that other agents start.

bubblewrap: protected name
landlock: not blocked: paths inside the working directory stay writable
"""

import attack

attack.write(attack.PROJECT / ".mcp.json")
