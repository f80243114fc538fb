"""Adds a file that direnv runs.

bubblewrap: protected name
landlock: not blocked: paths inside the working directory stay writable
"""

import attack

attack.write(attack.PROJECT / ".envrc")
