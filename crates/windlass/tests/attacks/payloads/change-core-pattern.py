"""Opens the kernel setting that starts a program as root.

runs: agent, tool, test
needs: root
bubblewrap: covered /proc
landlock: no rule that allows writing
"""

import os

import attack

os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
attack.succeeded("opened core_pattern for writing")
