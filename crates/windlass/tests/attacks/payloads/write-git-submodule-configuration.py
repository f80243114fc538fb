"""Adds a program to the configuration of a submodule.

bubblewrap: whole .git is read-only
landlock: not blocked: paths inside the working directory stay writable
"""

import attack

attack.write(attack.PROJECT / ".git/modules/sub/config")
