"""Reads a file of another program in the temporary directory.

runs: agent, tool, test
bubblewrap: private temporary directory
landlock: no rule for the temporary directory
"""

import attack

attack.read(attack.VICTIM["temp"])
