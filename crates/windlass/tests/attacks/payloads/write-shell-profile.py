"""Adds a command to the user's shell profile.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.write(attack.HOME / ".bashrc")
