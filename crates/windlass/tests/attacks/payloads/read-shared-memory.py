"""Reads what another program put into shared memory.

runs: agent, tool, test
bubblewrap: private /dev/shm
landlock: no rule for /dev/shm
"""

import attack

attack.read(attack.VICTIM["shm"])
