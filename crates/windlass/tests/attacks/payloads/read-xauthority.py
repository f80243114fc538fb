"""Reads the key of the X server.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".Xauthority")
