"""Adds a task that an editor runs.

bubblewrap: protected name
landlock: not blocked: paths inside the working directory stay writable
"""

import attack

attack.write(attack.PROJECT / ".vscode/tasks.json")
