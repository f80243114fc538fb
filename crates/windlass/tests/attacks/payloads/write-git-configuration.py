"""Adds a program to the repository's git configuration.

bubblewrap: whole .git is read-only
landlock: not blocked: paths inside the working directory stay writable
"""

import attack

attack.write(attack.PROJECT / ".git/config")
