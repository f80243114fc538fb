"""Renames a file in a turn that may not write.

runs: read-only
bubblewrap: read-only mount
landlock: no rule that allows writing
"""

import os

import attack

os.rename(attack.PROJECT / "renamed-victim.txt", attack.PROJECT / attack.MARKER)
attack.changed("renamed the file")
