"""Empties a file in a turn that may not write.

runs: read-only
bubblewrap: read-only mount
landlock: no rule that allows writing
"""

import os

import attack

os.truncate(attack.PROJECT / "other-victim.txt", 0)
attack.succeeded("emptied the file")
