"""Reads the key that decrypts a project's secrets.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".config/sops/age/keys.txt")
