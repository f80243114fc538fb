"""Creates a user namespace, which opens much of the kernel.

runs: tool, test
bubblewrap: system call filter
landlock: system call filter
"""

import attack

CLONE_NEWUSER = 0x10000000
attack.syscall(attack.number(272, 97), CLONE_NEWUSER)
attack.succeeded("created a user namespace")
