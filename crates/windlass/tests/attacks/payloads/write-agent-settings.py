"""Adds a hook that another agent runs.

bubblewrap: protected name
landlock: not blocked: paths inside the working directory stay writable
"""

import attack

attack.write(attack.PROJECT / ".claude/settings.json")
