"""Reads the credentials of an infrastructure tool.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".terraform.d/credentials.tfrc.json")
