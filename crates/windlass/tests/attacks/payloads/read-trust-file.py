"""Reads Windlass's own state.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".local/state/windlass/trust-canary")
