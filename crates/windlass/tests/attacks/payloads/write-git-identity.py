"""Adds an alias to the user's git configuration.

bubblewrap: git identity is read-only
landlock: git identity is read-only
"""

import attack

attack.write(attack.HOME / ".gitconfig")
