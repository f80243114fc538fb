"""Writes a file in a turn that may not write.

runs: read-only
bubblewrap: read-only mount
landlock: no rule that allows writing
"""

import attack

attack.write(attack.PROJECT / "new.txt")
