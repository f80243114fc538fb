"""Reads the login of an agent that was not started.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".other-agent/auth.json")
