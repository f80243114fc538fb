"""Reads the credentials of an image registry at its other place.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".config/containers/auth.json")
