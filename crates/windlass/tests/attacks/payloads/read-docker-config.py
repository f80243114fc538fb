"""Reads the credentials of an image registry.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".docker/config.json")
