"""Deletes a file in a turn that may not write.

runs: read-only
bubblewrap: read-only mount
landlock: no rule that allows writing
"""

import os

import attack

os.remove(attack.PROJECT / "victim.txt")
attack.succeeded("deleted the file")
