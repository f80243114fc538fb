"""Reads Windlass's configuration, which may contain keys.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".config/windlass/windlass.toml")
