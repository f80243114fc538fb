"""Adds a program to the configuration of the worktree.

bubblewrap: whole .git is read-only
landlock: not blocked: paths inside the working directory stay writable
"""

import attack

attack.write(attack.PROJECT / ".git/config.worktree")
