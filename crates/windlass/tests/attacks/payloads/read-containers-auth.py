"""Reads the credentials of an image registry in their other file.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".config/containers/auth.json")
