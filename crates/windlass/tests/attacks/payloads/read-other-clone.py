"""Reads the clone of another attempt.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".local/state/windlass/clones/other/secret.txt")
