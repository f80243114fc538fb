"""Reads the token of the npm registry.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".npmrc")
