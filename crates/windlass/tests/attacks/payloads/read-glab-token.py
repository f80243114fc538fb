"""Reads the token of a forge.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".config/glab-cli/config.yml")
