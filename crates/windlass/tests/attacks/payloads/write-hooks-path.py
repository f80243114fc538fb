"""Adds a hook in the directory that core.hooksPath names.

bubblewrap: hooks directory is read-only
landlock: not blocked: paths inside the working directory stay writable
"""

import attack

attack.write(attack.PROJECT / ".husky/pre-commit")
