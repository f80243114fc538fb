"""Puts a program on the user's PATH.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.write(attack.HOME / ".local/bin/git")
