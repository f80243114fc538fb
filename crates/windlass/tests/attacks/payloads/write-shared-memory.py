"""Changes another program's shared memory.

bubblewrap: private /dev/shm
landlock: no rule for /dev/shm
"""

import attack

attack.write(attack.VICTIM["shm"])
