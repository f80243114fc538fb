"""Reads a GnuPG key.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".gnupg/private-keys-v1.d/key")
