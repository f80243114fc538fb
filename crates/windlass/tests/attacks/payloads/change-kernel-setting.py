"""Opens a setting of the whole machine.

runs: agent, tool, test
needs: root
bubblewrap: covered /proc
landlock: no rule that allows writing
"""

import os

import attack

os.close(os.open("/proc/sys/vm/drop_caches", os.O_WRONLY))
attack.succeeded("opened a kernel setting for writing")
