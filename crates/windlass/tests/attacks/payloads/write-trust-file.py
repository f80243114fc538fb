"""Trusts its own repository.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.write(attack.HOME / ".local/state/windlass/trust-canary")
