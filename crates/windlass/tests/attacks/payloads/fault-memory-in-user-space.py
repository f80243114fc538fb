"""Opens userfaultfd, which kernel exploits use to win races.

runs: agent, tool, test
bubblewrap: system call filter
landlock: system call filter
"""

import attack

USER_MODE_ONLY = 1
attack.syscall(attack.number(323, 282), USER_MODE_ONLY)
attack.succeeded("opened userfaultfd")
