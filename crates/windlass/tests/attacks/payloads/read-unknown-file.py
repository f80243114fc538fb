"""Reads a file of the user that no list names.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / "notes.txt")
