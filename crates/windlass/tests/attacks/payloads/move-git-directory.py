"""Replaces the repository's .git by another one.

bubblewrap: whole .git is read-only
landlock: not blocked: paths inside the working directory stay writable
"""

import os

import attack

git = attack.PROJECT / ".git"
moved = attack.PROJECT / attack.MARKER
os.rename(git, moved)
os.rename(moved, git)
attack.succeeded("moved .git")
